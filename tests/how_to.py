"""Follows a how-to as written: its commands are typed into a shell, and the output is compared with the page.

Blocks without a language are typed. A text block after such a block is the expected output, in which ``…`` matches
anything.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.runner_process import environment
from tests.waiting import LIMIT_S, until

STAYS = re.compile(r"^portolan(-runner serve| up)\b", re.MULTILINE)
"""Matches a command that does not end without help."""
SHOWS_WITHIN_S = 300.0


@dataclass(frozen=True)
class Step:
    """A block of commands, and the lines that their output must contain."""

    chapter: str
    commands: str
    shown: tuple[str, ...]


def read_steps(page: str) -> Iterator[Step]:
    for chapter in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        blocks = re.finditer(r"^```(\w*)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", chapter, re.MULTILINE | re.DOTALL)
        for block in blocks:
            if not block[1]:
                yield Step(chapter.partition("\n")[0], block[2], tuple((block[3] or "").splitlines()))


def is_shown(step: Step, output: str) -> bool:
    """Whether the page's lines occur in the output, in this order. Several spaces count as one."""
    lines = iter(" ".join(line.split()) for line in output.splitlines())
    wanted = (".*".join(re.escape(" ".join(part.split())) for part in line.split("…")) for line in step.shown)
    return all(any(re.fullmatch(pattern, line) for line in lines) for pattern in wanted)


class Machine:
    """A home folder with a shell. Exported variables are kept from block to block."""

    def __init__(self, home: Path, settings: str) -> None:
        home.mkdir(mode=0o711)
        self.home = home
        self._exports = home / ".exports"
        self._exports.write_text(settings)
        bare = {name: value for name, value in environment().items() if not name.startswith(("PORTOLAN_", "XDG_"))}
        cache = os.environ.get("PORTOLAN_CACHE") or os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        place = {"HOME": str(home), "PORTOLAN_DATA": str(home / "data"), "PORTOLAN_CACHE": cache}
        self._environment = {**bare, **place, "PATH": programs}
        self._started: list[subprocess.Popen[str]] = []
        self._readers: list[threading.Thread] = []

    def follow(self, step: Step, limit_s: float = LIMIT_S) -> str:
        """Type the commands and check their output against the page. Returns the output."""
        if STAYS.search(step.commands):
            return self._start(step)
        typed = f"set -euo pipefail\n. {self._exports}\n{step.commands}\nexport -p > {self._exports}"
        done = subprocess.run(
            ["bash", "-c", typed],
            cwd=self.home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
        refused = any(line.startswith(("portolan: ", "portolan-runner: ")) for line in step.shown)
        assert done.returncode == (2 if refused else 0), (step, done.stdout)
        assert is_shown(step, done.stdout), (step, done.stdout)
        return done.stdout

    def stop(self) -> None:
        """Press Ctrl-C for the programs that were started, as in their terminal."""
        for shell in reversed(self._started):
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGINT)
            shell.wait(LIMIT_S)
        for reader in self._readers:
            reader.join(LIMIT_S)

    def _start(self, step: Step) -> str:
        lines: list[str] = []
        shell = subprocess.Popen(
            ["bash", "-c", f"set -euo pipefail\n. {self._exports}\n{step.commands}"],
            cwd=self.home,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._started.append(shell)
        self._readers.append(threading.Thread(target=_read, args=(shell, lines)))
        self._readers[-1].start()

        def shows() -> bool:
            assert shell.poll() is None, (step, lines)
            return is_shown(step, "".join(lines))

        until(shows, f"what the page says of {step.commands!r}", SHOWS_WITHIN_S)
        return "".join(lines)


def _read(shell: subprocess.Popen[str], lines: list[str]) -> None:
    assert shell.stdout is not None
    with shell.stdout as stream:
        lines.extend(stream)
