"""Two databases, a database and its copy or two independent ones, use one runner. Neither stops the other's jobs."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.configuration.times import Times
from coordinator.dispatch.instructions import SERVES_ANOTHER
from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SECRET, waits_for_another
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess
from tests.waiting import until

RUNS = 20
"""Naps of 0.2 s, so that the other coordinator starts while they run."""


@pytest.fixture
def other(new_database: Callable[..., str], times: Times) -> Iterator[CoordinatorProcess]:
    """A coordinator with another database."""
    other = CoordinatorProcess(new_database(), times=times)
    yield other
    other.stop()


def only_runner(coordinator: CoordinatorProcess) -> dict[str, Any]:
    (runner,) = coordinator.http.get("/runners").json()["runners"]
    return dict(runner)


def endings(coordinator: CoordinatorProcess, campaign: int) -> Counter[str]:
    return Counter(outcome["ending"] for outcome in coordinator.outcomes(campaign))


def test_a_second_coordinator_without_work_stops_nothing(
    coordinator: CoordinatorProcess, runner: RunnerProcess, other: CoordinatorProcess
) -> None:
    campaign = coordinator.submit("hazards.nap", runs=RUNS)
    coordinator.wait_done(campaign, 1)
    other.register(runner.ready["url"], SECRET)
    until(lambda: only_runner(other)["reason"] == SERVES_ANOTHER, "the second one lets go of the runner and says why")
    coordinator.wait_ended(campaign)
    assert endings(coordinator, campaign) == {"returned": RUNS}
    assert {outcome["attempt"] for outcome in coordinator.outcomes(campaign)} == {1}


def test_two_coordinators_with_work_take_turns_and_say_so(
    coordinator: CoordinatorProcess, runner: RunnerProcess, other: CoordinatorProcess
) -> None:
    first = coordinator.submit("hazards.nap", runs=RUNS)
    other.register(runner.ready["url"], SECRET)
    second = until(lambda: try_submit(other), "the runner is online for the other one as well, for a moment")
    work = [(coordinator, first), (other, second)]
    until(lambda: any(waits_for_another(*part) for part in work), "a campaign says why it waits")
    for installation, campaign in work:
        installation.wait_ended(campaign)
        assert endings(installation, campaign) == {"returned": RUNS}


def try_submit(coordinator: CoordinatorProcess) -> int | None:
    with contextlib.suppress(AssertionError):
        return coordinator.submit("hazards.nap", runs=RUNS)
    return None


@pytest.fixture
def original(directory: Path) -> Iterator[Portolan]:
    """A data directory in which an instance runs, with a runner."""
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "hazards/cpu", "--port", "0")
    yield portolan
    up.stop()


def test_a_copied_data_directory_leaves_the_originals_runners_alone(original: Portolan) -> None:
    submit = ("submit", "--suite", "hazards", "--functions", "hazards.nap", "--timing", "off", "--runs", str(RUNS))
    campaign = original.ask(*submit).strip()
    copied_instance = Portolan(original.directory / "copied")
    entries = list(original.directory.iterdir())
    copied_instance.directory.mkdir(mode=0o711)
    # Files come and go meanwhile, which is what a person's copy meets as well.
    subprocess.run(["cp", "-a", *entries, copied_instance.directory], check=False)
    copy = copied_instance.up("--targets", "", "--port", "0")
    try:
        assert "the runners of this machine are removed (1)" in copy.said
        assert json.loads(copied_instance.ask("runner", "list", "--json")) == []
        final_state = until(lambda: state_if_ended(original, campaign), "the original's campaign ends")
        assert final_state["counters"]["passed"] == RUNS
    finally:
        copy.stop()


def state_if_ended(portolan: Portolan, campaign: str) -> dict[str, Any] | None:
    campaign_state = json.loads(portolan.ask("status", campaign, "--json"))
    return dict(campaign_state) if campaign_state["state"] != "running" else None
