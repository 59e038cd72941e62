"""The HTTP server of the coordinator and its socket, in the foreground or in an instance."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from coordinator.errors import ListenError

if TYPE_CHECKING:  # no command waits for an import that only one of them needs
    from fastapi import FastAPI

KEPT_IDLE_S = 75
"""An idle connection is closed after this; a client that reuses one at that instant loses its request,
and clients of Python (httpx, 5 s) and proxies (60 s) let go of theirs sooner."""


@contextmanager
def listening_on(host: str, port: int, *, or_any_port: bool = False) -> Iterator[socket.socket]:
    """Bind a socket before anything else is started, so that a port in use is reported at once."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ListenError(f"'{host}' is not an address of this machine: {error.strerror}") from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            try:
                listener.bind(address)
            except OSError:
                if not or_any_port:
                    raise
                listener.bind((address[0], 0, *address[2:]))
            listener.listen(128)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ListenError(
                f"cannot listen on {host}:{port}: {reason}; stop what uses it, or choose another with --port"
            ) from error
        yield listener


def server_of(app: FastAPI) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            timeout_keep_alive=KEPT_IDLE_S,
            timeout_graceful_shutdown=2,
        )
    )
