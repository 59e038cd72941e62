"""``portolan db``: the way into the database for psql and pandas, and bringing it up to date."""

from __future__ import annotations

import asyncio

import typer

from coordinator.cli.directory import DataDirectory
from coordinator.cli.shared_options import DataDir
from coordinator.errors import DatabaseError

app = typer.Typer(no_args_is_help=True, help="The database.")


@app.command("url")
def url(data_dir: DataDir = None) -> None:
    """Print the DSN of the running instance's database: psql "$(portolan db url)"."""
    directory = DataDirectory(data_dir)
    running = directory.running()
    if running is None:
        raise DatabaseError(f"no portolan runs in {directory.path}: start it with `portolan up`")
    print(running.dsn)


@app.command("upgrade")
def upgrade() -> None:
    """Bring the database of $PORTOLAN_DATABASE_URL to this version's schema; `portolan up` does so by itself."""
    from coordinator import migration
    from coordinator.settings import Settings

    asyncio.run(migration.upgrade(Settings.from_environment().database_url))
    print(f"the database is at revision {migration.head()}")
