"""PostgreSQL does not respond, because of locks, too many requests, or a lost connection. Afterwards dispatch
continues."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest
from sqlalchemy import text

from coordinator.database.connection import engine
from coordinator.database.pools import REQUESTS
from tests.admin import AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.faults.dispatch.conftest import SECRET
from tests.faults.dispatch.test_killed import one_outcome_each
from tests.runner_process import RunnerProcess
from tests.silent_proxy import SilentProxy
from tests.waiting import LIMIT_S, until

STATEMENT_TIMEOUT_S = 2.0
HELD_AT_MOST_S = 600.0
GOES_ON_WITHIN_S = 60.0
"""The statement's time limit, the margin for its result, one pause, and a reserve for a busy machine."""

STOPS_WITHIN_S = 60.0
"""The time that the containers' engine waits before it kills a container (``stop_grace_period`` of compose.yaml)."""


@pytest.fixture
def hasty(database: str) -> Iterator[CoordinatorProcess]:
    """A coordinator whose statements are ended after a short time."""
    coordinator = CoordinatorProcess(database, PORTOLAN_STATEMENT_TIMEOUT_S=str(STATEMENT_TIMEOUT_S))
    yield coordinator
    coordinator.stop()


def answer(coordinator: CoordinatorProcess, path: str) -> httpx.Response:
    return httpx.get(f"http://127.0.0.1:{coordinator.port}{path}", headers=AS_ADMIN, timeout=120.0)


