"""The check of a restart, for which the kit needs somebody's hand: ``restart.*``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import httpx

from coordinator.conformance.stream import named
from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag

Restart = Callable[[], Awaitable[None]]
"""Ends the runner's process and starts it anew; returns when the old one is gone."""
START_S = 180.0
"""Until a new boot answers: importing a framework may take a minute."""
LOOK_EVERY_S = 0.2


def checks(restart: Restart | None) -> dict[str, Callable[[Subject], Awaitable[None]]]:
    async def boot(subject: Subject) -> None:
        if restart is None:
            raise NotRunError("nobody said how to restart it: give --restart-command")
        await _boot(subject, restart)

    return {"restart.boot": boot}


async def _boot(subject: Subject, restart: Restart) -> None:
    (lost,) = await subject.queue(subject.job())
    if any(ConformanceTag.hangs in case.tags for case in subject.cases):
        await subject.hang()
    old = subject.boot_id
    await restart()
    subject.begin_anew(await _next_boot(subject))
    if subject.boot_id == old:
        raise BrokenError(f"boot_id is {old} as before")
    (key,) = await subject.queue(subject.job(id=lost[0]))
    async with subject.stream() as stream:
        seen = [each for each in await stream.finished(key) if each.type != "heartbeat"]
    if seen[0].n != 1:
        raise BrokenError(f"the first event of the new boot has number {seen[0].n}")
    if [each.key for each in seen] != [key, key]:
        raise BrokenError(f"beside {named(key)}, the new boot has events of {sorted({each.key for each in seen})}")


async def _next_boot(subject: Subject) -> dict[str, object]:
    """What the runner says of itself once it answers again."""
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            answer = await subject.http.get("/v1/runner")
            if answer.status_code == 200:
                told = answer.json()
                if isinstance(told, dict) and "boot_id" in told:
                    return told
        except (httpx.HTTPError, ValueError):
            pass
        await asyncio.sleep(LOOK_EVERY_S)
    raise BrokenError(f"after its restart it did not answer GET /v1/runner within {START_S:g} s")
