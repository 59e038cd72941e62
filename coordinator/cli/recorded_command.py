"""Records the user's own command on the CPU and replays its calls on the target, both with ``portolan-runner``."""

from __future__ import annotations

import hashlib
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from coordinator.assess.evidence import TargetEvidence
from coordinator.cli.processes import ChildProcess
from coordinator.configuration.variables import variables
from coordinator.errors import AssessmentError
from protocol.enums import HOST
from protocol.watched_run import WatchedRun

REPLAY_LIMIT_S = 120.0
"""The time limit in seconds for one replay of a call."""
WHOLE_LIMIT_S = 1800.0
"""The time limit in seconds for the whole command on the target."""
COULD_NOT = 2
"""The exit code with which ``portolan-runner`` reports that it could not execute its command."""
COMPLAINT = b"portolan-runner: "
"""The beginning of messages of ``portolan-runner``."""


@dataclass(frozen=True)
class ReplayResult:
    """The outcomes of a recording's calls on a target, or the reason why there are no outcomes."""

    evidence: TargetEvidence | None
    why_not: str | None = None


def record(command: str, framework: str, device: str, *, with_values: bool = False) -> Path:
    """Run a command under a recorder for a device, and return the recording. ``with_values`` stores the values of all
    arrays.

    The file is kept, so that its calls can be repeated. Output of the command goes to stderr. Raises
    ``AssessmentError`` if nothing was recorded.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AssessmentError(f"--run {command!r} is not a command line ({error}): correct its quotes") from error
    if not words:
        raise AssessmentError("--run is empty: give a command, such as --run 'python train.py'")
    digest = hashlib.sha256(f"{Path.cwd()} {command} {device}".encode()).hexdigest()[:8]
    out = _folder() / f"recording_{digest}.json"
    out.unlink(missing_ok=True)
    try:
        options = ("--target", device, *(["--with-values"] if with_values else []), "--out", str(out))
        code, complaint = _run("record", framework, *options, "--", *words)
    except KeyboardInterrupt:
        if out.exists():
            assess = f"portolan assess {shlex.quote(str(out))} --on {framework}/{device}"
            print(f"interrupted; the calls until then are kept: assess them with `{assess}`", file=sys.stderr)
        raise
    if code == COULD_NOT or not out.exists():
        raise AssessmentError(f"--run: {complaint}")
    return out


def replay(recording: Path, framework: str, device: str) -> ReplayResult:
    """Replay the calls of a recording on a target, and on the CPU to compare the times."""
    with tempfile.TemporaryDirectory() as folder:
        bundles = []
        for word in dict.fromkeys((device, HOST)):
            bundle = Path(folder) / f"{word}.bundle"
            options = ("--runs", "1", "--timing", "quick", "--timeout-s", f"{REPLAY_LIMIT_S:g}")
            code, complaint = _run(
                "run", framework, word, "--suite", str(recording.absolute()), "--out", str(bundle), *options
            )
            if code != 0:
                return ReplayResult(None, complaint)
            bundles.append(bundle)
        # Imported here, because it imports the code that reads bundles and stores outcomes, which assessing source code
        # does not need.
        from coordinator.assess.bundled import from_bundles

        evidence = from_bundles(bundles)
    return (
        ReplayResult(evidence[0]) if evidence else ReplayResult(None, "the CPU is what other targets are compared to")
    )


def watch(command: str, framework: str, device: str, limit_s: float) -> WatchedRun | str:
    """Run a command on the target itself and watch its calls. Returns the result, or the reason why the command could
    not run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.json"
        options = ("--out", str(out), "--timeout-s", f"{limit_s:g}")
        code, complaint = _run("watch", framework, device, *options, "--", *shlex.split(command))
        if code == COULD_NOT or not out.exists():
            return complaint
        return WatchedRun.model_validate_json(out.read_bytes())


def _run(*arguments: str) -> tuple[int, str]:
    """Run ``portolan-runner`` and pass its lines on to this program's stderr. Returns its exit code and its last
    message."""
    command: Sequence[str] = [sys.executable, "-P", "-m", "runners", *arguments]
    stderr = _Stderr()
    child = ChildProcess(command, stderr)
    try:
        code = child.wait()
    except KeyboardInterrupt:
        # The child then keeps its results so far, as after its own Ctrl-C.
        child.stop(signal.SIGINT)
        raise
    finally:
        child.stop()
    if code != COULD_NOT:
        os.write(sys.stderr.fileno(), stderr.last_complaint)
    return code, child.complaint


class _Stderr(FileIO):
    """Passes the lines of a child on to this program's stderr. The last message is held back, because this program
    reports it as its own error."""

    def __init__(self) -> None:
        super().__init__(sys.stderr.fileno(), "wb", closefd=False)
        self.last_complaint = b""

    def write(self, line: Any) -> int:
        earlier_complaint, self.last_complaint = self.last_complaint, b""
        super().write(earlier_complaint)
        if line.startswith(COMPLAINT):
            self.last_complaint = line
            return len(line)
        return super().write(line)


def _folder() -> Path:
    folder = (variables().cache or Path("~/.cache")).expanduser() / "portolan" / "recordings"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
