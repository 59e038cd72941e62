"""Recipes of functions that take other functions: loops, branches, maps, windows and solvers.

Their arguments are public functions of JAX, because a case stores a function by its public name.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freezing.jax.draws import Draw
from freezing.jax.recipes.elementwise import LAX, NUMPY
from freezing.jax.recipes.recipe import Call, call, recipe
from runners.jax.frozen import PUBLIC
from runners.suite.frozen import Named

SOLVERS = "jax.scipy.sparse.linalg"


def public(name: str) -> Named:
    return Named(PUBLIC, f"jax.{name}")


def branches(draw: Draw) -> Iterator[Call]:
    for value in (True, False):
        yield call(np.array(value), public("numpy.sin"), public("numpy.exp"), draw.array(3, 4))
    yield call(np.array(True), public("numpy.add"), public("numpy.multiply"), draw.array(4), draw.array())


def switches(draw: Draw) -> Iterator[Call]:
    for place in (0, 2, 9):
        functions = [public("numpy.sin"), public("numpy.exp"), public("numpy.square")]
        yield call(np.array(place, np.int32), functions, draw.array(3, 4))


def counted_loops(draw: Draw) -> Iterator[Call]:
    yield call(0, 4, public("numpy.add"), draw.array(3))
    yield call(1, 4, public("numpy.multiply"), draw.array())
    yield call(0, 0, public("numpy.add"), draw.array(2, 2))


def open_loops(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.isfinite"), public("numpy.exp"), draw.unit())
    yield call(public("numpy.isfinite"), public("numpy.exp"), np.array(np.inf))


def scans(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.divmod"), draw.within(50, 90), draw.within(2, 5, 4))
    yield call(public("numpy.divmod"), draw.within(50, 90), draw.within(2, 5, 4), reverse=True)
    yield call(public("numpy.divmod"), draw.within(50, 90, 2), draw.within(2, 5, 3, 2))


def maps(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.sum"), draw.array(3, 4))
    yield call(public("numpy.sin"), draw.array(5), batch_size=2)
    yield call(public("numpy.sort"), draw.array(2, 5))


def associative(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.add"), draw.array(5))
    yield call(public("numpy.maximum"), draw.array(3, 4), axis=1)
    yield call(public("numpy.multiply"), draw.array(4), reverse=True)


def reductions(draw: Draw) -> Iterator[Call]:
    zero = 0 * draw.array()
    yield call(draw.array(3, 4), zero, public("lax.add"), (0,))
    yield call(draw.array(3, 4), draw.within(-9, -8), public("lax.max"), (0, 1))
    yield call(draw.array(0, 3), zero, public("lax.add"), (0,))


def windows(draw: Draw) -> Iterator[Call]:
    zero = 0 * draw.array()
    yield call(draw.array(4, 5), zero, public("lax.add"), (2, 2), (1, 1), "VALID")
    yield call(draw.array(4, 5), draw.within(-9, -8), public("lax.max"), (2, 3), (2, 1), "SAME")


def along(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.sum"), 0, draw.array(3, 4))
    yield call(public("numpy.sort"), 1, draw.array(3, 4))


def of_an_operator(draw: Draw) -> Iterator[Call]:
    yield call(public("numpy.add"), draw.array(3, 4))
    yield call(public("numpy.multiply"), draw.array(3, 4), 1)
    yield call(public("numpy.add"), draw.array(5))


def systems(draw: Draw) -> Iterator[Call]:
    yield call(draw.symmetric(3, 3), draw.array(3))
    yield call(draw.symmetric(4, 4), draw.array(4))


RECIPES = [
    recipe(LAX, "cond", branches, "float32 int32 bfloat16"),
    recipe(LAX, "switch", switches, "float32 bfloat16"),
    recipe(LAX, "fori_loop", counted_loops, "float32 int32"),
    recipe(LAX, "while_loop", open_loops, "float32 bfloat16"),
    recipe(LAX, "scan", scans, "float32 int32"),
    recipe(LAX, "map", maps, "float32 bfloat16"),
    recipe(LAX, "associative_scan", associative, "float32 int32 bfloat16"),
    recipe(LAX, "reduce", reductions, "float32 int32"),
    recipe(LAX, "reduce_window", windows, "float32 int32"),
    recipe(NUMPY, "apply_along_axis", along, "float32 int32"),
    recipe(
        NUMPY,
        "apply_over_axes",
        lambda draw: [call(public("numpy.sum"), draw.array(2, 3, 4), (0, 2))],
        "float32 int32",
    ),
    recipe(
        NUMPY,
        "piecewise",
        lambda draw: [
            call(draw.array(5), [draw.booleans(5), draw.booleans(5)], [public("numpy.sin"), public("numpy.square")])
        ],
        "float32",
    ),
    recipe(NUMPY, "fromfunction", lambda draw: [call(public("numpy.add"), (3, 4), dtype=draw.named)], "float32 int32"),
    recipe(
        NUMPY, "mask_indices", lambda draw: [call(4, public("numpy.triu")), call(3, public("numpy.tril"), 1)], "int32"
    ),
    recipe(f"{NUMPY}.ufunc", "reduce accumulate", of_an_operator, "float32 int32"),
    recipe(
        f"{NUMPY}.ufunc",
        "outer",
        lambda draw: [call(public("numpy.add"), draw.array(3), draw.array(4))],
        "float32 int32",
    ),
    recipe(
        f"{NUMPY}.ufunc",
        "reduceat",
        lambda draw: [call(public("numpy.add"), draw.array(6), np.array([0, 2, 3], np.int32))],
        "float32 int32",
    ),
    recipe(
        f"{NUMPY}.ufunc",
        "at",
        lambda draw: [
            call(public("numpy.add"), draw.array(6), np.array([0, 2, 2], np.int32), draw.array(3), inplace=False)
        ],
        "float32 int32",
    ),
    recipe("jax", "jvp", lambda draw: [call(public("numpy.sin"), (draw.array(3, 4),), (draw.array(3, 4),))], "float32"),
    recipe(
        "jax", "device_put block_until_ready", lambda draw: [call(draw.array(3, 4)), call(draw.array(0))], "float32"
    ),
    recipe(SOLVERS, "cg gmres bicgstab", systems, "float32"),
]
