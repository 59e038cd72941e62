"""The clock of a job charges its case only."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from runners.isolation.deadline import Clock


def test_it_runs_from_the_beginning_of_the_case() -> None:
    clock = Clock(10, now=100)
    clock.begin(103)
    assert clock.elapsed_s(107) == 4
    assert clock.left(107) == 6


def test_waiting_for_the_timing_lock_moves_the_deadline() -> None:
    clock = Clock(10, now=0)
    clock.pause(4)
    assert clock.left(1_000) == math.inf
    assert clock.elapsed_s(1_000) == 4
    clock.resume(1_000)
    assert clock.left(1_003) == 3


@given(
    st.lists(st.tuples(st.floats(0, 100), st.sampled_from(["begin", "pause", "resume"])), max_size=20),
)
def test_no_order_of_messages_gives_negative_time_or_more_than_passed(steps: list[tuple[float, str]]) -> None:
    clock = Clock(10, now=0)
    now = 0.0
    for later, message in steps:
        now += later
        getattr(clock, message)(now)
        assert 0 <= clock.elapsed_s(now) <= now
