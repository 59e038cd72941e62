"""A program of its own: becomes another user, ties itself to its parent's life, then becomes PostgreSQL.

Started as ``python -I -S launcher.py UID GID GROUPS PARENT SIGNAL PROGRAM ARGUMENTS…`` rather
than as code between fork and exec, which must not run Python in a process with threads. The
order matters: the kernel forgets the wish for a signal at the parent's death when the user
changes, so it is made afterwards.
"""

import ctypes  # before the user changes, who may not be able to read Python's library
import os
import sys


def main(uid: int, gid: int, groups: list[int], parent: int, signal: int, command: list[str]) -> None:
    if os.geteuid() != uid:
        os.setgroups(groups)
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    os.umask(0o077)
    if signal and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            sys.exit("the parent is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        int(sys.argv[2]),
        [int(each) for each in sys.argv[3].split(",") if each],
        int(sys.argv[4]),
        int(sys.argv[5]),
        sys.argv[6:],
    )
