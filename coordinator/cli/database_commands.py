"""``portolan db``: connect to the database with psql or pandas, upgrade it, back it up."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from coordinator.cli.directory import DataDirectory, Whereabouts, kept_secret
from coordinator.cli.shared_options import DataDir
from coordinator.configuration.variables import variables
from coordinator.errors import DatabaseError

app = typer.Typer(no_args_is_help=True, help="The database.")


class DatabaseRole(StrEnum):
    reading = "reading"
    application = "application"
    migration = "migration"


@app.command("url")
def url(
    data_dir: DataDir = None,
    role: Annotated[
        DatabaseRole,
        typer.Option(
            help="Role: `migration` owns the tables (for backups and alembic), `application` changes rows, `reading` "
            "only reads."
        ),
    ] = DatabaseRole.reading,
) -> None:
    """Print the DSN of the running instance's database, for a role (default: read-only): psql "$(portolan db url)"."""
    directory = DataDirectory(data_dir)
    running = directory.running()
    if running is None:
        raise DatabaseError(f"no portolan runs in {directory.path}: start it with `portolan up`")
    print(running.dsn if role is DatabaseRole.reading else _embedded_dsn(directory, running, role))


def _embedded_dsn(directory: DataDirectory, running: Whereabouts, role: DatabaseRole) -> str:
    from coordinator.database.embedded import dsn_of

    reading, dsn = (dsn_of(directory.postgres, f"portolan_{name}") for name in (DatabaseRole.reading, role))
    if dsn is None or running.dsn != reading:
        raise DatabaseError("this instance uses your own database: connect with the roles that you created there")
    return dsn


@app.command("roles")
def roles(
    passwords: Annotated[
        Path,
        typer.Option(
            help="Folder with a password file for each role, named after the role; missing files are created."
        ),
    ],
) -> None:
    """Create Portolan's roles, also if some exist. The user in $PORTOLAN_DATABASE_URL must be a superuser, or the owner
    of the database with CREATEROLE."""
    from coordinator.configuration.settings import Settings
    from coordinator.database.grants import ROLES
    from coordinator.database.roles import provide

    dsn = Settings.from_environment().database_url
    asyncio.run(provide(dsn, {role: _password(passwords / role) for role in ROLES}))
    print(f"{', '.join(ROLES)} have the passwords in {passwords}")


def _password(file: Path) -> str:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        password = kept_secret(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise DatabaseError(
            f"the password in {file} cannot be read or created ({reason.lower()}): "
            "correct the file or its permissions, or choose another folder"
        ) from error
    if not password or not password.isascii() or not password.isprintable():
        raise DatabaseError(f"{file} has no valid password: write one line of printable ASCII into it")
    return password


@app.command("upgrade")
def upgrade(
    require_roles: Annotated[
        bool, typer.Option("--require-roles", help="Fail if the roles are missing and cannot be created.")
    ] = False,
) -> None:
    """Upgrade the database of $PORTOLAN_DATABASE_URL to this version's schema. `portolan up` does this itself."""
    from coordinator import migration
    from coordinator.configuration.settings import Settings

    lacking = asyncio.run(migration.upgrade(Settings.from_environment().database_url, require_roles=require_roles))
    if lacking:
        print(lacking, file=sys.stderr)
    print(f"the database is at revision {migration.head()}")


@app.command("dump")
def dump(
    file: Annotated[
        Path, typer.Argument(help="Output file. It holds the secrets of runners, so only its owner can read it.")
    ],
    data_dir: DataDir = None,
) -> None:
    """Write a consistent dump of the database to a file, while everything keeps running."""
    from coordinator.cli.output import writing
    from coordinator.database import backup
    from coordinator.operating_system.atomic_files import PRIVATE

    with _owner_dsn(data_dir) as dsn, writing(file, PRIVATE) as stream:
        backup.dump(dsn, stream)
    print(f"the dump is in {file}: restore it with `portolan db restore {file} --data-dir NEW`")


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="A file of `portolan db dump`.", exists=True, dir_okay=False)],
    data_dir: DataDir = None,
) -> None:
    """Restore a dump into an empty database that no coordinator uses, completely or not at all."""
    from coordinator import migration
    from coordinator.database import backup

    with _owner_dsn(data_dir, must_stop=True) as dsn:
        asyncio.run(backup.restore(dsn, file))
        asyncio.run(migration.upgrade(dsn))
    print("the database is restored; jobs that were running at the time of the dump are queued again at the next start")


@contextmanager
def _owner_dsn(data_dir: Path | None, *, must_stop: bool = False) -> Iterator[str]:
    """Yield a DSN for the role that owns the tables, in the database of $PORTOLAN_DATABASE_URL or of a data directory.

    If no instance runs on the data directory, its database runs until the end of the block.
    """
    from coordinator.configuration.settings import Settings
    from coordinator.database.embedded import EmbeddedPostgres
    from coordinator.database.grants import MIGRATION

    if data_dir is None and variables().database_url:
        yield Settings.from_environment().database_url
        return
    directory = DataDirectory(data_dir)
    running = directory.running()
    if running is not None and not must_stop:
        yield _embedded_dsn(directory, running, DatabaseRole.migration)
        return
    if not must_stop and not directory.postgres.is_dir():
        raise DatabaseError(f"there is no database in {directory.path}: choose another with --data-dir")
    with directory.hold():
        server = EmbeddedPostgres(directory.postgres)
        with server:
            yield server.provide_roles()[MIGRATION]
