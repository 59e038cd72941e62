"""Builds one environment: installs and checks the packages, marks the environment as complete, and reports progress."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from runners.cli import locks
from runners.cli.indexes import ANY_BUILD_VARIABLE, index_variables
from runners.errors import SetupFailedError, StepFailedError
from runners.settings import inherited_variables

COMPLETE = "portolan-complete.json"
"""The file that marks an environment as complete. It is written last. An environment without this file was interrupted
and is rebuilt."""
PROGRESS_EVERY_S = 5.0

Say = Callable[[str], None]


class Builder:
    """Builds one environment step by step. Progress is reported with at most one line every few seconds."""

    def __init__(self, what: str, framework: str, target: Path, say: Say) -> None:
        self.what = what
        self.target = target
        self.say = say
        self._framework = framework
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def python(self) -> str:
        return str(self.target / "bin" / "python")

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        return self.target / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"

    def begin(self) -> None:
        """Create an empty environment. It replaces an incomplete one."""
        # It is built in place, because its scripts contain its path and cannot be moved.
        if self.target.exists():
            self.say(f"{self.what}: an earlier set-up was interrupted; starting again")
            shutil.rmtree(self.target)
        self._call([find_uv(), "venv", "--quiet", "--python", sys.executable, str(self.target)])

    def keep(self, name: str, text: str) -> str:
        """Write a file next to the packages, and return its path."""
        path = self.target / name
        path.write_text(text)
        return str(path)

    def install(self, commands: Iterable[Sequence[str]]) -> None:
        """Run commands of ``uv pip``."""
        for command, *arguments in commands:
            compiling = [] if command == "compile" else ["--compile-bytecode"]
            self._call([find_uv(), "pip", command, "--python", self.python, *compiling, *arguments])

    def check(self, spared_packages: str | None = None) -> None:
        """Check the installed packages, so that no runner fails later because of them. Packages in ``spared_packages``
        may be missing."""
        try:
            self._call([find_uv(), "pip", "check", "--python", self.python])
        except StepFailedError as error:
            if spared_packages is None or not locks.lack_only(error.words, spared_packages):
                raise
        # This import needs no device. With LD_BIND_NOW, all symbols are bound at once, so that a symbol that no library
        # has is detected now.
        variables = {"CUDA_VISIBLE_DEVICES": "", **({} if spared_packages is None else {"LD_BIND_NOW": "1"})}
        self._call([self.python, "-P", "-c", f"import {self._framework}"], variables)

    def complete(self, **facts: Any) -> None:
        """Mark the environment as complete, and store facts about it."""
        mark = {"name": self.what, "seconds": round(self.seconds, 1), **facts}
        (self.target / COMPLETE).write_text(json.dumps(mark) + "\n")

    def _call(self, command: Sequence[str], variables: Mapping[str, str] | None = None) -> None:
        """Run one step and report its output as progress."""
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**index_variables(inherited_variables()), **(variables or {})},
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        words: deque[str] = deque(maxlen=40)
        reported_at, rest = time.monotonic(), ""
        doing = "making it" if "venv" in command else "resolving and downloading"
        try:
            while process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                rest = _gather(rest + (process.stdout.read() or b"").decode(errors="replace"), words)
                if words and "venv" not in command:
                    doing = words[-1]
                if time.monotonic() - reported_at >= PROGRESS_EVERY_S:
                    reported_at = time.monotonic()
                    self.say(f"{self.what}: {doing} ({self.seconds:.0f} s)")
            _gather(rest + (process.stdout.read() or b"").decode(errors="replace") + "\n", words)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
        if process.returncode != 0:
            tail = " ".join(" ".join(words).split())[-600:]
            reason = f"{self.what}: {Path(command[0]).name} ended with {process.returncode}: {tail}; {_advice(tail)}"
            raise StepFailedError(reason, words)


def _advice(tail: str) -> str:
    if "hash" in tail.lower():
        return (
            f"the index has a different build from the lock: set {ANY_BUILD_VARIABLE}=1 to take it, "
            "wherever portolan or portolan-runner is called"
        )
    if "unsatisfiable" in tail:
        return "choose a version that the index has for this Python and machine"
    return "run setup again to retry"


def find_uv() -> str:
    """Return the path of uv next to this Python or, if there is none, on the search path."""
    beside = Path(sys.executable).with_name("uv")
    program = str(beside) if beside.exists() else shutil.which("uv")
    if not program:
        raise SetupFailedError(f"uv is not installed; run: {sys.executable} -m pip install uv")
    return program


def _gather(text: str, words: deque[str]) -> str:
    *lines, rest = text.replace("\r", "\n").split("\n")
    words.extend(line.strip() for line in lines if line.strip())
    return rest
