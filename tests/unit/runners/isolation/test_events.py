"""The event log: numbers without gaps, nothing forgotten before it is acknowledged, bounded."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.enums import Ending, Verdict
from protocol.events import EVENT
from protocol.outcomes import Outcome
from runners.errors import AheadError, TrimmedError
from runners.isolation.events import BATCH, EventLog

PASSED = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=0.1)


def _numbers(lines: bytes) -> list[int]:
    return [EVENT.validate_json(line).n for line in lines.splitlines()]


@given(st.lists(st.one_of(st.just("event"), st.integers(0, 30)), max_size=60))
def test_whatever_is_acknowledged_the_rest_is_there_in_order(steps: list[str | int]) -> None:
    log = EventLog()
    acknowledged_number = issued_number = 0
    for step in steps:
        if step == "event":
            issued_number += 1
            log.record_finish(f"job-{issued_number}", 1, PASSED)
        elif isinstance(step, int) and step <= issued_number:
            log.acknowledge(step)
            acknowledged_number = max(acknowledged_number, step)
        last, lines = log.after(acknowledged_number)
        assert _numbers(lines) == list(range(acknowledged_number + 1, issued_number + 1))
        assert last == log.last == issued_number


def test_a_read_is_a_batch_at_most_and_goes_on_after_it() -> None:
    log = EventLog()
    for number in range(BATCH + 5):
        log.record_start(f"job-{number}", 1)
    last, lines = log.after(0)
    assert len(_numbers(lines)) == last == BATCH
    assert _numbers(log.after(last)[1]) == [BATCH + number for number in range(1, 6)]


def test_acknowledging_gives_back_the_attempts_that_finished() -> None:
    log = EventLog()
    log.record_start("a", 1)
    log.record_finish("a", 1, PASSED)
    log.record_start("b", 3)
    assert log.acknowledge(2) == [("a", 1)]
    assert log.acknowledge(2) == []
    assert log.acknowledge(3) == []


def test_what_is_gone_or_not_there_yet_is_told_apart() -> None:
    log = EventLog()
    log.record_start("a", 1)
    log.acknowledge(1)
    with pytest.raises(TrimmedError, match="up to 1"):
        log.after(0)
    for ask in (log.after, log.acknowledge):
        with pytest.raises(AheadError, match="the last event is 1"):
            ask(2)


@pytest.mark.parametrize("log", [EventLog(max_events=1), EventLog(max_bytes=10)])
def test_a_log_reports_once_that_it_is_full_and_that_it_has_room_again(log: EventLog) -> None:
    reports: list[str] = []
    log.on_full, log.on_room = lambda: reports.append("full"), lambda: reports.append("room")
    log.record_finish("a", 1, PASSED)
    log.record_finish("b", 1, PASSED)
    assert reports == ["full"]
    log.acknowledge(1)
    assert reports == ["full"]
    log.acknowledge(2)
    assert reports == ["full", "room"]


async def test_waiting_ends_with_an_event_with_the_time_or_with_the_service() -> None:
    log = EventLog()
    assert not await log.wait_for_event(0, 0.001)
    waiting = asyncio.create_task(log.wait_for_event(0, 30))
    await asyncio.sleep(0)
    log.record_start("a", 1)
    assert await waiting
    waiting = asyncio.create_task(log.wait_for_event(1, 30))
    await asyncio.sleep(0)
    log.close()
    assert not await waiting


async def test_an_event_that_comes_as_a_wait_ends_is_not_missed() -> None:
    """A timer and an event can fall into one turn of the loop: the wait has ended by then, and knows nothing of it."""
    log = EventLog()
    loop = asyncio.get_running_loop()
    # Both are due in the same turn; the event is appended after the wait was cancelled and before it is told.
    wait = asyncio.create_task(log.wait_for_event(0, 0.02))
    await asyncio.sleep(0)
    loop.call_later(0.02, log.record_start, "a", 1)
    loop.call_soon(time.sleep, 0.05)
    assert await wait


def test_a_heartbeat_repeats_what_its_stream_has_said() -> None:
    log = EventLog()
    last, _ = log.after(0)
    log.record_start("a", 1)
    assert EVENT.validate_json(log.heartbeat(last, 0, [])).n == 0
