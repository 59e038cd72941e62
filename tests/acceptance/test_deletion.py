"""A campaign that has ended can be deleted with all its data, and a suite can be deleted when nothing needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.acceptance.conftest import SECRET
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess

OF_CAMPAIGNS = ("overrides", "outcomes", "attempts", "jobs", "campaign_targets", "campaigns", "matrices", "submissions")


@pytest.fixture
def portolan(tmp_path: Path, coordinator: CoordinatorProcess) -> Portolan:
    return Portolan(tmp_path, PORTOLAN_URL=coordinator.url)


async def rows(coordinator: CoordinatorProcess) -> dict[str, int]:
    connection: asyncpg.Connection[Any] = await asyncpg.connect(coordinator.dsn)
    try:
        return {table: await connection.fetchval(f"select count(*) from {table}") for table in OF_CAMPAIGNS}
    finally:
        await connection.close()


async def test_a_campaign_goes_with_all_that_hangs_on_it_and_no_other(
    coordinator: CoordinatorProcess, runner: RunnerProcess, portolan: Portolan
) -> None:
    kept_campaign = coordinator.submit("hazards.add", runs=1, timing="off")
    coordinator.wait_ended(kept_campaign)
    portolan.ask("results", str(kept_campaign))  # once its matrix is kept
    before = await rows(coordinator)
    deleted_campaign = coordinator.submit("hazards.add", runs=2, timing="off")
    coordinator.wait_ended(deleted_campaign)
    again = portolan.ask("submit", "--rerun", "failed", str(deleted_campaign), "--wait")
    portolan.ask(
        *("override", str(deleted_campaign), "hazards.add/wrong", "--target", "hazards/cpu"),
        *("--cause", "environment", "--why", "the reference is wrong"),
    )
    assert "cannot ask for confirmation without a terminal: add --yes" in portolan.refused(
        "delete", "campaign", str(deleted_campaign)
    )

    output = portolan.ask("delete", "campaign", str(deleted_campaign), "--yes")

    assert output == f"campaign {deleted_campaign}: deleted, with 8 jobs and 8 outcomes\n"
    assert f"there is no campaign {deleted_campaign}" in portolan.refused("status", str(deleted_campaign))
    assert f"there is no campaign {deleted_campaign}" in portolan.refused(
        "delete", "campaign", str(deleted_campaign), "--yes"
    )
    (rerun,) = [word for word in again.split() if word.isdecimal()][:1]
    assert coordinator.campaign(int(rerun))["rerun_of"] is None
    portolan.ask("delete", "campaign", rerun, "--yes")
    assert await rows(coordinator) == before
    assert f" DELETE /api/v1/campaigns/{deleted_campaign} " in portolan.ask("audit")


def test_a_campaign_that_runs_is_not_deleted(coordinator: CoordinatorProcess, runner: RunnerProcess) -> None:
    campaign = coordinator.submit("hazards.nap", runs=100, timing="off")
    refusal = coordinator.http.delete(f"/campaigns/{campaign}")
    assert refusal.status_code == 409
    assert f"campaign {campaign} is running: cancel it first" in refusal.json()["detail"]
    coordinator.http.post(f"/campaigns/{campaign}/cancel").raise_for_status()


def test_a_suite_stays_while_a_runner_serves_it_or_a_campaign_charts_it(
    coordinator: CoordinatorProcess, runner: RunnerProcess, portolan: Portolan
) -> None:
    coordinator.wait_ended(coordinator.submit("hazards.add", runs=1, timing="off"))
    (suite,) = [
        suite_row["id"]
        for suite_row in coordinator.http.get("/suites").json()["suites"]
        if suite_row["name"] == "hazards"
    ]
    assert "is served by runner 1" in portolan.refused("delete", "suite", str(suite), "--yes")
    coordinator.remove_all_runners()
    campaigns = [campaign["id"] for campaign in coordinator.http.get("/campaigns").json()["campaigns"]]
    assert "has outcomes in campaign" in portolan.refused("delete", "suite", str(suite), "--yes")
    for campaign in campaigns:
        portolan.ask("delete", "campaign", str(campaign), "--yes")
    assert "hazards of hazards" in portolan.ask("delete", "suite", str(suite), "--yes")
    assert f"there is no suite {suite}" in portolan.refused("delete", "suite", str(suite), "--yes")
    assert " runner  5 " not in portolan.ask("delete", "suite")
    # And its revision may be told again.
    coordinator.register(runner.ready["url"], SECRET).raise_for_status()
    assert "hazards" in portolan.ask("delete", "suite")
