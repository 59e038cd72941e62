"""If an export fails in the middle, the client notices this, and does not take a part of a file for the whole file."""

from __future__ import annotations

import asyncio
import csv
import io
import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pyarrow.parquet as pq
import pytest

from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.coordinator_process import CoordinatorProcess
from tests.enrolling_runner import Relay
from tests.faults.registration.listing_runner import ListingRunner, cases
from tests.portolan_process import Portolan
from tests.waiting import async_until, until

ROWS = 200
MESSAGE_BYTES = 30_000
"""Random text. Its export has 12 MB, which no connection's buffer can hold, and which cannot be compressed well."""
A_PART = 1 << 20
FORMATS = ("csv", "parquet")
PATIENCE_S = 300.0


class WordyRunner(ListingRunner):
    """A runner whose cases all fail, each with a different message that cannot be compressed."""

    def take(self, batch: dict[str, Any]) -> dict[str, Any]:
        receipt = super().take(batch)
        with self._changed:
            for event in self.events:
                if event["type"] == "finished" and "evidence" not in event["outcome"]:
                    message = random.randbytes(MESSAGE_BYTES).hex()
                    failure = {"verdict": "failed", "ending": "raised", "evidence": {"message": message}}
                    event["outcome"] = {**event["outcome"], **failure}
        return receipt


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the coordinator creates its files."""
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def coordinator(new_database: Callable[..., str], folder: Path) -> Iterator[CoordinatorProcess]:
    """A coordinator with one campaign, number 1, and room for one export at a time."""
    limits = {"PORTOLAN_LIMITS": "exports=1, exports_waiting=1", "TMPDIR": str(folder)}
    coordinator = CoordinatorProcess(new_database(), **limits)
    runner = WordyRunner(cases(*(f"wordy.f{number}" for number in range(ROWS))), "wordy")
    try:
        assert coordinator.register(runner.url, "").status_code == 201
        assert coordinator.submit("*", suite="paper", runs=1) == 1
        coordinator.wait_ended(1)
    finally:
        runner.stop()
    yield coordinator
    coordinator.stop()


def address(coordinator: CoordinatorProcess, format: str) -> str:
    return f"{coordinator.url}/api/v1/campaigns/1/outcomes?format={format}"


def export(coordinator: CoordinatorProcess, format: str) -> httpx.Response:
    return httpx.get(address(coordinator, format), headers=AS_ADMIN, timeout=PATIENCE_S)


def is_whole(format: str, content: bytes) -> bool:
    if format == "csv":
        csv.field_size_limit(1 << 20)
        return len(list(csv.reader(io.StringIO(content.decode(), newline="")))) == ROWS + 1
    return int(pq.read_table(io.BytesIO(content)).num_rows) == ROWS


async def _terminate_in_the_middle(dsn: str, begin: Callable[[], Any]) -> Any:
    """Begin an export, and end its connection to PostgreSQL while the statement runs."""
    holder, watcher = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
    try:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute("lock table outcomes in access exclusive mode")
        pending_export = begin()
        waiting = (
            "select pid from pg_stat_activity where datname = current_database() "
            "and wait_event_type = 'Lock' and query like '%outcome_rows%'"
        )

        async def statements() -> list[asyncpg.Record]:
            assert not pending_export.done(), pending_export.result().text[:500]
            return list(await watcher.fetch(waiting))

        for row in await async_until(statements, "the export waits for the lock", PATIENCE_S):
            await watcher.execute("select pg_terminate_backend($1)", row["pid"])
        answer = await asyncio.to_thread(pending_export.result, PATIENCE_S)
        await transaction.rollback()
        return answer
    finally:
        await holder.close()
        await watcher.close()


@pytest.mark.parametrize("format", FORMATS)
def test_postgresql_goes_away_in_the_middle(coordinator: CoordinatorProcess, folder: Path, format: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = asyncio.run(
            _terminate_in_the_middle(coordinator.dsn, lambda: pool.submit(export, coordinator, format))
        )
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert int(answer.headers["retry-after"]) >= 1
    assert not list(folder.iterdir())
    assert is_whole(format, export(coordinator, format).content), "it works again"


@pytest.mark.parametrize("format", FORMATS)
def test_the_coordinator_is_killed_in_the_middle(coordinator: CoordinatorProcess, folder: Path, format: str) -> None:
    """The response declares its length, so a response that ends earlier is an HTTP error."""
    with slow_reader() as client, client.stream("GET", address(coordinator, format)) as answer:
        assert answer.status_code == 200
        assert int(answer.headers["content-length"]) > A_PART
        coordinator.kill()
        with pytest.raises(httpx.RemoteProtocolError):
            answer.read()
    for left in folder.iterdir():
        left.unlink()  # nobody is there to do it: it is left to the system, as a temporary file
    coordinator.start()
    assert is_whole(format, export(coordinator, format).content)


def slow_reader() -> httpx.Client:
    """A client whose socket buffers little data that it has not read."""
    small = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)]
    return httpx.Client(transport=httpx.HTTPTransport(socket_options=small), headers=AS_ADMIN, timeout=PATIENCE_S)


@pytest.mark.parametrize("format", FORMATS)
def test_a_client_that_goes_away_leaves_nothing_behind(
    coordinator: CoordinatorProcess, folder: Path, format: str
) -> None:
    for _ in range(3):
        with slow_reader() as client, client.stream("GET", address(coordinator, format)) as answer:
            assert answer.status_code == 200
            next(answer.iter_bytes())
    until(lambda: not list(folder.iterdir()), "its files are gone")
    assert export(coordinator, format).status_code == 200, "its place is free"


@pytest.mark.parametrize("format", ["csv", "parquet", "json"])
def test_the_command_line_keeps_no_piece_of_a_file(
    coordinator: CoordinatorProcess, tmp_path: Path, format: str
) -> None:
    """The connection breaks in the middle. The command prints one line about this, and creates no file. The output in a
    pipe does not end in ``]``."""
    bytes_passed = 0

    def breaks(piece: bytes) -> bool:
        nonlocal bytes_passed
        bytes_passed += len(piece)
        return bytes_passed < A_PART

    relay = Relay(coordinator.port, breaks)
    try:
        portolan = Portolan(tmp_path, PORTOLAN_URL=relay.url, PORTOLAN_TOKEN=ADMIN_TOKEN)
        file = tmp_path / f"outcomes.{format}"
        line = portolan.refused("results", "1", "--format", format, "--output", str(file))
        assert "stopped in the middle of its answer" in line
        assert not file.exists()
        assert not [path for path in tmp_path.iterdir() if path.is_file()], "nor a piece of it"
        bytes_passed = 0
        if format == "json":
            assert portolan.call("results", "1", "--format", format).returncode == 2
    finally:
        relay.close()
