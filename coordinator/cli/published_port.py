"""Whether containers answer at a port of this machine: told by who listens there, before anything is sent to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FORWARDERS = ("docker-proxy", "rootlesskit", "rootlessport")
"""Programs of Docker and Podman that listen at a container's published port."""
_LISTENING = "0A"
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def is_published(port: int) -> bool:
    """Whether what listens at the port hands connections on to a container.

    Of a listener that is root's, as Docker's is, others cannot see which program it is: root reads their files anyway.
    Where nobody listens the kernel itself may hand on. Where the tables of the kernel cannot be read, nothing is known.
    """
    try:
        owners = set(_owners(port))
    except (OSError, ValueError, IndexError):
        return False
    if not owners or (owners == {0} and os.geteuid() != 0):
        return True
    return all(name in FORWARDERS for name in _programs(port))


def _owners(port: int) -> Iterator[int]:
    """The user ids of those who listen at the port."""
    for table in _TABLES:
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield int(fields[7])


def _programs(port: int) -> Iterator[str]:
    """The names of the programs that listen at the port; of another user's, nothing that is a name."""
    import psutil  # Not for commands that have a token of their own.

    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
            try:
                yield "" if connection.pid is None else psutil.Process(connection.pid).name()
            except psutil.Error:
                yield ""
