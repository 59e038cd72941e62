"""The domains of functions whose result outside of the domain is undefined. Pure.

IEEE 754 defines the result of a logarithm, a root or an inverse sine outside of its domain: NaN. For the functions
listed here, neither a standard nor the documentation defines the result, so each library returns another one. Examples
are ``lgamma`` at a pole, ``igamma`` of an order that is not positive, and a shift by more bits than the type has.

Further undefined results are those of NaN in a function that is documented by comparisons, of a range whose ends are
not finite, of a convolution with weights that are not finite (padding multiplies them by zero), of a search in a
sequence that is not sorted, of several values written to one place, and of a reduction whose elements are all masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from runners.suite.frozen import decode

Array = np.ndarray[Any, Any]
OUTSIDE = "a number is outside of the function's domain, and nothing says what it returns there"
WIDENED = "a method in place makes its array larger, which broadcasting does not allow"
_MOST_PLACES = 1_000_000
"""The largest index for which places are counted. Below a larger index some places are empty anyway."""
Inside = Callable[..., Any]
"""Returns, element by element, whether the arguments are in the domain. The arguments are broadcast."""


def _is_no_pole(x: Array) -> Any:
    return (x > 0) | (x != np.floor(x))


def _is_incomplete_gamma(a: Array, x: Array) -> Any:
    return (a > 0) & (x >= 0)


def _is_zeta(x: Array, q: Array) -> Any:
    return (x > 1) & (q > 0)


def _is_polygamma(a: Array, x: Array) -> Any:
    return (a >= 0) & (a == np.floor(a)) & _is_no_pole(x)


def _is_incomplete_beta(a: Array, b: Array, x: Array) -> Any:
    return (a > 0) & (b > 0) & (x >= 0) & (x <= 1)


def _is_at_most_one(x: Array) -> Any:
    return np.abs(x) <= 1


def _is_probability(x: Array) -> Any:
    return (x >= 0) & (x <= 1)


def _is_twice_probability(x: Array) -> Any:
    return (x >= 0) & (x <= 2)


def _is_not_negative(x: Array) -> Any:
    return x >= 0


_DOMAINS: Mapping[str, tuple[tuple[str, ...], Inside]] = {
    **dict.fromkeys(("lgamma", "gammaln", "loggamma", "digamma", "psi"), (("x",), _is_no_pole)),
    **dict.fromkeys(("igamma", "igammac", "gammainc", "gammaincc"), (("a", "x"), _is_incomplete_gamma)),
    **dict.fromkeys(("igammagrada", "randomgammagrad"), (("a", "x"), _is_incomplete_gamma)),
    "zeta": (("x", "q"), _is_zeta),
    "polygamma": (("a", "x"), _is_polygamma),
    "betainc": (("a", "b", "x"), _is_incomplete_beta),
    "erfinv": (("x",), _is_at_most_one),
    "erfcinv": (("x",), _is_twice_probability),
    "ndtri": (("x",), _is_probability),
    **dict.fromkeys(("bessely0", "bessely1", "modifiedbesselk0", "modifiedbesselk1"), (("x",), _is_not_negative)),
    **dict.fromkeys(("besselk0", "besselk1", "besselk0e", "besselk1e"), (("x",), _is_not_negative)),
    **dict.fromkeys(("scaledmodifiedbesselk0", "scaledmodifiedbesselk1"), (("x",), _is_not_negative)),
}
"""Maps a function's last name, in lowercase and without underscores, to the names of its arguments and its domain."""
_SHIFTS = frozenset(
    {
        "bitwiseleftshift", "bitwiserightshift", "leftshift", "rightshift", "lshift", "rshift", "ilshift", "irshift",
        "shiftleft", "shiftrightarithmetic", "shiftrightlogical",
    }
)  # fmt: skip
"""The functions of two integers that shift the first by the second."""
_WHOLE_DIVISIONS = frozenset(
    {
        "divide", "div", "divnonan", "divmod", "floordiv", "floordivide", "floormod", "fmod", "mod", "rem",
        "remainder", "truncatediv", "truncatemod",
    }
)  # fmt: skip
"""The functions that divide one integer by another and return integers."""
_OPERANDS = (("input", "self", "x", "x1", "a", "lhs"), ("other", "y", "x2", "b", "rhs"))
"""The names that the frameworks give to the first and to the second operand of a shift or a division."""
_STITCHES = frozenset({"dynamicstitch", "paralleldynamicstitch"})
"""The functions that write rows to the places in ``indices``. The value at a place without a row is undefined."""
_BY_COMPARISONS = frozenset({"threshold", "softshrink", "hardshrink"})
"""The functions documented by comparisons, with a constant in all other cases. By this text NaN gives the constant, but
the CPU returns NaN."""
_ORDERED: Mapping[str, int] = {"searchsorted": 0, "bucketize": 1, "digitize": 1, "interp": 1, "histogram": 1}
"""The functions that search in a sorted sequence, and the position of the sequence among their arguments."""
_PROMISES = ("indices_are_sorted", "unique_indices")
"""Options with which a caller of JAX asserts a property of the indices. If it is untrue, the result is undefined."""
_WRITERS = frozenset({"put", "putalongaxis", "scatter", "scatterapply"})
"""The functions of JAX that write values to the places in their second argument."""
_CLIP = "clipbyvalue"
"""The function of TensorFlow that limits numbers. Its documentation requires that the lower limit is not above the
upper one."""
_RANGES = frozenset({"linspace", "logspace", "geomspace", "arange", "range"})
_CONVOLUTION = re.compile(r"(lazy|depthwise|separable)?conv(olution|general\w*|transpose|with\w*|\d|$)\w*")
_OF_MASKED = "torch.masked."
_ELEMENTWISE_OF_MASKED = frozenset({"softmax", "logsoftmax", "softmin", "normalize", "cumsum", "cumprod"})
"""The functions of ``torch.masked`` whose values at masked elements are undefined. Reductions are undefined only for
slices that are masked completely."""


