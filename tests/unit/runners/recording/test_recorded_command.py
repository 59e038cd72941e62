"""Parsing the command to record, as a user types it."""

from __future__ import annotations

import pytest

from runners.errors import UsageError
from runners.recording.command import Command


@pytest.mark.parametrize(
    ("command_line", "command"),
    [
        ("python train.py --steps 2", Command(None, (), "file", "train.py", ("--steps", "2"))),
        ("python3.11 -u -X dev train.py", Command(None, ("-u", "-X", "dev"), "file", "train.py", ())),
        ("python -Wignore -m pkg.train -m x", Command(None, ("-Wignore",), "module", "pkg.train", ("-m", "x"))),
        ("/opt/v/bin/python -c pass -v", Command("/opt/v/bin/python", (), "text", "pass", ("-v",))),
        ("python -mpkg", Command(None, (), "module", "pkg", ())),
    ],
)
def test_a_command_of_python_is_taken_apart(command_line: str, command: Command) -> None:
    assert Command.parse(command_line.split()) == command


@pytest.mark.parametrize(
    ("command_line", "message"),
    [
        ("", "no command was given: write the command after --"),
        ("torchrun train.py", "'torchrun' is not Python"),
        ("python", "names no script"),
        ("python -m", "names no script"),
        ("python --version", "an option of Python that recordings do not support"),
    ],
)
def test_another_command_is_refused_in_one_line(command_line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Command.parse(command_line.split())
