"""On a real terminal with 80 columns, progress and the matrix fit, and no text is cut."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.portolan_process import COMMAND, Portolan, Up

COLUMNS = 80
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def portolan(place: Path) -> Portolan:
    return Portolan(place / "data", TERM="xterm-256color")


@pytest.fixture
def up(portolan: Portolan) -> Iterator[Up]:
    running = portolan.up("--targets", "hazards/cpu", "--port", "0")
    yield running
    assert running.stop() == 0, running.said


def on_a_terminal(portolan: Portolan, *arguments: str) -> list[str]:
    """The lines that a command writes to a terminal, without colors and cursor movements."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    variables = {name: value for name, value in portolan.variables.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen([*COMMAND, *arguments], env=variables, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    output = b""
    try:
        while chunk := os.read(ours, 65_536):
            output += chunk
    except OSError:  # Linux says so when the last process has closed the other side.
        pass
    finally:
        os.close(ours)
    assert process.wait(60) == 0, output.decode()
    return re.split(r"[\r\n]+", ESCAPES.sub("", output.decode()))


def matrix(lines: list[str]) -> list[str]:
    """The lines of a matrix, from its heading to the end of its legend, which may wrap."""
    (first,) = [place for place, line in enumerate(lines) if line.startswith("function")]
    ends = range(first + 1, len(lines) + 1)
    return next(lines[first:end] for end in ends if "over common cases" in " ".join(map(str.strip, lines[first:end])))


@pytest.mark.usefixtures("up")
def test_a_campaign_is_watched_and_its_matrix_read_on_eighty_columns(portolan: Portolan) -> None:
    functions = ["--functions", "hazards.add hazards.gone hazards.fail hazards.segfault"]
    terminal_lines = on_a_terminal(portolan, "submit", "--suite", "hazards", "--runs", "2", *functions, "--wait")
    before = terminal_lines[: terminal_lines.index(matrix(terminal_lines)[0])]
    assert [line for line in [*before, *matrix(terminal_lines)] if len(line) > COLUMNS] == []
    (bar,) = {line for line in terminal_lines if line.endswith(" 14/14")}
    assert bar.startswith("hazards@1.0/cpu ━")
    assert "  6 failing" in [line.rstrip() for line in terminal_lines]

    (number,) = [line for line in terminal_lines if line.isdigit()]
    narrow = matrix(on_a_terminal(portolan, "results", number))
    assert [line for line in narrow if len(line) > COLUMNS] == []
    assert "…" not in "".join(narrow)
    wide = matrix(portolan.ask("results", number).splitlines())
    assert sorted(re.findall(r"[\w./@×]+", " ".join(narrow))) == sorted(re.findall(r"[\w./@×]+", " ".join(wide)))
