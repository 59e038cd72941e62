"""A module of ours in a process of its own, for work that would hold the coordinator up or take its memory for good.

``module_process`` starts it and ends it with the block; ``check_end`` says how it ended. The module itself calls
``run_work``, so that a database that went away stays an outage.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager

from coordinator.database.outage import is_outage
from coordinator.errors import DatabaseAwayError, PortolanError, reason_of
from coordinator.operating_system.exec_with_parent_death_signal import die_with

DATABASE_AWAY_CODE = os.EX_TEMPFAIL
"""Exit code of a module when the database is unreachable."""


@asynccontextmanager
async def module_process(module: str, dsn: str, pass_fds: Sequence[int] = ()) -> AsyncIterator[Process]:
    """Run ``python -m module`` over a database; it is killed if the block ends before it."""
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
            await process.wait()


def check_end(process: Process, complaint: bytes, failure: str) -> None:
    """Raise ``DatabaseAwayError``, or a ``PortolanError`` that begins with ``failure``, if the process failed."""
    if process.returncode == 0:
        return
    last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
    if process.returncode == DATABASE_AWAY_CODE:
        raise DatabaseAwayError(last[0])
    raise PortolanError(f"{failure}: {last[0]}")


def run_work(work: Coroutine[None, None, None]) -> None:
    """Do the work of this process to its end, or to that of the coordinator."""
    die_with(os.getppid(), signal.SIGKILL)
    try:
        asyncio.run(work)
    except Exception as error:
        if not is_outage(error):
            raise
        # Not a fault of the request: the caller is told to try again.
        print(reason_of(error), file=sys.stderr)
        sys.exit(DATABASE_AWAY_CODE)
