"""A complete Portolan for a bench: embedded PostgreSQL, a coordinator process and a runner process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.environment import python_of
from bench.instant_runner import SECRET, SUITE
from bench.place import CannotRunError, free_port, process, wait_until
from coordinator.cli.directory import kept_admin_token
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.errors import DatabaseError
from coordinator.migration import upgrade

POLL_S = 1.0
"""The seconds between two polls of a campaign. Each poll takes 15 ms of the coordinator's time."""
CAMPAIGN_LIMIT_S = 300.0


@contextlib.contextmanager
def database(place: Path) -> Iterator[str]:
    """Yield the DSN of a new embedded server, started like that of ``portolan up``: fsync is on."""
    server = EmbeddedPostgres(place / "postgres")
    try:
        dsn = server.start()
    except DatabaseError as error:
        raise CannotRunError(str(error)) from error
    try:
        asyncio.run(upgrade(dsn))
        yield dsn
    finally:
        server.stop()


@dataclass(frozen=True)
class BenchInstance:
    """A running coordinator. The bench uses only its REST API."""

    http: httpx.Client
    pid: int

    def register(self, url: str, secret: str) -> int:
        """Register a runner, and return its id."""
        runner: int = self._read("POST", "/runners", {"url": url, "secret": secret})["id"]
        return runner

    def remove(self, runner: int) -> None:
        self.http.delete(f"/runners/{runner}").raise_for_status()

    def submit(self, *, runs: int, functions: list[str] | None = None, suite: str = SUITE, timing: str = "off") -> int:
        request = {"suite": suite, "targets": ["*/*"], "functions": functions or ["*"], "runs": runs, "timing": timing}
        campaign: int = self._read("POST", "/campaigns", request)["id"]
        return campaign

    def cancel(self, campaign: int) -> None:
        self._read("POST", f"/campaigns/{campaign}/cancel")

    def wait(self, campaign: int, limit_s: float = CAMPAIGN_LIMIT_S) -> dict[str, Any]:
        """Wait until the campaign is done, and return its final state."""
        give_up = time.monotonic() + limit_s
        while (campaign_state := self._read("GET", f"/campaigns/{campaign}"))["state"] == "running":
            if time.monotonic() > give_up:
                counters = campaign_state["counters"]
                raise CannotRunError(
                    f"campaign {campaign} is not done after {limit_s:.0f} s ({counters}): "
                    "run the bench on an idle machine"
                )
            time.sleep(POLL_S)
        return campaign_state

    def export(self, campaign: int, format: str) -> int:
        """Read a whole export, and return its size in bytes."""
        with self.http.stream("GET", f"/campaigns/{campaign}/outcomes", params={"format": format}) as answer:
            answer.raise_for_status()
            return sum(len(chunk) for chunk in answer.iter_raw())

    def _read(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self.http.request(method, path, json=body)
        if not answer.is_success:
            raise CannotRunError(
                f"the coordinator answered {answer.status_code} to {method} {path}, so the bench has ended; "
                f"correct this: {answer.text[:300]}"
            )
        content: dict[str, Any] = answer.json()
        return content


@contextlib.contextmanager
def coordinator(dsn: str, place: Path) -> Iterator[BenchInstance]:
    """Start a coordinator as a separate process, under uvicorn."""
    port, log = free_port(), place / "coordinator.log"
    command = [
        sys.executable, "-m", "uvicorn", "--factory", "coordinator.app:create_app",
        "--port", str(port), "--log-level", "warning", "--no-access-log",
    ]  # fmt: skip
    token = kept_admin_token(place / "admin-token")
    variables = {"PORTOLAN_DATABASE_URL": dsn, "PORTOLAN_ADMIN_TOKEN_FILE": str(place / "admin-token")}
    with process(command, log, variables) as child:
        base = f"http://127.0.0.1:{port}"
        wait_until(lambda: _alive(base), child, log)
        with httpx.Client(
            base_url=f"{base}/api/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=60.0,
            trust_env=False,
        ) as http:
            yield BenchInstance(http, child.pid)


@contextlib.contextmanager
def instant_runner(cases: int, place: Path, devices: Sequence[str] = ()) -> Iterator[tuple[str, int]]:
    """Start a runner that finishes every job immediately, and yield its URL and pid. If ``devices`` are named, one
    process serves a runner for each of them."""
    port, log = free_port(), place / "runner.log"
    with process([sys.executable, "-m", "bench.instant_runner", str(port), str(cases), *devices], log) as child:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _alive(url), child, log)
        yield url, child.pid


@contextlib.contextmanager
def runner(
    target: str, place: Path, *options: str, module: str = "runners", variables: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, int]]:
    """Start a real runner of ``framework/device`` in the framework's environment, and yield its URL, secret and pid."""
    framework, _, device = target.partition("/")
    ready, log = place / "ready.json", place / "runner.log"
    ready.unlink(missing_ok=True)
    command = [
        python_of(framework, device),
        "-m",
        module,
        "serve",
        framework,
        device,
        "--port",
        "0",
        "--ready-file",
        str(ready),
    ]
    with process([*command, *options], log, variables) as child:
        ready_line = wait_until(lambda: json.loads(ready.read_text()) if ready.exists() else None, child, log)
        yield ready_line["url"], ready_line["secret"], child.pid


@contextlib.contextmanager
def instant_instance(place: Path, dsn: str, cases: int) -> Iterator[tuple[BenchInstance, int]]:
    """Start a coordinator and an instant runner, and register the runner. Yields the instance and the runner's pid."""
    with coordinator(dsn, place) as instance, instant_runner(cases, place) as (url, pid):
        instance.register(url, SECRET)
        yield instance, pid


def _alive(url: str) -> bool | None:
    with contextlib.suppress(httpx.TransportError):
        if httpx.get(f"{url}/healthz", trust_env=False, timeout=5.0).is_success:
            return True
    return None
