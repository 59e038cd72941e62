"""An alarm rings once, at the earliest time that was set."""

from __future__ import annotations

import asyncio
import time

from runners.isolation.alarm import Alarm


async def test_an_alarm_rings_once_at_the_earliest_time() -> None:
    rings: list[float] = []
    alarm = Alarm(lambda: rings.append(time.monotonic()))
    now = time.monotonic()
    for after_s in (30.0, 0.02, 0.01, 60.0):
        alarm.set(now + after_s)
    await asyncio.sleep(0.05)
    assert len(rings) == 1
    assert rings[0] >= now + 0.01


async def test_an_alarm_can_be_set_again_after_it_rang_and_after_it_was_cancelled() -> None:
    rang = asyncio.Event()
    alarm = Alarm(rang.set)
    alarm.set(time.monotonic())
    alarm.cancel()
    await asyncio.sleep(0.01)
    assert not rang.is_set()
    for _ in range(2):
        rang.clear()
        alarm.set(time.monotonic())
        await asyncio.wait_for(rang.wait(), 1)
