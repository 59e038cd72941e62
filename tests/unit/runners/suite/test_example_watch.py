"""The watch over examples: which of Python's audit events cost an example its statement."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from freezing.common.watch import ASKS, FILES, PLOTS, PROCESSES, SOCKETS, refusal


@pytest.mark.parametrize(
    ("event", "arguments", "reason"),
    [
        ("open", ("/tmp/model.pt", "w", os.O_WRONLY | os.O_CREAT), FILES),
        ("open", ("/etc/passwd", "r", os.O_RDONLY), FILES),
        ("open", (os.__file__, "r", os.O_RDONLY), None),
        ("open", (os.__file__, "w", os.O_WRONLY), FILES),
        ("open", ("/dev/null", "w", os.O_WRONLY), None),
        ("open", (3, "r", 0), None),
        ("os.remove", ("model.pt", -1), FILES),
        ("socket.connect", (None, ("example.org", 80)), SOCKETS),
        ("os.fork", (), PROCESSES),
        ("subprocess.Popen", ("gcc", [], None, None), PROCESSES),
        ("import", ("matplotlib.pyplot", None, None, None, None), PLOTS),
        ("import", ("math", None, None, None, None), None),
        ("builtins.input", ("?",), ASKS),
        ("object.__getattr__", (sys, "path"), None),
    ],
)
def test_an_event_is_refused_by_its_kind(event: str, arguments: tuple[Any, ...], reason: str | None) -> None:
    assert refusal(event, arguments) == reason


WRITER = """
import importlib.util, os, tempfile

def load(source):
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location("made", file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
WATCHED = """
import sys, tempfile
sys.path.insert(0, {folder!r})
import writer
from runners.errors import LeftOutError
from freezing.common.watch import ExampleGuard

watch = ExampleGuard({writers!r})
with watch.watching():
    print(writer.load("seven = 7").seven, len(watch.written) > 0)
try:
    with watch.watching():
        tempfile.NamedTemporaryFile()
except LeftOutError as error:
    print(error.kind)
"""


def test_a_writer_of_the_framework_writes_and_an_example_does_not(tmp_path: Path) -> None:
    """In a process of its own, as no audit hook is taken down again."""
    folder = tmp_path / "framework"
    folder.mkdir()
    (folder / "writer.py").write_text(WRITER)
    program = WATCHED.format(folder=str(folder), writers=("framework/writer.py",))
    writer_process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert writer_process.stdout == f"7 True\n{FILES}\n"
    example_process = subprocess.run(
        [sys.executable, "-c", WATCHED.format(folder=str(folder), writers=())], capture_output=True, text=True
    )
    assert "LeftOutError" in example_process.stderr
