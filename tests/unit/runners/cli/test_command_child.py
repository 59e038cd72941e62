"""The reports of a command are read to their end, however the command ends."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from runners.cli.command_child import ChildLines, noting_interrupts


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
    reader.close()  # type: ignore[attr-defined]
    assert list(lines.until(math.inf)) == [b"two", b"three"]


def test_ctrl_c_ends_the_reading_between_two_reports(lines: ChildLines) -> None:
    with noting_interrupts() as interrupts:
        assert list(lines.until(math.inf, interrupts)) == [b"one", b"two", b"three"]
        os.kill(os.getpid(), signal.SIGINT)
        assert list(interrupts) == [signal.SIGINT]
        assert list(lines.until(math.inf, interrupts)) == []
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_ends_the_wait_for_a_command_that_closed_its_pipe() -> None:
    ours, theirs = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    os.close(theirs)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with noting_interrupts() as interrupts:
            timer.start()
            assert list(ChildLines(ours, process).until(math.inf, interrupts)) == []
    finally:
        process.kill()
        process.wait()


def test_lines_that_wait_at_the_deadline_are_read_later(lines: ChildLines) -> None:
    assert list(lines.until(time.monotonic())) == []
    assert list(lines.until(math.inf)) == [b"one", b"two", b"three"]
