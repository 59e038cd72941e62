"""Faults of PostgreSQL: killed, paused, locked, refusing connections, or restored from a backup."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from typing import ClassVar

import asyncpg
import psutil

from coordinator.database.embedded import EmbeddedPostgres
from coordinator.dispatch.installation import settle_at
from tests.event_loop import LOOP_LIMIT_S
from tests.faults.matrix.fault import COORDINATOR, DATABASE_LEG, POSTGRESQL, Component, Fault
from tests.faults.matrix.world import World

IMPATIENT_MS = 20
OPPONENTS = 2


class PostgresFault(Fault):
    place = Component.postgresql
    needs = POSTGRESQL


class Killed(PostgresFault):
    name = "PostgreSQL killed"

    def inject(self, world: World) -> None:
        os.kill(world.postmaster, signal.SIGKILL)

    def heal(self, world: World) -> None:
        world.restart_postgres()


class Stopped(Killed):
    name = "PostgreSQL shut down in immediate mode"

    def inject(self, world: World) -> None:
        os.kill(world.postmaster, signal.SIGQUIT)


class Paused(PostgresFault):
    """All of its processes pause at the same time, as on a virtual machine that is moved to another host."""

    name = "PostgreSQL paused"
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        head = psutil.Process(world.postmaster)
        self.processes = [head, *head.children()]
        for process in self.processes:
            process.suspend()

    def heal(self, world: World) -> None:
        for process in self.processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


class BackendPaused(Paused):
    """The process of one of the coordinator's connections pauses, with the locks that it holds."""

    name = "one connection's process paused"

    def inject(self, world: World) -> None:
        backends = world.rows(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " ORDER BY query_start DESC NULLS LAST LIMIT 1"
        )
        self.processes = [psutil.Process(row["pid"]) for row in backends]
        for process in self.processes:
            process.suspend()


class Terminated(PostgresFault):
    name = "all connections terminated"
    lasts_s = 0.0

    def inject(self, world: World) -> None:
        world.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )


class Transaction(PostgresFault):
    """Another session has an open transaction with locks."""

    statement: ClassVar[str]
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        self.connection: asyncpg.Connection | None = None
        world.run(self._begin(world.dsn))

    async def _begin(self, dsn: str) -> None:
        self.connection = await asyncpg.connect(dsn, timeout=LOOP_LIMIT_S)
        await self.connection.execute("SET statement_timeout = 0")
        while not await self._holds_all(self.connection):
            pass

    async def _holds_all(self, connection: asyncpg.Connection) -> bool:
        """If sessions of the coordinator hold the rows in another order, PostgreSQL may end this transaction."""
        await connection.execute("BEGIN")
        try:
            await connection.execute(self.statement, timeout=LOOP_LIMIT_S)
        except asyncpg.DeadlockDetectedError:
            await connection.execute("ROLLBACK")
            return False
        return True

    def heal(self, world: World) -> None:
        world.run(self._end())

    async def _end(self) -> None:
        if self.connection is not None:
            await self.connection.close(timeout=LOOP_LIMIT_S)


class TableLocked(Transaction):
    name = "table of jobs locked"
    statement = "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE"


class TableLockedForLong(TableLocked):
    name = "table of jobs locked for 45 s"
    lasts_s = 45.0


class RunnersLocked(Transaction):
    name = "table of runners locked"
    statement = "LOCK TABLE runners IN ACCESS EXCLUSIVE MODE"


class RowsLocked(Transaction):
    name = "rows of campaigns, targets and jobs locked"
    statement = (
        "SELECT 1 FROM campaign_targets t JOIN jobs j USING (campaign_id) JOIN campaigns c ON c.id = campaign_id"
        " WHERE c.state = 'running' FOR UPDATE"
    )


