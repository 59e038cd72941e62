"""The lock of a folder that one process may use at a time; the process's pid stands in it."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from coordinator.errors import DirectoryHeldError

NAME = "lock"
_held: set[FileLock] = set()
"""The locks that this process holds. A forgotten one would let go, and the database be in two hands."""


class FolderLock:
    """The file ``lock`` in ``folder``, made where it is missing. The kernel lets go of it when its holder ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Where a file system has no such lock, a file that a crash leaves would keep everybody out.
        self._lock = FileLock(folder / NAME, mode=0o600, thread_local=False, fallback_to_soft=False)

    def hold(self, advice: str) -> None:
        """Hold the folder until ``release``, however often this is called.

        Raises ``DirectoryHeldError``, with its pid and the advice, if another process holds it.
        """
        if self.is_held:
            return
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            holder = self._folder.joinpath(NAME).read_text(errors="replace").strip() or "unknown"
            raise DirectoryHeldError(
                f"data directory {self._folder} is held by another portolan (pid {holder}): {advice}"
            ) from None
        _held.add(self._lock)
        self._folder.joinpath(NAME).write_text(f"{os.getpid()}\n")

    def release(self) -> None:
        """Let go of the folder, if it is held."""
        self._lock.release()
        _held.discard(self._lock)

    @property
    def is_held(self) -> bool:
        return self._lock.is_locked

    @property
    def is_held_elsewhere(self) -> bool:
        """True while another process holds the folder."""
        try:
            with self._lock.acquire(blocking=False):
                return False
        except Timeout:
            return True
