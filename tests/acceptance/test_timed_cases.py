"""In a campaign of a whole library, one case per function is timed, unless all are requested. The other cases run only
for their verdict."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess


@pytest.fixture
def portolan(coordinator: CoordinatorProcess, runner: RunnerProcess, tmp_path: Path) -> Portolan:
    return Portolan(tmp_path, PORTOLAN_URL=coordinator.url)


def test_one_case_of_each_function_is_timed_in_a_process_of_its_own(
    coordinator: CoordinatorProcess, portolan: Portolan
) -> None:
    options = ["--suite", "hazards", "--functions", "hazards.add hazards.subtract", "--timing", "quick", "--runs", "2"]
    campaign = int(portolan.ask("submit", *options, "--timed-cases", "representative"))
    coordinator.wait_ended(campaign)
    rows = coordinator.outcomes(campaign)
    timed_rows = [row for row in rows if row["cold_ms"] is not None]
    assert Counter((row["function"], row["run"]) for row in timed_rows) == {
        (function, run): 1 for function in ("hazards.add", "hazards.subtract") for run in (1, 2)
    }
    assert {row["position"] for row in timed_rows} == {0}
    assert len(rows) > len(timed_rows)
    assert coordinator.campaign(campaign)["timed_cases"] == "representative"
    assert "timing quick, one case a function" in portolan.ask("status", str(campaign))
    assert "quick, one case a function" in coordinator.page(f"/campaigns/{campaign}")


def test_all_are_timed_where_nothing_is_said_of_another_suite(
    coordinator: CoordinatorProcess, portolan: Portolan
) -> None:
    campaign = coordinator.submit("hazards.add", timing="quick", runs=1)
    assert coordinator.wait_ended(campaign)["timed_cases"] == "all"
    assert all(row["cold_ms"] is not None for row in coordinator.outcomes(campaign))


def test_a_bundle_has_the_same_choice(coordinator: CoordinatorProcess, portolan: Portolan, tmp_path: Path) -> None:
    options = ("--timing", "quick", "--timed-cases", "representative")
    file = bundles.make(tmp_path / "bundle", *options, functions=("hazards.add",), runs=1)
    header, *lines = bundles.lines_of(file.read_bytes())
    assert header["timed_cases"] == "representative"
    is_timed = [line["outcome"]["timing"]["cold_ms"] is not None for line in lines]
    assert is_timed == [True, *[False] * (len(is_timed) - 1)]
    assert len(is_timed) > 1
    portolan.ask("import", "--unsigned", str(file))
    campaign = coordinator.http.get("/campaigns").json()["campaigns"][0]
    assert campaign["timed_cases"] == "representative"
