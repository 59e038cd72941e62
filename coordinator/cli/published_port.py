"""Decides whether a container listens at a port of this machine. Looks at the listening process, before anything is
sent to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FORWARDERS = ("docker-proxy", "rootlesskit", "rootlessport")
"""Programs of Docker and Podman that listen on a container's published port."""
_LISTENING = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def is_published(port: int) -> bool:
    """Whether the listener at the port may forward connections to a container.

    This is also true in two unclear cases: if root listens, because Docker listens as root, other users cannot see
    root's programs, and root can read the user's files anyway; and if no process listens, because the kernel itself may
    forward. It is false if the kernel's tables cannot be read.
    """
    try:
        owners = set(_owners(port))
    except (OSError, ValueError, IndexError):
        return False
    if not owners or (owners == {0} and os.geteuid() != 0):
        return True
    return all(name in FORWARDERS for name in _programs(port))


def _owners(port: int) -> Iterator[int]:
    """The user ids of the processes that listen at the port."""
    for table in _TABLES:
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield int(fields[7])


def _programs(port: int) -> Iterator[str]:
    """The names of the programs that listen at the port. The name is empty if the program belongs to another user."""
    import psutil  # not needed by commands that have a token of their own

    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
            try:
                yield "" if connection.pid is None else psutil.Process(connection.pid).name()
            except psutil.Error:
                yield ""
