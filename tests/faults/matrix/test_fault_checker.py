"""Each invariant of the matrix can fail: a valid observation is broken in each way that the invariant must detect."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.faults.matrix.checker import ENDS_WITHIN_S, INVARIANTS, Answer, Observation, Window, check

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
JOBS = 3


def nonce(job: int, serial: int, **fields: Any) -> str:
    members = {"runner": "alpha", "boot_id": "boot-1", "id": f"token-{job}.{job}", "attempt": 1, "case": f"case/{job}"}
    return json.dumps(members | {"run": 1, "serial": serial} | fields)


def outcome(job: int) -> dict[str, Any]:
    durations = {"duration_s": 1.0, "init_ms": None, "cold_ms": 0.5, "steady_ms": None, "iqr_ms": None}
    return durations | {
        "job_id": job,
        "attempt": 1,
        "campaign_id": 1,
        "target_id": 1,
        "runner_id": 5,
        "verdict": "passed",
        "ending": "returned",
        "rule": None,
        "lock_wait_ms": 0.0,
        "samples_ms": [1.0],
        "position": 0,
        "log_bytes": 0,
        "log_tail": nonce(job, job),
    }


def job(number: int, state: str = "done") -> dict[str, Any]:
    members = {"id": number, "campaign_id": 1, "target_id": 1, "case_id": number, "run": 1, "case": f"case/{number}"}
    return members | {"function": "matrix.quick", "state": state, "lease_until": None, "lost": 0, "attempt": 1}


def attempt(job: int) -> dict[str, Any]:
    members = {"job_id": job, "attempt": 1, "runner_id": 5, "boot_id": "boot-1", "token": f"token-{job}"}
    return members | {"started_at": BEGAN, "ended_at": BEGAN + timedelta(seconds=1), "end": "finished"}


@pytest.fixture
def observation() -> Any:
    """A valid observation of a campaign with three jobs."""
    numbers = range(1, JOBS + 1)
    counters = {"total": JOBS, "done": JOBS, "passed": JOBS, "failed": 0, "skipped": 0, "incomplete": 0, "cancelled": 0}
    return Observation(
        campaigns=[{"id": 1, "state": "done", "finished_at": BEGAN, "timeout_s": 4.0}],
        targets=[{"campaign_id": 1, "target_id": 1} | counters],
        jobs=[job(number) for number in numbers],
        attempts=[attempt(number) for number in numbers],
        outcomes=[outcome(number) for number in numbers],
        reported={"alpha": {nonce(number, number) for number in numbers}},
        boots={"alpha": {"boot-1"}},
        runner_names={5: "alpha"},
        planned={1: JOBS},
        held={"alpha": 0},
        answers=[Answer("/campaigns", 200), Answer("/campaigns", 503, "5")],
    )


Break = Callable[[Any], None]

BREAKS: dict[str, list[tuple[str, Break]]] = {
    "no_job_lost": [
        ("a job is gone", lambda seen: seen.jobs.pop()),
        ("a job is queued", lambda seen: seen.jobs[0].update(state="queued")),
        ("a job is leased for ever", lambda seen: seen.jobs[0].update(lease_until=BEGAN)),
    ],
    "no_job_doubled": [
        ("two jobs of one case and run", lambda seen: seen.jobs[1].update(case_id=1)),
        ("two outcomes", lambda seen: seen.outcomes.append(outcome(1))),
        ("no outcome", lambda seen: seen.outcomes.pop()),
        ("an outcome of a cancelled job", lambda seen: seen.jobs[0].update(state="cancelled")),
        ("an outcome of no job", lambda seen: seen.outcomes[0].update(job_id=77)),
    ],
    "outcomes_have_leases": [
        ("an attempt that nobody was given", lambda seen: seen.outcomes[0].update(attempt=2)),
        ("another runner's lease", lambda seen: seen.attempts[0].update(runner_id=6)),
    ],
    "outcomes_are_their_reporters_own": [
        ("another's words", lambda seen: seen.outcomes[0].update(log_tail=nonce(1, 1, runner="beta"))),
        ("another case", lambda seen: seen.outcomes[0].update(log_tail=nonce(1, 1, case="case/2"))),
        ("another run", lambda seen: seen.outcomes[0].update(log_tail=nonce(1, 1, run=2))),
        ("another lease", lambda seen: seen.attempts[0].update(token="token-of-old")),
        ("another boot", lambda seen: seen.attempts[0].update(boot_id="boot-2")),
        ("never sent", lambda seen: seen.reported.clear()),
        ("a boot that never was", lambda seen: seen.boots.clear()),
        ("no words, and no rule of ours", lambda seen: seen.outcomes[0].update(log_tail=None)),
        ("passed, and nobody said so", lambda seen: seen.outcomes[0].update(log_tail=None, rule="unstorable")),
    ],
    "first_finish_counts": [
        ("the second finish", lambda seen: seen.reported["alpha"].add(nonce(1, 0))),
    ],
    "hazards_are_themselves": [
        ("a failure that slept well", lambda seen: seen.jobs[0].update(function="hazards.fail")),
    ],
    "none_past_its_time": [
        ("a pass past the grace", lambda seen: seen.outcomes[0].update(duration_s=14.5)),
        ("a timeout that came late", lambda seen: seen.outcomes[0].update(duration_s=30.0, ending="timed_out")),
        ("stored a day later", lambda seen: seen.attempts[0].update(ended_at=BEGAN + timedelta(days=1))),
        (
            "a fault of a second excuses no day",
            lambda seen: (
                seen.attempts[0].update(ended_at=BEGAN + timedelta(days=1)),
                setattr(seen, "windows", [Window("a fault", BEGAN.timestamp(), BEGAN.timestamp() + 1)]),
            ),
        ),
        (
            "a runner is no excuse",
            lambda seen: (
                seen.attempts[0].update(ended_at=BEGAN + timedelta(seconds=600)),
                setattr(seen, "windows", [Window("it hung", BEGAN.timestamp(), BEGAN.timestamp() + 600, False)]),
            ),
        ),
    ],
    "numbers_are_numbers": [
        ("NaN", lambda seen: seen.outcomes[0].update(cold_ms=math.nan)),
        ("an infinite sample", lambda seen: seen.outcomes[0].update(samples_ms=[math.inf])),
        ("a negative position", lambda seen: seen.outcomes[0].update(position=-1)),
    ],
    "counters_equal_rows": [
        ("one too many", lambda seen: seen.targets[0].update(passed=4)),
        ("a verdict that nobody counted", lambda seen: seen.outcomes[0].update(verdict="failed")),
        ("a job that nobody counted", lambda seen: seen.targets[0].update(total=2)),
    ],
    "tries_are_bounded": [
        ("lost too often", lambda seen: seen.jobs[0].update(lost=4)),
        ("given away too often", lambda seen: seen.jobs[0].update(attempt=104)),
    ],
    "campaigns_end": [
        ("not in time", lambda seen: setattr(seen, "ended_after_s", None)),
        ("too late", lambda seen: setattr(seen, "ended_after_s", ENDS_WITHIN_S + 1.0)),
        ("ended at no time", lambda seen: seen.campaigns[0].update(finished_at=None)),
    ],
    "nothing_left_behind": [("a job of nobody", lambda seen: seen.held.update(alpha=1))],
    "pages_answer": [
        ("an error", lambda seen: seen.answers.append(Answer("/report", 500))),
        ("an outage without an end", lambda seen: seen.answers.append(Answer("/report", 503))),
    ],
}


def test_what_went_well_breaks_nothing(observation: Observation) -> None:
    assert check(observation) == []


@pytest.mark.parametrize(
    ("invariant", "spoil"),
    [
        pytest.param(invariant, spoil, id=f"{invariant}: {told}")
        for invariant, breaks in BREAKS.items()
        for told, spoil in breaks
    ],
)
def test_an_invariant_can_fail(observation: Observation, invariant: str, spoil: Break) -> None:
    spoil(observation)
    assert invariant in {violation.invariant for violation in check(observation)}


def test_every_invariant_is_broken_here() -> None:
    assert {invariant.__name__ for invariant in INVARIANTS} == set(BREAKS)


def test_the_time_of_a_fault_is_nobody_s(observation: Any) -> None:
    """A job may take longer by the duration of the fault that delayed it."""
    observation.attempts[0].update(ended_at=BEGAN + timedelta(seconds=600))
    observation.windows = [Window("the network was away", BEGAN.timestamp() + 1, BEGAN.timestamp() + 560)]
    assert check(observation) == []


@pytest.mark.parametrize(("longer_s", "invariants"), [(0, []), (300, ["none_past_its_time"])])
def test_a_step_of_the_clock_is_no_time_of_a_job(observation: Any, longer_s: int, invariants: list[str]) -> None:
    """The job began while the clock was an hour behind, and ended three seconds later or more, with the clock 20
    seconds behind."""
    began = BEGAN.timestamp()
    observation.attempts[0].update(
        started_at=BEGAN + timedelta(hours=-1, seconds=5), ended_at=BEGAN + timedelta(seconds=8 - 20 + longer_s)
    )
    observation.windows = [
        Window("an hour behind", began, began + 6, step_s=-3600.0),
        Window("20 s behind", began + 7, began + 13 + longer_s, step_s=-20.0),
    ]
    observation.windows = [replace(window, excuses=False) for window in observation.windows]
    assert [violation.invariant for violation in check(observation)] == invariants


def test_a_first_finish_that_a_restored_database_forgot_is_none(observation: Any) -> None:
    observation.reported["alpha"].add(nonce(3, 0))
    observation.forgotten = {"alpha": 2}
    assert check(observation) == []


def test_a_finish_that_could_not_be_read_is_no_first_one(observation: Any) -> None:
    observation.reported["alpha"].add(nonce(3, 0))
    assert [violation.invariant for violation in check(observation)] == ["first_finish_counts"]
    observation.unreadable = {"alpha": {nonce(3, 0)}}
    assert check(observation) == []
