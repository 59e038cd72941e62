"""The pace of reading: few events that were waited for are followed by a pause, and nothing that is there waits."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.dispatch.reading_pace import FEW_LINES, ReadingPace


async def pauses(pace: ReadingPace, lines: int, *, can_wait: bool = True) -> bool:
    """Whether others get their turn before the next batch is asked for."""
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    await pace.keep(lines, can_wait=can_wait)
    return bool(turns)


async def test_a_pause_follows_few_lines_that_were_waited_for() -> None:
    pace = ReadingPace()
    assert await pauses(pace, 2)
    # The next batch came in the pause, and the one after it had to be waited for.
    assert not await pauses(pace, 2)
    await asyncio.sleep(0)
    assert await pauses(pace, 2)


@pytest.mark.parametrize(("lines", "can_wait"), [(FEW_LINES, True), (2, False)])
async def test_no_pause_follows_many_lines_or_when_somebody_waits(lines: int, can_wait: bool) -> None:
    assert not await pauses(ReadingPace(), lines, can_wait=can_wait)


async def test_no_pause_follows_the_last_lines_of_a_burst() -> None:
    pace = ReadingPace()
    assert not await pauses(pace, FEW_LINES)
    await asyncio.sleep(0)
    assert not await pauses(pace, 2)
    await asyncio.sleep(0)
    assert await pauses(pace, 2)
