"""Classifies PostgreSQL's errors: an outage, a conflict that a retry resolves, or values that PostgreSQL rejects.

A long-running loop catches ``DATABASE_AWAY`` and retries. Over HTTP such an error is an outage (503), unless
``is_outage`` says that the statement itself was wrong.
"""

from __future__ import annotations

import asyncpg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from coordinator.errors import DatabaseAwayError

DATABASE_AWAY: tuple[type[Exception], ...] = (
    DatabaseAwayError,  # no connection could be made
    DBAPIError,  # what SQLAlchemy makes of most errors of asyncpg
    PoolTimeoutError,  # every connection of the pool is in use; no DBAPIError
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # among them ConnectionError, and the TimeoutError of a client-side limit
)

_FAULTS_OF_THE_STATEMENT = ("0A", "21", "22", "23", "42")
"""Classes of SQLSTATE that a healthy PostgreSQL returns for a wrong statement. Retrying does not help."""

_CONFLICTS = frozenset({"40P01", "40001"})
"""The SQLSTATEs of a deadlock and of a serialization failure."""

_NO_ROOM = frozenset({"53100", "58030"})
"""SQLSTATEs of a full disk and of a failing disk."""


def is_outage(error: BaseException) -> bool:
    """Whether the request may succeed if it is repeated soon, because the error comes from PostgreSQL's state or the
    network."""
    state = sqlstate(error)
    cause = error.orig.__cause__ if isinstance(error, DBAPIError) and error.orig is not None else error
    # asyncpg does not send a value that fits no column. Its error is an InterfaceError and also a ValueError.
    if isinstance(cause, ValueError) or (state is not None and state[:2] in _FAULTS_OF_THE_STATEMENT):
        return False
    # Any other OSError comes from a disk.
    return isinstance(error, ConnectionError | TimeoutError) or (
        isinstance(error, DATABASE_AWAY) and not isinstance(error, OSError)
    )


def is_conflict(error: BaseException) -> bool:
    """Whether the error is a deadlock or a serialization failure. These occur normally now and then, and a retry
    resolves them."""
    return isinstance(error, DBAPIError) and sqlstate(error) in _CONFLICTS


def has_no_room(error: BaseException) -> bool:
    """Whether PostgreSQL responds but its disk is full. Reads then work, and most writes fail."""
    return sqlstate(error) in _NO_ROOM


def is_refused(error: BaseException) -> bool:
    """Whether PostgreSQL will never accept these values: a text with NUL, or numbers that are out of range or violate
    one of Portolan's constraints."""
    state = (sqlstate(error) or "") if isinstance(error, DBAPIError) else ""
    return state.startswith("22") or state == "23514"


def is_unstorable(error: BaseException) -> bool:
    """Whether PostgreSQL will never accept this row, because of its values or any constraint."""
    return (sqlstate(error) or "").startswith(("22", "23"))


def sqlstate(error: BaseException) -> str | None:
    """The SQLSTATE of the error; None if PostgreSQL did not respond."""
    state = getattr(getattr(error, "orig", error), "sqlstate", None)
    return state if isinstance(state, str) else None
