"""A real coordinator in a separate process, used over REST like by a user."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import Any

import httpx

from coordinator.cli.server import KEPT_IDLE_S, STOPPING_S
from coordinator.configuration.times import DEFAULT_TIMES, Times
from tests.admin import AS_ADMIN, admin_token_file
from tests.database_roles import application
from tests.fork_server import COORDINATOR_SERVER, ForkedProcess
from tests.runner_process import ROOT
from tests.short_times import variables_of
from tests.waiting import LIMIT_S, until

STARTS_WITHIN_S = 180.0
ENDS_WITHIN_S = 300.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class CoordinatorProcess:
    """``create_app`` under uvicorn, as in ``portolan serve``. The port stays the same after a restart.

    The coordinator uses ``dsn`` in the application's role. It has the product's waiting times unless ``times`` changes
    them. Its process is forked after the imports.
    """

    def __init__(self, dsn: str, *, times: Times = DEFAULT_TIMES, **variables: str) -> None:
        self.dsn = dsn
        self.variables = {**variables_of(times), **variables}
        self.port = free_port()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api/v1", headers=AS_ADMIN, timeout=120.0)
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = ForkedProcess(
            COORDINATOR_SERVER,
            [
                sys.executable,
                "-m",
                "uvicorn",
                "--factory",
                "coordinator.app:create_app",
                "--port",
                str(self.port),
                "--timeout-keep-alive",
                str(KEPT_IDLE_S),
                "--timeout-graceful-shutdown",
                str(STOPPING_S),
                "--log-level",
                "warning",
            ],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PORTOLAN_DATABASE_URL": application(self.dsn),
                "PORTOLAN_ADMIN_TOKEN_FILE": str(admin_token_file()),
                **self.variables,
            },
        )
        until(self._answers, "the coordinator answers", STARTS_WITHIN_S)

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the coordinator ended at its start"
        try:
            return self.http.get("/campaigns").is_success
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT_S)

    def stop(self) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(LIMIT_S)

    def register(self, url: str, secret: str) -> httpx.Response:
        return self.http.post("/runners", json={"url": url, "secret": secret})

    def remove_all_runners(self) -> None:
        for runner in self.http.get("/runners").json()["runners"]:
            assert self.http.delete(f"/runners/{runner['id']}").status_code == 204

    def submit(self, *functions: str, **fields: Any) -> int:
        answer = self.http.post(
            "/campaigns", json={"suite": "hazards", "functions": functions, "timing": "off"} | fields
        )
        assert answer.status_code == 201, answer.text
        return int(answer.json()["id"])

    def campaign(self, campaign: int) -> dict[str, Any]:
        answer = self.http.get(f"/campaigns/{campaign}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def wait_done(self, campaign: int, count: int) -> None:
        """Wait until at least ``count`` jobs have an outcome."""
        until(lambda: self.campaign(campaign)["counters"]["done"] >= count, f"{count} outcomes", ENDS_WITHIN_S)

    def wait_ended(self, campaign: int) -> dict[str, Any]:
        until(lambda: self.campaign(campaign)["state"] != "running", "the campaign ended", ENDS_WITHIN_S)
        return self.campaign(campaign)

    def page(self, path: str) -> str:
        answer = self.http.get(f"{self.url}{path}", headers={"Accept": "text/html"})
        assert answer.status_code == 200, answer.text
        return answer.text

    def outcomes(self, campaign: int, **filters: Any) -> list[dict[str, Any]]:
        answer = self.http.get(f"/campaigns/{campaign}/outcomes", params={"limit": 5000, **filters})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["outcomes"])
