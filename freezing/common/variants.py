"""Variants: the frozen cases of a suite with unusual inputs, such as NaN, large values and other sizes. Pure; uses only
NumPy.

A variant changes one property of a call: its arrays, its options or its dtype. It does not contain an expected result.
The gate tests the changed call like any other sample, and leaves it out if its result is not determined. No variant has
subnormal numbers, because many devices flush them to zero by design.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protocol.enums import NON_FINITE, REFUSES
from runners.suite.frozen import stored

Array = np.ndarray[Any, Any]

TAILS, SIZED_ODD, SIZED_LARGE = "tails", "sized-odd", "sized-large"
SIZED_ROWS = "sized-rows"
"""The kind with large arrays for functions whose cost grows faster than their arrays. Others have ``sized-large``."""
OFFSET, OVERLAPPING, SECOND_ORDER = "offset", "overlapping", "second-order"
"""Kinds that exist only for some frameworks."""
NAN, INFINITY = "nan", "infinity"
"""The variant with one NaN. For some functions, the result of more non-finite values is not determined."""
LARGE_ELEMENTS = 100_000
"""The largest array of a ``sized-large`` or ``sized-rows`` call has more elements than this."""
FAR, BELOW, NEGATIVE = 1_000, -1_000, -1
"""Indices that are out of range in small arrays: after the last element, before the first element, and -1, which means
the last element only in Python."""
MOST_WHOLE = 9
"""The maximum magnitude of an integer that is made from a float."""
FAR_OPTION = 100
"""The value of an option that is out of range: no array has so many axes. As a size, it is still a small number."""
MOST: Mapping[str, float] = {"float16": 65504.0, "bfloat16": 3.3895e38, "float32": 3.4028e38, "float64": 1.7976e308}
"""The largest finite value of a dtype, rounded down."""
OVERLAPPING_WRITE = "overlapping-write"
"""The variant that writes through a view whose elements share memory."""
TAIL_VALUES = (0.0, -0.0, 10.0, -20.0, 100.0, -1e4, 1e10, -1e30, 1e30)


@dataclass(frozen=True)
class Call:
    """The call of a case, from which variants are made."""

    name: str
    """The name of the function and of the case. It seeds the random numbers of a variant."""
    dtype: str
    tags: frozenset[str]
    arrays: tuple[Array, ...]
    """The arrays as read from a pack: bfloat16 as float32."""
    written: Any
    """The written call, as JSON types."""
    inputs: frozenset[int]
    """The numbers of the arrays that are inputs of the function. Other arrays are weights or a state."""

    @property
    def floats(self) -> list[int]:
        """The numbers of the inputs that are real floating arrays with elements, in order."""
        return self._numbers("f")

    @property
    def integers(self) -> list[int]:
        """The numbers of the inputs that are integer arrays with elements, in order."""
        return self._numbers("iu")

    def _numbers(self, kinds: str) -> list[int]:
        return [
            number
            for number, array in enumerate(self.arrays)
            if number in self.inputs and array.size and array.dtype.kind in kinds
        ]

    def having(self, others: Mapping[int, Array]) -> Call:
        """Return this call with other arrays, by their numbers."""
        arrays = tuple(others.get(number, array) for number, array in enumerate(self.arrays))
        return dataclasses.replace(self, arrays=arrays)


@dataclass(frozen=True)
class Variant:
    """One change of a call. ``change`` gets the call, and a generator of random numbers with a seed from its name."""

    name: str
    """The end of the name of the new case."""
    kind: str
    """The tag of the new case. It is ``refuses`` if the host must raise an error, and empty if only the dtype
    changes."""
    applies: Callable[[Call], bool]
    change: Callable[[Call, np.random.Generator], Call]

    @property
    def refuses(self) -> bool:
        return self.kind == REFUSES

    @property
    def tags(self) -> tuple[str, ...]:
        """The additional tags of a case. Other tags are the kinds of its arrays and the class of its dtype."""
        return (self.kind,) if self.kind else ()

    def of(self, call: Call) -> Call | None:
        """Return the changed call. None if the variant does not apply, or changes nothing."""
        if not self.applies(call):
            return None
        seed = int.from_bytes(hashlib.sha256(f"{call.name}-{self.name}".encode()).digest()[:8], "big")
        new_call = self.change(call, np.random.default_rng(seed))
        return None if _is_same(new_call, call) else new_call


def _is_same(one: Call, other: Call) -> bool:
    return (
        (one.dtype, one.written) == (other.dtype, other.written)
        and len(one.arrays) == len(other.arrays)
        and all(
            (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
            for a, b in zip(one.arrays, other.arrays)
        )
    )


def slots(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield the written form of each array of a call, in order."""
    if isinstance(tree, list):
        for member in tree:
            yield from slots(member)
    elif isinstance(tree, dict):
        if "array" in tree:
            yield tree
        else:
            for member in tree.values():
                yield from slots(member)


