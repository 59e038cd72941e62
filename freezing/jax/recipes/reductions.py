"""Recipes of functions along axes: reductions, cumulative reductions, sorting and quantiles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from freezing.jax.draws import Array, Draw
from freezing.jax.recipes.elementwise import FLOATS, LAX, NUMBERS, NUMPY, REALS
from freezing.jax.recipes.recipe import Call, call, of_one, recipe
from runners.suite.frozen import Named

METHOD = "jax.Array"

without_empty = of_one(call((3, 4)), call((3, 4), axis=1), call((2, 3, 4), axis=(0, 2), keepdims=True), call(()))
reduced_along_one = of_one(
    call((3, 4)), call((3, 4), axis=0), call((3, 4), axis=-1, keepdims=True), call((5,)), by=Draw.distinct
)
cumulative = of_one(call((3, 4)), call((3, 4), axis=1), call((2, 3, 2), axis=0), call((0, 3), axis=1))
cumulative_from = of_one(
    call((4,)), call((3, 4), axis=1), call((3, 4), axis=0, include_initial=True), call((0, 3), axis=1)
)
cumulative_of_lax = of_one(call((3, 4)), call((3, 4), 1), call((3, 4), 1, True), call((0, 3), 1))
reduced_by_axes = of_one(call((3, 4), (0,)), call((2, 3, 4), (0, 2)), call((), ()), call((3, 0), (0,)))
partitions = of_one(call((7,), 3), call((3, 4), 1, axis=0), by=Draw.distinct)
exponentials = of_one(call((3, 4)), call((3, 4), axis=1), call((3, 4), axis=0, keepdims=True), call(()))


def where_reduced(draw: Draw) -> Iterator[Call]:
    yield from without_empty(draw)
    yield call(draw.array(0, 3), axis=0)
    yield call(draw.array(3, 4), where=draw.booleans(3, 4))


def deviations(draw: Draw) -> Iterator[Call]:
    yield from without_empty(draw)
    yield call(draw.array(3, 4), axis=0, ddof=1)


def with_nans(draw: Draw, array: Array) -> Array:
    return np.where(draw.booleans(*array.shape), array, np.nan) if draw.is_floating else array


def nan_reduced(draw: Draw) -> Iterator[Call]:
    values = with_nans(draw, draw.distinct(3, 4))
    values[..., 0] = draw.distinct(3)
    yield call(values)
    yield call(values, axis=1)
    yield call(values, axis=1, keepdims=True)
    yield call(draw.distinct(4))


def arg_reduced_of_lax(draw: Draw) -> Iterator[Call]:
    for dtype in ("int32", "uint8"):
        yield call(draw.distinct(3, 4), 1, Named("dtype", dtype))
    yield call(draw.distinct(5), 0, Named("dtype", "int32"))


def sorted_along(draw: Draw) -> Iterator[Call]:
    yield call(draw.distinct(3, 4))
    yield call(draw.distinct(3, 4), axis=0)
    yield call(draw.distinct(7))
    yield call(draw.distinct(3, 4), descending=True)
    yield call(draw.array(0, 3))


def quantiles(draw: Draw, of: float) -> Iterator[Call]:
    yield call(draw.distinct(3, 4), np.array(0.5 * of))
    yield call(draw.distinct(3, 4), np.array([0.1, 0.8]) * of, axis=1)
    yield call(draw.distinct(3, 4), np.array(0.25 * of), axis=0, keepdims=True, method="nearest")
    yield call(draw.distinct(5), np.array(0.3 * of), method="lower")


def medians(draw: Draw) -> Iterator[Call]:
    yield call(draw.distinct(3, 4))
    yield call(draw.distinct(3, 4), axis=1)
    yield call(draw.distinct(3, 5), axis=0, keepdims=True)
    yield call(draw.array())


def averages(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4))
    yield call(draw.array(3, 4), axis=1, weights=draw.positive(4))
    yield call(draw.array(3, 4), axis=0, returned=True)


def counts(draw: Draw) -> Iterator[Call]:
    yield call(draw.with_repeats(3, 4))
    yield call(draw.with_repeats(3, 4), axis=1)
    yield call(draw.with_repeats(3, 4), axis=0, keepdims=True)
    yield call(draw.array(0, 3), axis=0)


def sorted_by_keys(draw: Draw) -> Iterator[Call]:
    yield call([draw.distinct(6), draw.with_repeats(6)])
    yield call([draw.distinct(3, 4), draw.with_repeats(3, 4)], axis=0)


def sorted_with_values(draw: Draw) -> Iterator[Call]:
    yield call(draw.distinct(6), draw.array(6))
    yield call(draw.distinct(3, 4), draw.array(3, 4), 0)


def top(draw: Draw) -> Iterator[Call]:
    yield call(draw.distinct(3, 4), 2)
    yield call(draw.distinct(7), 3)
    yield call(draw.with_repeats(7), 3)


def segments(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(6), draw.integers(6, high=3), 4)
    yield call(draw.array(6, 2), np.array([0, 0, 1, 2, 2, 2], np.int32), num_segments=3, indices_are_sorted=True)
    yield call(draw.array(0), draw.integers(0), 2)


def samples_and_variables(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 5))
    yield call(draw.array(3, 5), rowvar=False)
    yield call(draw.array(6), draw.array(6))


RECIPES = [
    recipe(NUMPY, "sum prod any all", where_reduced, "float32 int32 bool bfloat16"),
    recipe(NUMPY, "mean", without_empty, NUMBERS),
    recipe(NUMPY, "max min amax amin ptp", without_empty, REALS),
    recipe(NUMPY, "var std", deviations, "float32 complex64 int32"),
    recipe(NUMPY, "argmax argmin", reduced_along_one, REALS),
    recipe(
        NUMPY,
        "nansum nanprod nanmean nanmax nanmin nanstd nanvar nanargmax nanargmin nanmedian",
        nan_reduced,
        REALS,
    ),
    recipe(NUMPY, "cumsum cumprod nancumsum nancumprod", cumulative, REALS),
    recipe(NUMPY, "cumulative_sum cumulative_prod", cumulative_from, REALS),
    recipe(NUMPY, "median", medians, REALS),
    recipe(NUMPY, "quantile nanquantile", partial(quantiles, of=1), FLOATS),
    recipe(NUMPY, "percentile nanpercentile", partial(quantiles, of=100), FLOATS),
    recipe(NUMPY, "average", averages, "float32 int32 complex64"),
    recipe(NUMPY, "count_nonzero", counts, NUMBERS),
    recipe(NUMPY, "sort argsort", sorted_along, REALS),
    recipe(NUMPY, "partition argpartition", partitions, REALS),
    recipe(NUMPY, "lexsort", sorted_by_keys, REALS),
    recipe(NUMPY, "sort_complex", lambda draw: [call(draw.distinct(6)), call(draw.array(0))], "float32 complex64"),
    recipe(NUMPY, "cov corrcoef", samples_and_variables, "float32 complex64"),
    recipe(LAX, "reduce_sum reduce_prod reduce_max reduce_min", reduced_by_axes, REALS),
    recipe(LAX, "reduce_and reduce_or reduce_xor", reduced_by_axes, "bool int32"),
    recipe(LAX, "cumsum cumprod cummax cummin", cumulative_of_lax, REALS),
    recipe(LAX, "cumlogsumexp", cumulative_of_lax, FLOATS),
    recipe(LAX, "argmax argmin", arg_reduced_of_lax, REALS),
    recipe(LAX, "sort", lambda draw: [call(draw.distinct(3, 4)), call(draw.distinct(3, 4), 0)], REALS),
    recipe(LAX, "sort_key_val", sorted_with_values, REALS),
    recipe(LAX, "top_k", top, REALS),
    recipe(LAX, "approx_max_k approx_min_k", lambda draw: [call(draw.distinct(3, 8), 2)], FLOATS),
    recipe("jax.nn", "logsumexp logmeanexp", exponentials, FLOATS),
    recipe("jax.ops", "segment_sum segment_prod segment_max segment_min", segments, REALS),
    recipe("jax.scipy.stats", "sem", lambda draw: [call(draw.array(3, 4)), call(draw.array(3, 4), axis=1)]),
    recipe(
        "jax.scipy.stats",
        "rankdata mode",
        lambda draw: [call(draw.with_repeats(7)), call(draw.with_repeats(3, 5), axis=1)],
        REALS,
    ),
    recipe(METHOD, "sum prod any all", where_reduced, "float32 int32 bool bfloat16"),
    recipe(METHOD, "mean", without_empty, NUMBERS),
    recipe(METHOD, "max min ptp", without_empty, REALS),
    recipe(METHOD, "var std", deviations, "float32 complex64 int32"),
    recipe(METHOD, "argmax argmin", reduced_along_one, REALS),
    recipe(METHOD, "cumsum cumprod", cumulative, REALS),
    recipe(METHOD, "sort argsort", sorted_along, REALS),
    recipe(METHOD, "argpartition", partitions, REALS),
]
