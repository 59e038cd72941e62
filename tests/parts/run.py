"""Runs one part in separate processes, and stores its output, its number of tests and its cost."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.parts import census
from tests.parts.census import Census
from tests.parts.plan import Part

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
RUNS_WITHOUT_TESTS = 5
"""pytest's exit code if no test was collected."""
_PERCENT = re.compile(r"\[ *(\d+)%\]")
_SUMMARY = re.compile(r"^=* ?((?:\d+ \w+,? ?)+in [\d.]+s.*?) ?=*$", re.MULTILINE)


@dataclass
class Run:
    """A part that is running, or has run."""

    part: Part
    folder: Path
    """The files of its log and its census."""
    began: float = field(default_factory=time.monotonic)
    exit_code: int | None = None
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        with self.log.open("wb") as log:
            # In a session of its own, the part gets Ctrl-C only from this process, which can end all of its processes.
            self.process = subprocess.Popen(
                ["bash", "-c", command(self.part)],
                cwd=ROOT,
                env=environment(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def percent(self) -> str:
        matches = _PERCENT.findall(self.text)
        return f"{matches[-1]} %" if matches else "starting"

    @property
    def summary(self) -> str:
        """The last line of pytest's output."""
        matches = _SUMMARY.findall(self.text)
        return str(matches[-1]) if matches else f"ended with exit code {self.exit_code}"

    def census(self) -> Census:
        return census.read(self.folder)

    def has_ended(self) -> bool:
        """Whether it has ended. Then its cost is known, including processes that it waited for."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return False
        self.exit_code = self.process.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s = time.monotonic() - self.began
        self.cpu_s = usage.ru_utime + usage.ru_stime
        return True

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait()


def environment(folder: Path) -> dict[str, str]:
    """The variables of a part whose counts go to this folder."""
    variables = {**os.environ, census.FOLDER_VARIABLE: str(folder)}
    # With this variable, each of hundreds of processes would compile our sources again.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def command(part: Part) -> str:
    """The shell command of a part. It first makes the part's environment, if the part has its own."""
    if part.program:
        return shlex.join(["exec", *part.program])
    pytest = [*("-m", "pytest", "-p", "tests.parts.census"), *part.arguments]
    if not part.environment:
        return shlex.join(["exec", str(BIN / "python"), *pytest])
    setup = shlex.join([str(BIN / "portolan-runner"), "setup", *part.environment])
    python = f'PYTHONPATH={shlex.quote(str(ROOT))} exec "$environment/bin/python"'
    return f'environment="$({setup})" && {python} {shlex.join(pytest)}'
