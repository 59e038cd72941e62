"""Verdicts of all targets are shown before any case is timed, and a single target can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess
from tests.waiting import until

SECRET = "The secret of the other target"
FUNCTIONS = ("hazards.add", "hazards.nap")


@pytest.fixture(scope="module")
def other(coordinator: CoordinatorProcess, runner: RunnerProcess) -> Iterator[RunnerProcess]:
    """A runner of another target, in addition to the module's runner."""
    other = RunnerProcess(device="unwatched", PORTOLAN_RUNNER_SECRET=SECRET)
    assert coordinator.register(other.ready["url"], SECRET).status_code == 201
    yield other
    other.stop()


@pytest.fixture
def portolan(coordinator: CoordinatorProcess, tmp_path: Path) -> Portolan:
    return Portolan(tmp_path, PORTOLAN_URL=coordinator.url)


def test_run_1_is_not_timed_and_ends_on_every_target_before_another_begins(
    coordinator: CoordinatorProcess, other: RunnerProcess
) -> None:
    campaign = coordinator.submit(*FUNCTIONS, timing="steady", verdicts_first=True, runs=3)
    campaign_row = coordinator.campaign(campaign)
    assert (campaign_row["verdicts_first"], campaign_row["timing"]) == (True, "steady")
    assert [target["verdicts_complete"] for target in campaign_row["by_target"]] == [False, False]
    until(
        lambda: all(target["verdicts_complete"] for target in coordinator.campaign(campaign)["by_target"]),
        "the verdicts of all targets are complete",
    )
    verdicts = [row for row in coordinator.outcomes(campaign) if row["run"] == 1]
    assert {row["device"] for row in verdicts} == {"cpu", "unwatched"}
    assert len(verdicts) == coordinator.campaign(campaign)["counters"]["total"] / 3
    coordinator.wait_ended(campaign)
    passed_rows = [row for row in coordinator.outcomes(campaign) if row["verdict"] == "passed"]
    assert {row["run"] for row in passed_rows} == {1, 2, 3}
    assert all((row["cold_ms"] is None) == (row["run"] == 1) for row in passed_rows)
    assert all(row["lock_wait_ms"] == 0 for row in passed_rows if row["run"] == 1)


def test_a_campaign_without_it_says_nothing_of_its_verdicts(
    coordinator: CoordinatorProcess, other: RunnerProcess
) -> None:
    campaign = coordinator.submit("hazards.add", runs=1)
    assert [target["verdicts_complete"] for target in coordinator.wait_ended(campaign)["by_target"]] == [None, None]


@pytest.mark.parametrize("fields", [{"runs": 1, "timing": "steady"}, {"runs": 3, "timing": "off"}])
def test_without_a_timed_run_there_is_nothing_to_go_before(
    coordinator: CoordinatorProcess, other: RunnerProcess, fields: dict[str, object]
) -> None:
    answer = coordinator.http.post("/campaigns", json={"suite": "hazards", "verdicts_first": True} | fields)
    assert answer.status_code == 422
    assert "ask for at least 2 runs and turn timing on" in answer.text


def test_a_target_is_given_up_and_the_others_are_charted_to_their_end(
    coordinator: CoordinatorProcess, other: RunnerProcess, portolan: Portolan
) -> None:
    campaign = coordinator.submit("hazards.hang", "hazards.add", runs=1, timeout_s=600)
    assert "matches no target of the campaign" in portolan.refused("cancel", str(campaign), "--targets", "torch/cpu")
    portolan.ask("cancel", str(campaign), "--targets", "hazards/unwatched")
    counters_by_device = {
        target["device"]: target["counters"] for target in coordinator.campaign(campaign)["by_target"]
    }
    assert (
        counters_by_device["unwatched"]["done"] + counters_by_device["unwatched"]["cancelled"]
        == counters_by_device["unwatched"]["total"]
    )
    assert counters_by_device["cpu"]["cancelled"] == 0
    assert coordinator.campaign(campaign)["state"] == "running"
    portolan.ask("cancel", str(campaign), "--targets", "hazards/cpu")
    assert coordinator.campaign(campaign)["state"] == "cancelled"


def test_a_campaign_ends_with_its_last_target(coordinator: CoordinatorProcess, other: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.nap", runs=20)
    answer = coordinator.http.post(f"/campaigns/{campaign}/cancel", json={"targets": ["hazards/unwatched"]})
    assert answer.status_code == 200
    final_state = coordinator.wait_ended(campaign)
    assert final_state["state"] == "done"
    assert {target["device"]: target["counters"]["cancelled"] > 0 for target in final_state["by_target"]} == {
        "cpu": False,
        "unwatched": True,
    }
