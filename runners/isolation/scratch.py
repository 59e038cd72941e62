"""Scratch: the folder for temporary files of a runner's processes. It is deleted when the processes have ended.

Frameworks delete their temporary files at exit, but a runner kills its processes. In the host's own temporary folder,
these files would fill the disk, and cases would fail without any fault of their device.
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
    """The temporary folder of one runner, with a subfolder (``room``) for each child."""

    def __init__(self) -> None:
        """Create the folder. Raises ``OSError`` if that is impossible."""
        self.folder = tempfile.mkdtemp(prefix=f"{PREFIX}{processes.mark()}-")

    def room(self, name: str) -> str:
        """Create a subfolder for a child and return its path; the runner's folder if that is impossible."""
        path = os.path.join(self.folder, name)
        try:
            os.mkdir(path, 0o700)
        except OSError:
            return self.folder
        return path

    def clear(self, room: str) -> None:
        """Delete a child's folder. Call this when none of its processes is alive."""
        if room != self.folder:
            shutil.rmtree(room, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def move_in(room: str) -> None:
    """Use this folder for temporary files of this process and of the processes that it starts."""
    os.environ[VARIABLE] = room
    tempfile.tempdir = room


def sweep() -> None:
    """Remove what dead runners left on this machine: first their processes, then their folders."""
    processes.kill_orphans()
    table = processes.snapshot()
    with contextlib.suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            mark = path.name.removeprefix(PREFIX).partition("-")[0]
            if processes.is_abandoned(mark, table):
                shutil.rmtree(path, ignore_errors=True)
