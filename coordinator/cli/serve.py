"""``portolan serve``: the coordinator alone, over a database of one's own, for containers and services."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from coordinator.cli.directory import DEFAULT_PORT
from coordinator.cli.server import listening_on, server_of
from coordinator.errors import DatabaseError, InstanceError


def serve(
    host: Annotated[
        str, typer.Option(help="Where the coordinator listens. It has no password: whoever reaches it can use it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = DEFAULT_PORT,
) -> None:
    """Serve the REST API over $PORTOLAN_DATABASE_URL until stopped; starts no database and no runners."""
    from coordinator.app import create_app
    from coordinator.logs import get_logger, log_to
    from coordinator.settings import Settings, log_format

    settings = Settings.from_environment()
    with listening_on(host, port) as listener, log_to(sys.stdout, log_format(sys.stdout)):
        asyncio.run(_require_upgraded(settings.database_url))
        place = "{}:{}".format(*listener.getsockname()[:2])
        get_logger(__name__).info("listening", address=place)
        server = server_of(create_app(settings))
        server.run([listener])
    if not server.started:
        raise InstanceError("the coordinator does not start: its log, above, says why")


async def _require_upgraded(dsn: str) -> None:
    from coordinator.database import migration

    found = await migration.current(dsn)
    if found != migration.head():
        raise DatabaseError(
            f"the database is at revision {found or 'none'}, and this Portolan needs {migration.head()}: "
            "run `portolan db upgrade` of this version, or use the version that made it"
        )
