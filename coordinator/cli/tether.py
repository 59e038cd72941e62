"""A program of its own: ties itself to its parent's life, then becomes the given command.

Started as ``python -I -S tether.py PARENT COMMAND…`` rather than as code between fork and
exec, which must not run Python in a process with threads.
"""

import ctypes
import os
import signal
import sys


def main(parent: int, command: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGTERM))  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit("the parent is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
