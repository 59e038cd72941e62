"""Our statistics beside SciPy's, over whatever numbers Hypothesis makes up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from coordinator.results.comparison.latencies import _T_99, decide
from coordinator.results.statistics import Rate, deciles, density, geometric_mean, median, middle

positive = st.floats(1e-3, 1e3)
some = st.lists(positive, min_size=1, max_size=30)
counted = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counted)
def test_the_interval_of_a_rate_is_wilsons(of: tuple[int, int]) -> None:
    expected = stats.binomtest(*of).proportion_ci(0.95, method="wilson")
    assert Rate(*of).interval == pytest.approx((expected.low, expected.high), abs=1e-9)


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
    found = density(values, places)
    assert found is not None
    expected = stats.gaussian_kde(np.log10(values), bw_method="scott")(np.log10(places))
    assert found.heights == pytest.approx(expected.tolist(), rel=1e-6, abs=1e-12)


def test_students_t_is_the_table() -> None:
    assert pytest.approx([stats.t.ppf(0.995, freedom) for freedom in range(1, len(_T_99) + 1)], abs=6e-4) == _T_99


runs = st.lists(st.integers(-60, 60).map(lambda tenths: tenths / 10), min_size=2, max_size=8)


@settings(deadline=None)
@given(runs, runs)
def test_the_interval_of_a_change_is_that_of_students_test(before: list[float], after: list[float]) -> None:
    # SciPy warns of runs that are all alike.
    if min(np.ptp(before), np.ptp(after)) == 0:
        return
    _, difference, half = decide(before, after)
    expected = stats.ttest_ind(after, before).confidence_interval(0.99)
    assert (difference - half, difference + half) == pytest.approx((expected.low, expected.high), rel=1e-3, abs=1e-3)
