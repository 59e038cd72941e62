"""Each statistic is compared with a closed form, or with results of SciPy 1.17 for the same numbers."""

from __future__ import annotations

import math
import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.results.statistics import (
    FEWEST,
    KEPT_UP_TO,
    Rate,
    deciles,
    density,
    geometric_mean,
    geometric_means,
    logarithmic,
    median,
)

MS = [0.157, 0.069, 0.201, 0.044, 0.074, 0.106, 0.1, 0.097, 30.606, 216.593]
positive = st.floats(1e-6, 1e6)
counted = st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


class TestRates:
    @pytest.mark.parametrize(
        ("count", "n", "low", "high"),
        [  # scipy.stats.binomtest(count, n).proportion_ci(0.95, method="wilson")
            (0, 3, 0.0, 0.5614970317550454),
            (28, 63, 0.328470960118918, 0.5668036176131765),
            (35, 43, 0.6738299634272562, 0.9025824857100377),
            (3, 3, 0.4385029682449546, 1.0),
            (1, 61, 0.002899730799299817, 0.08718860044641585),
        ],
    )
    def test_the_interval_is_wilsons(self, count: int, n: int, low: float, high: float) -> None:
        assert Rate(count, n).interval == pytest.approx((low, high), abs=1e-12)

    @given(counted)
    def test_the_interval_holds_the_share_and_stays_within_0_and_1(self, of: tuple[int, int]) -> None:
        rate = Rate(*of)
        if not rate.n:
            assert rate.share is None
            assert rate.interval is None
            return
        assert rate.interval is not None
        assert rate.share is not None
        low, high = rate.interval
        assert 0 <= low <= rate.share <= high <= 1

    @given(counted)
    def test_its_bounds_are_those_shares_that_the_count_just_does_not_refute(self, of: tuple[int, int]) -> None:
        """Wilson's definition: the bounds are the shares that the count just does not refute, (share - bound)² = z²
        bound (1 - bound) / n."""
        rate = Rate(*of)
        for bound in rate.interval or ():
            assert rate.share is not None
            z = statistics.NormalDist().inv_cdf(0.975)
            assert (rate.share - bound) ** 2 == pytest.approx(z * z * bound * (1 - bound) / rate.n, abs=1e-9)

    @given(st.integers(1, 100), st.integers(0, 100))
    def test_more_of_the_same_narrows_it(self, n: int, tenth: int) -> None:
        count = n * tenth // 100
        few, many = Rate(count, n).interval, Rate(10 * count, 10 * n).interval
        assert few is not None
        assert many is not None
        assert many[1] - many[0] < few[1] - few[0]

    @pytest.mark.parametrize(("count", "n"), [(-1, 3), (4, 3)])
    def test_more_than_all_is_no_rate(self, count: int, n: int) -> None:
        with pytest.raises(ValueError, match="is no rate"):
            Rate(count, n)


