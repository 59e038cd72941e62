"""Backups with pg_dump and pg_restore: one consistent file, restored completely or not at all."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit, urlunsplit

from sqlalchemy import Connection, text

from coordinator.database.binaries import choose
from coordinator.database.connection import run_once
from coordinator.errors import DatabaseError

_WITHOUT_ROLES = ("--no-owner", "--no-privileges")
"""Options that leave out roles and privileges: roles belong to the server, and every upgrade grants the privileges
again."""


def dump(dsn: str, file: BinaryIO) -> None:
    """Dump the database to an open file, without blocking other writers. Raises ``DatabaseError``."""
    process = _run("pg_dump", dsn, "--format=custom", *_WITHOUT_ROLES, stdout=file)
    if process.returncode:
        raise DatabaseError(
            f"the database could not be dumped ({_complaint(process)}): correct this, and repeat the command"
        )


async def restore(dsn: str, file: Path) -> None:
    """Restore the file into an empty database in one transaction. If a ``DatabaseError`` is raised, the database is
    still empty."""
    await run_once(dsn, _require_empty)
    process = _run("pg_restore", dsn, "--single-transaction", "--exit-on-error", *_WITHOUT_ROLES, str(file))
    if process.returncode:
        raise DatabaseError(
            f"{file} could not be restored ({_complaint(process)}): name a file that `portolan db dump` wrote. "
            "The database was not changed"
        )


def _require_empty(connection: Connection) -> None:
    relations = connection.scalar(
        text("SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace")
    )
    if relations:
        raise DatabaseError("the database is not empty: restore into a new database (another --data-dir, or createdb)")


def _run(program: str, dsn: str, *options: str, stdout: BinaryIO | None = None) -> subprocess.CompletedProcess[bytes]:
    parts = urlsplit(dsn)
    # All users can see the arguments of a process, but not its environment.
    safe_dsn = urlunsplit(parts._replace(netloc=_without_password(parts.netloc)))
    secret = {} if parts.password is None else {"PGPASSWORD": unquote(parts.password)}
    return subprocess.run(
        [str(choose(None, Path()).bin / program), f"--dbname={safe_dsn}", *options],
        env={**os.environ, **secret},
        stdin=subprocess.DEVNULL,
        stdout=stdout or subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )


def _without_password(netloc: str) -> str:
    user, at, place = netloc.rpartition("@")
    return f"{user.partition(':')[0]}{at}{place}"


def _complaint(process: subprocess.CompletedProcess[bytes]) -> str:
    """Return the last line of the program's error output. It gives the reason for the failure."""
    lines = [line for line in process.stderr.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "error:" in line]
    return (errors or lines or [f"exit code {process.returncode}"])[0]
