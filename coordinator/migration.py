"""Upgrades a database to the schema that this code expects. Alembic runs in this process.

The scripts are in ``migrations/``. The command ``alembic`` runs the same scripts on ``PORTOLAN_DATABASE_URL``.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from coordinator.database.connection import run_once
from coordinator.database.roles import become_owner
from coordinator.database.schema_digest import require_same
from coordinator.errors import DatabaseError
from coordinator.reference.service import load

SCRIPTS = Path(__file__).parents[1] / "migrations"
LOCK = 0x706F72746F6C616E  # "portolan"
"""An advisory lock. If several coordinators start at the same time, one of them migrates and the others wait."""


def configuration(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(configuration())


def head() -> str:
    """Return the revision that this code expects."""
    revision = scripts().get_current_head()
    assert revision is not None
    return revision


async def current(dsn: str) -> str | None:
    """Return the revision of the database; None if the database has no tables of Portolan."""
    return await run_once(dsn, _current)


async def require_upgraded(dsn: str) -> None:
    """Raise ``DatabaseError`` unless the database has the tables that this code expects."""
    await run_once(dsn, _require_upgraded)


async def upgrade(dsn: str, *, require_roles: bool = False) -> str | None:
    """Upgrade the database to ``head()``, with the views, references and privileges that the code declares.

    Everything happens in one transaction, which writes nothing if the database is up to date. If roles are missing,
    returns one line about them, or with ``require_roles`` raises an error. Otherwise returns None.
    """
    return await run_once(dsn, lambda connection: _upgrade(connection, require_roles))


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _require_upgraded(connection: Connection) -> None:
    revision = _current(connection)
    if revision != head():
        raise DatabaseError(
            f"the database is at revision {revision or 'none'}, and this Portolan needs {head()}: if the database is "
            "older, run `portolan db upgrade`; if it is newer, use the version of Portolan that last upgraded it"
        )
    require_same(connection, scripts(), head())


def _upgrade(connection: Connection, require_roles: bool) -> str | None:
    connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    revision = _current(connection)
    all_revisions = {script.revision for script in scripts().walk_revisions()}
    if revision is not None and revision not in all_revisions:
        raise DatabaseError(
            f"this Portolan does not know the revision {revision} of the database, which a newer Portolan created, or "
            "one from before the first release: upgrade Portolan, or use another database "
            "(--data-dir, PORTOLAN_DATABASE_URL)"
        )
    if revision is not None:
        require_same(connection, scripts(), revision)
    # Waiting for a lock blocks every later statement on the table, so give up soon with an error.
    connection.execute(text("set local lock_timeout = '4s'"))
    lacking = become_owner(connection)
    if lacking and require_roles:
        raise DatabaseError(lacking)
    command.upgrade(configuration(connection), "head")
    load(connection)
    return lacking
