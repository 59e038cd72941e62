"""Which samples stand for a call, and whether they are the host's as much as its."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.isolation.timing import CONTENDED, FEWEST_SAMPLES, OTHERS, samples

BUSY, QUIET = 1.5, 0.02
times = st.lists(st.floats(0.001, 10), max_size=50)


@pytest.mark.parametrize(
    ("undisturbed_count", "waiting_count", "is_contended"),
    [(97, 3, False), (50, 50, False), (49, 51, True), (3, 60, True)],
)
def test_a_run_is_contended_if_most_samples_waited(
    undisturbed_count: int, waiting_count: int, is_contended: bool
) -> None:
    kept_samples = samples([1.0] * undisturbed_count, [9.0] * waiting_count, 1, BUSY)
    assert set(kept_samples.milliseconds) == {1.0}
    assert kept_samples.contended_share == waiting_count / (undisturbed_count + waiting_count)
    assert kept_samples.contended is is_contended


def test_too_few_undisturbed_samples_leave_the_others() -> None:
    kept_samples = samples([1.0] * (FEWEST_SAMPLES - 1), [9.0] * 20, 1, BUSY)
    assert set(kept_samples.milliseconds) == {9.0}
    assert kept_samples.contended


def test_threads_that_wait_for_each_other_are_the_calls_own() -> None:
    kept_samples = samples([], [9.0] * 20, 1, QUIET)
    assert (kept_samples.contended, kept_samples.contended_share) == (False, 0.0)


@given(times, st.lists(st.floats(0.001, 10), min_size=1, max_size=50), st.floats(0, 8))
def test_a_share_is_one_and_a_sample_is_one_of_those_taken(
    undisturbed_ms: list[float], waiting_ms: list[float], others: float
) -> None:
    kept_samples = samples(undisturbed_ms, waiting_ms, 3, others)
    assert 0 <= kept_samples.contended_share <= 1
    assert kept_samples.milliseconds in (undisturbed_ms, waiting_ms)
    assert kept_samples.contended == (
        others >= OTHERS and len(waiting_ms) > CONTENDED * (len(undisturbed_ms) + len(waiting_ms))
    )