def metric(coordinator: CoordinatorProcess, name: str) -> float:
    """The value of a metric, summed over its labels."""
    lines = answer(coordinator, "/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.split("{")[0].split(" ")[0] == name)


@contextmanager
def table_locks(dsn: str, *tables: str, mode: str = "ACCESS EXCLUSIVE") -> Iterator[None]:
    """A forgotten psql session that locks tables."""
    lock_taken, release = threading.Event(), threading.Event()

    async def hold() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            while not lock_taken.is_set():
                # Who locks several tables may meet a transaction that comes from the other side. PostgreSQL ends one of
                # the two: if it is ours, the lock is still to be had.
                with suppress(asyncpg.DeadlockDetectedError):
                    async with connection.transaction():
                        await connection.execute(f"LOCK TABLE {', '.join(tables)} IN {mode} MODE", timeout=LIMIT_S)
                        lock_taken.set()
                        await asyncio.to_thread(release.wait, HELD_AT_MOST_S)
        finally:
            await connection.close(timeout=LIMIT_S)

    with ThreadPoolExecutor(1) as holders:
        holding = holders.submit(lambda: asyncio.run(hold()))
        try:
            until(lambda: lock_taken.is_set() or holding.done(), "the tables are locked", 2 * LIMIT_S)
            if not lock_taken.is_set():
                holding.result()
            yield
        finally:
            release.set()
            holding.result(LIMIT_S)


def test_a_lock_longer_than_any_limit(hasty: CoordinatorProcess, start_runner: Callable[..., RunnerProcess]) -> None:
    runner = start_runner()
    assert hasty.register(runner.ready["url"], SECRET).status_code == 201
    campaign = hasty.submit("hazards.nap", "hazards.add", runs=6)
    hasty.wait_done(campaign, 1)
    assert answer(hasty, "/readyz").json() == {"status": "ready"}
    with table_locks(hasty.dsn, "jobs", "runners"):
        until(lambda: metric(hasty, "portolan_task_restarts_total"), "a session gives up waiting for the lock")
        down = until(lambda: answer(hasty, "/readyz"), "it answers")
        assert down.status_code == 503
        assert {task["task"].split(" of ")[0] for task in down.json()["tasks"]} >= {"session"}
        assert all(task["since"] and task["reason"] for task in down.json()["tasks"])
        refusal = hasty.http.get("/runners")
        assert (refusal.status_code, refusal.headers["Retry-After"]) == (503, "5")
        assert answer(hasty, "/healthz").status_code == 200
    one_outcome_each(hasty, campaign)
    until(lambda: answer(hasty, "/readyz").is_success, "all tasks run again")


def test_more_large_submissions_at_once_than_connections(
    coordinator: CoordinatorProcess, runner: RunnerProcess
) -> None:
    # Long enough not to end under the lock, which its end would wait for as well.
    campaign = coordinator.submit("hazards.nap", runs=100)
    coordinator.wait_done(campaign, 1)

    def submit(_: int) -> int:
        request = {"suite": "hazards", "functions": ["hazards.nap"], "runs": 100, "timing": "off"}
        return httpx.post(
            f"{coordinator.http.base_url}campaigns", json=request, headers=AS_ADMIN, timeout=240.0
        ).status_code

    with ThreadPoolExecutor(30) as senders:
        # Large, and so slow: none of them comes to its end before the lock is let go.
        with table_locks(coordinator.dsn, "campaigns", mode="SHARE"):
            submissions = [senders.submit(submit, number) for number in range(30)]
            until(lambda: waiting(coordinator.dsn) >= REQUESTS, "they have all connections of requests")
            before = outcome_count(coordinator.dsn)
            until(lambda: outcome_count(coordinator.dsn) >= before + 5, "dispatch goes on beside them")
            assert not any(submission.done() for submission in submissions)
        assert {submission.result() for submission in submissions} <= {201, 503}
    one_outcome_each(coordinator, campaign)
    assert answer(coordinator, "/readyz").is_success


def test_a_network_that_forgets_the_connections(database: str, start_runner: Callable[..., RunnerProcess]) -> None:
    with SilentProxy(database) as proxy:
        coordinator = CoordinatorProcess(proxy.dsn, PORTOLAN_STATEMENT_TIMEOUT_S=str(STATEMENT_TIMEOUT_S))
        try:
            runner = start_runner()
            assert coordinator.register(runner.ready["url"], SECRET).status_code == 201
            campaign = coordinator.submit("hazards.nap", runs=40)
            coordinator.wait_done(campaign, 3)
            connections_before = proxy.connections
            proxy.forget()
            before = outcome_count(database)
            until(
                lambda: outcome_count(database) > before + 3, "dispatch goes on over new connections", GOES_ON_WITHIN_S
            )
            assert proxy.connections > connections_before
            until(lambda: answer(coordinator, "/readyz").is_success, "all tasks run again")
            assert coordinator.http.post(f"/campaigns/{campaign}/cancel").status_code == 200
        finally:
            coordinator.kill()
            coordinator.stop()


def test_it_stops_and_says_so_while_a_request_waits_on_a_connection_that_the_network_forgot(database: str) -> None:
    with SilentProxy(database) as proxy, ThreadPoolExecutor(1) as sender:
        coordinator = CoordinatorProcess(proxy.dsn, PORTOLAN_STATEMENT_TIMEOUT_S="600")
        try:
            with table_locks(database, "campaigns"):
                pending_answer = sender.submit(answer, coordinator, "/campaigns")
                until(lambda: waiting(database), "the request waits for the lock")
                proxy.forget()
            coordinator.stop()
        finally:
            coordinator.kill()
        reply = pending_answer.result()
        assert (reply.status_code, reply.headers["Retry-After"]) == (503, "5")
        assert "The coordinator ends" in reply.text


def test_it_stops_while_the_network_forgot_its_idle_connections(database: str) -> None:
    with SilentProxy(database) as proxy:
        coordinator = CoordinatorProcess(proxy.dsn)
        try:
            # Side by side, so that the pool of requests holds several.
            with ThreadPoolExecutor(REQUESTS) as readers:
                assert all(
                    reply.is_success for reply in readers.map(partial(answer, coordinator), REQUESTS * ["/campaigns"])
                )
            until(lambda: answer(coordinator, "/readyz").is_success, "it dispatches")
            proxy.forget()
            coordinator.process.send_signal(signal.SIGTERM)
            coordinator.process.wait(STOPS_WITHIN_S)
        finally:
            coordinator.kill()
            coordinator.http.close()


async def forgotten_in_a_transaction(proxy: SilentProxy) -> None:
    """Make the network forget all connections while one of them, made like the coordinator's, holds a lock on every
    job."""
    pool = engine(proxy.dsn, pool_size=1, statement_timeout_s=STATEMENT_TIMEOUT_S)
    connection = await pool.connect()
    await connection.execute(text("SELECT FROM jobs FOR UPDATE"))
    proxy.forget()
    raw = (await connection.get_raw_connection()).driver_connection
    assert raw is not None
    raw.terminate()
    await connection.invalidate()


def outcome_count(dsn: str) -> Any:
    """The number of stored outcomes."""
    return fetch_value(dsn, "SELECT count(*) FROM outcomes")


def waiting(dsn: str) -> Any:
    """The number of connections that wait for a lock in this database."""
    return fetch_value(
        dsn,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )


def fetch_value(dsn: str, query: str) -> Any:
    async def fetch() -> Any:
        connection = await asyncpg.connect(dsn)
        value = await connection.fetchval(query)
        await connection.close()
        return value

    return asyncio.run(fetch())