class TestMediansAndMeans:
    @settings(deadline=None, max_examples=40)
    @given(st.lists(positive, min_size=1, max_size=60))
    def test_a_median_lies_in_its_interval(self, values: list[float]) -> None:
        estimate = median(values)
        assert estimate.n == len(values)
        assert estimate.value == statistics.median(values)
        if estimate.interval:
            assert min(values) <= estimate.interval[0] <= estimate.value <= estimate.interval[1] <= max(values)

    @pytest.mark.parametrize("n", [9, 15, 43, 61])
    def test_the_interval_of_a_median_is_the_bootstraps_own_but_for_chance(self, n: int) -> None:
        """For an odd number of values, the median of a resample is the k-th value or below if more than half of the
        draws are: a binomial probability."""

        def at_most(k: int) -> float:
            return sum(math.comb(n, j) * (k / n) ** j * (1 - k / n) ** (n - j) for j in range((n + 1) // 2, n + 1))

        interval = median([float(k) for k in range(1, n + 1)]).interval
        assert interval is not None
        for bound, level in zip(interval, (0.025, 0.975), strict=True):
            assert at_most(int(bound) - 1) < level + 0.01
            assert at_most(math.ceil(bound)) > level - 0.01

    def test_the_interval_of_a_geometric_mean_is_scipys_but_for_chance(self) -> None:
        """The expected value is exp of scipy.stats.bootstrap((log(ms),), numpy.mean, method="percentile",
        n_resamples=200_000)."""
        estimate = geometric_mean(MS)
        assert estimate.value == pytest.approx(0.3701824101752902, rel=1e-12)
        assert estimate.interval == pytest.approx((0.0868, 2.5056), rel=0.1)

    @settings(deadline=None, max_examples=40)
    @given(st.lists(positive, min_size=1, max_size=40), st.floats(0.01, 100))
    def test_a_geometric_mean_of_ratios_the_other_way_round_is_its_inverse(
        self, ratios: list[float], by: float
    ) -> None:
        there, back = geometric_mean(ratios).value, geometric_mean([1 / ratio for ratio in ratios]).value
        assert there is not None
        assert back is not None
        assert there * back == pytest.approx(1, rel=1e-9)
        scaled_mean = geometric_mean([ratio * by for ratio in ratios]).value
        assert scaled_mean == pytest.approx(there * by, rel=1e-9)

    def test_many_sets_at_once_are_as_each_alone(self) -> None:
        sizes = [0, 1, FEWEST - 1, FEWEST, FEWEST, 9, KEPT_UP_TO, KEPT_UP_TO + 1, *[FEWEST] * 600]
        sets = [[1 + (3 * number + place) % 7 for number in range(size)] for place, size in enumerate(sizes)]
        for values, estimate in zip(sets, geometric_means(sets), strict=True):
            alone = geometric_mean(values)
            assert (estimate.value, estimate.n) == (alone.value, alone.n)
            if len(values) < FEWEST:
                assert estimate.interval is alone.interval is None
            else:
                assert estimate.interval == pytest.approx(alone.interval, rel=1e-12)

    @pytest.mark.parametrize("n", [5, KEPT_UP_TO, KEPT_UP_TO + 1, 3000])
    def test_the_same_values_give_the_same_interval(self, n: int) -> None:
        values = [1 + number * 0.001 for number in range(n)]
        assert median(values) == median(values)
        interval = median(values).interval
        assert interval is not None
        assert interval[0] < statistics.median(values) < interval[1]

    def test_few_values_have_no_interval_and_none_have_no_figure(self) -> None:
        assert median([1, 2, 3, 4]).interval is None
        assert geometric_mean([2, 0.5]).value == pytest.approx(1)
        assert geometric_mean([2, 0.5]).interval is None
        assert (median([]).value, median([]).n, geometric_mean([]).value) == (None, 0, None)

    def test_the_interval_holds_the_truth_about_as_often_as_it_says(self) -> None:
        """For 30 values with normal logarithms: 95 %, minus the known error of a percentile bootstrap with 30
        values."""
        rng, hits, tries = random.Random(7), 0, 400
        for _ in range(tries):
            interval = geometric_mean([math.exp(rng.gauss(1, 0.5)) for _ in range(30)]).interval
            assert interval is not None
            hits += interval[0] <= math.e <= interval[1]
        assert 0.90 <= hits / tries <= 0.98


class TestQuantiles:
    def test_they_are_numpys(self) -> None:
        """The expected values are numpy.quantile(ms, [0.1, 0.5, 0.9])."""
        assert deciles(MS)[::4] == pytest.approx([0.0665, 0.103, 49.2047])

    @given(st.lists(positive, min_size=1, max_size=50))
    def test_deciles_rise_and_the_fifth_is_the_median(self, values: list[float]) -> None:
        decile_values = deciles(values)
        assert len(decile_values) == 9
        assert all(one <= other * (1 + 1e-12) for one, other in pairwise(decile_values))
        assert decile_values[4] == pytest.approx(statistics.median(values))
        assert min(values) <= decile_values[0] * (1 + 1e-12)
        assert decile_values[-1] <= max(values) * (1 + 1e-12)


class TestDensities:
    def test_heights_are_scipys(self) -> None:
        """The expected values are scipy.stats.gaussian_kde(numpy.log10(ms), bw_method="scott") at -2, -1, 0, 1, 2."""
        estimate = density(MS, [0.01, 0.1, 1, 10, 100])
        assert estimate is not None
        assert estimate.n == 10
        assert estimate.heights == pytest.approx(
            [0.18987378241099404, 0.38917240928134905, 0.1899638427759217, 0.07279804352745034, 0.08687063710636367]
        )

    @settings(deadline=None, max_examples=25)
    @given(st.lists(st.floats(1e-3, 1e4), min_size=5, max_size=40, unique=True))
    def test_the_area_is_one(self, values: list[float]) -> None:
        places = logarithmic(min(values) / 1e9, max(values) * 1e9, 4_001)
        estimate = density(values, places)
        if estimate is None:
            return
        step = math.log10(places[1] / places[0])
        width = statistics.stdev(map(math.log10, values))
        if width * len(values) ** -0.2 > 3 * step:
            assert sum(estimate.heights) * step == pytest.approx(1, abs=1e-3)

    @pytest.mark.parametrize("values", [[], [1.0], [1, 2, 3, 4], [0.1] * 9])
    def test_too_few_or_equal_values_have_none(self, values: list[float]) -> None:
        assert density(values, [1.0]) is None

    def test_places_are_equal_ratios(self) -> None:
        assert logarithmic(0.01, 100, 5) == pytest.approx((0.01, 0.1, 1, 10, 100))
