"""Recipes of distributions of ``jax.scipy.stats``, and of random numbers, whose values are not compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freezing.jax.draws import Array, Draw
from freezing.jax.recipes.elementwise import SPECIAL
from freezing.jax.recipes.recipe import Call, Calls, Recipe, alike, call, of_sources, recipe

STATS, RANDOM, INITIALIZERS = "jax.scipy.stats", "jax.random", "jax.nn.initializers"
FLOATS = "float32 bfloat16"
SHAPES = ((3, 4), (), (0, 3))
PROBABILITY_METHODS = frozenset({"ppf", "isf"})
"""Methods of distributions that take a probability instead of a value."""


def distribution(
    name: str, methods: str, *parameters: tuple[float, float], low: float = 0.1, high: float = 3
) -> Recipe:
    """Make the recipe of a continuous distribution. Values are from ``low`` to ``high``; each parameter has bounds."""

    def calls_of(method: str) -> Calls:
        def calls(draw: Draw) -> Iterator[Call]:
            for shape in SHAPES:
                value = draw.unit(*shape) if method in PROBABILITY_METHODS else draw.within(low, high, *shape)
                yield call(value, *(draw.within(*bounds, *shape) for bounds in parameters))

        return calls

    return recipe(f"{STATS}.{name}", methods, calls_of(methods), FLOATS)


def of_counts(name: str, method: str, *parameters: tuple[float, float], numbers: int = 0) -> Recipe:
    """Make the recipe of a discrete distribution, with integer values and ``numbers`` further integers before the
    parameters."""

    def calls(draw: Draw) -> Iterator[Call]:
        for shape in SHAPES:
            arguments: list[Array] = [draw.integers(*shape, low=5, high=9).astype(float) for _ in range(numbers)]
            arguments += [draw.within(*bounds, *shape) for bounds in parameters]
            yield call(draw.integers(*shape, low=1, high=4).astype(float), *arguments)

    return recipe(f"{STATS}.{name}", method, calls, FLOATS)


def _distributions() -> Iterator[Recipe]:
    densities = ("pdf", "logpdf")
    whole = (*densities, "cdf", "logcdf", "sf", "logsf")
    one, two = (0.5, 2.0), ((0.5, 2.0), (0.5, 2.0))
    for method in whole:
        yield distribution("beta", method, *two, low=0.05, high=0.95)
        yield distribution("gamma", method, one)
        yield distribution("chi2", method, (2, 5))
        yield distribution("truncnorm", method, (-2, -1), (1, 2), low=-0.9, high=0.9)
    for method in (*whole, "ppf"):
        yield distribution("expon", method)
        yield distribution("gumbel_l", method, low=-2, high=2)
        yield distribution("gumbel_r", method, low=-2, high=2)
        yield distribution("pareto", method, one, low=1.1, high=4)
    for method in (*whole, "ppf", "isf"):
        yield distribution("cauchy", method, low=-3, high=3)
        yield distribution("norm", method, low=-3, high=3)
    for method in (*densities, "cdf", "sf", "ppf", "isf"):
        yield distribution("logistic", method, low=-3, high=3)
    for method in (*densities, "cdf"):
        yield distribution("laplace", method, low=-3, high=3)
        yield distribution("gennorm", method, one, low=-3, high=3)
    for method in (*densities, "cdf", "ppf"):
        yield distribution("uniform", method, low=-0.5, high=1.5)
    for method in densities:
        yield distribution("t", method, (2, 5), low=-3, high=3)
        yield distribution("vonmises", method, one, low=-3, high=3)
        yield distribution("wrapcauchy", method, (0.1, 0.9), low=0.1, high=6)
    for method in ("pmf", "logpmf"):
        yield of_counts("geom", method, (0.1, 0.9))
        yield of_counts("poisson", method, (0.5, 4))
        yield of_counts("binom", method, (0.1, 0.9), numbers=1)
        yield of_counts("nbinom", method, (0.1, 0.9), numbers=1)
        yield of_counts("betabinom", method, *two, numbers=1)
    yield of_counts("poisson", "cdf", (0.5, 4))
    yield recipe(f"{STATS}.poisson", "entropy", lambda draw: [call(draw.positive(4))], "float32")
    yield recipe(
        f"{STATS}.bernoulli",
        "pmf logpmf cdf",
        of_sources(alike(2, *SHAPES), lambda draw, *shape: draw.integers(*shape, high=1).astype(float), Draw.unit),
        FLOATS,
    )
    yield recipe(f"{STATS}.bernoulli", "ppf", lambda draw: [call(draw.unit(3, 4), draw.unit(3, 4))], FLOATS)
    yield recipe(f"{STATS}.dirichlet", "pdf logpdf", _of_shares, "float32")
    yield recipe(
        f"{STATS}.multinomial",
        "pmf logpmf",
        lambda draw: [call(np.array([1.0, 2.0, 3.0]), np.array(6.0), _shares(draw))],
        "float32",
    )
    yield recipe(f"{STATS}.multivariate_normal", "pdf logpdf", _of_vectors, "float32")


def _shares(draw: Draw) -> Array:
    values = draw.unit(3)
    return np.asarray(values / values.sum())


def _of_shares(draw: Draw) -> Iterator[Call]:
    # The sum of the probabilities must be exactly 1 in the dtype.
    yield call(np.array([0.25, 0.25, 0.5]), draw.positive(3))


def _of_vectors(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3), draw.array(3), draw.symmetric(3, 3))
    yield call(draw.array(4, 3), draw.array(3), draw.symmetric(3, 3))


def of_a_key(*parameters: tuple[float, float]) -> Calls:
    """Call with a random key, a scalar for each parameter, and the shape as an option."""

    def calls(draw: Draw) -> Iterator[Call]:
        for size in ((3, 4), (0, 3), (4,)):
            yield call(draw.key(), *(draw.within(*bounds) for bounds in parameters), shape=size)

    return calls


def of_a_key_and_dtype(draw: Draw) -> Iterator[Call]:
    for size in ((3, 4), (), (0, 3)):
        yield call(draw.key(), size, draw.named)


_UNIT, _POSITIVE = (0.1, 0.9), (0.5, 3)

RECIPES = [
    *_distributions(),
    recipe(RANDOM, "normal uniform exponential gumbel laplace logistic cauchy maxwell", of_a_key_and_dtype, FLOATS),
    recipe(RANDOM, "rademacher", of_a_key_and_dtype, "int32 float32"),
    recipe(RANDOM, "bits", lambda draw: [call(draw.key(), (3, 4)), call(draw.key(), ())], "float32"),
    recipe(RANDOM, "bernoulli geometric", of_a_key(_UNIT), "float32"),
    recipe(
        RANDOM,
        "gamma loggamma chisquare t pareto rayleigh poisson wald lognormal",
        of_a_key(_POSITIVE),
        FLOATS,
    ),
    recipe(RANDOM, "beta f double_sided_maxwell", of_a_key(_POSITIVE, _POSITIVE), FLOATS),
    recipe(RANDOM, "weibull_min", of_a_key(_POSITIVE, _POSITIVE), "float32"),
    recipe(RANDOM, "binomial", of_a_key((5, 9), _UNIT), "float32"),
    recipe(RANDOM, "triangular", of_a_key((-2, -1), (-0.5, 0.5), (1, 2)), FLOATS),
    recipe(RANDOM, "truncated_normal", of_a_key((-2, -1), (1, 2)), FLOATS),
    recipe(RANDOM, "dirichlet", lambda draw: [call(draw.key(), draw.positive(3))], FLOATS),
    recipe(RANDOM, "generalized_normal", lambda draw: [call(draw.key(), 2.0, (3, 4))], "float32"),
    recipe(RANDOM, "ball orthogonal", lambda draw: [call(draw.key(), 3), call(draw.key(), 2, shape=(2,))], "float32"),
    recipe(RANDOM, "randint", lambda draw: [call(draw.key(), (3, 4), 0, 10), call(draw.key(), (0,), 0, 2)], "int32"),
    recipe(RANDOM, "categorical", lambda draw: [call(draw.key(), draw.array(3, 4)), call(draw.key(), draw.array(5))]),
    recipe(RANDOM, "choice", lambda draw: [call(draw.key(), draw.array(5), (3,)), call(draw.key(), 5, (3,), False)]),
    recipe(RANDOM, "permutation", lambda draw: [call(draw.key(), draw.array(5, 2)), call(draw.key(), 5)]),
    recipe(RANDOM, "multinomial", lambda draw: [call(draw.key(), np.array(9.0), _shares(draw))], "float32"),
    recipe(
        RANDOM,
        "multivariate_normal",
        lambda draw: [call(draw.key(), draw.array(3), draw.symmetric(3, 3), (2,))],
        "float32",
    ),
    recipe(RANDOM, "split", lambda draw: [call(draw.key()), call(draw.key(), 3), call(draw.key(), (2, 2))], "float32"),
    recipe(RANDOM, "fold_in", lambda draw: [call(draw.key(), 3)], "float32"),
    recipe(RANDOM, "wrap_key_data key_data clone", lambda draw: [call(draw.key())], "float32"),
    recipe(RANDOM, "PRNGKey key", lambda draw: [call(draw.integers(high=99)), call(7)], "float32"),
    recipe("jax.lax", "rng_uniform", lambda draw: [call(draw.unit(), draw.within(2, 3), (3, 4))], "float32"),
    recipe(
        "jax.lax",
        "rng_bit_generator",
        lambda draw: [call(np.array([0, 1, 2, 3], np.uint32), (3, 4)), call(np.array([0, 1], np.uint32), (0, 2))],
        "float32",
    ),
    recipe(
        INITIALIZERS,
        "zeros ones",
        lambda draw: [call(draw.key(), shape, draw.named) for shape in ((3, 4), (0, 4))],
        FLOATS,
    ),
    recipe(SPECIAL, "bernoulli", lambda draw: [call(5), call(8)], "float32"),
    recipe(SPECIAL, "comb", lambda draw: [call(draw.integers(4, low=5, high=9), draw.integers(4))], "float32"),
    recipe(SPECIAL, "bessel_jn", lambda draw: [call(draw.positive(4), v=2)], "float32"),
    recipe(SPECIAL, "multigammaln", lambda draw: [call(draw.within(2, 4, 3), 2)], "float32"),
    recipe(
        SPECIAL,
        "sph_harm_y",
        lambda draw: [
            call(np.array([2, 3], np.int32), np.array([1, 2], np.int32), draw.unit(2), draw.unit(2), n_max=3)
        ],
        "float32",
    ),
]
