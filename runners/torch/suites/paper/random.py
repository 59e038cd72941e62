"""Cases of functions that draw random numbers: ``multinomial``, ``randperm`` and ``von_mises.VonMises``.

The device's own generator draws the numbers, and statistics judge them. A correct generator exceeds a threshold less
than once in a million times. A distribution that is wrong by some percent is detected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function
from runners.suite.checks import Leaf, Mismatch
from runners.suite.optional import optional
from runners.suite.sequences import aligned
from runners.torch.suites.paper.calls import both, created, into

special = optional("scipy.special")

BY_CHANCE = 1e-7
SIX_SIGMA = 6.0


def fits(counts: Any, probabilities: Any) -> None:
    """Apply Pearson's chi-squared test to ``counts``. Categories with probability zero must not occur."""
    counts, probabilities = np.ravel(counts), np.ravel(probabilities)
    possible = probabilities > 0
    if counts[~possible].any():
        raise Mismatch(f"drew what has probability zero: {np.flatnonzero(counts * ~possible).tolist()[:5]}")
    expected = counts.sum() * probabilities[possible]
    distance = ((counts[possible] - expected) ** 2 / expected).sum()
    allowed = special.chdtri(possible.sum() - 1, BY_CHANCE)
    if distance > allowed:
        raise Mismatch(f"chi-squared is {distance:.1f}; a right distribution stays below {allowed:.1f}")


def drawn(observed: Any, shape: tuple[int, ...], dtype: str = "int64") -> Any:
    """Return the values. Raise ``Mismatch`` if shape or dtype is wrong."""
    if not isinstance(observed, Leaf) or observed.values.shape != shape or observed.dtype != dtype:
        shown = f"{observed.values.shape} of {observed.dtype}" if isinstance(observed, Leaf) else repr(observed)
        raise Mismatch(f"expected an array {shape} of {dtype}, got {shown}")
    return observed.values


def independent_draws(observed: Any, weights: Any, count: int, replacement: bool) -> None:
    """Check that each row's draws have the right frequencies, and that each draw is independent of the previous one."""
    values = drawn(observed, (*weights.shape[:-1], count))
    for row, weight in aligned(np.atleast_2d(values), np.atleast_2d(weights)):
        p = weight / weight.sum()
        if row.min() < 0 or row.max() >= len(p):
            raise Mismatch(f"drew {row.min()} to {row.max()} of {len(p)} categories")
        fits(np.bincount(row, minlength=len(p)), p)
        pairs = row[:-1:2] * len(p) + row[1::2]
        fits(np.bincount(pairs, minlength=len(p) ** 2), np.outer(p, p))


def distinct_pairs(observed: Any, weights: Any, count: int) -> None:
    """Check two draws without replacement, with the same weights in every row. The second draw is from the remaining
    categories."""
    values = drawn(observed, (len(weights), count))
    p = weights[0] / weights[0].sum()
    if values.min() < 0 or values.max() >= len(p):
        raise Mismatch(f"drew {values.min()} to {values.max()} of {len(p)} categories")
    joint = np.outer(p, p) / (1 - p[:, None])
    np.fill_diagonal(joint, 0.0)
    fits(np.bincount(values[:, 0] * len(p) + values[:, 1], minlength=len(p) ** 2), joint)


def whole_population(observed: Any, weights: Any, count: int) -> None:
    values = drawn(observed, (len(weights), count))
    if not (np.sort(values, 1) == np.arange(count)).all():
        raise Mismatch("without replacement, as many draws as categories are not a permutation")
    fits(np.bincount(values[:, 0], minlength=count), weights[0] / weights[0].sum())


weights_of_six = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
multinomial = Function("torch.multinomial")
for dtype in ("float32", "float64", "float16", "bfloat16"):
    multinomial.statistics(
        f"{dtype}-frequencies",
        lambda inputs: [weights_of_six, 20_000],
        independent_draws,
        dtype=dtype,
        replacement=True,
    )
