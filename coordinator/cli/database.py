"""``portolan db``: the way into the database for psql and pandas."""

from __future__ import annotations

import typer

from coordinator.cli.directory import DataDirectory
from coordinator.cli.options import DataDir
from coordinator.errors import DatabaseError

app = typer.Typer(no_args_is_help=True, help="The database behind the local instance.")


@app.callback()
def _group() -> None:
    """The database behind the local instance."""


@app.command("url")
def url(data_dir: DataDir = None) -> None:
    """Print the DSN of the running instance's database: psql "$(portolan db url)"."""
    directory = DataDirectory(data_dir)
    running = directory.running()
    if running is None:
        raise DatabaseError(f"no portolan runs in {directory.path}: start it with `portolan up`")
    print(running.dsn)
