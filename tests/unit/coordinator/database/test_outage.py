"""Distinguishes database outages, after which a statement is tried again, from errors of the statement."""

from __future__ import annotations

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, InterfaceError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from coordinator.database.outage import DATABASE_AWAY, is_outage
from coordinator.errors import DatabaseAwayError, NotFoundError, reason_of


def wrap_error(error: Exception) -> DBAPIError:
    """An asyncpg error in the form in which SQLAlchemy raises it."""
    driver_error = Exception(str(error))
    driver_error.__cause__ = error
    driver_error.sqlstate = getattr(error, "sqlstate", None)  # type: ignore[attr-defined]
    return InterfaceError("SELECT 1", {}, driver_error)


OUTAGES = [
    DatabaseAwayError("connection refused"),
    PoolTimeoutError("QueuePool limit reached"),
    ConnectionRefusedError("refused"),
    ConnectionResetError(),
    TimeoutError(),
    asyncpg.CannotConnectNowError("the database system is starting up"),
    asyncpg.TooManyConnectionsError("sorry, too many clients already"),
    asyncpg.InterfaceError("connection is closed"),
    asyncpg.InternalClientError("got into an unknown state"),
    *(
        wrap_error(kind("…"))
        for kind in (
            asyncpg.AdminShutdownError,
            asyncpg.CrashShutdownError,
            asyncpg.QueryCanceledError,
            asyncpg.LockNotAvailableError,
            asyncpg.DeadlockDetectedError,
            asyncpg.IdleInTransactionSessionTimeoutError,
            asyncpg.DiskFullError,
            asyncpg.ConnectionDoesNotExistError,
            asyncpg.InterfaceError,
        )
    ),
]
FAULTS = [
    wrap_error(asyncpg.UndefinedTableError("no such table")),
    wrap_error(asyncpg.NumericValueOutOfRangeError("out of range")),
    wrap_error(asyncpg.UniqueViolationError("there is one")),
    wrap_error(asyncpg.DataError("value out of int32 range")),
    asyncpg.UndefinedColumnError("no such column"),
    NotFoundError("no such campaign"),
    OSError(28, "no space left on device"),
    ValueError("a fault of ours"),
]


@pytest.mark.parametrize("error", OUTAGES, ids=repr)
def test_an_outage(error: Exception) -> None:
    assert isinstance(error, DATABASE_AWAY)
    assert is_outage(error)
    assert reason_of(error)


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_no_outage(error: Exception) -> None:
    assert not is_outage(error)
