"""The one rule by which the events of a call are a fallback, on any framework."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from runners.suite.host_work import WORKED, Brought, CallRecord, Elsewhere, Event, Read, fallbacks
from runners.suite.picks import Pick, Source

ARRAY = Read("numpy", 12, "float32")
NUMBER = Read("item", 1, "float32")


def read_of(*numbers: Pick) -> Read:
    """A read of what these numbers make; of itself, if it is one."""
    return Read("item", 1, "float32", picks=frozenset(numbers))


def out_of(source: Source, count: int) -> list[Event]:
    """Reads of so many numbers of one array."""
    return [read_of(Pick(source)) for _ in range(count)]


FEW, SIX, MANY = Source(2), Source(6), Source(100)
ONE, OTHER, THIRD = Pick(Source(3)), Pick(Source(3)), Pick(SIX)
ROWS = [Source(10, MANY) for _ in range(10)]


def after_each(events: Iterable[Event]) -> list[Event]:
    """The events, and work of the device after each."""
    return [one for event in events for one in (event, WORKED)]


@pytest.mark.parametrize(
    ("events", "expected_fallbacks"),
    [
        ([Elsewhere("sort"), Elsewhere("sort", 2)], {"sort": 3}),
        ([ARRAY, WORKED], {"host read by numpy": 12}),
        ([ARRAY, Brought(12)], {"host read by numpy": 12}),
        ([ARRAY, ARRAY, Read("tolist", 4), WORKED], {"host read by numpy": 24, "host read by tolist": 4}),
        ([Read("numpy", 12, "bool", by_framework=True), WORKED], {"host read by numpy": 12}),
        ([Read("numpy", 12, "int64"), WORKED], {"host read by numpy": 12}),
        (after_each(out_of(SIX, 3)), {"host read of an array by its numbers": 3}),
        (after_each(out_of(FEW, 2)), {"host read of an array by its numbers": 2}),
        ([*out_of(MANY, 8), WORKED], {"host read of an array by its numbers": 8}),
        ([*(one for row in ROWS for one in out_of(row, 1)), WORKED], {"host read of an array by its numbers": 10}),
        (
            [read_of(Pick(SIX), THIRD), read_of(Pick(SIX), THIRD), read_of(Pick(SIX)), WORKED],
            {"host read of an array by its numbers": 3},
        ),
        ([NUMBER] * 6 + [Brought(6)], {"host read of numbers that came back": 6}),
        ([NUMBER] * 8 + [Brought(4)], {"host read of numbers that came back": 4}),
    ],
)
def test_work_of_the_host_is_a_fallback(events: list[Event], expected_fallbacks: dict[str, int]) -> None:
    assert fallbacks(events, returned=0) == expected_fallbacks


@pytest.mark.parametrize(
    "events",
    [
        [],
        [WORKED, Brought(12), WORKED],
        [WORKED, ARRAY],
        [NUMBER, WORKED] * 100,
        [NUMBER, Brought(1), NUMBER, Brought(1), WORKED],
        [NUMBER, NUMBER, Brought(2, "int32"), WORKED],
        [NUMBER, Brought(12), WORKED],
        [*[NUMBER] * 20, Brought(9), WORKED],
        [*out_of(SIX, 2), WORKED],
        [*out_of(FEW, 1), WORKED],
        [*out_of(MANY, 7), WORKED],
        [WORKED, *out_of(SIX, 6)],
        after_each(one for _ in range(9) for one in out_of(Source(6), 1)),
        after_each([read_of(ONE, OTHER)] * 9),
        after_each([read_of(THIRD)] * 9),
        [Read("numpy", 12, "int32", by_framework=True), WORKED],
        [Read("numpy", 0), WORKED],
    ],
)
def test_all_else_is_none(events: list[Event]) -> None:
    assert fallbacks(events, returned=0) == {}


def test_numbers_that_the_result_holds_were_read_for_it() -> None:
    events = [ARRAY, WORKED, *out_of(SIX, 6), WORKED]
    assert fallbacks(events, returned=18) == {}
    assert fallbacks(events, returned=17) == {"host read by numpy": 12, "host read of an array by its numbers": 6}


def test_the_result_excuses_no_number_that_comes_back() -> None:
    assert fallbacks([NUMBER] * 2 + [Brought(2)], returned=9) == {"host read of numbers that came back": 2}


def test_what_a_constructor_reads_is_carried_on_by_its_object() -> None:
    assert fallbacks([ARRAY], returned=0) == {}
    assert fallbacks([ARRAY], returned=0, goes_on=True) == {"host read by numpy": 12}


def test_a_record_keeps_one_event_of_work_between_two_others() -> None:
    record = CallRecord()
    for event in (WORKED, WORKED, NUMBER, WORKED, WORKED):
        record.add(event)
    assert record.events == [WORKED, NUMBER, WORKED]
