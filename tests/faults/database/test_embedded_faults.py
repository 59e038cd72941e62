"""Faults of the embedded PostgreSQL. Every call after a fault repairs the server, and no committed row is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import psutil
import pytest

from coordinator.database.binaries import servant
from coordinator.database.embedded import EmbeddedPostgres
from coordinator.errors import DatabaseError, DirectoryHeldError
from tests.small_disk import SmallDisk
from tests.waiting import until

ROOT = Path(__file__).parents[3]
KEEPER = """
import sys
from pathlib import Path
from coordinator.database import embedded
if sys.argv[2] == "deaf":  # the kernel's help is taken away: the server will outlive us
    launch = embedded._launch
    embedded._launch = lambda account, _signal, command: launch(account, 0, command)
print(embedded.EmbeddedPostgres(Path(sys.argv[1])).start(), flush=True)
sys.stdin.read()
"""


async def ask(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn, timeout=60)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def keep(directory: Path, how: str = "") -> subprocess.Popen[str]:
    """Use the database like a second Portolan process."""
    return subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(directory), how],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def next_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def server_pid(directory: Path) -> int:
    return int((directory / "cluster" / "postmaster.pid").read_text().split()[0])


async def commit_table(dsn: str) -> None:
    await ask(dsn, "create table kept as select 7 as n")


async def is_healed(directory: Path) -> None:
    with EmbeddedPostgres(directory) as dsn:
        assert await ask(dsn, "select n from kept") == 7


async def test_the_server_is_killed(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    await commit_table(server.start())
    os.kill(server_pid(directory), signal.SIGKILL)
    until(lambda: not server.running, "the server has ended")
    with pytest.raises(DirectoryHeldError):
        EmbeddedPostgres(directory).start()  # its portolan lives, and may start it again
    assert await ask(server.start(), "select n from kept") == 7
    server.stop()
    await is_healed(directory)


async def test_portolan_is_killed_and_its_server_goes_with_it(directory: Path) -> None:
    keeper = keep(directory)
    await commit_table(next_line(keeper))
    pid = server_pid(directory)
    kill(keeper)
    until(lambda: not psutil.pid_exists(pid), "it is gone")
    await is_healed(directory)


async def test_portolan_is_killed_and_restarted_at_once(directory: Path) -> None:
    keeper = keep(directory)
    await commit_table(next_line(keeper))
    kill(keeper)
    await is_healed(directory)


async def test_an_orphaned_server_is_found_and_stopped(directory: Path) -> None:
    keeper = keep(directory, "deaf")
    dsn = next_line(keeper)
    await commit_table(dsn)
    kill(keeper)
    orphan = server_pid(directory)
    assert await ask(dsn, "select 1") == 1
    await is_healed(directory)
    assert not psutil.pid_exists(orphan)


async def test_a_backend_that_survived_its_killed_server_is_stopped(directory: Path) -> None:
    keeper = keep(directory, "deaf")
    dsn = next_line(keeper)
    await commit_table(dsn)
    connection = await asyncpg.connect(dsn)
    backend = connection.get_server_pid()
    # Counting asks nobody whether the server is still there.
    busy = asyncio.ensure_future(connection.fetchval("select count(*) from generate_series(1, 1e12::bigint)"))
    await asyncio.sleep(0)
    observer = await asyncpg.connect(dsn)
    while await observer.fetchval("select state from pg_stat_activity where pid = $1", backend) != "active":
        pass
    await observer.close()
    os.kill(server_pid(directory), signal.SIGKILL)
    kill(keeper)
    assert psutil.pid_exists(backend)
    await is_healed(directory)
    assert not psutil.pid_exists(backend)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await busy
    connection.terminate()


@pytest.mark.parametrize("now", ["dead", "another program", "zombie"])
async def test_a_stale_pid_file(directory: Path, now: str) -> None:
    with EmbeddedPostgres(directory) as dsn:
        await commit_table(dsn)
        stale = (directory / "cluster" / "postmaster.pid").read_text().splitlines()
    # Of the server's own user, or PostgreSQL would not mind it.
    user = servant().uid if os.geteuid() == 0 else None
    other = psutil.Popen(["sleep", "1000"] if now == "another program" else ["true"], user=user)
    try:
        if now == "zombie":
            until(lambda: other.status() == psutil.STATUS_ZOMBIE, "it has ended")
        elif now == "dead":
            other.wait(60)
        pid_file = directory / "cluster" / "postmaster.pid"
        pid_file.write_text("\n".join([str(other.pid), *stale[1:]]) + "\n")
        shutil.chown(pid_file, (directory / "cluster").stat().st_uid)
        await is_healed(directory)
        if now == "another program":
            assert other.poll() is None
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            other.kill()
        other.wait(60)


async def test_killed_while_the_database_is_made(place: Path) -> None:
    directory = place / "postgres"
    keeper = keep(directory)
    until((directory / "making" / "cluster" / "base").exists, "the making of the cluster has begun")
    kill(keeper)
    with EmbeddedPostgres(directory) as dsn:
        assert await ask(dsn, "select 1") == 1
    assert not (directory / "making").exists()


async def test_a_directory_held_by_another_process(directory: Path) -> None:
    keeper = keep(directory)
    dsn = next_line(keeper)
    with pytest.raises(DirectoryHeldError, match=rf"{directory} is held by another portolan \(pid {keeper.pid}\)"):
        EmbeddedPostgres(directory).start()
    assert await ask(dsn, "select 1") == 1
    kill(keeper)


async def test_a_full_disk(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "postgres"
    with pytest.raises(DatabaseError, match="no space left") as first:
        EmbeddedPostgres(directory).start()
    assert "\n" not in str(first.value)
    assert not (directory / "making").exists()
    small_disk.remount("size=200m")
    with EmbeddedPostgres(directory) as dsn:
        await commit_table(dsn)
    small_disk.fill()
    with pytest.raises(DatabaseError, match="no space left") as later:
        EmbeddedPostgres(directory).start()
    assert "\n" not in str(later.value)
    small_disk.make_room()
    await is_healed(directory)
