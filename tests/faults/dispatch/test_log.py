"""The log of a real coordinator: ids are fields of the lines, lines of all libraries have the same format, and no line
has a secret."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from coordinator.database.connection import engine
from coordinator.process.logs import MOST_WAITING, get_logger, log_to
from tests.admin import admin_token_file
from tests.coordinator_process import CoordinatorProcess
from tests.database_roles import application
from tests.faults.dispatch.conftest import SUITE, scripted_runner
from tests.fork_server import COORDINATOR_SERVER, ForkedProcess
from tests.portolan_process import COMMAND
from tests.runner_process import ROOT
from tests.scripted_runner import Script
from tests.waiting import until


class LoggedCoordinator(CoordinatorProcess):
    """``portolan serve``, with its standard output in a file."""

    def __init__(self, dsn: str, log: Path, **variables: str) -> None:
        self.log = log
        super().__init__(dsn, **variables)

    def start(self) -> None:
        variables = {"PYTHONPATH": str(ROOT), "PORTOLAN_DATABASE_URL": application(self.dsn), **self.variables}
        variables["PORTOLAN_ADMIN_TOKEN_FILE"] = str(admin_token_file())
        with self.log.open("ab") as file:
            self.process = ForkedProcess(
                COORDINATOR_SERVER,
                [*COMMAND, "serve", "--port", str(self.port)],
                env={**os.environ, **variables},
                stdout=file,
            )
        until(self._answers, "the coordinator answers")

    def log_entry(self, event: str) -> dict[str, Any]:
        """Wait for the first line of an event."""

        def lines() -> list[dict[str, Any]]:
            entries = map(json.loads, self.log.read_text().splitlines())
            return [line for line in entries if line["event"].startswith(event)]

        return dict(until(lines, f"{event!r} is logged")[0])


@pytest.fixture
def coordinator(database: str, tmp_path: Path) -> Iterator[LoggedCoordinator]:
    coordinator = LoggedCoordinator(database, tmp_path / "log", PORTOLAN_STATEMENT_TIMEOUT_S="1")
    yield coordinator
    coordinator.stop()


def test_ids_are_fields_of_the_log(coordinator: LoggedCoordinator) -> None:
    with scripted_runner(Script(ends=lambda job: job.attempt > 1)) as stub:
        runner = coordinator.register(stub.url, stub.secret).json()["id"]
        campaign = coordinator.submit(f"{SUITE}.f1", suite=SUITE, runs=1)
        until(lambda: stub.posted, "it has the job")
        stub.cancel(stub.posted[0])
        coordinator.wait_ended(campaign)
        job = int(stub.posted[0].id.rpartition(".")[2])
        session = {"runner": runner, "url": stub.url, "boot": stub.boot_id}
        stop_entry = coordinator.log_entry("a job was stopped before its deadline")
        assert stop_entry.items() >= {**session, "job": job, "attempt": 1}.items()
        assert coordinator.log_entry("the campaign is complete")["campaign"] == campaign
        asyncio.run(ask_while_locked(coordinator, campaign))
        away = coordinator.log_entry("the database is away")
        path = f"/api/v1/campaigns/{campaign}"
        assert away.items() >= {"campaign": campaign, "method": "GET", "path": path, "level": "warning"}.items()
    assert coordinator.log_entry("the runner is offline").items() >= session.items()
    with socket.create_connection(("127.0.0.1", coordinator.port)) as connection:
        connection.sendall(b"no request\r\n\r\n")
    assert coordinator.log_entry("Invalid HTTP request")["logger"] == "uvicorn.error"
    assert stub.secret not in coordinator.log.read_text()


async def ask_while_locked(coordinator: LoggedCoordinator, campaign: int) -> None:
    connection = await asyncpg.connect(coordinator.dsn)
    async with connection.transaction():
        await connection.execute("LOCK TABLE campaigns IN ACCESS EXCLUSIVE MODE")
        answer = await asyncio.to_thread(coordinator.http.get, f"/campaigns/{campaign}")
        assert answer.status_code == 503
    await connection.close()


def test_lines_for_people(database: str, tmp_path: Path) -> None:
    coordinator = LoggedCoordinator(database, tmp_path / "log", PORTOLAN_LOG_FORMAT="text")
    try:
        with scripted_runner() as stub:
            runner = coordinator.register(stub.url, stub.secret).json()["id"]
            coordinator.wait_ended(coordinator.submit("*", suite=SUITE, runs=1))
        until(lambda: "the runner is offline" in coordinator.log.read_text(), "the end of the runner is logged")
        coordinator.process.send_signal(signal.SIGTERM)
    finally:
        coordinator.stop()
    line, *_ = [line for line in coordinator.log.read_text().splitlines() if "the runner is offline" in line]
    assert f" runner={runner} " in line
    assert f" url={stub.url}" in line


def test_a_log_that_nobody_reads_makes_nobody_wait() -> None:
    reading, writing = os.pipe()
    log = get_logger("coordinator.tests")
    read: list[str] = []
    with os.fdopen(reading) as lines, os.fdopen(writing, "w") as stream:
        with log_to(stream, "text"):
            for _ in range(2 * MOST_WAITING):
                log.warning("a line that is written when somebody reads")
            reader = threading.Thread(target=lambda: read.extend(lines))
            reader.start()
            until(lambda: len(read) > MOST_WAITING / 2, "somebody reads")
            log.warning("the last line")
        stream.close()
        reader.join()
    assert any("lines were dropped" in line for line in read)
    assert "the last line" in read[-1]


def test_a_line_of_a_megabyte_is_cut_and_stays_json() -> None:
    output = io.StringIO()
    with log_to(output, "json"):
        get_logger("coordinator.tests").warning("an answer", text="input_value=" * 100_000)
    assert json.loads(output.getvalue())["text"].startswith("input_value=***")


async def test_no_parameter_of_a_statement_is_logged(database: str) -> None:
    output, pool = io.StringIO(), engine(database, pool_size=1)
    # In a variable, because a traceback holds the lines of the code.
    parameters = {"secret": "open sesame"}
    with log_to(output, "json"):
        try:
            async with pool.connect() as connection:
                await connection.execute(text("SELECT 1 / (length(:secret) - 11)"), parameters)
        except DBAPIError as error:
            get_logger("coordinator.tests").error("a statement failed", exc_info=error)
    await pool.dispose()
    line = json.loads(output.getvalue())
    assert "division by zero" in line["exception"]
    assert "open sesame" not in output.getvalue()
