"""A program of its own: becomes another user if one is given, ties itself to its parent's life, then runs the command.

It is started by ``dying_with_us`` rather than as code between fork and exec, which must not run Python in a
process with threads. The order matters: the kernel forgets the wish for a signal at the parent's death when
the user changes, so the wish is made afterwards.
"""

from __future__ import annotations

import ctypes  # before the user changes, who may not be able to read Python's library
import os
import sys
from collections.abc import Collection, Sequence

Identity = tuple[int, int, Collection[int]]
"""A user, a group and the further groups."""


def dying_with_us(command: Sequence[str], signal: int, identity: Identity | None = None) -> list[str]:
    """The command line that runs ``command`` and has the kernel send it ``signal`` when we end.

    The kernel counts the *thread* that started it as its parent: start it from the main one. With an
    ``identity``, the command runs as that user, and what it makes is its own alone.
    """
    user = ":".join((str(identity[0]), str(identity[1]), ",".join(map(str, identity[2])))) if identity else ""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(signal)), user, *command]


def main(parent: int, signal: int, user: str, command: list[str]) -> None:
    if user:
        _become(*user.split(":"))
    die_with(parent, signal)
    os.execv(command[0], command)


def die_with(parent: int, signal: int) -> None:
    """Have the kernel send this process ``signal`` when the thread that started it ends."""
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
