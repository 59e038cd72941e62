"""Operators: the names of public functions under which operators and indexing are charted. This module does no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.catalogue.surfaces import ARRAYS
from coordinator.results.conditions import CallSite

_UNARY: Mapping[str, str] = {"USub": "neg", "UAdd": "positive", "Invert": "bitwise_not", "abs": "abs"}
_BINARY: Mapping[str, str] = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "MatMult": "matmul",
    "Div": "div",
    "FloorDiv": "floor_divide",
    "Mod": "remainder",
    "Pow": "pow",
    "LShift": "bitwise_left_shift",
    "RShift": "bitwise_right_shift",
    "BitAnd": "bitwise_and",
    "BitOr": "bitwise_or",
    "BitXor": "bitwise_xor",
    "Eq": "eq",
    "NotEq": "ne",
    "Lt": "lt",
    "LtE": "le",
    "Gt": "gt",
    "GtE": "ge",
}
"""PyTorch's names for the operators."""
_NUMPY_NAMES: Mapping[str, str] = {
    "neg": "negative",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "pow": "power",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}
_TENSORFLOW_NAMES: Mapping[str, str] = {
    **_NUMPY_NAMES,
    "positive": "identity",
    "pow": "pow",
    "remainder": "math.floormod",
    "floor_divide": "math.floordiv",
    "bitwise_not": "math.logical_not",
    "bitwise_and": "math.logical_and",
    "bitwise_or": "math.logical_or",
    "bitwise_xor": "math.logical_xor",
    "bitwise_left_shift": "bitwise.left_shift",
    "bitwise_right_shift": "bitwise.right_shift",
}
_REFLECTED: Mapping[str, str] = {"Sub": "__rsub__", "Pow": "__rpow__", "Div": "__rdiv__", "Mod": "__rmod__"}
"""PyTorch's methods for swapped operands that have their own charts."""
_IN_PLACE = frozenset(
    {"add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "bitwise_and", "bitwise_or", "bitwise_xor"}
)
HOST_VALUES = frozenset({"bool", "complex", "float", "int"})
"""Python types whose constructors read the value of an array, as in ``float(loss)``. A condition does the same: ``if
mask.any():``."""
_INDEXING: Mapping[str, tuple[str, str]] = {
    "torch": ("torch.Tensor.__getitem__", "torch.Tensor.__setitem__"),
    "tf": ("tf.strided_slice", ""),
    "jax": ("jax.Array.__getitem__", ""),
}


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """The call for which an operator stands: a function, and its number of positional arguments."""

    function: str
    positional: int

    @property
    def call(self) -> CallSite:
        return CallSite(self.positional, {})


def _function(root: str, name: str) -> str:
    if root == "torch":
        return f"torch.{name}"
    return f"jax.numpy.{_NUMPY_NAMES.get(name, name)}" if root == "jax" else f"tf.{_TENSORFLOW_NAMES.get(name, name)}"


def unary(root: str, operator: str) -> OperatorCall | None:
    """The call for which a unary operator stands; None for ``not``.

    ``root`` is the framework's public root, such as ``tf``. ``operator`` is the operator's class name in ``ast``, or a
    Python type that reads the value.
    """
    if operator in HOST_VALUES:
        return _host_value(root)
    name = _UNARY.get(operator)
    return None if name is None else OperatorCall(_function(root, name), 1)


def binary(root: str, operator: str, *, left_is_array: bool) -> OperatorCall | None:
    """The call for which a binary operator stands; None for ``is``, ``in`` and other operators that call no function of
    an array."""
    if root == "torch" and not left_is_array and operator in _REFLECTED:
        return OperatorCall(f"torch.Tensor.{_REFLECTED[operator]}", 1)
    name = _BINARY.get(operator)
    return None if name is None else OperatorCall(_function(root, name), 2)


def _host_value(root: str) -> OperatorCall | None:
    """The method that reads the value of an array; None for TensorFlow, which has no public name for it."""
    return None if root == "tf" else OperatorCall(f"{ARRAYS[root]}.item", 0)


def in_place(root: str, operator: str, *, left_is_array: bool) -> OperatorCall | None:
    """The call for which ``x += y`` stands. Only PyTorch changes the array; the other frameworks create a new array."""
    name = _BINARY.get(operator)
    if root == "torch" and left_is_array and name in _IN_PLACE:
        return OperatorCall(f"torch.Tensor.{name}_", 1)
    return binary(root, operator, left_is_array=left_is_array)


def reading(root: str) -> OperatorCall:
    """The call for which ``x[index]`` stands."""
    return OperatorCall(_INDEXING[root][0], 1)


def writing(root: str, *, by_array: bool) -> OperatorCall | None:
    """The call for which ``x[index] = value`` stands; None for arrays that cannot be changed."""
    if root == "torch" and by_array:
        return OperatorCall("torch.Tensor.index_put_", 2)
    name = _INDEXING[root][1]
    return OperatorCall(name, 2) if name else None