def is_outside(name: str, call: str, arrays: Sequence[Array], results: Sequence[Array]) -> bool:
    """Whether a call has an input for which the function's result is undefined.

    ``results`` is empty for a call that the CPU refuses. If an input is undefined, other devices need not refuse it.
    """
    key = name.rpartition(".")[2].replace("_", "").lower()
    if _is_not_finite_enough(key, call, arrays) or (name.startswith(_OF_MASKED) and _is_masked_out(key, call, arrays)):
        return True
    if _has_no_order(key, call, arrays) or (name.startswith("jax.") and _is_promise_broken(key, call, arrays)):
        return True
    if key != _CLIP and not any(key in keys for keys in (_DOMAINS, _SHIFTS, _WHOLE_DIVISIONS, _STITCHES)):
        return False
    arguments, options = json.loads(call)["tuple"][:2]
    if key == _CLIP:
        return _are_limits_crossed([*arguments, *(value for _, value in options["mapping"])], arrays)
    if key in _STITCHES:
        return _has_empty_place(arguments, dict(options["mapping"]), arrays, is_parallel=key.startswith("parallel"))
    values = [_number(argument, arrays) for argument in arguments]
    by_name = {option: _number(value, arrays) for option, value in options.get("mapping", ())}
    if key in _SHIFTS or key in _WHOLE_DIVISIONS:
        first, second = (_operand(place, values, by_name) for place in range(2))
        return _is_wider_shift(first, second) if key in _SHIFTS else _is_by_zero(first, second, results)
    names, inside = _DOMAINS[key]
    numbers = [by_name.get(one, values[at] if at < len(values) else None) for at, one in enumerate(names)]
    if key == "polygamma" and name.startswith("torch.Tensor."):
        numbers.reverse()
    present = [
        np.asarray(number, np.float64) for number in numbers if number is not None and number.dtype.kind in "biuf"
    ]
    if len(present) < len(names):
        return False
    # Ignore NaN and infinity: each function defines its result for them.
    finite = [np.where(np.isfinite(number), number, np.nan) for number in present]
    with np.errstate(invalid="ignore"):
        is_undecided = np.isnan(sum(finite))
        return bool((~(inside(*finite) | is_undecided)).any())


def widens_its_array(name: str, arrays: Sequence[Array], results: Sequence[Array]) -> bool:
    """Whether an in-place method returns more elements than its array has, because the CPU resized the array."""
    is_in_place = name.endswith("_") and not name.endswith("__")
    return is_in_place and bool(arrays) and bool(results) and results[0].size > arrays[0].size


def _is_not_finite_enough(key: str, call: str, arrays: Sequence[Array]) -> bool:
    """Whether an input is NaN or infinite, and the function's result is undefined for it."""
    if key in _BY_COMPARISONS:
        return any(np.isnan(array).any() for array in arrays if array.dtype.kind == "f")
    if key in _RANGES:
        return any(not np.isfinite(array).all() for array in arrays if array.dtype.kind in "fc") or '{"float":' in call
    if _CONVOLUTION.fullmatch(key):
        return any(not np.isfinite(array).all() for array in arrays[1:] if array.dtype.kind in "fc" and array.ndim > 2)
    return False


def _has_no_order(key: str, call: str, arrays: Sequence[Array]) -> bool:
    """Whether a function searches in a sequence that is not in order; NaN comes last."""
    if key not in _ORDERED:
        return False
    arguments, options = json.loads(call)["tuple"][:2]
    if "sorter" in dict(options["mapping"]) or len(arguments) <= _ORDERED[key]:
        return False
    sequence = _number(arguments[_ORDERED[key]], arrays)
    if sequence is None or not sequence.ndim or sequence.dtype.kind not in "biuf":
        return False
    directions = (sequence, np.flip(sequence, -1)) if key == "digitize" else (sequence,)
    return not any(np.array_equal(one, np.sort(one, -1), equal_nan=one.dtype.kind == "f") for one in directions)


