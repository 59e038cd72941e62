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
from tests.slow_answer import SlowAnswer
from tests.waiting import until

STOP_LIMIT_S = 30.0
FUNCTION = "torch.renorm"
PROGRAM = "import torch\n\n\ndef shorten(x: torch.Tensor) -> torch.Tensor:\n    return torch.renorm(x, 2, 0, 1)\n"


SUBMISSION = ("--suite", "paper", "--targets", "torch/xla", "--runs", "1")
ASSESS_AND_CHART = ("train.py", "--on", "torch/xla", "--data", "evidence.json", "--chart")


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


def write_program_without_evidence(folder: Path) -> None:
    (folder / "train.py").write_text(PROGRAM)
    (target,) = [target for target in evidence_file.load_shipped().targets if target.framework == "torch"]
    other_functions = replace(target, functions={"torch.add": target.functions["torch.add"]})
    (folder / "evidence.json").write_bytes(evidence_file.document_of([other_functions], target.charted_at))


def start(portolan: Portolan, log: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with log.open("wb") as stream:
        return subprocess.Popen(
            [*COMMAND, *arguments],
            env=portolan.variables, cwd=log.parent, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream,
        )  # fmt: skip


@pytest.mark.usefixtures("_runner")
@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("submit", (*SUBMISSION, "--wait")),
        ("assess", ASSESS_AND_CHART),
    ],
)
def test_a_campaign_that_continues_is_named_with_commands_for_its_coordinator(
    coordinator: CoordinatorProcess, tmp_path: Path, command: str, options: tuple[str, ...]
) -> None:
    write_program_without_evidence(tmp_path)
    log = tmp_path / "log.txt"
    portolan = Portolan(tmp_path, PORTOLAN_URL=coordinator.url)
    watching = start(portolan, log, command, *options)
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


@pytest.mark.usefixtures("_runner")
@pytest.mark.parametrize(
    ("command", "options", "signals"),
    [
        ("assess", ASSESS_AND_CHART, (signal.SIGINT,)),
        ("assess", ASSESS_AND_CHART, (signal.SIGINT, signal.SIGINT)),
        ("submit", SUBMISSION, (signal.SIGINT,)),
        ("submit", SUBMISSION, (signal.SIGTERM,)),
        ("submit", SUBMISSION, (signal.SIGINT, signal.SIGINT)),
        ("submit", (*SUBMISSION, "--wait"), (signal.SIGINT,)),
    ],
)
def test_a_campaign_is_named_that_was_stored_while_its_command_was_interrupted(
    coordinator: CoordinatorProcess,
    tmp_path: Path,
    command: str,
    options: tuple[str, ...],
    signals: tuple[signal.Signals, ...],
) -> None:
    write_program_without_evidence(tmp_path)
    slow, log = SlowAnswer(coordinator.url), tmp_path / "log.txt"
    portolan = Portolan(tmp_path, PORTOLAN_URL=slow.url)
    submitting = start(portolan, log, command, *options)
    try:
        until(lambda: slow.answer_waits.is_set() or submitting.poll() is not None, "the answer to the submission")
        assert slow.answer_waits.is_set(), log.read_text()
        submitting.send_signal(signals[0])
        until(lambda: "waiting for the coordinator's answer" in log.read_text(), "the notice of the first signal")
        for number in signals[1:]:
            submitting.send_signal(number)
        if len(signals) == 1:
            slow.release()
        assert submitting.wait(STOP_LIMIT_S) == INTERRUPTED, log.read_text()
    finally:
        slow.release()
        slow.close()
        submitting.kill()
        submitting.wait()
    newest = coordinator.http.get("/campaigns").json()["campaigns"][0]
    expected = (
        f"campaign {newest['id']} continues: follow it with `portolan status {newest['id']} --url {slow.url}`, "
        f"stop it with `portolan cancel {newest['id']} --url {slow.url}`\n"
        if len(signals) == 1
        else f"if it stored the campaign, `portolan status --url {slow.url}` lists it\n"
    )
    assert log.read_text().endswith(expected)
    assert newest["state"] == "running"
    portolan.ask("cancel", str(newest["id"]), "--url", coordinator.url)
