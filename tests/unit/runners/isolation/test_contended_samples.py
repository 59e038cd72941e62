"""Which samples stand for a call, and whether they are the host's as much as its."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.isolation.timing import CONTENDED, FEWEST_SAMPLES, OTHERS, samples

BUSY, QUIET = 1.5, 0.02
times = st.lists(st.floats(0.001, 10), max_size=50)


@pytest.mark.parametrize(
    ("undisturbed", "waited", "contended"), [(97, 3, False), (50, 50, False), (49, 51, True), (3, 60, True)]
)
def test_a_run_is_contended_if_most_samples_waited(undisturbed: int, waited: int, contended: bool) -> None:
    found = samples([1.0] * undisturbed, [9.0] * waited, 1, BUSY)
    assert set(found.milliseconds) == {1.0}
    assert found.contended_share == waited / (undisturbed + waited)
    assert found.contended is contended


def test_too_few_undisturbed_samples_leave_the_others() -> None:
    found = samples([1.0] * (FEWEST_SAMPLES - 1), [9.0] * 20, 1, BUSY)
    assert set(found.milliseconds) == {9.0}
    assert found.contended


def test_threads_that_wait_for_each_other_are_the_calls_own() -> None:
    found = samples([], [9.0] * 20, 1, QUIET)
    assert (found.contended, found.contended_share) == (False, 0.0)


@given(times, st.lists(st.floats(0.001, 10), min_size=1, max_size=50), st.floats(0, 8))
def test_a_share_is_one_and_a_sample_is_one_of_those_taken(
    undisturbed: list[float], waited: list[float], others: float
) -> None:
    found = samples(undisturbed, waited, 3, others)
    assert 0 <= found.contended_share <= 1
    assert found.milliseconds in (undisturbed, waited)
    assert found.contended == (others >= OTHERS and len(waited) > CONTENDED * (len(undisturbed) + len(waited)))
