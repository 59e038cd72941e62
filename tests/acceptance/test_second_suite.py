"""A suite is one module in its framework's folder of suites, and nothing else has to name it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.coordinator_process import CoordinatorProcess
from tests.runner_process import ROOT, RunnerProcess

SECRET = "a secret of the tests"
FRAMEWORK = """\
from runners.suite.framework import DeviceDeclaration, Framework, suites_in

FRAMEWORK = Framework(
    name="vendor",
    devices={"cpu": DeviceDeclaration("hazards.device:Host", {"HAZARDS_DEVICE": "cpu"})},
    suites=suites_in("vendor.suites"),
)
"""
SUITE = """\
import numpy as np

from runners.suite.cases import Function

FUNCTIONS = []
for name in NAMES:
    function = Function(name, lambda x, y: x + y, given=np.add)
    function.value("one", lambda make: [make.normal(3), make.normal(3)], dtype="float64")
    FUNCTIONS.append(function)
"""


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """An installed package of another vendor: a framework with one suite."""
    suites = tmp_path / "vendor/suites"
    suites.mkdir(parents=True)
    (suites / "__init__.py").touch()
    (suites.parent / "__init__.py").write_text(FRAMEWORK)
    dist_info = tmp_path / "vendor-0.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor\nVersion: 0\n")
    (dist_info / "entry_points.txt").write_text("[portolan.frameworks]\nvendor = vendor:FRAMEWORK\n")
    (suites / "paper.py").write_text(SUITE.replace("NAMES", "['vendor.add']"))
    return tmp_path


def serve(vendor: Path) -> RunnerProcess:
    paths = (ROOT, ROOT / "tests" / "hazards", vendor)
    return RunnerProcess(
        command=[sys.executable, "-m", "runners", "serve", "vendor", "cpu", "--port", "0"],
        PYTHONPATH=os.pathsep.join(map(str, paths)),
        PORTOLAN_RUNNER_SECRET=SECRET,
    )


def suites(coordinator: CoordinatorProcess, runner: RunnerProcess) -> dict[str, str]:
    """The revision of each suite that the runner serves."""
    answer = coordinator.register(runner.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    revisions: dict[str, str] = answer.json()["suites"]
    return revisions


def test_a_new_module_is_a_suite_in_catalogue_campaign_matrix_and_report(
    coordinator: CoordinatorProcess, vendor: Path
) -> None:
    runner = serve(vendor)
    first = suites(coordinator, runner)
    runner.stop()
    coordinator.remove_all_runners()
    (vendor / "vendor/suites/more.py").write_text(SUITE.replace("NAMES", "['vendor.plus', 'vendor.sum']"))
    runner = serve(vendor)
    try:
        second = suites(coordinator, runner)
        assert second.keys() - first.keys() == {"more"}
        assert second["paper"] == first["paper"] != second["more"]

        campaign = coordinator.submit("*", suite="more", runs=1)
        detail = coordinator.wait_ended(campaign)
        assert detail["counters"]["passed"] == 2
        matrix = coordinator.http.get(f"/campaigns/{campaign}/matrix").json()
        assert [row["function"] for row in matrix["rows"]] == ["vendor.plus", "vendor.sum"]
        report = coordinator.http.get(f"/campaigns/{campaign}/report").text
        assert second["more"] in report
        assert "paper-2023" not in report
    finally:
        runner.stop()
