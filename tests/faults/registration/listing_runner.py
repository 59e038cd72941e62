"""A small runner whose catalogue and revision a test can choose. All of its cases pass immediately.

Portolan's own runner cannot be used here, because its revision is a hash of its cases.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.threaded_server import ThreadedServer

Case = dict[str, Any]

HEARTBEAT_S = 1.0


def cases(*functions: str, **fields: Any) -> list[Case]:
    """One case of each function, in the form of a catalogue."""
    return [{"id": f"{function}/0", "function": function, **fields} for function in functions]


class ListingRunner:
    """A runner in a thread. ``restart`` begins a new boot, with another catalogue if one is given."""

    def __init__(self, case_rows: list[Case], framework: str, *, hardware: str = "a listed device") -> None:
        self.framework = framework
        self.hardware = hardware
        self.catalogue = catalogue(case_rows)
        self.probes = 0
        self._boots = 0
        self._changed = threading.Condition()
        self._begin()
        self._server = ThreadedServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def _begin(self) -> None:
        self._boots += 1
        self.boot_id = f"boot-{self._boots}-of-{id(self)}"
        self.events: list[dict[str, Any]] = []

    def restart(self, case_rows: list[Case] | None = None, revision: str = "1") -> None:
        with self._changed:
            if case_rows is not None:
                self.catalogue = catalogue(case_rows, revision)
            self._begin()
            self._changed.notify_all()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def info(self) -> dict[str, Any]:
        fingerprint = {"hardware": self.hardware, "environment": "e", "host": "here", "system": "Linux"}
        return {
            "boot_id": self.boot_id,
            "protocol": 1,
            "framework": self.framework,
            "version": "1",
            "device": "cpu",
            "device_class": "cpu",
            "device_count": 1,
            "queue_limit": 64,
            "fingerprint": fingerprint,
        }

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Report that all jobs start and pass immediately."""
        outcome = {"verdict": "passed", "ending": "returned", "placement": "on_device", "duration_s": 0.0}
        with self._changed:
            for job in batch["jobs"]:
                key = {"id": job["id"], "attempt": job["attempt"]}
                self.events.append({"type": "started", "n": len(self.events) + 1, **key})
                self.events.append({"type": "finished", "n": len(self.events) + 1, **key, "outcome": outcome})
            self._changed.notify_all()
        return {"jobs": [{"id": job["id"], "attempt": job["attempt"], "status": "queued"} for job in batch["jobs"]]}

    def next_events(self, boot_id: str, after: int) -> list[dict[str, Any]] | None:
        """The events after this number, or a heartbeat; None if a new boot has begun."""
        with self._changed:
            self._changed.wait_for(lambda: self.boot_id != boot_id or len(self.events) > after, HEARTBEAT_S)
            if self.boot_id != boot_id:
                return None
            return self.events[after:] or [{"type": "heartbeat", "n": after, "queued": 0, "running": []}]


def catalogue(case_rows: list[Case], revision: str = "1") -> dict[str, Any]:
    return {"suites": [{"name": "paper", "revision": revision, "cases": case_rows}]}


def _handler(runner: ListingRunner) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = urlsplit(self.path)
            if path.path == "/v1/runner":
                runner.probes += 1
                self._answer(200, runner.info)
            elif path.path == "/v1/catalogue":
                self._answer(200, runner.catalogue)
            elif path.path == "/v1/events":
                query = parse_qs(path.query)
                self._stream(query["boot_id"][0], int(query["after"][0]))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if body["boot_id"] != runner.boot_id:
                self._answer(409, {"title": "Another boot", "status": 409, "detail": "it is another boot"})
            elif self.path == "/v1/jobs":
                self._answer(200, runner.take(body))
            else:
                self._answer(204, None)

        def do_DELETE(self) -> None:
            self._answer(204, None)

        def _stream(self, boot_id: str, after: int) -> None:
            if boot_id != runner.boot_id:
                self._answer(409, {"title": "Another boot", "status": 409, "detail": "it is another boot"})
                return
            self.close_connection = True
            self.send_response(200)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while (events := runner.next_events(boot_id, after)) is not None:
                    self.wfile.write(b"".join(json.dumps(event).encode() + b"\n" for event in events))
                    after = events[-1]["n"]
            except ConnectionError:
                return

        def _answer(self, status: int, body: dict[str, Any] | None) -> None:
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

    return Handler