def is_contiguous(call: Call) -> bool:
    """Whether all arrays of a call are contiguous."""
    return not any("strides" in slot for slot in slots(call.written))


def _has_floats(call: Call) -> bool:
    return bool(call.floats)


def _has_integers(call: Call) -> bool:
    return bool(call.integers)


def _round_to(array: Array, dtype: str) -> Array:
    """Round floats to a dtype. The result has this dtype, but float32 for bfloat16."""
    limit = MOST.get(dtype, math.inf)
    in_range = np.where(np.isfinite(array), np.clip(array, -limit, limit), array)
    in_dtype = stored(in_range, dtype)
    return in_range.astype(np.float32) if dtype == "bfloat16" else in_dtype


def _place_values(array: Array, values: Sequence[float], rng: np.random.Generator, most: int) -> Array:
    """Return a copy of an array with the values at random places, at most ``most`` of them."""
    copy = array.copy()
    places = rng.permutation(array.size)[:most]
    first = int(rng.integers(len(values)))
    for count, place in enumerate(places):
        copy.reshape(-1)[place] = values[(first + count) % len(values)]
    return copy


def _with_floats(call: Call, change: Callable[[Array], Array]) -> Call:
    """Change each input of floats."""
    return call.having({number: change(call.arrays[number]) for number in call.floats})


def _non_finite(call: Call, rng: np.random.Generator) -> Call:
    values = (math.nan, math.inf, -math.inf)
    return _with_floats(call, lambda array: _place_values(array, values, rng, 3))


def _one_nan(call: Call, rng: np.random.Generator) -> Call:
    number = call.floats[0]
    return call.having({number: _place_values(call.arrays[number], [math.nan], rng, 1)})


def _one_infinity(call: Call, rng: np.random.Generator) -> Call:
    number = call.floats[0]
    return call.having({number: _place_values(call.arrays[number], [math.inf, -math.inf], rng, 1)})


