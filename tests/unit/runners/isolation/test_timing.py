"""When sampling stops, how many calls make a sample, and the statistics behind both."""

from __future__ import annotations

import math
import statistics
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.isolation import timing

DURATIONS = st.lists(st.floats(min_value=1e-6, max_value=1e6), min_size=2, max_size=50)


@given(DURATIONS)
def test_the_median_is_the_usual_one(values: list[float]) -> None:
    assert timing.median(values) == pytest.approx(statistics.median(values))


@given(DURATIONS)
def test_the_interquartile_range_is_by_linear_interpolation(values: list[float]) -> None:
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    assert timing.interquartile_range(values) == pytest.approx(high - low, abs=1e-9)


def test_no_values_have_no_median() -> None:
    with pytest.raises(ValueError, match="at least one"):
        timing.median([])


def test_more_samples_of_the_same_spread_know_the_median_better() -> None:
    assert timing.relative_error([1.0, 1.1] * 40) < timing.relative_error([1.0, 1.1] * 10) / 1.9


@pytest.mark.parametrize(("estimate_ns", "calls"), [(50.0, 2_000), (30_000.0, 4), (100_000.0, 1), (1e9, 1)])
def test_a_sample_lasts_long_enough_for_the_clock(estimate_ns: float, calls: int) -> None:
    assert timing.calls_per_sample(estimate_ns) == calls


def test_the_calls_of_a_sample_are_bounded() -> None:
    assert timing.calls_per_sample(0.0) == timing.MAX_CALLS


def test_samples_below_the_resolution_of_the_clock_say_nothing_of_their_spread() -> None:
    assert timing.relative_error([0.0] * 10) == math.inf
    assert not timing.enough([0.0] * 10, budget_used=False)


def test_steady_samples_stop_early() -> None:
    assert not timing.enough([1.0] * 9, budget_used=False)
    assert timing.enough([1.0] * 10, budget_used=False)


def test_steady_samples_of_one_moment_do_not_stop_early() -> None:
    assert not timing.enough([1.0] * 10, budget_used=False, spans_enough=False)
    assert timing.enough([1.0] * timing.MAX_SAMPLES, budget_used=False, spans_enough=False)


def test_scattered_samples_go_on_up_to_a_limit() -> None:
    scattered_ms = [1.0, 5.0] * 100
    assert not timing.enough(scattered_ms[:100], budget_used=False)
    assert timing.enough(scattered_ms[: timing.MAX_SAMPLES], budget_used=False)


def test_a_call_slower_than_the_budget_still_gets_three_samples() -> None:
    assert not timing.enough([1.0, 5.0], budget_used=True)
    assert timing.enough([1.0, 5.0, 1.0], budget_used=True)


def test_every_sample_waits_for_every_call() -> None:
    results: list[int] = []
    waits: list[int] = []

    def call() -> int:
        results.append(len(results))
        return results[-1]

    def wait(result: int | None) -> None:
        if result is not None:
            waits.append(result)

    samples = timing.steady(call, wait, budget_s=0.01)
    assert waits == results
    assert len(samples.milliseconds) >= 3
    assert all(millisecond > 0 for millisecond in samples.milliseconds)


def test_a_sample_is_divided_by_its_calls() -> None:
    """A call that spins 10 µs takes no less, and in the least disturbed sample not much more."""

    def spin() -> None:
        end = time.perf_counter_ns() + 10_000
        while time.perf_counter_ns() < end:
            pass

    samples = timing.steady(spin, lambda _: None, budget_s=timing.BUDGET_S)
    assert samples.calls_per_sample > 1
    assert 0.010 <= min(samples.milliseconds) < 0.020


def test_the_first_call_is_cold_and_only_one() -> None:
    steps: list[str] = []
    result, milliseconds = timing.cold(lambda: steps.append("call"), lambda result: steps.append("wait"))
    assert result is None
    assert steps == ["wait", "call", "wait"]
    assert milliseconds > 0


def test_the_first_call_is_reported_in_milliseconds() -> None:
    """A call that spins 20 ms takes no less, and on a busy machine more."""

    def spin() -> None:
        end = time.perf_counter_ns() + 20_000_000
        while time.perf_counter_ns() < end:
            pass

    _, milliseconds = timing.cold(spin, lambda _: None)
    assert 20 <= milliseconds < 2_000
