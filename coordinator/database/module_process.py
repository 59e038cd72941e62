"""Runs a module in its own process, for work that would block the coordinator or keep its memory.

``run_module`` starts the process, reads its output and reports its failure. The module calls ``run_work``, which
reports an unreachable database as an outage.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import cast

from coordinator.database.outage import is_outage
from coordinator.errors import DatabaseAwayError, PortolanError, reason_of
from coordinator.operating_system.exec_with_parent_death_signal import die_with

DATABASE_AWAY_CODE = os.EX_TEMPFAIL
"""The exit code of a module when the database is unreachable."""
COMPLAINT_BYTES = 16_384
"""The number of bytes at the end of a module's stderr that are kept. The last line gives the reason for a failure."""


async def run_module(
    module: str,
    dsn: str,
    failure: str,
    *,
    request: bytes = b"",
    pass_fds: Sequence[int] = (),
    read: Callable[[StreamReader], Coroutine[None, None, bytes]] = StreamReader.read,
) -> bytes:
    """Run ``python -m module`` with a database, and wait until the process ends. If the caller stops waiting, the
    process is killed.

    ``request`` is written to the process's stdin. ``read`` reads its stdout to the end and returns the result. If the
    process fails, raises ``DatabaseAwayError``, or a ``PortolanError`` whose message begins with ``failure``.
    """
    async with _module_process(module, dsn, pass_fds) as process:
        # A module blocks when a pipe that nobody reads is full, so all three pipes are served at the same time.
        async with asyncio.TaskGroup() as pipes:
            output = pipes.create_task(read(cast(StreamReader, process.stdout)))
            complaint = pipes.create_task(_read_last_bytes(cast(StreamReader, process.stderr)))
            pipes.create_task(_send(cast(StreamWriter, process.stdin), request))
        await process.wait()
    _check_end(process, complaint.result(), failure)
    return output.result()


@asynccontextmanager
async def _module_process(module: str, dsn: str, pass_fds: Sequence[int]) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "PORTOLAN_DATABASE_URL": dsn},
        pass_fds=pass_fds,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            # ``wait`` alone does not return while a pipe has unread output.
            await process.communicate()


async def _read_last_bytes(stream: StreamReader) -> bytes:
    last_bytes = b""
    while chunk := await stream.read(COMPLAINT_BYTES):
        last_bytes = (last_bytes + chunk)[-COMPLAINT_BYTES:]
    return last_bytes


async def _send(stdin: StreamWriter, request: bytes) -> None:
    # If the module has already ended, its stderr contains the reason.
    with suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(request)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()


def _check_end(process: Process, complaint: bytes, failure: str) -> None:
    if process.returncode == 0:
        return
    last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it ended without a message; try again"]
    if process.returncode == DATABASE_AWAY_CODE:
        raise DatabaseAwayError(last[0])
    raise PortolanError(f"{failure}: {last[0]}")


def run_work(work: Coroutine[None, None, None]) -> None:
    """Do the work of this process. The process ends early if the coordinator ends."""
    die_with(os.getppid(), signal.SIGKILL)
    try:
        asyncio.run(work)
    except Exception as error:
        if not is_outage(error):
            raise
        # The request was not the reason, so the caller gets the advice to try again.
        print(reason_of(error), file=sys.stderr)
        sys.exit(DATABASE_AWAY_CODE)
