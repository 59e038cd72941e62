"""A disk of a test's own that can be full."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.database.embedded import stop_leftovers


class SmallDisk:
    """A file system at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while True:
                stream.write(bytes(4_096))

    def free(self) -> None:
        self._ballast.unlink()


@pytest.fixture
def small_disk(place: Path) -> Iterator[SmallDisk]:
    disk = place / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m,mode=0711", "portolan", str(disk)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("cannot mount a small disk: needs root and CAP_SYS_ADMIN")
    yield SmallDisk(disk)
    stop_leftovers(disk)
    subprocess.run(["umount", str(disk)], check=True)
