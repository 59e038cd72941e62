"""Judges random numbers: the deviation of a statistic above which the distribution is wrong.

These are checks for ``statistics`` cases. Each rejects a correct generator less than once in a million times. The
margins shrink with the number of draws, so that a wrong generator is detected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

DEVIATIONS = 5.5
"""Standard deviations of a mean. A normal variable is farther from its mean 4 times in 100 million."""
LEVEL = 4e-8


def assert_mean(values: Array, mean: float, deviation: float, what: str) -> None:
    """Check that ``values`` are independent draws with this mean and standard deviation."""
    margin = DEVIATIONS * deviation / math.sqrt(values.size)
    observed = float(values.mean())
    assert abs(observed - mean) <= margin, (
        f"{what}: the mean of {values.size} draws is {observed:.6g}, expected {mean:.6g} ± {margin:.2g}"
    )


def assert_share(count: int, total: int, probability: float, what: str) -> None:
    """Check that ``count`` successes in ``total`` independent trials agree with the probability."""
    margin = DEVIATIONS * math.sqrt(probability * (1 - probability) / total)
    assert abs(count / total - probability) <= margin, (
        f"{what}: {count} of {total}, expected a share of {probability:.4g} ± {margin:.2g}"
    )


def assert_distribution(values: Array, cumulative: Callable[[Array], Array], what: str) -> None:
    """Apply the Kolmogorov-Smirnov test. The margin is the bound of Dvoretzky, Kiefer, Wolfowitz and Massart."""
    ordered = np.sort(values.ravel())
    count = ordered.size
    expected = cumulative(ordered)
    above = np.max(np.arange(1, count + 1) / count - expected)
    below = np.max(expected - np.arange(count) / count)
    distance, margin = max(above, below), math.sqrt(math.log(2 / LEVEL) / (2 * count))
    assert distance <= margin, (
        f"{what}: {count} draws are {distance:.4g} away from the distribution, at most {margin:.4g} by chance"
    )


def assert_uncorrelated(one: Array, other: Array, what: str) -> None:
    """Check that two series are uncorrelated."""
    left, right = one.ravel() - one.mean(), other.ravel() - other.mean()
    correlation = float(left @ right / math.sqrt((left @ left) * (right @ right)))
    margin = DEVIATIONS / math.sqrt(left.size)
    assert abs(correlation) <= margin, f"{what}: correlation {correlation:.4g}, at most {margin:.2g} by chance"
