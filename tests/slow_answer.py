"""A coordinator that stores a submission and answers late."""

from __future__ import annotations

import contextlib
import socket
import threading
from urllib.parse import urlsplit

RELEASE_LIMIT_S = 30.0


class SlowAnswer:
    """A port that leads to a coordinator, and that passes the answer to a submission on only after ``release``."""

    def __init__(self, url: str) -> None:
        self._to = (urlsplit(url).hostname, urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._released = threading.Event()
        self.answer_waits = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def release(self) -> None:
        self._released.set()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._to)
            is_submission = threading.Event()
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(source, sink, is_submission), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, is_submission: threading.Event) -> None:
        with contextlib.suppress(OSError):  # The other thread of the connection may have closed the socket.
            while data := source.recv(65536):
                if data.startswith(b"POST /api/v1/campaigns "):
                    is_submission.set()
                elif data.startswith(b"HTTP/1.1 ") and is_submission.is_set():
                    self.answer_waits.set()
                    self._released.wait(RELEASE_LIMIT_S)
                sink.sendall(data)
        sink.close()
