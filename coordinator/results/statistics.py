"""Rates, medians, ratios and densities, each with its n and an interval. It does no I/O.

Intervals are 95 % intervals. The intervals of rates are Wilson's: they stay within 0 and 1, and are useful even for 0
of 3. The intervals of medians and geometric means come from a percentile bootstrap with a fixed seed, so equal data
have equal intervals.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from coordinator.figures.level import LOW

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST = 5
"""The minimum number of values for an interval or a density. With fewer values, a bootstrap only shows how similar they
are by chance."""
SEED = 2023
KEPT_UP_TO = 256
BLOCK = 1_000_000
"""The maximum number of random values per block, which limits the memory used."""

_TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
_Z = statistics.NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True)
class Rate:
    """A share: ``count`` of ``n``. If n is 0, there is no share."""

    count: int
    n: int

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.n:
            raise ValueError(f"{self.count} of {self.n} is no rate")

    @property
    def share(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's score interval."""
        if not self.n:
            return None
        share, z2 = self.count / self.n, _Z * _Z
        middle = (share + z2 / (2 * self.n)) / (1 + z2 / self.n)
        half = _Z / (1 + z2 / self.n) * math.sqrt(share * (1 - share) / self.n + z2 / (4 * self.n * self.n))
        # At the ends the interval is exact, except for the last digits of a double.
        low = 0.0 if self.count == 0 else max(0.0, middle - half)
        high = 1.0 if self.count == self.n else min(1.0, middle + half)
        return low, high


@dataclass(frozen=True)
class Estimate:
    """An estimated value over ``n`` values. It is None if there are no values, and has no interval if there are too
    few."""

    value: float | None
    interval: tuple[float, float] | None
    n: int


NOTHING = Estimate(None, None, 0)


def middle(values: Iterable[float | None]) -> float | None:
    """The median of the values that are not None; None if there are none."""
    numbers = [value for value in values if value is not None]
    return statistics.median(numbers) if numbers else None


def low_interval(samples: Sequence[float]) -> tuple[float, float] | None:
    """The bootstrap interval of a run's level, which is the low quantile of its samples (``low_ms`` in the views)."""
    return _bootstrap(samples, "low")


def median(values: Sequence[float]) -> Estimate:
    if not values:
        return NOTHING
    return Estimate(statistics.median(values), _bootstrap(values, "median"), len(values))


def geometric_mean(ratios: Sequence[float], *, with_interval: bool = True) -> Estimate:
    """The geometric mean. For example, the mean of the ratios 2 and 1/2 is 1. Every ratio must be above 0."""
    (estimate,) = geometric_means([ratios], with_intervals=with_interval)
    return estimate


def geometric_means(sets: Sequence[Sequence[float]], *, with_intervals: bool = True) -> list[Estimate]:
    """The ``geometric_mean`` of each set. For many small sets, this is much faster than separate calls. Intervals take
    nearly all of the time."""
    logarithms = [[math.log(ratio) for ratio in ratios] for ratios in sets]
    intervals = _intervals_of_means(logarithms) if with_intervals else [None] * len(sets)
    return [_exponential(values, interval) for values, interval in zip(logarithms, intervals, strict=True)]


def _exponential(logarithms: Sequence[float], interval: tuple[float, float] | None) -> Estimate:
    if not logarithms:
        return NOTHING
    bounds = None if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
    return Estimate(math.exp(statistics.fmean(logarithms)), bounds, len(logarithms))


def deciles(values: Sequence[float]) -> tuple[float, ...]:
    """The nine values that divide the values into ten parts of equal size. A single value is returned alone."""
    return tuple(statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else [*values] * 9)


@dataclass(frozen=True)
class Density:
    """The density of ``n`` values along a logarithmic axis. ``heights`` has the density per decade at each of
    ``places``."""

    places: tuple[float, ...]
    heights: tuple[float, ...]
    n: int


