"""Commands that follow a campaign continue after PostgreSQL or the coordinator was unavailable. An outage gives status
503, never 500."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import httpx
import pytest

from coordinator.cli.outage_watch import OutageWatch
from coordinator.cli.rest_client import Client
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.errors import CoordinatorAwayError
from coordinator.migration import upgrade
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.faults.dispatch.conftest import SECRET
from tests.fork_server import COORDINATOR_SERVER, ForkedProcess
from tests.portolan_process import COMMAND, Portolan
from tests.runner_process import RunnerProcess, environment
from tests.short_times import SHORT_TIMES, variables_of
from tests.waiting import LIMIT_S, until

RUNS = 25
PAGES = ("/campaigns", "/campaigns/1", "/campaigns/1/matrix", "/runners", "/campaigns/new", "/compare?a=1&b=1")
API = ("campaigns", "campaigns/1", "campaigns/1/outcomes", "campaigns/1/matrix", "campaigns/1/events", "runners")


class Watcher:
    """``portolan submit --wait`` of naps, as a user runs it in another terminal."""

    def __init__(self, url: str, place: Path, **variables: str) -> None:
        self.lines: list[str] = []
        self.process = ForkedProcess(
            COORDINATOR_SERVER,
            [
                *(*COMMAND, "submit", "--wait", "--url", url, "--timing", "off"),
                *("--suite", "hazards", "--functions", "hazards.nap", "--runs", str(RUNS)),
            ],
            env=environment(PORTOLAN_DATA=str(place), **variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def said(self) -> str:
        return "\n".join(self.lines)

    def wait_says(self, words: str) -> None:
        until(lambda: words in self.said or self.process.poll() is not None, f"it says {words!r}")
        assert words in self.said

    def wait_exit(self) -> int:
        code = self.process.wait(LIMIT_S)
        self._reader.join(LIMIT_S)
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self.lines.append(line.rstrip("\n"))


@contextmanager
def watching(url: str, place: Path, **variables: str) -> Iterator[Watcher]:
    watcher = Watcher(url, place, **variables)
    try:
        until(lambda: watcher.lines, "it says the campaign's number")
        yield watcher
    finally:
        watcher.process.kill()
        watcher.wait_exit()


@pytest.fixture
def own_postgres(place: Path) -> Iterator[EmbeddedPostgres]:
    """An upgraded server for one test, which can kill it."""
    server = EmbeddedPostgres(place / "postgres")
    asyncio.run(upgrade(server.start()))
    yield server
    server.stop()


def postmaster(folder: Path) -> int:
    return int((folder / "cluster" / "postmaster.pid").read_text().split()[0])


def test_a_watcher_outlasts_a_killed_postgresql(
    own_postgres: EmbeddedPostgres, place: Path, start_runner: Callable[..., RunnerProcess]
) -> None:
    coordinator = CoordinatorProcess(own_postgres.start(), times=SHORT_TIMES)
    try:
        runner = start_runner()
        assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
        with watching(f"http://127.0.0.1:{coordinator.port}", place / "data", PORTOLAN_TOKEN=ADMIN_TOKEN) as watcher:
            coordinator.wait_done(1, 3)
            os.kill(postmaster(own_postgres.directory), signal.SIGKILL)
            watcher.wait_says("waiting for up to")
            statuses = {path: answer_to(coordinator, path) for path in PAGES}
            statuses |= {path: answer_to(coordinator, f"/api/v1/{path}") for path in API}
            assert statuses == dict.fromkeys(statuses, (503, "5"))
            own_postgres.stop()
            own_postgres.start()
            assert watcher.wait_exit() == 0, watcher.said
        assert watcher.said.count("waiting for up to") == 1
        assert watcher.said.count("the coordinator is back") == 1
        assert coordinator.campaign(1)["counters"]["passed"] == RUNS
    finally:
        coordinator.stop()


def answer_to(coordinator: CoordinatorProcess, path: str) -> tuple[int, str | None]:
    """The status and the ``Retry-After`` header of a response to a browser, or to a program."""
    address = f"http://127.0.0.1:{coordinator.port}{path}"
    answer = httpx.get(address, headers={"Accept": "text/html", **AS_ADMIN}, timeout=LIMIT_S)
    return answer.status_code, answer.headers.get("Retry-After")


def test_a_watcher_outlasts_a_killed_coordinator(
    coordinator: CoordinatorProcess, runner: RunnerProcess, place: Path
) -> None:
    with watching(f"http://127.0.0.1:{coordinator.port}", place, PORTOLAN_TOKEN=ADMIN_TOKEN) as watcher:
        coordinator.wait_done(1, 3)
        coordinator.kill()
        watcher.wait_says("waiting for up to")
        coordinator.start()
        assert watcher.wait_exit() == 0, watcher.said
    assert watcher.said.count("waiting for up to") == 1


def test_a_query_whose_connection_is_ended_is_an_outage(coordinator: CoordinatorProcess) -> None:
    """While somebody ends every database connection, no running request gets status 500."""
    statuses: set[int] = set()
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(headers=AS_ADMIN, timeout=LIMIT_S) as client:
            while not over.is_set():
                statuses.add(client.get(f"http://127.0.0.1:{coordinator.port}/campaigns").status_code)

    async def end_all(times: int) -> None:
        connection = await asyncpg.connect(coordinator.dsn)
        for _ in range(times):
            await connection.execute(
                "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await connection.close()

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    asyncio.run(end_all(50))
    over.set()
    for asker in askers:
        asker.join(LIMIT_S)
    assert statuses <= {200, 503}
    assert 200 in statuses


def test_up_starts_its_postgresql_again(place: Path) -> None:
    portolan = Portolan(place / "data", **variables_of(SHORT_TIMES))
    port = free_port()
    up = portolan.up("--port", str(port), "--targets", "hazards/cpu")
    try:
        with watching(f"http://127.0.0.1:{port}", place / "data") as watcher:
            until(lambda: "hazards" in watcher.said, "progress is shown")
            os.kill(postmaster(place / "data" / "postgres"), signal.SIGKILL)
            up.wait_says("database ready again")
            assert watcher.wait_exit() == 0, watcher.said
    finally:
        up.stop()


def test_a_watcher_gives_up_in_the_end() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    messages: list[str] = []
    watch = OutageWatch(messages.append, url, 7, limit_s=1.0)
    with Client(url) as client, pytest.raises(CoordinatorAwayError) as given_up:
        list(watch.follow(client, 7))
    assert len(messages) == 1
    assert "waiting for up to" in messages[0]
    assert "given up after" in str(given_up.value)
    assert f"`portolan status 7 --url {url}`" in str(given_up.value)
