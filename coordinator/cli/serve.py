"""``portolan serve`` runs only the coordinator, with your own database, for containers and services."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import Annotated

import typer

from coordinator.cli.anonymous import Anonymous, WithoutAccessControl, role_of_nobody
from coordinator.cli.directory import DEFAULT_PORT
from coordinator.cli.server import RunnersHost, RunnersPort, listening_on, names_of_host, runners_place, server_of
from coordinator.cli.shared_options import AllowedHost
from coordinator.errors import InstanceError, SettingError

NO_ADMIN = (
    "there is no admin token, so nobody could do anything: set PORTOLAN_ADMIN_TOKEN_FILE to a file that holds one "
    "(`head -c 32 /dev/urandom | base64 > FILE`), "
    "or pass --without-access-control to let everybody who reaches it do everything"
)


def serve(
    host: Annotated[str, typer.Option(help="Address on which the coordinator listens.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the coordinator; 0 takes any free port.")
    ] = DEFAULT_PORT,
    allowed_host: AllowedHost = None,
    anonymous: Anonymous = None,
    without_access_control: WithoutAccessControl = False,
    runners_host: RunnersHost = None,
    runners_port: RunnersPort = None,
) -> None:
    """Run only the coordinator, with the database of $PORTOLAN_DATABASE_URL. Starts no runners."""
    from coordinator import migration
    from coordinator.app import create_app
    from coordinator.configuration.settings import Settings, host_names, log_format
    from coordinator.process.logs import get_logger, log_to

    settings = replace(
        Settings.from_environment(),
        hosts=host_names(*names_of_host(host), *(allowed_host or ())),
        anonymous_role=role_of_nobody(None, anonymous, without_access_control=without_access_control),
    )
    if settings.admin_token is None and not without_access_control:
        raise SettingError(NO_ADMIN)
    for_runners = runners_place(host, runners_host, runners_port)
    with ExitStack() as stack:
        listeners = [stack.enter_context(listening_on(host, port))]
        if for_runners is not None:
            listeners.append(stack.enter_context(listening_on(*for_runners, option="--runners-port")))
            settings = replace(settings, runners_port=listeners[1].getsockname()[1])
        stack.enter_context(log_to(sys.stdout, log_format(sys.stdout), settings.secrets))
        asyncio.run(migration.require_upgraded(settings.database_url))
        for listener, purpose in zip(listeners, ("everything", "enrolment"), strict=False):
            place = "{}:{}".format(*listener.getsockname()[:2])
            get_logger(__name__).info("listening", address=place, serves=purpose)
        server = server_of(create_app(settings), settings)
        server.run(listeners)
    if not server.started:
        raise InstanceError("the coordinator does not start: see its log above")
