"""A program that becomes another user if one is named, arranges to end with its parent, and then runs a command.

``dying_with_us`` returns the command line that starts this program. Doing the same between fork and exec would run
Python in a forked process of a program with threads, which is not safe. The user is changed first, because the change
resets the kernel's parent death signal.
"""

from __future__ import annotations

import ctypes  # imported before the user changes, because the new user may not be able to read Python's library
import os
import sys
from collections.abc import Collection, Sequence

Identity = tuple[int, int, Collection[int]]
"""A user id, a group id and the supplementary group ids."""


def dying_with_us(command: Sequence[str], signal: int, identity: Identity | None = None) -> list[str]:
    """The command line that runs ``command`` and makes the kernel send it ``signal`` when this process ends.

    The kernel regards the *thread* that starts the command as its parent, so the command must be started from the main
    thread. With an ``identity``, the command runs as this user, and its files are private.
    """
    user = ":".join((str(identity[0]), str(identity[1]), ",".join(map(str, identity[2])))) if identity else ""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(signal)), user, *command]


def main(parent: int, signal: int, user: str, command: list[str]) -> None:
    if user:
        _become(*user.split(":"))
    die_with(parent, signal)
    os.execv(command[0], command)


def die_with(parent: int, signal: int) -> None:
    """Make the kernel send this process ``signal`` when the thread that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit("the parent is gone")


def _become(uid: str, gid: str, groups: str) -> None:
    if os.geteuid() != int(uid):
        os.setgroups([int(group) for group in groups.split(",") if group])
        os.setresgid(int(gid), int(gid), int(gid))
        os.setresuid(int(uid), int(uid), int(uid))
    os.umask(0o077)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
