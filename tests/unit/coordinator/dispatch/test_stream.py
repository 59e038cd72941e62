"""Which parts of an event stream can be read, and which jobs are affected by the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.dispatch.leases import Key
from coordinator.dispatch.stream import EventNumbers, StreamEvent, UnreadableEvent, read_event
from coordinator.errors import GapError
from runners.isolation.events import EventLog

ID = "0123456789abcdef.5"


def line(**members: Any) -> bytes:
    return json.dumps({"type": "started", "n": 1, "id": ID, "attempt": 1} | members).encode()


def started_event(n: int) -> StreamEvent:
    return read_event(line(n=n))


def unreadable(event: StreamEvent) -> UnreadableEvent:
    assert isinstance(event, UnreadableEvent)
    return event


@pytest.mark.parametrize(
    "broken",
    [
        line(colour="red"),
        line(type="began"),
        line(id=ID, outcome=1),
        line(note="x").replace(b"x", b"\xff\xfe"),
        json.dumps({"type": "finished", "n": 1, "id": ID, "attempt": 1, "outcome": {"verdict": "fine"}}).encode(),
    ],
    ids=["an extra field", "an unknown word", "a wrong field", "bad UTF-8", "a bad outcome"],
)
def test_an_event_that_cannot_be_read_still_names_its_job(broken: bytes) -> None:
    event = unreadable(read_event(broken))
    assert (event.n, event.key) == (1, Key(5, 1, "0123456789abcdef"))
    assert event.reason


@given(st.binary(max_size=200))
def test_no_bytes_raise(some: bytes) -> None:
    read_event(some)


@pytest.mark.parametrize("some", [b"", b"null", b"[1]", b"\xff", b"[" * 100_000, b'{"n": 1e999}', b'{"n": true}'])
def test_what_says_nothing_names_nothing(some: bytes) -> None:
    event = unreadable(read_event(some))
    assert (event.n, event.key) == (None, None)


def test_a_gap_is_asked_for_once_and_then_passed_over() -> None:
    numbers = EventNumbers(3)
    with pytest.raises(GapError, match="6 after 4"):
        list(numbers.admit([started_event(4), started_event(6)]))
    numbers.restart(3)
    admitted_events = list(numbers.admit([started_event(4), started_event(6), started_event(7)]))
    assert [getattr(event, "n", None) for event in admitted_events] == [4, None, 6, 7]
    assert unreadable(admitted_events[1]).reason == "1 events between 4 and 6 never came"


def test_a_gap_that_comes_the_second_time_is_none() -> None:
    numbers = EventNumbers(3)
    with pytest.raises(GapError):
        list(numbers.admit([started_event(5)]))
    numbers.restart(3)
    assert [getattr(event, "n", None) for event in numbers.admit([started_event(4), started_event(5)])] == [4, 5]


def test_a_line_without_a_number_may_be_the_one_that_is_missing() -> None:
    numbers = EventNumbers(0)
    events = [started_event(1), read_event(b"\xff"), started_event(3)]
    assert [type(event).__name__ for event in numbers.admit(events)] == ["Started", "UnreadableEvent", "Started"]
    assert numbers.last == 3


def test_a_line_without_a_number_may_have_had_none() -> None:
    numbers = EventNumbers(0)
    assert len(list(numbers.admit([started_event(1), read_event(b"\xff"), started_event(2), started_event(3)]))) == 4
    assert numbers.last == 3


def test_a_number_that_came_is_not_taken_twice() -> None:
    numbers = EventNumbers(0)
    again = list(numbers.admit([started_event(1), started_event(1)]))[1]
    assert unreadable(again).key is None


@given(st.lists(st.one_of(st.integers(1, 12), st.none()), max_size=30))
def test_whatever_numbers_come_two_readings_get_to_the_end(ns: list[int | None]) -> None:
    events = [started_event(n) if n else read_event(b"\xff") for n in ns]
    numbers = EventNumbers(0)
    for _ in range(len(ns) + 1):
        numbers.restart(0)
        try:
            admitted_events = [event for event in numbers.admit(events) if not isinstance(event, UnreadableEvent)]
        except GapError:
            continue
        read = [event.n for event in admitted_events]
        assert read == sorted(set(read))
        return
    raise AssertionError("the same gaps are asked for again and again")


def test_the_number_of_a_line_that_cannot_be_read_skips_nothing() -> None:
    numbers = EventNumbers(0)
    garbled_event = read_event(line(n=10**15, colour="red"))
    admitted_events = list(numbers.admit([started_event(1), garbled_event, started_event(3)]))
    assert unreadable(admitted_events[1]).n is None
    assert unreadable(admitted_events[1]).key is not None
    assert numbers.last == 3


STEPS = ("event", "read", "read", "store", "acknowledge", "reconnect")


@given(st.lists(st.sampled_from(STEPS), max_size=120), st.integers(1, 5))
def test_a_runner_s_own_log_never_shows_a_gap(steps: list[str], batch: int) -> None:
    """Wherever its stream breaks, and whatever was stored or acknowledged before, no event is missing or repeated."""
    log, numbers, read = EventLog(), EventNumbers(0), list[int]()
    position = stored_position = 0
    for step in steps:
        if step == "event":
            for _ in range(batch):
                log.record_start(ID, 1)
        elif step == "read" and position >= log.acknowledged:
            position, lines = log.after(position)
            read += [event.n or 0 for event in numbers.admit(map(read_event, lines.splitlines()))]
            assert read[-1:] == [position][: len(read)]
        elif step == "store":
            stored_position = position
        elif step == "acknowledge":
            log.acknowledge(stored_position)
        elif step == "reconnect":
            position = stored_position
            numbers.restart(stored_position)
            del read[stored_position:]
    assert read == list(range(1, len(read) + 1))
