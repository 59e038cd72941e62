"""A lock file for a folder that only one process may use at a time. It contains the process's pid."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

from coordinator.errors import DirectoryHeldError

if TYPE_CHECKING:
    from filelock import FileLock

NAME = "lock"
_held: set[FileLock] = set()
"""The locks that this process holds. A lock that is garbage-collected would be released, and two processes could use
the folder."""


class FolderLock:
    """The lock on the file ``lock`` in ``folder``. The file is created if it is missing. The kernel releases the lock
    when its process ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: FileLock | None = None

    def hold(self, advice: str) -> None:
        """Lock the folder until ``release``. Repeated calls have no effect.

        If another process has locked it, raises ``DirectoryHeldError`` with this process's pid and the advice.
        """
        if self.is_held:
            return
        # filelock is imported here, because it imports asyncio, and most commands only ask whether another process
        # has locked the folder.
        from filelock import FileLock, Timeout

        # On a file system without such locks, a lock file that a crash leaves behind would keep all processes out.
        lock = FileLock(self._folder / NAME, mode=0o600, thread_local=False, fallback_to_soft=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            holder = self._folder.joinpath(NAME).read_text(errors="replace").strip() or "unknown"
            raise DirectoryHeldError(
                f"data directory {self._folder} is held by another portolan (pid {holder}): {advice}"
            ) from None
        self._lock = lock
        _held.add(lock)
        self._folder.joinpath(NAME).write_text(f"{os.getpid()}\n")

    def release(self) -> None:
        """Release the lock if this process has it."""
        if self._lock is not None:
            self._lock.release()
            _held.discard(self._lock)

    @property
    def is_held(self) -> bool:
        return self._lock is not None and self._lock.is_locked

    @property
    def is_held_elsewhere(self) -> bool:
        """Whether another process has locked the folder. To find out, this method tries to lock the folder itself."""
        file = os.open(self._folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        else:
            return False
        finally:
            os.close(file)