def _tails(call: Call, rng: np.random.Generator) -> Call:
    """Put large and small values of the dtype at about half of the places."""
    most = MOST.get(call.dtype, MOST["float32"])
    values = [value for value in (*TAIL_VALUES, 0.97 * most, -0.97 * most) if abs(value) <= most]

    def of(array: Array) -> Array:
        with np.errstate(over="ignore"):
            return _place_values(array, values, rng, (array.size + 1) // 2)

    return _with_floats(call, of)


def _spread(call: Call, rng: np.random.Generator) -> Call:
    """Draw numbers of both signs: half of them from all orders of magnitude of the dtype, half between 1 and 1000."""
    most = int(np.log10(MOST[call.dtype]))

    def draw_like(array: Array) -> Array:
        orders = np.where(rng.random(array.shape) < 0.5, rng.uniform(1 - most, most, array.shape), 0.0)
        magnitudes = np.where(orders == 0, rng.uniform(0, 3, array.shape), orders)
        return np.asarray(10**magnitudes * rng.choice((-1.0, 1.0), array.shape), array.dtype)

    return _with_floats(call, draw_like)


def _moderate(call: Call, rng: np.random.Generator) -> Call:
    """Draw numbers between -40 and 40: larger than usual inputs, but small enough that exponentials do not vanish."""

    def draw_like(array: Array) -> Array:
        return np.asarray(rng.uniform(-40, 40, array.shape), array.dtype)

    return _with_floats(call, draw_like)


def _vast(call: Call, rng: np.random.Generator) -> Call:
    """Draw numbers between 10 and 1e6 with the signs of the inputs, so that they stay in the domain of a logarithm."""

    def draw_like(array: Array) -> Array:
        signs = np.where(array < 0, -1.0, 1.0)
        return np.asarray(10 ** rng.uniform(1, 6, array.shape) * signs, array.dtype)

    return _with_floats(call, draw_like)


def _alike(call: Call, rng: np.random.Generator) -> Call:
    """Put one large value at all places, so that differences are zero."""
    most = MOST.get(call.dtype, MOST["float32"])
    value = float(rng.uniform(1, 9)) * min(1e10, most / 100)
    return _with_floats(call, lambda array: np.full_like(array, value))


def _all_negative(call: Call, rng: np.random.Generator) -> Call:
    """Make all values negative. Many reductions and poolings start at zero."""
    return _with_floats(call, lambda array: -np.abs(array) - 1)


def _is_sizable(call: Call) -> bool:
    longest = max((array.size for array in call.arrays), default=0)
    return longest > 1 and is_contiguous(call)


def resize(array: Array, length: Callable[[int], int]) -> Array:
    """Repeat the array along each axis that is longer than 1. ``length`` maps the axis's length to the new length."""
    for axis, size in enumerate(array.shape):
        if size > 1:
            array = np.take(array, np.arange(length(size)) % size, axis)
    return array


def _sized_odd(call: Call, rng: np.random.Generator) -> Call:
    return call.having({number: resize(array, lambda size: 2 * size + 1) for number, array in enumerate(call.arrays)})


def _sized_large(call: Call, rng: np.random.Generator) -> Call:
    largest = max(call.arrays, key=lambda array: array.size)
    axes = sum(size > 1 for size in largest.shape)
    factor = 2
    while largest.size * factor**axes <= LARGE_ELEMENTS:
        factor += 1
    return call.having({number: resize(array, lambda size: size * factor) for number, array in enumerate(call.arrays)})


def _has_rows(call: Call) -> bool:
    return any(call.arrays[number].size > 1 for number in call.inputs) and is_contiguous(call)


def _sized_rows(call: Call, rng: np.random.Generator) -> Call:
    """Repeat the rows of the largest input, and of the inputs with as many rows. This enlarges only the batch."""
    arrays = {number: call.arrays[number] for number in sorted(call.inputs) if call.arrays[number].ndim}
    largest = max(arrays.values(), key=lambda array: array.size)
    factor = LARGE_ELEMENTS // largest.size + 1
    rows = np.arange(len(largest) * factor) % len(largest)
    return call.having(
        {number: np.take(array, rows, 0) for number, array in arrays.items() if len(array) == len(largest)}
    )


def _with_element(which: int, value: int) -> Callable[[Call, np.random.Generator], Call]:
    """Set one element of the first (0) or last (-1) array of integers."""

    def change(call: Call, rng: np.random.Generator) -> Call:
        number = call.integers[which]
        array = call.arrays[number]
        limits = np.iinfo(array.dtype)
        return call.having({number: _place_values(array, [max(limits.min, min(value, limits.max))], rng, 1)})

    return change


def _without_elements(call: Call, rng: np.random.Generator) -> Call:
    return call.having({number: array[(slice(0, 0),) * array.ndim] for number, array in enumerate(call.arrays)})


def _zeros(call: Call, rng: np.random.Generator) -> Call:
    return _with_floats(call, np.zeros_like)


def _can_be_shorter(call: Call) -> bool:
    return sum(array.ndim > 0 for array in call.arrays) > 1 and _long(call) is not None and is_contiguous(call)


def _long(call: Call) -> int | None:
    """Return the number of the last input that has an axis of at least two elements."""
    return max((number for number in call.inputs if max(call.arrays[number].shape, default=0) > 1), default=None)


def _shorter(call: Call, rng: np.random.Generator) -> Call:
    """Shorten the last long axis of only the last input by one element."""
    number = _long(call)
    assert number is not None
    array = call.arrays[number]
    axis = max(axis for axis, size in enumerate(array.shape) if size > 1)
    return call.having({number: np.take(array, np.arange(array.shape[axis] - 1), axis)})


def _of_other_dtype(call: Call, rng: np.random.Generator) -> Call:
    """Convert the last array of integers to floats; if there is none, the last array of floats to integers."""
    if call.integers:
        number = call.integers[-1]
        return call.having({number: call.arrays[number].astype(np.float32)})
    number = call.floats[-1]
    return call.having({number: np.nan_to_num(call.arrays[number]).astype(np.int64)})


def _has_whole_option(call: Call) -> bool:
    """Whether a plain call has an integer among its arguments. In other calls, such as of a class with a state, some
    arguments go to another function."""
    return set(call.written) == {"tuple"} and _whole_option(call.written) is not None


def _whole_option(tree: Any) -> tuple[list[Any], int] | None:
    """Return the last integer among the arguments of a written call, as the list that contains it and its index."""
    arguments, options = tree["tuple"][:2]
    places = [(arguments, place) for place in range(len(arguments))]
    places += [(pair, 1) for pair in options["mapping"]]
    whole = [(holder, place) for holder, place in places if type(holder[place]) is int]
    return whole[-1] if whole else None


def _with_option(value: int) -> Callable[[Call, np.random.Generator], Call]:
    def change(call: Call, rng: np.random.Generator) -> Call:
        tree = json.loads(json.dumps(call.written))
        option = _whole_option(tree)
        assert option is not None
        holder, place = option
        holder[place] = value
        return dataclasses.replace(call, written=tree)

    return change


def refuses_for_this(name: str, message: str) -> bool:
    """Whether an error is about the property that the variant changed. Only ``overlapping-write`` variants are tested.

    If the host refuses their memory layout for another reason, other devices may not have this layout at all.
    """
    return not name.endswith(f"-{OVERLAPPING_WRITE}") or re.search(r"memory location|overlap", message) is not None


def in_dtype(dtype: str, call: Call) -> Call:
    """Convert the floating arrays of a call to this dtype, or all arrays if none is floating."""
    kind = "f" if call.floats else "i"
    numbers = [number for number, array in enumerate(call.arrays) if array.dtype.kind == kind]
    in_type = call.having({number: _of_dtype(call.arrays[number], dtype) for number in numbers})
    return dataclasses.replace(in_type, dtype=dtype)


def _of_dtype(array: Array, dtype: str) -> Array:
    if "float" in dtype:
        return _round_to(array, dtype)
    limits = np.iinfo(dtype)
    whole: Array = np.clip(np.rint(np.nan_to_num(array)), max(limits.min, -MOST_WHOLE), MOST_WHOLE).astype(dtype)
    return whole


def _to_dtype(dtype: str) -> Callable[[Call, np.random.Generator], Call]:
    return lambda call, rng: in_dtype(dtype, call)


def _is_real(call: Call) -> bool:
    return bool(call.floats) and call.dtype == "float32"


def _is_real_or_whole(call: Call) -> bool:
    return _is_real(call) or (bool(call.integers) and call.dtype in ("int32", "int64"))


VARIANTS: Sequence[Variant] = (
    Variant("non-finite", NON_FINITE, _has_floats, _non_finite),
    Variant(NAN, NON_FINITE, _has_floats, _one_nan),
    Variant(INFINITY, NON_FINITE, _has_floats, _one_infinity),
    Variant("tails", TAILS, _has_floats, _tails),
    Variant("alike", TAILS, _has_floats, _alike),
    Variant("negative", TAILS, _has_floats, _all_negative),
    Variant("sized-odd", SIZED_ODD, _is_sizable, _sized_odd),
    Variant("sized-large", SIZED_LARGE, _is_sizable, _sized_large),
    Variant("sized-rows", SIZED_ROWS, _has_rows, _sized_rows),
    Variant("index-far", REFUSES, _has_integers, _with_element(-1, FAR)),
    Variant("index-negative", REFUSES, _has_integers, _with_element(-1, NEGATIVE)),
    Variant("index-below", REFUSES, _has_integers, _with_element(-1, BELOW)),
    Variant("first-index-far", REFUSES, lambda call: len(call.integers) > 1, _with_element(0, FAR)),
    Variant("zero", REFUSES, _has_integers, _with_element(-1, 0)),
    Variant("emptied", REFUSES, lambda call: any(array.ndim for array in call.arrays), _without_elements),
    Variant("not-a-number", REFUSES, _has_floats, _one_nan),
    Variant("zeros", REFUSES, _has_floats, _zeros),
    Variant("below-zero", REFUSES, _has_floats, _all_negative),
    Variant("shorter", REFUSES, _can_be_shorter, _shorter),
    Variant("other-dtype", REFUSES, lambda call: bool(call.integers or call.floats), _of_other_dtype),
    Variant("option-far", REFUSES, _has_whole_option, _with_option(FAR_OPTION)),
    Variant("option-below", REFUSES, _has_whole_option, _with_option(-FAR_OPTION)),
    *(Variant(dtype, "", _is_real, _to_dtype(dtype)) for dtype in ("float16", "bfloat16")),
    *(Variant(dtype, "", _is_real_or_whole, _to_dtype(dtype)) for dtype in ("int8", "uint8")),
)
"""The variants for every framework, in the order in which a function's cases of a kind are drawn."""
VAST = Variant("vast", TAILS, _has_floats, _vast)
SPREAD = Variant("spread", TAILS, _has_floats, _spread)
MODERATE = Variant("moderate", TAILS, _has_floats, _moderate)
"""Further values from the tails, which only some frameworks have."""
