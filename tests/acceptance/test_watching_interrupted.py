"""An interrupted command that watches a campaign prints that the campaign continues, and how to follow and cancel
it."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.assess import evidence_file
from coordinator.cli import INTERRUPTED
from tests.coordinator_process import CoordinatorProcess
from tests.faults.registration.listing_runner import ListingRunner, cases
from tests.portolan_process import COMMAND, Portolan
from tests.waiting import until

STOP_LIMIT_S = 30.0
FUNCTION = "torch.renorm"
PROGRAM = "import torch\n\n\ndef shorten(x: torch.Tensor) -> torch.Tensor:\n    return torch.renorm(x, 2, 0, 1)\n"


class BusyRunner(ListingRunner):
    """A runner that accepts jobs and never ends them."""

    @property
    def info(self) -> dict[str, Any]:
        return {**super().info, "device": "xla"}

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"jobs": [{"id": job["id"], "attempt": job["attempt"], "status": "queued"} for job in batch["jobs"]]}


@pytest.fixture(scope="module")
def _runner(coordinator: CoordinatorProcess) -> Iterator[None]:
    runner = BusyRunner(cases(FUNCTION), "torch")
    assert coordinator.register(runner.url, "").status_code == 201
    yield
    runner.stop()


@pytest.mark.usefixtures("_runner")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("submit", ("--suite", "paper", "--targets", "torch/xla", "--runs", "1", "--wait")),
        ("assess", ("train.py", "--on", "torch/xla", "--data", "evidence.json", "--chart")),
    ],
)
def test_a_campaign_that_continues_is_named_with_commands_for_its_coordinator(
    coordinator: CoordinatorProcess, tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    (target,) = [target for target in evidence_file.load_shipped().targets if target.framework == "torch"]
    other_functions = replace(target, functions={"torch.add": target.functions["torch.add"]})
    (tmp_path / "evidence.json").write_bytes(evidence_file.document_of([other_functions], target.charted_at))
    log = tmp_path / "log.txt"
    portolan = Portolan(tmp_path, PORTOLAN_URL=coordinator.url)
    with log.open("wb") as stream:
        watching = subprocess.Popen(
            [*COMMAND, command, *options],
            env=portolan.variables, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
        )  # fmt: skip
    try:
        until(lambda: "failing" in log.read_text() or watching.poll() is not None, "the progress of the campaign")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(STOP_LIMIT_S) == INTERRUPTED, log.read_text()
    finally:
        watching.kill()
        watching.wait()
    (campaign, url), of_cancel = re.findall(r"`portolan (?:status|cancel) (\d+) --url (\S+)`", log.read_text())
    assert url == coordinator.url
    assert of_cancel == (campaign, url)
    newest = coordinator.http.get("/campaigns").json()["campaigns"][0]
    assert (newest["id"], newest["state"]) == (int(campaign), "running")
    portolan.ask("cancel", campaign, "--url", url)
