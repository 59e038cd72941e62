"""The check of the clause ``restart.*``: what a restart of the runner changes. It needs a command that restarts the
runner."""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx

from coordinator.configuration.variables import CHECK_TIMES
from coordinator.conformance.cases import job_name
from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag

LOOK_EVERY_S = 0.2


async def boot(subject: Subject) -> None:
    """After a restart the runner has a new boot_id, numbers events from 1 again, and has no earlier attempt."""
    if subject.restart is None:
        raise NotRunError("the check has no command that restarts the runner: give --restart-command")
    job = subject.job()
    await subject.queue(job)
    if any(ConformanceTag.hangs in case.tags for case in subject.cases):
        await subject.hang()
    old = subject.boot_id
    await subject.restart()
    subject.begin_anew(await _next_boot(subject))
    if subject.boot_id == old:
        raise BrokenError(f"after the restart boot_id is still {old}: make a new one at each start")
    events = await subject.run(job)
    if events[0].n != 1:
        raise BrokenError(
            f"after the restart the first event has number {events[0].n}, not 1: number the events of each boot from 1"
        )
    keys = [event.key for event in events]
    if keys != [job.key, job.key]:
        raise BrokenError(
            f"after the restart the runner sent events of {sorted(set(keys))}, not only of {job_name(job.key)}: "
            "discard earlier attempts"
        )


async def _next_boot(subject: Subject) -> dict[str, object]:
    """Wait until the runner answers after its restart, and return its description."""
    end = time.monotonic() + subject.times.restart_s
    while time.monotonic() < end:
        with contextlib.suppress(httpx.HTTPError, ValueError):
            answer = await subject.http.get("/v1/runner")
            info = answer.json() if answer.status_code == 200 else None
            if isinstance(info, dict) and "boot_id" in info:
                return info
        await asyncio.sleep(LOOK_EVERY_S)
    raise BrokenError(
        f"after its restart the runner did not answer GET /v1/runner within {subject.times.restart_s:g} s: "
        f"allow more time with restart_s in {CHECK_TIMES}"
    )
