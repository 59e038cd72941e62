"""Checks a restart: ``restart.*``. The check needs a command that restarts the runner."""

from __future__ import annotations

import asyncio
import contextlib
import time

import httpx

from coordinator.conformance.cases import job_name
from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag

LOOK_EVERY_S = 0.2


async def boot(subject: Subject) -> None:
    """After a restart the runner has a new boot_id, numbers events from 1 again, and has no earlier attempt."""
    if subject.restart is None:
        raise NotRunError("the check does not know how to restart it: give --restart-command")
    job = subject.job()
    await subject.queue(job)
    if any(ConformanceTag.hangs in case.tags for case in subject.cases):
        await subject.hang()
    old = subject.boot_id
    await subject.restart()
    subject.begin_anew(await _next_boot(subject))
    if subject.boot_id == old:
        raise BrokenError(f"boot_id is still {old}")
    events = await subject.run(job)
    if events[0].n != 1:
        raise BrokenError(f"the first event of the new boot has number {events[0].n}")
    keys = [event.key for event in events]
    if keys != [job.key, job.key]:
        raise BrokenError(f"beside {job_name(job.key)}, the new boot has events of {sorted(set(keys))}")


async def _next_boot(subject: Subject) -> dict[str, object]:
    """The runner's description when it responds again after the restart."""
    end = time.monotonic() + subject.times.restart_s
    while time.monotonic() < end:
        with contextlib.suppress(httpx.HTTPError, ValueError):
            answer = await subject.http.get("/v1/runner")
            info = answer.json() if answer.status_code == 200 else None
            if isinstance(info, dict) and "boot_id" in info:
                return info
        await asyncio.sleep(LOOK_EVERY_S)
    raise BrokenError(f"after its restart it did not answer GET /v1/runner within {subject.times.restart_s:g} s")
