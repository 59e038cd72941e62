"""Cases of functions that draw random numbers: ``tf.random.gamma``, NumPy's ``standard_normal``.

TensorFlow's own generator draws the numbers on the device, and statistics judge them. A correct generator exceeds a
threshold less than once in a million times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context as eager_context

from runners.suite.cases import Context, Function
from runners.suite.optional import optional
from runners.tensorflow.suites.paper.calls import refused, refusing, traced, using

stats = optional("scipy.stats")

BY_CHANCE = 1e-7
SIGMAS = 5.5


def drawn(observed: Any, shape: Sequence[int], dtype: str) -> Any:
    """Return the values. Fail if their shape or dtype is wrong."""
    assert observed.dtype == dtype, f"expected {dtype}, got {observed.dtype}"
    assert observed.values.shape == tuple(shape), f"expected shape {tuple(shape)}, got {observed.values.shape}"
    assert np.isfinite(observed.values).all(), "a number is not finite"
    return observed.values.astype("float64")


def distributed(values: Any, distribution: Any) -> None:
    """Check mean and variance, apply the Kolmogorov-Smirnov test, and check that successive draws are uncorrelated."""
    count = values.size
    mean, variance, kurtosis = (float(moment) for moment in distribution.stats("mvk"))
    margin = SIGMAS * np.sqrt(variance / count)
    assert abs(values.mean() - mean) < margin, f"the mean is {values.mean():.5g}, expected {mean:.5g} ± {margin:.2g}"
    margin = SIGMAS * variance * np.sqrt((kurtosis + 2) / count)
    assert abs(values.var() - variance) < margin, f"variance {values.var():.5g}, expected {variance:.5g} ± {margin:.2g}"
    fit = stats.kstest(values.ravel(), distribution.cdf)
    assert fit.pvalue > BY_CHANCE, f"{fit.statistic:.4g} away from the distribution: p = {fit.pvalue:.2g}"
    ranks = distribution.cdf(values.ravel())
    correlation = np.corrcoef(ranks[:-1], ranks[1:])[0, 1]
    assert abs(correlation) < SIGMAS / np.sqrt(count), f"draws that follow each other correlate: {correlation:.3g}"


def gamma_drawn(observed: Any, shape: Any, alpha: Any, beta: Any = None, *, dtype: str = "float32", **_: Any) -> None:
    alphas, betas = np.broadcast_arrays(np.asarray(alpha, float), 1.0 if beta is None else np.asarray(beta, float))
    values = drawn(observed, (*(int(size) for size in np.atleast_1d(shape)), *alphas.shape), dtype)
    assert (values >= 0).all(), "a gamma variable is never negative"
    for place in np.ndindex(alphas.shape):
        distributed(values[(..., *place)], stats.gamma(alphas[place], scale=1 / betas[place]))


def of_dtype(dtype: str) -> Callable[..., None]:
    return lambda observed, *arguments, **options: gamma_drawn(observed, *arguments, dtype=dtype, **options)


gamma = Function("tf.random.gamma")
gamma.statistics("float32-100x200", lambda inputs: [[100, 200], 2.5], gamma_drawn)
gamma.statistics("below-one", lambda inputs: [[20_000], 0.4], gamma_drawn)
gamma.statistics("one-is-exponential", lambda inputs: [[20_000], 1.0], gamma_drawn)
gamma.statistics("large", lambda inputs: [[20_000], 150.0], gamma_drawn)
gamma.statistics("with-a-rate", lambda inputs: [[20_000], 3.0, 0.25], gamma_drawn)
gamma.statistics("alpha-of-each-column", lambda inputs: [[8_000], np.array([0.5, 1.0, 4.0])], gamma_drawn)
gamma.statistics(
    "alpha-and-rate-broadcast",
    lambda inputs: [[40, 200], np.array([[0.75], [3.0]]), np.array([0.5, 1.0, 4.0])],
    gamma_drawn,
)
gamma.statistics(
    "one-of-each",
    lambda inputs: [[], np.full(20_000, 2.0)],
    lambda observed, *_: distributed(drawn(observed, (20_000,), "float32"), stats.gamma(2.0)),
)
gamma.statistics(
    "float64",
    lambda inputs: [[20_000], 2.5],
    of_dtype("float64"),
    prepare=using(dtype=tf.float64),
)
gamma.statistics(
    "float64-tensors",
    lambda inputs: [[20_000], np.asarray(1.5)],
    of_dtype("float64"),
    dtype="float64",
    prepare=using(dtype=tf.float64),
)


def half_drawn(observed: Any, shape: Any, alpha: float) -> None:
    """Check mean and variance only, because many float16 draws have the same value."""
    values = drawn(observed, shape, "float16")
    assert abs(values.mean() - alpha) < SIGMAS * np.sqrt(alpha / values.size) + 2e-3, f"the mean is {values.mean():.5g}"
    margin = SIGMAS * alpha * np.sqrt((6 / alpha + 2) / values.size) + 1e-2
    assert abs(values.var() - alpha) < margin, f"the variance is {values.var():.5g}"


gamma.statistics("float16", lambda inputs: [[20_000], 2.0], half_drawn, prepare=using(dtype=tf.float16))
gamma.statistics(
    "traced",
    lambda inputs: [[20_000], np.asarray(2.5)],
    gamma_drawn,
    prepare=traced,
)
gamma.behaviour(
    "none", lambda inputs: [[0], np.array([1.0, 2.0])], lambda observed, *_: drawn(observed, (0, 2), "float32")
)


def from_seeds(context: Context, *arguments: Any, seeds: Sequence[int], **options: Any) -> Callable[[], Any]:
    """Prepare draws after setting each of these seeds. At the end, the earlier seed is restored."""

    def call() -> Any:
        before = eager_context.global_seed()
        try:
            results = []
            for seed in seeds:
                tf.random.set_seed(seed)
                results.append(context.compiled(lambda: context.function(*arguments, **options))())
            return results
        finally:
            tf.random.set_seed(before)

    return call


def repeated(observed: Any, *_: Any, **__: Any) -> None:
    one, other, third = (leaf.values for leaf in observed)
    assert np.array_equal(one, other), "the same seed drew other numbers"
    assert not np.array_equal(one, third), "another seed drew the same numbers"


def two_draws(context: Context, *arguments: Any) -> Callable[[], Any]:
    return context.compiled(lambda: [context.function(*arguments), context.function(*arguments)])


def unlike(observed: Any, *_: Any) -> None:
    one, other = (leaf.values for leaf in observed)
    correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
    assert abs(correlation) < SIGMAS / np.sqrt(one.size), f"two draws correlate: {correlation:.3g}"


gamma.statistics(
    "same-seed-repeats", lambda inputs: [[50], np.asarray(2.0)], repeated, prepare=from_seeds, seeds=(7, 7, 8)
)
gamma.statistics(
    "same-seed-of-its-own-repeats",
    lambda inputs: [[50], np.asarray(2.0)],
    repeated,
    prepare=from_seeds,
    seeds=(7, 7, 8),
    seed=5,
)
gamma.statistics("two-draws-differ", lambda inputs: [[5_000], np.asarray(2.0)], unlike, prepare=two_draws)


def by_rate(context: Context, alpha: Any, beta: Any) -> Callable[[], Any]:
    """Prepare draws and their gradients. A draw is a draw with rate one, divided by the rate, so the derivative with
    respect to the rate is known."""

    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch([alpha, beta])
            result = context.function([2_000], alpha, beta)
        return [result, *tape.gradient(result, [alpha, beta])]

    return context.compiled(call)


def by_rate_right(observed: Any, alpha: Any, beta: Any) -> None:
    values, by_alpha, by_beta = (leaf.values.astype("float64") for leaf in observed)
    np.testing.assert_allclose(by_beta, -values.sum(0) / beta, rtol=1e-3)
    # The mean of a gamma variable is alpha / beta, so the mean's derivative with respect to alpha is 1 / beta.
    np.testing.assert_allclose(by_alpha / len(values), 1 / beta, rtol=0.15)


gamma.statistics(
    "gradient", lambda inputs: [np.array([1.5, 4.0]), np.array([0.5, 2.0])], by_rate_right, prepare=by_rate
)
gamma.behaviour(
    "refuses-whole-numbers",
    lambda inputs: [[3], 2],
    refused,
    prepare=refusing(TypeError, ValueError, tf.errors.OpError, dtype=tf.int32),
    refuses=True,
)


def normal_drawn(observed: Any, size: Any) -> None:
    distributed(drawn(observed, [size] if isinstance(size, int) else size, "float64"), stats.norm())


normal = Function("tf.experimental.numpy.random.standard_normal")
normal.statistics("100x200", lambda inputs: [[100, 200]], normal_drawn)
normal.statistics("three-axes", lambda inputs: [(20, 30, 40)], normal_drawn)
normal.statistics("number", lambda inputs: [20_000], normal_drawn)
normal.statistics("traced", lambda inputs: [(20_000,)], normal_drawn, prepare=traced)
normal.statistics("same-seed-repeats", lambda inputs: [(50,)], repeated, prepare=from_seeds, seeds=(7, 7, 8))
normal.statistics("two-draws-differ", lambda inputs: [(5_000,)], unlike, prepare=two_draws)
normal.behaviour("none", lambda inputs: [(0, 4)], lambda observed, _: drawn(observed, (0, 4), "float64"))
normal.behaviour("scalar", lambda inputs: [], lambda observed: drawn(observed, (), "float64"))

FUNCTIONS: list[Function] = [gamma, normal]
