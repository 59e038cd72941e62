"""Recipes of functions that make arrays from numbers and sizes, or like another array."""

from __future__ import annotations

from collections.abc import Iterator

from freezing.jax.draws import Draw
from freezing.jax.recipes.elementwise import FLOATS, LAX, NUMPY
from freezing.jax.recipes.recipe import Call, Calls, call, recipe

LINALG = "jax.scipy.linalg"
MADE_DTYPES = "float32 int32 bfloat16 complex64"


def with_sizes(*choices: tuple[object, ...]) -> Calls:
    """Make the calls from positional arguments alone. The function chooses the dtype."""
    return lambda draw: [call(*choice) for choice in choices]


def with_dtype(*choices: tuple[object, ...]) -> Calls:
    """Make the calls from positional arguments, with the dtype as an option."""
    return lambda draw: [call(*choice, dtype=draw.named) for choice in choices]


def like(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4))
    yield call(draw.array(0, 3))
    yield call(draw.array(), dtype=draw.named)


def filled_like(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), 2)
    yield call(draw.array(3, 4), draw.array())
    yield call(draw.array(0, 3), 1)


def between(draw: Draw) -> Iterator[Call]:
    yield call(draw.unit(), draw.within(2, 3), 5)
    yield call(draw.unit(3), draw.within(2, 3, 3), 4, axis=1)
    yield call(draw.unit(), draw.within(2, 3), 5, endpoint=False)
    yield call(draw.unit(), draw.within(2, 3), 0)


_SQUARES = with_dtype((3,), (0,))
_SHAPES = with_dtype(((3, 4),), ((0, 3),), ((),))

RECIPES = [
    recipe(NUMPY, "zeros ones empty", _SHAPES, MADE_DTYPES),
    recipe(NUMPY, "full", with_dtype(((3, 4), 2), ((0, 3), 1), ((), 3)), MADE_DTYPES),
    recipe(NUMPY, "zeros_like ones_like empty_like", like, MADE_DTYPES),
    recipe(NUMPY, "full_like", filled_like, MADE_DTYPES),
    recipe(NUMPY, "arange", with_dtype((5,), (1, 7, 2), (5, 0, -1), (0,)), "float32 int32 bfloat16"),
    recipe(NUMPY, "eye", with_dtype((3,), (3, 4), (4, 3, 1)), MADE_DTYPES),
    recipe(NUMPY, "identity", _SQUARES, MADE_DTYPES),
    recipe(NUMPY, "tri", with_dtype((3,), (3, 4), (4, 3, -1)), MADE_DTYPES),
    recipe(NUMPY, "linspace", between, FLOATS),
    recipe(NUMPY, "logspace geomspace", between, "float32 bfloat16"),
    recipe(NUMPY, "indices", with_dtype(((3, 4),), ((2, 0),)), "int32 float32"),
    recipe(NUMPY, "diag_indices tril_indices triu_indices", with_sizes((4,), (3, 2), (0,)), "int32"),
    recipe(
        NUMPY,
        "diag_indices_from tril_indices_from triu_indices_from",
        lambda draw: [call(draw.array(3, 3)), call(draw.array(2, 2))],
        "float32",
    ),
    recipe(NUMPY, "bartlett blackman hamming hanning", with_sizes((6,), (1,), (7,)), "float32"),
    recipe(NUMPY, "kaiser", lambda draw: [call(6, draw.positive()), call(1, draw.positive())], "float32"),
    recipe("jax.numpy.fft", "fftfreq rfftfreq", with_sizes((6,), (7,), (4, 0.5)), "float32"),
    recipe(LAX, "iota", lambda draw: [call(draw.named, 5), call(draw.named, 0)], MADE_DTYPES),
    recipe(
        LAX, "broadcasted_iota", lambda draw: [call(draw.named, (3, 4), 1), call(draw.named, (3, 0), 0)], MADE_DTYPES
    ),
    recipe(LAX, "full", lambda draw: [call((3, 4), 2, draw.named), call((), 1, draw.named)], MADE_DTYPES),
    recipe(LAX, "full_like", lambda draw: [call(draw.array(3, 4), 2), call(draw.array(0, 3), 1)], MADE_DTYPES),
    recipe(LAX, "empty", lambda draw: [call((3, 4), draw.named)], MADE_DTYPES),
    recipe(LINALG, "hilbert invhilbert", with_sizes((3,), (4,)), "float32"),
    recipe(LINALG, "pascal invpascal", with_sizes((4,), (3, "lower")), "float32"),
    recipe(LINALG, "helmert", with_sizes((4,), (3, True)), "float32"),
    recipe(LINALG, "hadamard", with_dtype((4,), (1,)), "int32 float32"),
    recipe(LINALG, "dft", with_sizes((4,), (3, "sqrtn")), "complex64"),
    recipe(
        "jax.nn",
        "one_hot",
        lambda draw: [
            call(draw.integers(4), 3),
            call(draw.integers(2, 2), 4, axis=0),
            call(draw.integers(0), 3),
            call(draw.integers(), 3, dtype=draw.named),
        ],
        "float32 int32",
    ),
]