multinomial.statistics(
    "rows-have-their-own-weights",
    lambda inputs: [inputs.integers(5, 8, low=1, high=9).astype("float64"), 10_000],
    independent_draws,
    replacement=True,
)
multinomial.statistics(
    "float32-64x128",
    lambda inputs: [np.repeat(inputs.integers(1, 128, low=1, high=9), 64, 0).astype("float64"), 256],
    lambda observed, weights, count, replacement: fits(
        np.bincount(drawn(observed, (64, count)).ravel(), minlength=128), weights[0] / weights[0].sum()
    ),
    replacement=True,
)
multinomial.statistics(
    "zero-weights-are-never-drawn",
    lambda inputs: [np.array([0.0, 3.0, 0.0, 1.0, 0.0]), 20_000],
    independent_draws,
    replacement=True,
)
multinomial.statistics(
    "without-replacement", lambda inputs: [np.tile([1.0, 2.0, 3.0, 6.0], (8_000, 1)), 2], distinct_pairs
)
multinomial.statistics(
    "zero-weights-without-replacement",
    lambda inputs: [np.tile([0.0, 2.0, 3.0, 5.0], (8_000, 1)), 2],
    distinct_pairs,
)
multinomial.statistics(
    "the-whole-population", lambda inputs: [np.tile([4.0, 1.0, 2.0], (8_000, 1)), 3], whole_population
)
multinomial.value(
    "certain-category",
    lambda inputs: [np.eye(5)[[3, 0, 4]], 1],
    reference=lambda weights, count: np.array([[3], [0], [4]]),
)
multinomial.value(
    "certain-category-again-and-again",
    lambda inputs: [np.array([0.0, 0.0, 0.25, 0.0]), 9],
    reference=lambda weights, count, replacement: np.full(count, 2),
    replacement=True,
)
multinomial.value(
    "out",
    lambda inputs: [np.eye(5)[[3, 0, 4]], 1],
    reference=both(lambda weights, count: np.array([[3], [0], [4]])),
    prepare=into(torch.int64),
)


def shuffled(observed: Any, count: int, dtype: str = "int64") -> None:
    """Check that a permutation is random: by an 8 x 8 table of positions and values, and by the number of ascents."""
    values = drawn(observed, (count,), dtype).astype("int64")
    if not (np.sort(values) == np.arange(count)).all():
        raise Mismatch(f"not a permutation of {count}")
    table = np.histogram2d(np.arange(count), values, bins=8)[0]
    fits(table, np.full(64, 1 / 64))
    ascents = (np.diff(values) > 0).sum()
    if abs(ascents - (count - 1) / 2) > SIX_SIGMA * ((count + 1) / 12) ** 0.5:
        raise Mismatch(f"{ascents} of {count - 1} steps go up; half of them would")
    if (values == np.arange(count)).sum() > 12:
        raise Mismatch("more than 12 values stand where they started; one would on average")


def different(observed: Any, count: int) -> None:
    one, other = (drawn(leaf, (count,)) for leaf in observed)
    if (one == other).sum() > 12:
        raise Mismatch("two permutations drawn one after the other agree")


def repeated(observed: Any, count: int) -> None:
    one, other = (drawn(leaf, (count,)) for leaf in observed)
    if not (one == other).all():
        raise Mismatch("the same seed gave another permutation")


def after_the_same_seed(context: Context, count: int) -> Callable[[], Any]:
    def call() -> list[Any]:
        torch.manual_seed(2023)
        one = context.function(count, device=context.device)
        torch.manual_seed(2023)
        return [one, context.function(count, device=context.device)]

    return call


randperm = Function("torch.randperm", lambda count: np.arange(count), prepare=created())
randperm.statistics("int64-4096", lambda inputs: [4096], shuffled)
for dtype in ("int32", "float32", "float64"):
    randperm.statistics(
        f"{dtype}-4096",
        lambda inputs: [4096],
        lambda observed, count, dtype=dtype: shuffled(observed, count, dtype),
        prepare=created(dtype=getattr(torch, dtype)),
    )
randperm.statistics(
    "int16-2048",
    lambda inputs: [2048],
    lambda observed, count: shuffled(observed, count, "int16"),
    prepare=created(dtype=torch.int16),
)
randperm.statistics(
    "out",
    lambda inputs: [2048],
    lambda observed, count: shuffled(observed, count, "int32"),
    prepare=lambda context, count: (
        lambda: context.function(count, out=torch.empty(count, dtype=torch.int32, device=context.device))
    ),
)
randperm.statistics(
    "two-in-a-row-differ",
    lambda inputs: [1000],
    different,
    prepare=lambda context, count: lambda: [context.function(count, device=context.device) for _ in range(2)],
)
randperm.statistics("the-same-seed-repeats", lambda inputs: [1000], repeated, prepare=after_the_same_seed)
randperm.value("of-nothing", lambda inputs: [0])
randperm.value("of-one", lambda inputs: [1])


def log_density(values: Any, centre: Any, concentration: Any) -> Any:
    return concentration * np.cos(values - centre) - np.log(2 * np.pi * special.i0(concentration))


von_mises = Function("torch.von_mises.VonMises", log_density)
von_mises.value(
    "log-probability",
    lambda inputs: [inputs.uniform(64, low=-3, high=3), inputs.uniform(64), inputs.uniform(64, low=0.5, high=5)],
    prepare=lambda context, values, *parameters: lambda: context.function(*parameters).log_prob(values),
)

FUNCTIONS: list[Function] = [multinomial, randperm, von_mises]
