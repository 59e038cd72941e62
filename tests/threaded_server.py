"""An HTTP server for tests that handles each request in a thread."""

from __future__ import annotations

import socket
import sys
from http.server import ThreadingHTTPServer
from typing import Any


class ThreadedServer(ThreadingHTTPServer):
    """A ``ThreadingHTTPServer`` that accepts that clients leave before the response, as coordinators do after their
    time limit."""

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
