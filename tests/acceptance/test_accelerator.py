"""A new accelerator in three steps: the commands of the how-to, as they stand there, on a real coordinator.

The environment with the example is set up by the page's own first command; after the first
time it is there.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.coordinator_process import free_port
from tests.portolan_process import COMMAND, Portolan
from tests.runner_process import ROOT
from tests.waiting import LIMIT_S

PAGE = ROOT / "docs" / "how-to" / "add-an-accelerator.md"
SETUP_LIMIT_S = 1_200.0
CALL_LIMIT_S = 300.0
PROGRAMS = {"portolan": COMMAND, "portolan-runner": [sys.executable, "-m", "runners"]}


def commands() -> list[list[str]]:
    """Every line of the page's blocks that calls one of Portolan's programs, in order."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks if not language for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(tuple(PROGRAMS))]


class Reader:
    """A reader who types the page's commands, with another port than the page's."""

    def __init__(self, portolan: Portolan, place: Path) -> None:
        self.variables = portolan.variables
        self.place = place
        self.port = str(free_port())
        self.lines = iter(commands())
        (place / "examples").symlink_to(ROOT / "examples")
        (place / "secret").write_text("a secret of the reader's\n")

    def _next(self, *beginning: str) -> list[str]:
        words = next(self.lines)
        assert tuple(words[: len(beginning)]) == beginning, f"the page goes on with {words}"
        return [*PROGRAMS[words[0]], *(word.replace("8790", self.port) for word in words[1:])]

    def types(self, *beginning: str, limit_s: float = CALL_LIMIT_S) -> str:
        """Type the next line of the page, which must begin with this text. Returns its output."""
        process = subprocess.run(
            self._next(*beginning),
            cwd=self.place,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
        assert process.returncode == 0, (process.stdout, process.stderr)
        return process.stdout

    @contextmanager
    def serves(self) -> Iterator[None]:
        """Type the next line, which runs in the foreground, and press Ctrl-C at the end."""
        process = subprocess.Popen(
            self._next("portolan-runner", "serve"),
            cwd=self.place,
            env=self.variables,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the runner did not start; its words are above"
            yield
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=LIMIT_S)


@pytest.fixture
def portolan(directory: Path) -> Iterator[Portolan]:
    """A coordinator without runners."""
    portolan = Portolan(directory.parent)
    up = portolan.up("--targets", "", "--port", "0")
    yield portolan
    assert up.stop() == 0, up.said


@pytest.mark.level(2)
def test_the_page_puts_the_toy_on_the_chart(portolan: Portolan, tmp_path: Path) -> None:
    reader = Reader(portolan, tmp_path)
    environment = reader.types("portolan-runner", "setup", limit_s=SETUP_LIMIT_S).strip()
    assert (Path(environment) / "bin" / "python").exists()
    case_list = reader.types("portolan-runner", "cases")
    assert {line.split("/")[0] for line in case_list.splitlines()} == {
        f"{suite}\ttorch.sum" for suite in ("paper", "library", "library_quick", "docs", "pairs")
    }
    run_output = reader.types("portolan-runner", "run")
    assert run_output.startswith("passed ")
    assert "on_device on toy:0" in run_output

    with reader.serves():
        check_output = reader.types("portolan", "runner", "check")
        assert check_output.startswith("passed ")
        assert "FAILED" not in check_output
    with reader.serves():
        assert "torch@2.9.0/toy" in reader.types("portolan", "runner", "register")
        matrix = reader.types("portolan", "submit")
    assert next(reader.lines, None) is None, "the page has a command that nobody typed"

    assert "torch@2.9.0/toy: simulated" in matrix
    number = matrix.splitlines()[0]
    rows = json.loads(portolan.ask("results", number, "--format", "json"))
    assert {row["simulated"] for row in rows} == {True}
    sums, sorts, convolutions = (
        {(row["verdict"], row["placement"], row["cause"]) for row in rows if row["function"] == function}
        for function in ("torch.sum", "torch.argsort", "torch.nn.Conv2d")
    )
    missing = {("failed", "unknown", "type"), ("failed", "unknown", "not_implemented")}
    assert sums == {("passed", "on_device", None), *missing}
    # Of the sort of a single number nobody can say whether the host made it.
    assert sorts == {("passed", "fell_back", None), ("passed", "unknown", None), *missing}
    assert convolutions == {("passed", "on_device", None), *missing}
    assert {row["cause"] for row in rows if "bfloat16" in row["case"]} == {"type"}
    assert "silently ran it on the host" in matrix
