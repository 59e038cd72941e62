"""Parses the command to record: Python with a script, a module or a text, as a person types it. Does no I/O."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runners.errors import UsageError

_PYTHON = re.compile(r"python(3(\.\d+)?t?)?")
_WITH_VALUE = ("-W", "-X")
_FLAGS = re.compile(r"-[bBdEIiOPqRsSuvx]+")
FILE, MODULE, TEXT = "file", "module", "text"
"""The kinds of targets that Python runs."""
RECORD, RECORD_VALUES, WATCH = "record", "record-values", "watch"
"""The kinds of jobs of a child: record a command, record a command with the values of its arrays, or watch a command on
a device."""
AT = "@"
"""Separates the kind of a job from its device. The command is watched on this device, or recorded for it."""


@dataclass(frozen=True)
class Command:
    """A parsed command line of Python."""

    interpreter: str | None
    """The path of the Python in the command. None for a name without a path, which stands for the Python that has the
    framework."""
    options: tuple[str, ...]
    """The options of the interpreter itself."""
    kind: str
    target: str
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, words: Sequence[str]) -> Command:
        """Parse a command. Raises ``UsageError`` for a command that does not run Python."""
        if not words:
            raise UsageError(
                "no command was given: write the command after --, for example: -- python train.py --steps 2"
            )
        program, *rest = words
        if not _PYTHON.fullmatch(os.path.basename(program)):
            raise UsageError(
                f"{program!r} is not Python: begin the command to record with python, as in python train.py"
            )
        options: list[str] = []
        while rest and rest[0].startswith("-") and rest[0][:2] not in ("-c", "-m"):
            option = rest.pop(0)
            if option[:2] in _WITH_VALUE:
                options += [option] if len(option) > 2 or not rest else [option, rest.pop(0)]
            elif _FLAGS.fullmatch(option):
                options.append(option)
            else:
                raise UsageError(f"{option!r} is an option of Python that recordings do not support; remove it")
        kind = {"-c": TEXT, "-m": MODULE}.get(rest[0][:2] if rest else "", FILE)
        if kind != FILE:
            rest = [rest[0][2:], *rest[1:]] if len(rest[0]) > 2 else rest[1:]
        if not rest:
            raise UsageError("the command names no script: write python train.py, python -m package or python -c TEXT")
        return cls(program if os.sep in program else None, tuple(options), kind, rest[0], tuple(rest[1:]))
