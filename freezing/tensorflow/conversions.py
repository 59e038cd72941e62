"""Follow the operations that TensorFlow executes in a call, to see how the integers in the result are computed.

A float is exact if it is an input, a moved input, or computed from small integers. The last digits of any other float
depend on the processor. A result is undetermined if such digits decide one of its integers, or if it comes from a
conversion to an integer type that cannot represent the number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tensorflow as tf
from freezing.common import conversion, rounding
from tensorflow.python.framework import op_callbacks

_MOVE = frozenset(
    {
        "Abs", "BroadcastTo", "ConcatV2", "DiagPart", "ExpandDims", "Fill", "GatherNd", "GatherV2", "Identity",
        "IdentityN", "MatrixBandPart", "MatrixDiagPartV3", "MatrixDiagV3", "Max", "Maximum", "Min", "Minimum",
        "MirrorPad", "Neg", "OneHot", "Pack", "Pad", "PadV2", "ReadVariableOp", "Relu", "ResourceGather", "Reshape",
        "Reverse", "ReverseV2", "Roll", "ScatterNd", "Select", "SelectV2", "Sign", "Slice", "Split", "SplitV",
        "Squeeze", "StopGradient", "StridedSlice", "TensorScatterUpdate", "Tile", "TopKV2", "Transpose", "Unpack",
        "Where",
    }
)  # fmt: skip
"""Operations that only move, select or negate their inputs, or add zeros. With exact inputs, the results are exact."""
_SUM = frozenset(
    {
        "Add", "AddN", "AddV2", "BatchMatMulV2", "Cumsum", "Einsum", "FloorDiv", "FloorMod", "MatMul", "Mul",
        "Prod", "Square", "SquaredDifference", "Sub", "Sum",
    }
)  # fmt: skip
"""Operations whose results are exact if inputs and results are integers (also as floats)."""
_DIVISION = frozenset({"Div", "RealDiv"})
_ROUNDING = {"Ceil": False, "Floor": False, "Rint": True, "Round": True}
"""Operations that round floats to whole numbers. The value says whether the result changes at halves."""
NO_ARRAY = -1
_LAST_DIGITS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def reason(call: Callable[[], Any]) -> str | None:
    """Run a call on the host. Return why its result or its error is undetermined; None if there is no reason."""
    conversions = _Conversions()
    op_callbacks.add_op_callback(conversions.follow)
    try:
        result = call()
    except Exception:
        return rounding.UNCONVERTIBLE if conversions.unconvertible else None
    finally:
        op_callbacks.remove_op_callback(conversions.follow)
    for tensor in tf.nest.flatten(result, expand_composites=True):
        if _key(tensor) in conversions.unconvertible:
            return rounding.UNCONVERTIBLE
        if _key(tensor) in conversions.by_digits and not tensor.dtype.is_floating:
            return rounding.BY_ROUNDING
    return None


class _Conversions:
    """Follows the arrays of a call, and notes the computed ones and those with undetermined integers."""

    def __init__(self) -> None:
        self._computed: set[int] = set()
        """Floating arrays whose last digits depend on the processor."""
        self.by_digits: set[int] = set()
        """Arrays computed from an integer that the last digits of such a float decide."""
        self.unconvertible: set[int] = set()
        """Arrays computed from a number that an integer type could not represent."""
        self._alive: list[Any] = []
        """References to all arrays. Without them, TensorFlow could reuse the key of a deleted array."""
        self._is_busy = False

    def follow(
        self, name: str | bytes, inputs: Sequence[Any], attributes: Any, outputs: Sequence[Any], op_name: Any = None,
        graph: Any = None,
    ) -> None:  # fmt: skip
        """Note the results of an operation. TensorFlow calls this after each one, and while it builds a ``graph``."""
        if graph is not None or self._is_busy:
            return
        self._is_busy = True
        try:
            self._follow(name.decode() if isinstance(name, bytes) else name, inputs, outputs)
        finally:
            self._is_busy = False

    def _follow(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._alive += [*inputs, *outputs]
        keys, results = set(map(_key, inputs)), set(map(_key, outputs))
        if keys & self.by_digits or self._is_cut_by_digits(name, inputs, outputs):
            self.by_digits |= results
        if keys & self.unconvertible or _is_unconvertible(name, inputs, outputs):
            self.unconvertible |= results
        if not self._is_exact(name, inputs, outputs):
            self._computed |= {_key(tensor) for tensor in outputs if _is_float(tensor)}

    def _is_cut_by_digits(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        if not inputs or _key(inputs[0]) not in self._computed:
            return False
        values, last_digit = _values(inputs[0]), _last_digit(inputs[0])
        if name in _ROUNDING:
            return rounding.hangs_on_digits(values, last_digit, at_half=_ROUNDING[name])
        return _is_cut(name, inputs, outputs) and rounding.hangs_on_digits(values, last_digit, cuts_to_zero=True)

    def _is_exact(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
        if name in _ROUNDING:
            return True
        if any(_key(tensor) in self._computed for tensor in inputs):
            return False
        if name in _MOVE:
            return True
        if name == "Cast":
            return _is_float(inputs[0]) or all(map(_is_whole, outputs))
        if name in _DIVISION:
            return _is_whole(inputs[0]) and rounding.are_powers_of_two(_values(inputs[1]))
        return name in _SUM and all(_is_whole(tensor) for tensor in (*inputs, *outputs) if _is_float(tensor))


def _key(tensor: Any) -> int:
    """Return TensorFlow's number of an eager array; ``NO_ARRAY`` for anything else."""
    return int(getattr(tensor, "_id", NO_ARRAY))


def _is_float(tensor: Any) -> bool:
    return isinstance(tensor, tf.Tensor) and tensor.dtype.is_floating


def _is_cut(name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    return name == "Cast" and _is_float(inputs[0]) and outputs[0].dtype.is_integer and not outputs[0].dtype.is_quantized


def _is_unconvertible(name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> bool:
    return _is_cut(name, inputs, outputs) and not conversion.holds(outputs[0].dtype.name, _values(inputs[0]))


def _values(tensor: Any) -> np.ndarray[Any, Any]:
    return np.asarray(tensor).astype(np.float64)


def _is_whole(tensor: Any) -> bool:
    return not _is_float(tensor) or rounding.are_whole(_values(tensor), _last_digit(tensor))


def _last_digit(tensor: Any) -> float:
    """Return the distance from 1 to the next larger number in the tensor's dtype."""
    return _LAST_DIGITS.get(tensor.dtype.name, _LAST_DIGITS["float32"])
