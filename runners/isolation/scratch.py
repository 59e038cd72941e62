"""Scratch: the folder for temporary files of a runner's processes, removed when the processes end.

Frameworks delete their temporary files at exit, but a runner's processes are killed and never exit. In the host's own
temporary folder these files would fill the disk, and the next case would fail for a reason that is not its device's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from runners.isolation import processes

PREFIX = "portolan-runner-"
VARIABLE = "TMPDIR"


class Scratch:
    """The folder of one runner, with a room in it for each child."""

    def __init__(self) -> None:
        """Raises ``OSError`` if no folder can be made."""
        self.folder = tempfile.mkdtemp(prefix=f"{PREFIX}{processes.mark()}-")

    def room(self, name: str) -> str:
        """A separate folder for a child; the runner's own folder if no more can be made."""
        path = os.path.join(self.folder, name)
        try:
            os.mkdir(path, 0o700)
        except OSError:
            return self.folder
        return path

    def clear(self, room: str) -> None:
        """Delete a child's folder, once none of its processes is alive."""
        if room != self.folder:
            shutil.rmtree(room, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def move_in(room: str) -> None:
    """Use this folder for temporary files of this process and of the processes that it starts."""
    os.environ[VARIABLE] = room
    tempfile.tempdir = room


def sweep() -> None:
    """Remove the leftovers of dead runners of this machine: their processes, then their folders."""
    processes.kill_orphans()
    table = processes.snapshot()
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            mark = path.name.removeprefix(PREFIX).partition("-")[0]
            if processes.is_abandoned(mark, table):
                shutil.rmtree(path, ignore_errors=True)