def _is_promise_broken(key: str, call: str, arrays: Sequence[Array]) -> bool:
    """Whether indices that a caller promised to be sorted or unique are not, or whether two of them write to one
    place."""
    arguments, options = json.loads(call)["tuple"][:2]
    promises = [name for name, value in options["mapping"] if name in _PROMISES and value is True]
    indices = [array for array in arrays if array.dtype.kind in "iu"]
    if _PROMISES[0] in promises and any((np.diff(array, axis=0) < 0).any() for array in indices if array.ndim == 1):
        return True
    if key not in _WRITERS and _PROMISES[1] not in promises:
        return False
    places = _number(arguments[1], arrays) if len(arguments) > 1 else None
    if places is None or places.dtype.kind not in "iu" or not places.ndim:
        return False
    axis = arguments[3] if key == "putalongaxis" and len(arguments) > 3 and isinstance(arguments[3], int) else None
    if axis is None:
        rows = places.reshape(-1, places.shape[-1]) if key.startswith("scatter") else places.reshape(-1, 1)
        return len(np.unique(rows, axis=0)) < len(rows)
    in_order = np.sort(places, axis)
    return bool((np.diff(in_order, axis=axis) == 0).any())


def _is_masked_out(key: str, call: str, arrays: Sequence[Array]) -> bool:
    """Whether the result of a function of ``torch.masked`` contains elements with undefined values."""
    arguments, options = json.loads(call)["tuple"][:2]
    by_name = dict(options["mapping"])
    mask, values = _number(by_name.get("mask"), arrays), _number(arguments[0], arrays) if arguments else None
    if mask is None or values is None or mask.dtype != bool:
        return False
    is_seen = np.broadcast_to(mask, np.broadcast_shapes(mask.shape, values.shape))
    if key in _ELEMENTWISE_OF_MASKED:
        return not is_seen.all()
    if not is_seen.ndim:
        return not is_seen
    axis = by_name.get("dim", arguments[1] if len(arguments) > 1 else None)
    axes = axis["tuple"] if isinstance(axis, Mapping) and "tuple" in axis else [axis] if isinstance(axis, int) else []
    return not is_seen.any(axis=tuple(axes or range(is_seen.ndim))).all()


def _number(argument: Any, arrays: Sequence[Array]) -> Array | None:
    """Return the array or number of a written argument; None if it is neither."""
    if isinstance(argument, Mapping) and set(argument) <= {"array", "dtype", "strides", "offset"}:
        return arrays[argument["array"]]
    if isinstance(argument, (int, float)) and not isinstance(argument, bool):
        return np.asarray(argument)
    if isinstance(argument, Mapping) and "float" in argument:
        return np.asarray(decode(argument, lambda slot: None))
    return None


def _operand(place: int, values: Sequence[Array | None], by_name: Mapping[str, Array | None]) -> Array | None:
    """Return an operand of a shift or a division, which may be passed by position or by name."""
    if place < len(values):
        return values[place]
    return next((by_name[name] for name in _OPERANDS[place] if name in by_name), None)


def _has_empty_place(
    arguments: Sequence[Any], options: Mapping[str, Any], arrays: Sequence[Array], *, is_parallel: bool
) -> bool:
    """Whether a place has no row, or, if the rows are written in parallel, more than one."""
    written = options.get("indices", arguments[0] if arguments else None)
    if not isinstance(written, Sequence):
        return False
    indices = [_number(index, arrays) for index in written]
    places = np.concatenate([np.ravel(index) for index in indices if index is not None] or [np.zeros(0, int)])
    if not places.size or places.dtype.kind not in "iu" or places.min() < 0:
        return False
    counts = np.bincount(places.astype(np.int64)) if places.max() < _MOST_PLACES else np.zeros(1)
    return bool((counts == 0).any() or (is_parallel and (counts > 1).any()))


def _is_wider_shift(number: Array | None, shift: Array | None) -> bool:
    if number is None or shift is None or number.dtype.kind not in "iu" or shift.dtype.kind not in "iu":
        return False
    return bool(((shift < 0) | (shift >= 8 * number.dtype.itemsize)).any())


def _are_limits_crossed(arguments: Sequence[Any], arrays: Sequence[Array]) -> bool:
    """Whether the second of three numbers is above the third in the dtype of the first. A negative limit becomes large
    in an unsigned dtype."""
    numbers = [number for number in (_number(argument, arrays) for argument in arguments[:3]) if number is not None]
    if len(numbers) < 3:
        return False
    lower, upper = (number.astype(numbers[0].dtype) for number in numbers[1:])
    return bool((lower > upper).any())


def _is_by_zero(number: Array | None, divisor: Array | None, results: Sequence[Array]) -> bool:
    if number is None or divisor is None or any(one.dtype.kind not in "iu" for one in (number, divisor, *results)):
        return False
    return bool(number.size) and bool((divisor == 0).any())
