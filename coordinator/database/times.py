"""The time limits of a process that waits for PostgreSQL, except the limits of its statements. No I/O."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DatabaseTimes:
    """Every time in seconds, with its default and its reason."""

    connect_s: float = 10.0
    """Time limit for connecting. A server in recovery refuses earlier."""
    answer_margin_s: float = 5.0
    """The client waits this much longer than the server's time limit for the response to a statement."""
    cancel_s: float = 2.0
    """Time limit for cancelling a statement. A healthy server ends the statement at once. After this time the
    connection is closed."""
    close_s: float = 2.0
    """Time limit for the server's part in closing a connection. After this time the connection is dropped."""
    ping_s: float = 5.0
    """Time limit for the response to a ping."""
    ping_every_s: float = 20.0
    """Interval of pings on the listening connection, which sends nothing else."""


DEFAULT_DATABASE_TIMES = DatabaseTimes()
