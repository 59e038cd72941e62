"""Bringing a database to the schema that this code expects: Alembic, run in the process.

The scripts are in ``migrations/``; ``alembic`` on the command line runs the same ones on
``PORTOLAN_DATABASE_URL``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from coordinator.database.connection import engine
from coordinator.database.outage import DATABASE_AWAY, reason_of
from coordinator.errors import DatabaseError
from coordinator.reference.service import load

SCRIPTS = Path(__file__).parents[1] / "migrations"
LOCK = 0x706F72746F6C616E  # "portolan"
"""Advisory lock: of several coordinators that start at once, one migrates and the rest wait."""
TIMEOUT_S = 300.0

T = TypeVar("T")


def configuration(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head() -> str:
    """The revision that this code expects."""
    revision = ScriptDirectory.from_config(configuration()).get_current_head()
    assert revision is not None
    return revision


async def current(dsn: str) -> str | None:
    """The revision that the database has, or None if nothing of ours is in it."""
    return await _on(dsn, _current)


async def upgrade(dsn: str) -> None:
    """Bring the database up to ``head()``, its views to ``views.py`` and its references to the data files.

    In one transaction, and nothing is done where all of it is there.
    """
    await _on(dsn, _upgrade)


async def _on(dsn: str, work: Callable[[Connection], T]) -> T:
    pool = engine(dsn, pool_size=1, application_name="portolan migration", statement_timeout_s=TIMEOUT_S)
    try:
        async with pool.begin() as connection:
            return await connection.run_sync(work)
    except DATABASE_AWAY as error:
        raise DatabaseError(f"the database at {_place(dsn)} cannot be used: {reason_of(error)}") from error
    finally:
        await pool.dispose()


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: Connection) -> None:
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    revision = _current(connection)
    known = {script.revision for script in ScriptDirectory.from_config(configuration()).walk_revisions()}
    if revision is not None and revision not in known:
        raise DatabaseError(
            f"the database has revision {revision}, which this Portolan does not know: a newer one made it, or one "
            "from before the first release; upgrade Portolan, or use another database "
            "(--data-dir, PORTOLAN_DATABASE_URL)"
        )
    # A table that somebody reads must not stop everybody behind us: give up soon, and say so.
    connection.execute(text("set local lock_timeout = '4s'"))
    command.upgrade(configuration(connection), "head")
    load(connection)


def _place(dsn: str) -> str:
    parts = urlsplit(dsn)
    return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
