"""An unreadable event loses only the job to which it belongs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SUITE, scripted_runner
from tests.scripted_runner import Event, Script, case_of, encode
from tests.short_times import SHORT_TIMES
from tests.waiting import until

BAD = f"{SUITE}.f3/0"


def is_bad(event: Event) -> bool:
    return event["type"] == "finished" and case_of(event["outcome"]["log_tail"]) == BAD


def broken(change: Any) -> Any:
    """The lines of a correct stream, except for the finish event of one case."""
    return lambda event: change(event) if is_bad(event) else encode(event)


def with_outcome(**members: Any) -> Any:
    return lambda event: encode(event | {"outcome": event["outcome"] | members})


CHANGES = {
    "an extra field": lambda event: encode(event | {"colour": "red"}),
    "an unknown word": with_outcome(verdict="fine"),
    "bad UTF-8": lambda event: encode(event).replace(b"returned", b"ret\xffurned"),
    "NUL": with_outcome(log_tail="a\0b"),
    "a lone surrogate": with_outcome(log_tail="\ud800"),
    "not a number": with_outcome(duration_s=float("nan")),
    "a negative number": with_outcome(duration_s=-1.0),
    "a number beyond its type": with_outcome(log_bytes=2**70),
    "an outcome that is missing": lambda event: encode({k: v for k, v in event.items() if k != "outcome"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_the_job_ends_with_the_reason_and_the_others_pass(coordinator: CoordinatorProcess, change: Any) -> None:
    with scripted_runner(Script(line=broken(change))) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        coordinator.wait_ended(campaign)
        outcomes = {outcome["case"]: outcome for outcome in coordinator.outcomes(campaign)}
        bad = outcomes.pop(BAD)
        assert {outcome["verdict"] for outcome in outcomes.values()} == {"passed"}
        if bad["verdict"] == "passed":
            # What can be stored with a replacement is no reason to lose an outcome.
            assert change in (CHANGES["NUL"], CHANGES["a lone surrogate"])
            return
        assert (bad["verdict"], bad["cause"], bad["rule"]) == ("incomplete", "infrastructure", "unstorable")
        (runner,) = coordinator.http.get("/runners").json()["runners"]
        assert runner["state"] == "online"


@pytest.mark.parametrize("times", [replace(SHORT_TIMES, absent_s=1.2)], ids=["impatient"])
def test_an_event_that_never_comes_costs_its_job_an_attempt(coordinator: CoordinatorProcess) -> None:
    """A number is missing in the stream. The affected job is unknown until heartbeats no longer name it."""
    dropped_events: list[Event] = []

    def once(event: Event) -> bytes | None:
        if is_bad(event) and not dropped_events:
            dropped_events.append(event)
            return None
        return encode(event)

    with scripted_runner(Script(line=once)) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        coordinator.wait_ended(campaign)
        outcomes = coordinator.outcomes(campaign)
        assert {outcome["verdict"] for outcome in outcomes} == {"passed"}
        attempts = Counter(outcome["attempt"] for outcome in outcomes)
        assert attempts == {1: 7, 2: 1}
    assert len(dropped_events) == 1


@pytest.mark.parametrize("times", [replace(SHORT_TIMES, quarantine_s=5.0)], ids=["to be read in"])
def test_a_stream_that_goes_on_so_is_quarantined_and_shown_as_that(coordinator: CoordinatorProcess) -> None:
    script = Script(line=lambda event: encode(event | {"colour": "red"}))
    # Each quarantine costs eight jobs: on a slow host several pass before the pages are read, and some must be left.
    with scripted_runner(script, cases=100) as stub:
        assert coordinator.register(stub.url, stub.secret).status_code == 201
        campaign = coordinator.submit("*", suite=SUITE, runs=1)
        until(lambda: runner(coordinator)["state"] == "quarantined", "it is quarantined")
        assert "cannot be read" in runner(coordinator)["reason"]
        assert "colour" in runner(coordinator)["reason"]
        assert "cannot be read" in coordinator.page("/runners")
        assert "events cannot be read" in coordinator.page(f"/campaigns/{campaign}")
        (target,) = coordinator.campaign(campaign)["by_target"]
        assert "is quarantined: the runner's events cannot be read" in target["held_up_by"][0]
        status = subprocess.run(
            [sys.executable, "-m", "coordinator", "status", str(campaign), "--url", coordinator.url],
            env={**os.environ, "PORTOLAN_TOKEN": ADMIN_TOKEN},
            capture_output=True,
            text=True,
            check=True,
        )
        assert "is quarantined: the runner's events cannot be read" in status.stdout
        script.line = encode
        coordinator.wait_ended(campaign)
        verdicts = Counter(outcome["verdict"] for outcome in coordinator.outcomes(campaign))
        assert verdicts["incomplete"] >= 1
        assert verdicts["passed"] >= 1
        assert sum(verdicts.values()) == 100


def runner(coordinator: CoordinatorProcess) -> dict[str, Any]:
    (row,) = coordinator.http.get("/runners").json()["runners"]
    return dict(row)
