"""Both OpenAPI documents describe the servers correctly: schemathesis sends requests that they allow, and requests that
they do not.

All checks of schemathesis run, with a fixed seed. Excluded checks are listed in ``*.toml``, with the reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.admin import ADMIN_TOKEN
from tests.coordinator_process import CoordinatorProcess
from tests.levels import LEVEL
from tests.runner_process import ROOT, RunnerProcess

HERE = Path(__file__).parent
SECRET = "a-secret-of-the-tests"
KEY = "an-enrolment-key-of-the-tests-only"
"""The key with which the token in ``coordinator.toml`` was made."""
EXAMPLES = {1: ("--max-examples", "4"), 2: ()}
"""The number of requests for each operation, by level; at level 2 the number in ``*.toml``."""
RUN_LIMIT_S = 900.0
"""The time limit on a busy machine. On an idle machine, both runs together take two minutes."""


def check(document: str, configuration: str, *options: str, cwd: Path) -> None:
    """Run schemathesis on the document. Fails with all errors that it found."""
    process = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / configuration)),
            *("run", document, *options, *EXAMPLES[LEVEL]),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), "SCHEMATHESIS_HOOKS": "tests.faults.openapi.hooks"},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.fixture
def runner() -> Iterator[RunnerProcess]:
    runner = RunnerProcess(PORTOLAN_RUNNER_SECRET=SECRET)
    yield runner
    runner.stop()


@pytest.fixture
def coordinator(
    new_database: Callable[..., str], runner: RunnerProcess, tmp_path: Path
) -> Iterator[CoordinatorProcess]:
    """A coordinator that enrols runners, with a runner and two ended campaigns: number 1 has outcomes of all kinds."""
    secret_file = tmp_path / "secret"
    secret_file.write_text(KEY)
    secret_file.chmod(0o600)
    coordinator = CoordinatorProcess(new_database(), PORTOLAN_ENROLMENT_KEY_FILE=str(secret_file))
    assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
    campaign = coordinator.submit("hazards.add", "hazards.segfault", "hazards.fail", runs=2)
    coordinator.wait_ended(campaign)
    spare = coordinator.submit("hazards.add")
    coordinator.wait_ended(spare)
    assert (campaign, spare) == (1, 2)
    yield coordinator
    coordinator.stop()


def test_the_coordinator_is_what_its_document_says(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    document = f"http://127.0.0.1:{coordinator.port}/openapi.json"
    check(document, "coordinator.toml", "-H", f"Authorization: Bearer {ADMIN_TOKEN}", cwd=tmp_path)
    assert coordinator.http.get("/campaigns/1").json()["counters"]["done"] > 0
    assert coordinator.http.get("/campaigns/2").status_code == 404, "it was deleted"


def test_the_runner_is_what_its_document_says(runner: RunnerProcess, tmp_path: Path) -> None:
    check(f"{runner.ready['url']}/openapi.json", "runner.toml", "-H", f"Authorization: Bearer {SECRET}", cwd=tmp_path)
    assert runner.run("add/0").verdict == "passed"
