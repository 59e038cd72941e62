"""The times that a process waits for PostgreSQL, besides the limits of its statements. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DatabaseTimes:
    """Every time in seconds, with its default and its reason."""

    connect_s: float = 10.0
    """Until a connection is made; a server that recovers refuses it sooner."""
    answer_margin_s: float = 5.0
    """How much longer than the server's own limit we wait for the answer to a statement."""
    cancel_s: float = 2.0
    """A server that is well ends a cancelled statement at once; past this, its connection is closed."""
    ping_s: float = 5.0
    """For the answer of a connection that is asked whether it still has a server."""
    ping_every_s: float = 20.0
    """Interval of pings on the listening connection, which otherwise sends nothing."""


DEFAULT_DATABASE_TIMES = DatabaseTimes()
