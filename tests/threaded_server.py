"""An HTTP server of a test, in threads."""

from __future__ import annotations

import socket
import sys
from http.server import ThreadingHTTPServer
from typing import Any


class ThreadedServer(ThreadingHTTPServer):
    """A ``ThreadingHTTPServer`` whose clients may leave before they have their answer: coordinators that give up do."""

    def handle_error(self, request: socket.socket | tuple[bytes, socket.socket], client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
