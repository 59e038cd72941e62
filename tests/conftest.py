"""Fixtures for all tests: a real PostgreSQL server, and databases on it."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.levels import (
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

# Import modules of the coordinator only inside of fixtures: the tests of the runners also run in the frameworks'
# environments, which have neither asyncpg nor SQLAlchemy.

# A process that a shell starts in the background ignores Ctrl-C, and so would all of its children. Undo this.
signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 << 30


def _folder() -> Path:
    """A folder that PostgreSQL's user can enter, unlike pytest's own folders. It is in memory if there is enough room,
    because a new database has three hundred files and takes 0.3 s on a busy disk."""
    roomy = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix="portolan-", dir=MEMORY if roomy else None))
    folder.chmod(0o711)
    return folder


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder that other users can enter, unlike pytest's own folders."""
    folder = _folder()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The DSN of a real embedded server, shared by all tests of the session. For a separate database, use
    ``database``."""
    from coordinator.database.embedded import EmbeddedPostgres
    from tests.database_roles import application

    folder = _folder()
    with EmbeddedPostgres(folder / "postgres") as dsn:
        application(dsn)  # create the role here, because in most tests an event loop is already running
        # Autovacuum would visit each of a hundred databases once a minute, which costs more than the tests themselves.
        # Without fsync, only a power cut can lose data, and nobody reads these databases after a power cut.
        settings = [f"ALTER SYSTEM SET {name} = off" for name in ("autovacuum", "fsync", "full_page_writes")]
        asyncio.run(_execute(dsn, *settings, "SELECT pg_reload_conf()"))
        yield dsn
        # Stop the server without a checkpoint, because its data are deleted anyway.
        pid = int((folder / "postgres" / "cluster" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
    shutil.rmtree(folder)


async def _execute(dsn: str, *statements: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(dsn)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


@pytest.fixture(scope="session")
def made_directory() -> Iterator[Path]:
    """A data directory in which a server was created and stopped. Tests copy this directory and do not use it
    directly."""
    from coordinator.database.embedded import EmbeddedPostgres

    folder = _folder()
    with EmbeddedPostgres(folder / "postgres"):
        pass
    yield folder / "postgres"
    shutil.rmtree(folder)


@pytest.fixture
def directory(made_directory: Path, place: Path) -> Iterator[Path]:
    """A data directory for one test, as after a first start and stop. Processes that still use it at the end are
    stopped."""
    from coordinator.database.embedded import stop_leftovers

    directory = place / "postgres"
    subprocess.run(["cp", "-a", made_directory, directory], check=True)
    yield directory
    stop_leftovers(directory)


@pytest.fixture(scope="session")
def new_database(postgres: str) -> Callable[..., str]:
    """Creates a migrated database (an empty one with ``template="template1"``) and returns its DSN. It is deleted with
    the server."""
    from coordinator.migration import upgrade

    def named(name: str) -> str:
        return urlunsplit(urlsplit(postgres)._replace(path=f"/{name}"))

    asyncio.run(_execute(postgres, "create database template_migrated"))
    asyncio.run(upgrade(named("template_migrated")))
    numbers = itertools.count(1)

    def make(template: str = "template_migrated") -> str:
        name = f"test_{next(numbers)}"
        asyncio.run(_execute(postgres, f"create database {name} template {template}"))
        return named(name)

    return make


@pytest.fixture
def database(new_database: Callable[..., str]) -> str:
    """The DSN of a newly migrated database that no other test uses."""
    return new_database()
