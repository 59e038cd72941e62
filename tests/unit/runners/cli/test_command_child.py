"""The reports of a command are read to their end, however the command ends."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time

import pytest

from runners.cli.command_child import ChildLines


@pytest.fixture
def lines() -> ChildLines:
    """The lines of a process that wrote three lines and has ended."""
    ours, theirs = os.pipe()
    script = f"import os; os.write({theirs}, b'one\\ntwo\\nthree\\nhalf')"
    process = subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs])
    os.close(theirs)
    process.wait()
    return ChildLines(ours, process)


def test_an_interrupted_reader_reads_the_rest_later(lines: ChildLines) -> None:
    reader = lines.until(math.inf)
    assert next(reader) == b"one"
    with pytest.raises(KeyboardInterrupt):
        reader.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert list(lines.until(math.inf)) == [b"two", b"three"]


def test_lines_that_wait_at_the_deadline_are_read_later(lines: ChildLines) -> None:
    assert list(lines.until(time.monotonic())) == []
    assert list(lines.until(math.inf)) == [b"one", b"two", b"three"]
