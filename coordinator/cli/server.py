"""The coordinator's HTTP server and its listening socket. ``portolan serve`` uses them in the foreground, and
``portolan up`` in its local instance."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn

from coordinator.access.connections import allow_connections, bounded_protocol
from coordinator.cli.directory import DEFAULT_PORT
from coordinator.configuration.variables import variables
from coordinator.errors import ListenError, SettingError

if TYPE_CHECKING:  # uvicorn is imported only by the command that needs it
    from fastapi import FastAPI

    from coordinator.configuration.settings import Settings

BACKLOG = 1024
MAX_PORT = 65_535
HEADER_BYTES = 64 << 10
STOPPING_S = 2
"""The seconds in which open requests can finish at a stop. Without the limit, some would wait ten minutes for a silent
database."""
KEPT_IDLE_S = 75
"""The seconds after which an idle connection is closed. A client that reuses a connection at that moment loses its
request; Python clients (httpx, 5 s) and proxies (60 s) close theirs sooner."""

Port = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="Port of the coordinator; 0 takes any free port; default: $PORTOLAN_PORT if set, otherwise 8642.",
    ),
]
RunnersPort = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="An additional port that serves only enrollment; 0 takes any free port."),
]
RunnersHost = Annotated[
    str | None,
    typer.Option(help="Address on which the enrollment port listens; default: that of --host."),
]

ListenAddress = tuple[str, int]
"""A host and a port to listen on."""


def port_or_default(port: int | None) -> int:
    """The port of the option. Without it, the port of the settings. Raises ``SettingError``."""
    if port is not None:
        return port
    text = variables().port or str(DEFAULT_PORT)
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise SettingError(f"PORTOLAN_PORT is '{text}': set it to a port, 0 to {MAX_PORT}")
    return int(text)


def runners_place(host: str, runners_host: str | None, runners_port: int | None) -> ListenAddress | None:
    """The address to listen on for runners only; None if there is no such listener. Raises ``ListenError``."""
    if runners_port is None:
        if runners_host is not None:
            raise ListenError("--runners-host needs --runners-port: give both, or neither")
        return None
    return runners_host or host, runners_port


@contextmanager
def listening_on(host: str, port: int, *, or_any_port: bool = False, option: str = "--port") -> Iterator[socket.socket]:
    """Bind a socket before anything else is started, so that an occupied port is reported immediately."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ListenError(
            f"'{host}' is not an address of this machine ({error.strerror}): give one such as 127.0.0.1 with --host"
        ) from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            try:
                listener.bind(address)
            except OSError:
                if not or_any_port:
                    raise
                listener.bind((address[0], 0, *address[2:]))
            listener.listen(BACKLOG)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ListenError(
                f"cannot listen on {host}:{port}: {reason}; stop what uses it, or choose another with {option}"
            ) from error
        yield listener


def names_of_host(host: str) -> list[str]:
    """The host that the coordinator listens on, if it is a name; otherwise none. IP addresses are always accepted."""
    try:
        ip_address(host)
    except ValueError:
        return [host]
    return []


def server_of(app: FastAPI, settings: Settings) -> uvicorn.Server:
    bounds = settings.bounds
    allow_connections(bounds.connections)
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=bounded_protocol(bounds, settings.runners_port),
            h11_max_incomplete_event_size=HEADER_BYTES,
            log_config=None,
            log_level="warning",
            access_log=False,
            # From any other client, a forwarded address is not trustworthy.
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=list(settings.proxies),
            timeout_keep_alive=KEPT_IDLE_S,
            timeout_graceful_shutdown=STOPPING_S,
        )
    )
