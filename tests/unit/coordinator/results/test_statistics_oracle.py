"""Portolan's statistics agree with SciPy's for any numbers that Hypothesis generates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from coordinator.results.comparison.latencies import Spread, greatest_excess
from coordinator.results.statistics import Rate, deciles, density, geometric_mean, low_interval, median, middle

positive = st.floats(1e-3, 1e3)
some = st.lists(positive, min_size=1, max_size=30)
counted = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counted)
def test_the_interval_of_a_rate_is_wilsons(of: tuple[int, int]) -> None:
    expected_interval = stats.binomtest(*of).proportion_ci(0.95, method="wilson")
    assert Rate(*of).interval == pytest.approx((expected_interval.low, expected_interval.high), abs=1e-9)


@settings(deadline=None)
@given(some)
def test_means_medians_and_quantiles(values: list[float]) -> None:
    assert geometric_mean(values).value == pytest.approx(stats.gmean(values), rel=1e-9)
    assert median(values).value == middle(values) == pytest.approx(float(np.median(values)))
    assert deciles(values) == pytest.approx(np.quantile(values, np.arange(1, 10) / 10).tolist())


def test_a_median_is_of_the_values_that_there_are() -> None:
    assert (middle([None, 3.0, None, 1.0]), middle([None]), middle([])) == (2.0, None, None)


@settings(deadline=None, max_examples=25)
@given(st.lists(positive, min_size=5, max_size=30, unique=True))
def test_densities_are_those_of_gaussian_kernels_by_scotts_rule(values: list[float]) -> None:
    if np.std(np.log10(values), ddof=1) < 1e-3:
        return
    places = (0.01, 0.1, 1.0, 10.0, 100.0)
    estimate = density(values, places)
    assert estimate is not None
    expected_heights = stats.gaussian_kde(np.log10(values), bw_method="scott")(np.log10(places))
    assert estimate.heights == pytest.approx(expected_heights.tolist(), rel=1e-6, abs=1e-12)


@given(st.integers(1, 40), st.integers(1, 30), st.floats(1e-4, 0.2))
def test_the_greatest_excess_is_fishers(half: int, runs: int, alpha: float) -> None:
    expected_excess = stats.f.ppf(1 - alpha, 2, 2 * half) * 0.1 / runs
    assert greatest_excess(Spread(0.1, 2 * half), runs, alpha) == pytest.approx(expected_excess, rel=1e-6)


@settings(deadline=None)
@given(st.lists(positive, min_size=1, max_size=200))
def test_the_interval_of_a_runs_level_holds_its_low_quantile(samples: list[float]) -> None:
    interval = low_interval(samples)
    assert (interval is None) == (len(samples) < 5)
    if interval is not None:
        low, high = interval
        level = float(np.quantile(samples, 0.05))
        assert min(samples) <= low <= level or low == pytest.approx(level)
        assert level <= high <= max(samples) or high == pytest.approx(level)
