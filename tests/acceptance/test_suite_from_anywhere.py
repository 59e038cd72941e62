"""A user's own suite on a coordinator: registered, run as a campaign, compared, and imported from a bundle."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import bundles
from tests.coordinator_process import CoordinatorProcess
from tests.fork_server import RUNNER_SERVER, call
from tests.own_suite import MODULE, write_module, write_package
from tests.portolan_process import Portolan
from tests.runner_process import RunnerProcess, environment
from tests.waiting import LIMIT_S

SECRET = "a secret of the tests"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return write_package(tmp_path)


@pytest.fixture
def runner(package: Path) -> Iterator[RunnerProcess]:
    running = RunnerProcess("--suite", str(package), PORTOLAN_RUNNER_SECRET=SECRET)
    yield running
    running.stop()


def test_it_is_registered_charted_and_shown_like_every_suite(
    coordinator: CoordinatorProcess, runner: RunnerProcess, package: Path
) -> None:
    answer = coordinator.register(runner.ready["url"], SECRET)
    assert answer.status_code == 201, answer.text
    revisions = answer.json()["suites"]
    assert revisions.keys() == {"mine", "hazards", "conformance"}

    campaign = coordinator.submit("*", suite="mine", runs=2)
    assert coordinator.wait_ended(campaign)["counters"]["passed"] == 6
    rows = coordinator.outcomes(campaign)
    assert {(row["verdict"], row["placement"]) for row in rows} == {("passed", "on_device")}
    assert {row["suite"] for row in rows} == {"mine"}
    assert rows[0]["repeat"].startswith(f"portolan-runner run hazards cpu {rows[0]['case']} --suite {package}")
    matrix = coordinator.http.get(f"/campaigns/{campaign}/matrix").json()
    assert [row["function"] for row in matrix["rows"]] == ["mine.total"]
    assert revisions["mine"] in coordinator.http.get(f"/campaigns/{campaign}/report").text


def test_its_own_timing_is_that_of_campaigns_and_bundles_which_ask_for_none(
    coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    suite = write_module(tmp_path, f"{MODULE}TIMING = 'off'\nTIMED_CASES = 'representative'\n")
    runner = RunnerProcess("--suite", str(suite), PORTOLAN_RUNNER_SECRET=SECRET)
    try:
        assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
        portolan = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
        for options, timing in (((), "off"), (("--timing", "quick"), "quick")):
            number = portolan.ask("submit", "--suite", "mine", "--runs", "1", *options)
            campaign = coordinator.wait_ended(int(number))
            assert (campaign["timing"], campaign["timed_cases"]) == (timing, "representative")
    finally:
        runner.stop()

    bundle = tmp_path / "mine.bundle"
    command = [sys.executable, "-m", "runners", "run", "hazards", "cpu", "--out", str(bundle), "--runs", "1"]
    process: subprocess.CompletedProcess[str] = call(
        RUNNER_SERVER, [*command, "--suite", str(suite)], environment(), "", LIMIT_S
    )
    assert process.returncode == 0, process.stderr
    header, *_ = bundles.lines_of(bundle.read_bytes())
    assert (header["timing"], header["timed_cases"]) == ("off", "representative")


def test_its_bundle_is_imported_where_no_runner_has_the_suite(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    bundle = tmp_path / "mine.bundle"
    source = MODULE.replace("values.sum()", "values.max(initial=0.0)")
    command = [sys.executable, "-m", "runners", "run", "hazards", "cpu", "--out", str(bundle), "--runs", "1"]
    process: subprocess.CompletedProcess[str] = call(
        RUNNER_SERVER, [*command, "--suite", str(write_module(tmp_path, source))], environment(), "", LIMIT_S
    )
    assert process.returncode == 0, process.stderr
    portolan = Portolan(tmp_path / "data", PORTOLAN_URL=coordinator.url)
    campaign = int(portolan.ask("import", "--unsigned", str(bundle)).split()[1].rstrip(":"))
    verdicts = {row["case"]: (row["verdict"], row["cause"]) for row in coordinator.outcomes(campaign)}
    assert verdicts == {"mine.total/row": ("failed", "assertion"), "mine.total/empty": ("passed", None)}
