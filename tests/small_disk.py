"""A small disk for one test, which can be full, enlarged or read-only."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path


class SmallDisk:
    """A file system of a few megabytes if root can mount one, otherwise a plain folder."""

    def __init__(self, path: Path, size: int, mode: str) -> None:
        self.path = path
        path.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode={mode}", "tmpfs", str(path)]
        self.mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0

    def fill(self) -> None:
        with contextlib.suppress(OSError), open(self.path / "filling", "wb", buffering=0) as filling:
            while True:
                filling.write(bytes(1 << 20))

    def make_room(self) -> None:
        (self.path / "filling").unlink(missing_ok=True)

    def remount(self, how: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{how}", str(self.path)], capture_output=True, check=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)