def density(values: Sequence[float], places: Sequence[float]) -> Density | None:
    """A Gaussian kernel density over the decimal logarithm, with Scott's bandwidth. None if there are too few values,
    or if all are equal.

    Values and places must be above 0. Over the decades, the area under the density is 1.
    """
    if len(values) < FEWEST:
        return None
    import numpy as np

    logarithms = np.log10(np.asarray(values, dtype=float))
    spread = float(np.std(logarithms, ddof=1))
    # Because of rounding, equal values can have a spread in their last digits.
    if spread < 1e-9:
        return None
    width = spread * len(values) ** -0.2
    distance = (np.log10(np.asarray(places, dtype=float))[:, None] - logarithms[None, :]) / width
    heights = np.exp(-0.5 * distance**2).sum(axis=1) / (len(values) * width * math.sqrt(2 * math.pi))
    return Density(tuple(places), tuple(float(height) for height in heights), len(values))


def logarithmic(low: float, high: float, points: int) -> tuple[float, ...]:
    """``points`` values from low to high. Neighboring values have a constant ratio."""
    import numpy as np

    return tuple(np.geomspace(low, high, points).tolist())


def _intervals_of_means(sets: Sequence[Sequence[float]]) -> list[tuple[float, float] | None]:
    """The bootstrap interval of each set's mean. Sets of equal size share their resamples, so all means are one matrix
    product."""
    by_size: dict[int, list[int]] = {}
    for place, values in enumerate(sets):
        by_size.setdefault(len(values), []).append(place)
    intervals: list[tuple[float, float] | None] = [None] * len(sets)
    for size, places in by_size.items():
        if FEWEST <= size <= KEPT_UP_TO:
            of_size: Iterable[tuple[float, float] | None] = _intervals_of_one_size([sets[place] for place in places])
        else:
            of_size = (_bootstrap(sets[place], "mean") for place in places)
        for place, interval in zip(places, of_size, strict=True):
            intervals[place] = interval
    return intervals


def _intervals_of_one_size(sets: Sequence[Sequence[float]]) -> Iterator[tuple[float, float]]:
    import numpy as np

    resamples = _cached_resamples(len(sets[0]))
    shares = np.zeros(resamples.shape)
    np.add.at(shares, (np.arange(RESAMPLES)[:, None], resamples), 1 / resamples.shape[1])
    at_once = max(1, BLOCK // RESAMPLES)
    for begin in range(0, len(sets), at_once):
        means = np.asarray(sets[begin : begin + at_once], dtype=float) @ shares.T
        lows, highs = np.quantile(means, _TAILS, axis=1)
        yield from zip(lows.tolist(), highs.tolist(), strict=True)


def _bootstrap(values: Sequence[float], figure: Literal["median", "mean", "low"]) -> tuple[float, float] | None:
    if len(values) < FEWEST:
        return None
    import numpy as np

    array = np.asarray(values, dtype=float)
    figures = np.concatenate([_figures(array[indices], figure) for indices in _resamples(len(values))])
    low, high = np.quantile(figures, _TAILS)
    return float(low), float(high)


def _figures(resamples: NDArray[Any], figure: Literal["median", "mean", "low"]) -> NDArray[Any]:
    import numpy as np

    if figure == "low":
        return np.asarray(np.quantile(resamples, LOW, axis=1))
    return np.asarray((np.median if figure == "median" else np.mean)(resamples, axis=1))


def _resamples(n: int) -> Iterable[NDArray[Any]]:
    """The random resamples of n values, in blocks of rows that fit in memory."""
    return (_cached_resamples(n),) if n <= KEPT_UP_TO else _draw_resamples(n)


@lru_cache(maxsize=32)
def _cached_resamples(n: int) -> NDArray[Any]:
    """The resamples for a small size, drawn only once, because there are many small sets and drawing takes most of
    their time."""
    import numpy as np

    return np.concatenate(list(_draw_resamples(n))).astype(np.int16)


def _draw_resamples(n: int) -> Iterator[NDArray[Any]]:
    import numpy as np

    generator = np.random.default_rng(SEED)
    at_once = max(1, BLOCK // n)
    for begin in range(0, RESAMPLES, at_once):
        yield generator.integers(0, n, size=(min(at_once, RESAMPLES - begin), n), dtype=np.int32)