class Deadlocks(PostgresFault):
    """Other sessions lock the same rows in the opposite order, and wait while they hold them."""

    name = "deadlocks provoked"
    lasts_s = 5.0

    def inject(self, world: World) -> None:
        self.goes_on = True
        self.opponents = [
            asyncio.run_coroutine_threadsafe(self._oppose(world.dsn), world.loop) for _ in range(OPPONENTS)
        ]

    async def _oppose(self, dsn: str) -> None:
        connection = await asyncpg.connect(dsn, timeout=LOOP_LIMIT_S)
        try:
            while self.goes_on:
                with contextlib.suppress(asyncpg.PostgresError):
                    async with connection.transaction():
                        await connection.execute("UPDATE runners SET last_seen = last_seen")
                        await asyncio.sleep(0.05)
                        await connection.execute("UPDATE campaign_targets SET reclassifications = reclassifications")
                        await connection.execute(
                            "UPDATE jobs SET lost = lost WHERE id = ANY(ARRAY("
                            "SELECT id FROM jobs WHERE state IN ('leased', 'running') ORDER BY id DESC LIMIT 20))"
                        )
        finally:
            await connection.close(timeout=LOOP_LIMIT_S)

    def heal(self, world: World) -> None:
        self.goes_on = False
        for opponent in self.opponents:
            opponent.result(LOOP_LIMIT_S)


class Setting(PostgresFault):
    """A setting of the server changes, also for existing connections."""

    setting: ClassVar[str]
    value: ClassVar[str]

    def inject(self, world: World) -> None:
        world.execute(f"ALTER SYSTEM SET {self.setting} = {self.value}", "SELECT pg_reload_conf()")

    def heal(self, world: World) -> None:
        world.execute(f"ALTER SYSTEM RESET {self.setting}", "SELECT pg_reload_conf()")


class ReadOnly(Setting):
    name = "database read-only"
    setting, value = "default_transaction_read_only", "on"


class Impatient(Setting):
    name = f"statements limited to {IMPATIENT_MS} ms"
    setting, value = "statement_timeout", str(IMPATIENT_MS)


class Crowded(PostgresFault):
    """Existing connections are ended, and other clients take all available connections."""

    name = "PostgreSQL has no free connection"
    lasts_s = 6.0

    def inject(self, world: World) -> None:
        self.connections: list[asyncpg.Connection] = []
        world.run(self._crowd(world.dsn))

    async def _crowd(self, dsn: str) -> None:
        first = await asyncpg.connect(dsn, timeout=LOOP_LIMIT_S)
        self.connections.append(first)
        await first.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        # The user of the embedded server is a superuser, so what is reserved for those goes, too.
        with contextlib.suppress(asyncpg.PostgresError):
            while True:
                self.connections.append(await asyncpg.connect(dsn, timeout=LOOP_LIMIT_S))

    def heal(self, world: World) -> None:
        world.run(self._leave())

    async def _leave(self) -> None:
        await asyncio.gather(*(connection.close(timeout=LOOP_LIMIT_S) for connection in self.connections))


class Restored(PostgresFault):
    """A backup that is a few seconds old replaces the database. The runners have newer data."""

    name = "database restored from a backup"
    needs = POSTGRESQL | DATABASE_LEG
    lasts_s = 10.0

    def inject(self, world: World) -> None:
        world.back_up()

    def heal(self, world: World) -> None:
        world.restore()


class Copied(PostgresFault):
    """Somebody starts a copy of the data directory to read old data. The copy knows all runners."""

    name = "copy of the database's directory started beside the original"
    needs = POSTGRESQL | DATABASE_LEG | COORDINATOR
    lasts_s = 8.0

    def inject(self, world: World) -> None:
        original = world.postgres.directory
        self._place = original.parent / "copy"
        world.run(settle_at(world.dsn, str(original)))
        world.postgres.stop()
        subprocess.run(["cp", "-a", original, self._place], check=True)
        world.postgres.start()
        self._copy = EmbeddedPostgres(self._place)
        dsn = self._copy.start()
        world.run(settle_at(dsn, str(self._place)))
        world.start_other(dsn)

    def heal(self, world: World) -> None:
        world.stop_others()
        self._copy.stop()
        shutil.rmtree(self._place)


KINDS: tuple[type[Fault], ...] = (
    Killed,
    Stopped,
    Paused,
    BackendPaused,
    Terminated,
    TableLocked,
    TableLockedForLong,
    RunnersLocked,
    RowsLocked,
    Deadlocks,
    ReadOnly,
    Impatient,
    Crowded,
    Restored,
    Copied,
)
