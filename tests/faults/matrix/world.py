"""The system that faults affect: real processes, and relays between them that can be broken.

It consists of one PostgreSQL, one coordinator (sometimes more), three scripted runners on two targets, and one real
runner of the hazards. Every connection goes through a leg. A separate thread runs the event loop of relays and scripted
runners.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from coordinator.database import embedded
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.migration import upgrade
from tests.coordinator_process import CoordinatorProcess, free_port
from tests.event_loop import LOOP_LIMIT_S, EventLoop
from tests.faults.matrix.fault import REAL, SCRIPTED
from tests.faults.matrix.host_clock import host_clock
from tests.faults.matrix.leg import Leg
from tests.faults.matrix.plan import LANES
from tests.faults.matrix.suite import SUITE, cases
from tests.runner_process import RunnerProcess
from tests.scripted_runner import ScriptedRunner
from tests.small_disk import SmallDisk

HARDWARE = {"alpha": "one card", "beta": "one card", "gamma": "another card"}
DISK_BYTES = 600 << 20
SCRATCH_BYTES = 16 << 20
REAL_SECRET = "the-secret-of-delta"


class PatientCoordinator(CoordinatorProcess):
    """A coordinator that counts as started when its port is open, because its database may be unavailable, or never
    respond."""

    def start(self) -> None:
        while True:
            with contextlib.suppress(AssertionError):
                return super().start()

    def _answers(self) -> bool:
        assert self.process.poll() is None, "it ended at its start, and is started again"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1.0):
            return True
        return False


class World:
    """The complete system. ``close`` ends everything that it started."""

    def __init__(self, folder: Path) -> None:
        self._stack = contextlib.ExitStack()
        try:
            self._begin(folder)
        except BaseException:
            self.close()
            raise

    def _begin(self, folder: Path) -> None:
        events = EventLoop()
        self._stack.callback(events.close)
        self.run, self.loop = events.run, events.loop
        # PostgreSQL ends with the thread that started it: those who mend it live as long as the world.
        self.threads = ThreadPoolExecutor(LANES)
        self._stack.callback(self.threads.shutdown)
        self.clock = host_clock()
        if self.clock is not None:
            self._stack.callback(self.clock.close)
        self.variables = {} if self.clock is None else self.clock.variables
        self.at_restore: list[Callable[[], None]] = []
        """Called when the database was replaced by an older one."""
        self.disk = self._disk(folder / "disk", DISK_BYTES, "755")
        self.scratch = self._disk(folder / "scratch", SCRATCH_BYTES, "1777")
        self.backup = folder / "backup"
        self.timing_lock = folder / "timing.lock"
        self._begin_database()
        self._begin_runners()
        self.coordinator = PatientCoordinator(self.dsn_by_leg, **self.variables)
        self._stack.callback(self.coordinator.stop)
        self.others: list[CoordinatorProcess] = []
        self._stack.callback(self.stop_others)
        for name in (*SCRIPTED, REAL):
            answer = self.register(name)
            assert answer == 201, f"{name} was not registered: {answer}"

    def close(self) -> None:
        self._stack.close()

    def _disk(self, path: Path, size: int, mode: str) -> SmallDisk:
        disk = SmallDisk(path, size, mode)
        self._stack.callback(disk.close)
        return disk

    def _begin_database(self) -> None:
        self._preload_into_postgres()
        self.postgres = EmbeddedPostgres(self.disk.path / "postgres")
        self._stack.callback(self.postgres.stop)
        self.dsn = self.postgres.start()
        asyncio.run(upgrade(self.dsn))
        self.database_leg = self._leg(urlsplit(self.dsn).port or 0)

    def _preload_into_postgres(self) -> None:
        """Preload the clock's library into PostgreSQL. The server receives none of the test's variables, but needs
        another clock."""
        server_environment = embedded._environment
        self._stack.callback(setattr, embedded, "_environment", server_environment)
        embedded._environment = lambda: server_environment() | self.variables

    def _begin_runners(self) -> None:
        self.runners = {
            name: ScriptedRunner(name, SUITE, cases(), run=self.run, hardware=HARDWARE[name]) for name in SCRIPTED
        }
        for runner in self.runners.values():
            runner.start()
            self._stack.callback(runner.stop)
        self._real_port = free_port()
        self.real = self._start_real()
        self._stack.callback(lambda: self.real.stop())
        ports = {name: runner.port for name, runner in self.runners.items()} | {REAL: self._real_port}
        self.legs = {name: self._leg(port) for name, port in ports.items()}

    def _leg(self, port: int) -> Leg:
        leg = Leg(port, self.run)
        leg.open()
        self._stack.callback(leg.close)
        return leg

    # Runners

    def _start_real(self) -> RunnerProcess:
        return RunnerProcess(
            *("--port", str(self._real_port)),
            PORTOLAN_RUNNER_SECRET=REAL_SECRET,
            PORTOLAN_TIMING_LOCK=str(self.timing_lock),
            TMPDIR=str(self.scratch.path),
        )

    def restart_real(self) -> None:
        """Start a new process under the address of the old process, which has ended."""
        self.real.stop()
        self.real = self._start_real()

    def register(self, name: str, coordinator: CoordinatorProcess | None = None) -> int:
        secret = self.runners[name].secret if name in self.runners else REAL_SECRET
        answer = (coordinator or self.coordinator).register(f"http://127.0.0.1:{self.legs[name].port}", secret)
        return answer.status_code

    # PostgreSQL

    @property
    def dsn_by_leg(self) -> str:
        parts = urlsplit(self.dsn)
        address = f"{parts.username}:{parts.password}@127.0.0.1:{self.database_leg.port}"
        return urlunsplit(parts._replace(netloc=address))

    @property
    def postmaster(self) -> int:
        cluster = self.postgres.directory / "cluster"
        return int((cluster / "postmaster.pid").read_text().split()[0])

    def execute(self, *statements: str) -> None:
        """Execute each statement separately, on a connection that does not use the leg."""

        async def work() -> None:
            connection = await asyncpg.connect(self.dsn, timeout=LOOP_LIMIT_S)
            try:
                await connection.execute("SET default_transaction_read_only = off; SET statement_timeout = 0")
                for statement in statements:
                    await connection.execute(statement)
            finally:
                await connection.close(timeout=LOOP_LIMIT_S)

        self.run(work())

    def rows(self, query: str) -> list[dict[str, Any]]:
        async def work() -> list[dict[str, Any]]:
            connection = await asyncpg.connect(self.dsn, timeout=LOOP_LIMIT_S)
            try:
                return [dict(row) for row in await connection.fetch(query)]
            finally:
                await connection.close(timeout=LOOP_LIMIT_S)

        return list(self.run(work()))

    def restart_postgres(self) -> None:
        """Restart PostgreSQL like `portolan up`: repair the existing data directory, and use the same port."""
        self.postgres.stop()
        assert self.postgres.start() == self.dsn, "another port: something else took the old one"

    def back_up(self) -> None:
        """Store a copy of the current database."""
        self.postgres.stop()
        shutil.rmtree(self.backup, ignore_errors=True)
        subprocess.run(["cp", "-a", self.postgres.directory / "cluster", self.backup], check=True)
        self.postgres.start()

    def restore(self) -> None:
        """Replace the database by the copy, so that everything since the copy is lost."""
        self.postgres.stop()
        cluster = self.postgres.directory / "cluster"
        shutil.rmtree(cluster)
        subprocess.run(["cp", "-a", self.backup, cluster], check=True)
        self.postgres.start()
        for runner in self.runners.values():
            runner.forgotten = runner.serial
        for callback in self.at_restore:
            callback()

    def upgraded_dsn(self, database: str) -> str:
        """The DSN of another database on the server, with the current schema."""
        dsn = urlunsplit(urlsplit(self.dsn)._replace(path=f"/{database}"))
        asyncio.run(upgrade(dsn))
        return dsn

    # Coordinators

    def start_other(self, dsn: str | None = None) -> CoordinatorProcess:
        other = PatientCoordinator(dsn or self.dsn_by_leg, **self.variables)
        self.others.append(other)
        return other

    def stop_others(self) -> None:
        while self.others:
            self.others.pop().stop()

    def quiet(self, limit_s: float = 30.0) -> dict[str, int]:
        """Wait until nothing is left to do. Returns the number of jobs that the scripted runners still hold."""
        end = time.monotonic() + limit_s
        while any(runner.holds for runner in self.runners.values()) and time.monotonic() < end:
            time.sleep(0.1)
        return {name: runner.holds for name, runner in self.runners.items()}
