"""Recipes of functions that rearrange arrays: reshape, join, split, and read or write by index."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freezing.jax.draws import Draw
from freezing.jax.recipes.elementwise import LAX, NUMBERS, NUMPY, REALS, WHOLE
from freezing.jax.recipes.recipe import Call, Calls, Shape, alike, call, of_arrays, of_one, recipe, within
from runners.suite.frozen import Named

METHOD = "jax.Array"
ANY = "float32 int32 bool complex64 bfloat16"


def with_arguments(shape: Shape, *choices: tuple[object, ...]) -> Calls:
    """Call with an array and each choice of further arguments, and with an empty array and the first choice."""
    return of_one(*(call(shape, *choice) for choice in choices), call((0, *shape[1:]), *choices[0]))


def with_options(shape: Shape, *choices: dict[str, object]) -> Calls:
    return of_one(*(call(shape, **options) for options in choices), call((0, *shape[1:]), **choices[0]))


def of_shapes(*shapes: Shape) -> Calls:
    """Call with one array of each shape."""
    return of_arrays(*alike(1, *shapes))


several = of_arrays(((3,), (2, 1)), ((), (2,)))
diagonals = of_one(call((4,), 0), call((3, 4), 1), call((3, 4), -1), call((0,), 0))
slices = of_one(call((5, 4), (1, 0), (4, 3)), call((5, 4), (0, 1), (5, 4), (2, 1)), call((5,), (2,), (2,)))
unpackings = of_one(call((3,)), call((3, 2), axis=1), call((3,), count=10, bitorder="little"), by=within(0, 255))


def joins(draw: Draw) -> Iterator[Call]:
    yield call([draw.array(3, 4), draw.array(3, 4)])
    yield call([draw.array(4), draw.array(4), draw.array(4)])
    yield call([draw.array(0, 4), draw.array(2, 4)])


def joined_along(draw: Draw) -> Iterator[Call]:
    yield call([draw.array(3, 4), draw.array(2, 4)])
    yield call([draw.array(3, 4), draw.array(3, 1)], axis=1)
    yield call([draw.array(0, 4), draw.array(2, 4)], axis=0)


def stacks(draw: Draw) -> Iterator[Call]:
    yield call([draw.array(3, 4), draw.array(3, 4)])
    yield call([draw.array(3), draw.array(3)], axis=-1)
    yield call([draw.array(), draw.array()])


def joined_by_lax(draw: Draw) -> Iterator[Call]:
    yield call([draw.array(3, 4), draw.array(2, 4)], 0)
    yield call([draw.array(3, 4), draw.array(3, 0)], 1)


def grids(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3), draw.array(2))
    yield call(draw.array(3), draw.array(2), indexing="ij")
    yield call(draw.array(3), draw.array(0))


def repeats(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), 2)
    yield call(draw.array(3, 4), 2, 1)
    yield call(draw.array(3), draw.integers(3), total_repeat_length=5)
    yield call(draw.array(), 3)


def takes(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), draw.integers(2))
    yield call(draw.array(3, 4), draw.integers(2, 2), 1)
    yield call(draw.array(5), np.array([-1, 7, 2], np.int32), mode="clip")
    yield call(draw.array(5), draw.integers())
    yield call(draw.array(3, 4), draw.integers(0), 0)


def taken_along(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), draw.integers(3, 2), 1)
    yield call(draw.array(3, 4), draw.integers(1, 4, high=2), 0)
    yield call(draw.array(5), draw.integers(3), None)


def put(draw: Draw) -> Iterator[Call]:
    places = np.array([4, 0, 2], np.int32)
    yield call(draw.array(3, 4), places, draw.array(3), inplace=False)
    yield call(draw.array(6), places, draw.array(), inplace=False)


def put_along(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), np.array([[1], [0], [3]], np.int32), draw.array(3, 1), 1, inplace=False)
    yield call(draw.array(3, 4), np.array([[1, 0, 2, 2]], np.int32), draw.array(1, 4), 0, inplace=False)


def chooses(draw: Draw) -> Iterator[Call]:
    yield call(draw.integers(3, 4, high=1), [draw.array(3, 4), draw.array(3, 4)])
    yield call(draw.integers(4, low=-1, high=5), [draw.array(4), draw.array(4)], mode="clip")


def selections(draw: Draw) -> Iterator[Call]:
    yield call([draw.booleans(3, 4), draw.booleans(3, 4)], [draw.array(3, 4), draw.array(3, 4)])
    yield call([draw.booleans(4), draw.booleans(4)], [draw.array(4), draw.array(4)], draw.array())


def compressions(draw: Draw) -> Iterator[Call]:
    yield call(draw.booleans(3), draw.array(3, 4), 0)
    yield call(np.array([True, False, True, True]), draw.array(4))
    yield call(draw.booleans(3), draw.array(3, 4), 0, size=2)


def compressed_as_method(draw: Draw) -> Iterator[Call]:
    for (condition, array, *rest), options in compressions(draw):
        yield call(array, condition, *rest, **options)


def nonzeros(draw: Draw) -> Iterator[Call]:
    yield call(draw.with_repeats(3, 4))
    yield call(draw.with_repeats(6), size=4, fill_value=-1)
    yield call(draw.array(0, 3))


def paddings(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), 1)
    for mode in ("edge", "reflect", "wrap", "symmetric"):
        yield call(draw.array(3, 4), ((1, 2), (0, 1)), mode=mode)
    yield call(draw.array(0, 3), 1)


def padded_by_lax(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), draw.array(), ((1, 0, 0), (0, 2, 1)))
    yield call(draw.array(3, 4), draw.array(), ((-1, 0, 0), (0, 0, 2)))
    yield call(draw.array(0, 3), draw.array(), ((1, 1, 0), (0, 0, 0)))


def insertions(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), 1, draw.array(4), axis=0)
    yield call(draw.array(5), np.array([1, 3], np.int32), draw.array(2))


def searches(draw: Draw) -> Iterator[Call]:
    places = np.sort(draw.distinct(6))
    yield call(places, draw.array(4))
    yield call(places, draw.array(), side="right")
    yield call(places, draw.array(2, 2), method="compare_all")
    yield call(places, draw.array(0))


def digitizations(draw: Draw) -> Iterator[Call]:
    places = np.sort(draw.distinct(6))
    yield call(draw.array(4), places)
    yield call(draw.array(2, 2), places, right=True)


def of_dynamic_places(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(5, 4), [draw.integers(), draw.integers()], (2, 2))
    yield call(draw.array(5), [np.array(9, np.int32)], (2,))


def updated_at_places(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(5, 4), draw.array(2, 2), [draw.integers(), draw.integers()])
    yield call(draw.array(5), draw.array(2), [np.array(9, np.int32)])


def cast(draw: Draw) -> Iterator[Call]:
    for dtype in ("int32", "bfloat16", "float16", "float32", "complex64", "bool"):
        yield call(draw.array(3, 4), Named("dtype", dtype))
    yield call(draw.array(0, 3), Named("dtype", "float32"))


def same_bits(draw: Draw) -> Iterator[Call]:
    same = {"float32": "int32", "int32": "float32", "bfloat16": "int16"}.get(draw.dtype, "uint8")
    yield call(draw.array(3, 4), Named("dtype", same))
    yield call(draw.array(3, 4), Named("dtype", "uint8"))
    yield call(draw.array(), Named("dtype", same))


def blocks(draw: Draw) -> Iterator[Call]:
    yield call([[draw.array(2, 2), draw.array(2, 1)], [draw.array(1, 2), draw.array(1, 1)]])
    yield call([draw.array(2), draw.array(3)])


def bits(draw: Draw) -> Iterator[Call]:
    yield call(draw.booleans(3, 10))
    yield call(draw.integers(16, high=1).astype(np.uint8), bitorder="little")
    yield call(draw.booleans(3, 4), axis=1)


def fillings(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), draw.array(), inplace=False)
    yield call(draw.array(4, 4), draw.array(4), inplace=False)


_RESHAPED = with_arguments((3, 4), ((4, 3),), ((2, -1),), ((12,),))
_RAVELED = with_options((3, 4), {}, {"order": "F"})
_SWAPPED = with_arguments((2, 3, 4), (0, 2), (1, -1))
_DIAGONAL = with_arguments((3, 4), (), (1,), (-1,))
_TRACE = with_arguments((3, 4), (), (1,), (-1,))
_SQUEEZED = with_arguments((3, 1, 4), (), (1,), (-2,))
_FLIPPED = of_shapes((3, 4), (2, 3, 2), (0, 3))

RECIPES = [
    recipe(NUMPY, "reshape", _RESHAPED, ANY),
    recipe(NUMPY, "ravel", _RAVELED, ANY),
    recipe(NUMPY, "swapaxes", _SWAPPED, ANY),
    recipe(NUMPY, "moveaxis rollaxis", with_arguments((2, 3, 4), (0, 2), (2, 0)), ANY),
    recipe(NUMPY, "transpose", with_arguments((2, 3, 4), (), ((1, 0, 2),)), ANY),
    recipe(NUMPY, "permute_dims", with_arguments((2, 3, 4), ((1, 0, 2),), ((2, 1, 0),)), ANY),
    recipe(NUMPY, "matrix_transpose", of_shapes((3, 4), (2, 3, 4), (0, 3)), ANY),
    recipe(NUMPY, "squeeze", _SQUEEZED, ANY),
    recipe(NUMPY, "expand_dims", with_arguments((3, 4), (0,), (-1,), ((0, 2),)), ANY),
    recipe(NUMPY, "flip", with_arguments((3, 4), (), (0,), ((0, 1),)), ANY),
    recipe(NUMPY, "fliplr flipud", _FLIPPED, ANY),
    recipe(NUMPY, "rot90", with_arguments((3, 4), (), (2,), (-1,)), ANY),
    recipe(NUMPY, "roll", with_arguments((3, 4), (1,), (2, 1), ((1, 2), (0, 1))), ANY),
    recipe(NUMPY, "tile", with_arguments((3, 4), (2,), ((2, 1, 2),)), ANY),
    recipe(NUMPY, "resize", with_arguments((3, 4), ((2, 2),), ((5, 4),)), ANY),
    recipe(NUMPY, "broadcast_to", lambda draw: [call(draw.array(3, 1), (3, 4)), call(draw.array(), (2, 2))], ANY),
    recipe(NUMPY, "repeat", repeats, ANY),
    recipe(NUMPY, "copy array asarray", of_shapes((3, 4), (), (0, 3)), ANY),
    recipe(NUMPY, "astype", cast, "float32 int32 bool"),
    recipe(
        NUMPY,
        "single csingle float16 bfloat16 int8 int16 int32 uint8 bool_",
        of_shapes((3, 4), (), (0, 3)),
        "float32 int32",
    ),
    recipe(NUMPY, "atleast_1d atleast_2d atleast_3d", of_shapes((3, 4), (), (3,), (0, 3)), ANY),
    recipe(NUMPY, "broadcast_arrays", several, ANY),
    recipe(NUMPY, "meshgrid", grids, ANY),
    recipe(NUMPY, "ix_", lambda draw: [call(draw.integers(3), draw.integers(2))], "int32"),
    recipe(NUMPY, "concatenate concat", joined_along, ANY),
    recipe(NUMPY, "stack", stacks, ANY),
    recipe(NUMPY, "vstack hstack dstack column_stack", joins, ANY),
    recipe(NUMPY, "block", blocks, ANY),
    recipe(
        NUMPY,
        "append",
        lambda draw: [call(draw.array(3, 4), draw.array(2, 4), axis=0), call(draw.array(3), draw.array(2, 2))],
        ANY,
    ),
    recipe(NUMPY, "insert", insertions, ANY),
    recipe(NUMPY, "delete", with_arguments((3, 4), (1, 1), (5,)), ANY),
    recipe(NUMPY, "split array_split", with_arguments((4, 4), (2,), ((1, 3), 1)), ANY),
    recipe(NUMPY, "hsplit vsplit", with_arguments((4, 4), (2,), ((1, 3),)), ANY),
    recipe(NUMPY, "dsplit", with_arguments((2, 3, 4), (2,), ((1, 3),)), ANY),
    recipe(NUMPY, "unstack", with_options((3, 4), {"axis": 1}, {"axis": -1}), ANY),
    recipe(NUMPY, "pad", paddings, REALS),
    recipe(NUMPY, "diag", diagonals, ANY),
    recipe(NUMPY, "diagflat", lambda draw: [call(draw.array(3)), call(draw.array(2, 2), 1)], ANY),
    recipe(NUMPY, "diagonal", _DIAGONAL, ANY),
    recipe(NUMPY, "trace", _TRACE, NUMBERS),
    recipe(NUMPY, "tril triu", with_arguments((3, 4), (), (1,), (-1,)), ANY),
    recipe(NUMPY, "fill_diagonal", fillings, ANY),
    recipe(NUMPY, "take", takes, ANY),
    recipe(NUMPY, "take_along_axis", taken_along, ANY),
    recipe(NUMPY, "put", put, ANY),
    recipe(NUMPY, "put_along_axis", put_along, ANY),
    recipe(
        NUMPY, "place", lambda draw: [call(draw.array(3, 4), draw.booleans(3, 4), draw.array(12), inplace=False)], ANY
    ),
    recipe(NUMPY, "choose", chooses, ANY),
    recipe(NUMPY, "select", selections, ANY),
    recipe(NUMPY, "compress", compressions, ANY),
    recipe(NUMPY, "extract", lambda draw: [call(draw.booleans(3, 4), draw.array(3, 4))], ANY),
    recipe(NUMPY, "nonzero flatnonzero argwhere", nonzeros, NUMBERS),
    recipe(NUMPY, "searchsorted", searches, REALS),
    recipe(NUMPY, "digitize", digitizations, REALS),
    recipe(NUMPY, "packbits", bits, "bool"),
    recipe(NUMPY, "unpackbits", unpackings, "uint8"),
    recipe(LAX, "reshape", _RESHAPED, ANY),
    recipe(LAX, "collapse", with_arguments((2, 3, 4), (0, 2), (1,)), ANY),
    recipe(LAX, "squeeze", with_arguments((3, 1, 4), ((1,),), ((-2,),)), ANY),
    recipe(LAX, "expand_dims", with_arguments((3, 4), ((0,),), ((0, 2),)), ANY),
    recipe(LAX, "rev", with_arguments((3, 4), ((0,),), ((0, 1),)), ANY),
    recipe(LAX, "transpose", with_arguments((2, 3, 4), ((1, 0, 2),), ((2, 1, 0),)), ANY),
    recipe(LAX, "broadcast", with_arguments((3, 4), ((2,),), ((2, 1),)), ANY),
    recipe(LAX, "broadcast_in_dim", with_arguments((3,), ((3, 2), (0,)), ((2, 3), (1,)))),
    recipe(LAX, "broadcast_like", lambda draw: [call(draw.array(4), draw.array(3, 4))], ANY),
    recipe(LAX, "broadcast_to_rank", with_arguments((3, 4), (3,), (2,)), ANY),
    recipe(LAX, "tile", with_arguments((3, 4), ((2, 1),), ((1, 3),)), ANY),
    recipe(LAX, "concatenate", joined_by_lax, ANY),
    recipe(LAX, "stack", stacks, ANY),
    recipe(LAX, "unstack", with_arguments((3, 4), (1,), (-1,)), ANY),
    recipe(LAX, "split", lambda draw: [call(draw.array(5), (2, 3)), call(draw.array(3, 4), (1, 3), 1)], ANY),
    recipe(LAX, "pad", padded_by_lax, ANY),
    recipe(LAX, "slice", slices, ANY),
    recipe(LAX, "slice_in_dim", with_arguments((5, 4), (0, 3), (1, 4, 2), (0, 2, 1, 1)), ANY),
    recipe(LAX, "index_in_dim", with_arguments((3, 4), (1, 1), (2, 1, False)), ANY),
    recipe(LAX, "index_take", lambda draw: [call(draw.array(5, 4), [draw.integers(3)], (0,))], ANY),
    recipe(LAX, "dynamic_slice", of_dynamic_places, ANY),
    recipe(LAX, "dynamic_slice_in_dim", lambda draw: [call(draw.array(5, 4), draw.integers(), 2)], ANY),
    recipe(LAX, "dynamic_index_in_dim", lambda draw: [call(draw.array(5, 4), draw.integers(), 1)], ANY),
    recipe(LAX, "dynamic_update_slice", updated_at_places, ANY),
    recipe(
        LAX,
        "dynamic_update_slice_in_dim",
        lambda draw: [call(draw.array(5, 4), draw.array(2, 4), draw.integers(), 0)],
        ANY,
    ),
    recipe(
        LAX,
        "dynamic_update_index_in_dim",
        lambda draw: [call(draw.array(5, 4), draw.array(4), draw.integers(), 0)],
        ANY,
    ),
    recipe(LAX, "convert_element_type", cast, "float32 int32 bool"),
    recipe(LAX, "bitcast_convert_type", same_bits, REALS),
    recipe(LAX, "reduce_precision", with_arguments((3, 4), (5, 10), (8, 7)), "float32 bfloat16"),
    recipe(LAX, "integer_pow", with_arguments((3, 4), (2,), (3,), (0,)), NUMBERS),
    recipe(
        LAX,
        "select_n",
        lambda draw: [call(draw.integers(3, 4, high=2), draw.array(3, 4), draw.array(3, 4), draw.array(3, 4))],
        ANY,
    ),
    recipe(METHOD, "reshape", _RESHAPED, ANY),
    recipe(METHOD, "ravel flatten", _RAVELED, ANY),
    recipe(METHOD, "swapaxes", _SWAPPED, ANY),
    recipe(METHOD, "transpose", with_arguments((2, 3, 4), (), (1, 0, 2)), ANY),
    recipe(METHOD, "squeeze", _SQUEEZED, ANY),
    recipe(METHOD, "diagonal", _DIAGONAL, ANY),
    recipe(METHOD, "trace", _TRACE, NUMBERS),
    recipe(METHOD, "repeat", repeats, ANY),
    recipe(METHOD, "take", takes, ANY),
    recipe(METHOD, "choose", chooses, ANY),
    recipe(METHOD, "compress", compressed_as_method, ANY),
    recipe(METHOD, "nonzero", nonzeros, NUMBERS),
    recipe(METHOD, "searchsorted", searches, REALS),
    recipe(METHOD, "astype", cast, "float32 int32 bool"),
    recipe(METHOD, "view", same_bits, REALS),
    recipe(METHOD, "byteswap", of_shapes((3, 4), (0, 3)), WHOLE),
    recipe(METHOD, "conj conjugate copy", of_shapes((3, 4), (), (0, 3)), NUMBERS),
    recipe(METHOD, "round", with_arguments((3, 4), (), (1,)), REALS),
    recipe(METHOD, "clip", with_arguments((3, 4), (-1, 1), (None, 1)), REALS),
    recipe(METHOD, "dot", lambda draw: [call(draw.array(3, 4), draw.array(4, 2)), call(draw.array(4), draw.array(4))]),
    recipe(METHOD, "item", lambda draw: [call(draw.array()), call(draw.array(3, 4), 1, 2)], NUMBERS),
]
