"""The TensorFlow functions that compute or create arrays: functions of public modules, operators of tensors, and
methods that assign to variables. The rule in ``suite/recording/rule.py`` decides which of them a recording may call.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, reduce
from types import ModuleType
from typing import Any

import tensorflow as tf

from runners.suite.recording import rule

READS = frozenset(
    {
        "numpy", "__array__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__repr__", "__format__",
    }
)  # fmt: skip
"""Methods that give values to Python."""
OPERATORS = (
    "__abs__", "__add__", "__and__", "__eq__", "__floordiv__", "__ge__", "__getitem__", "__gt__", "__invert__",
    "__le__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__or__", "__pow__", "__radd__",
    "__rand__", "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__rpow__", "__rsub__",
    "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__xor__",
)  # fmt: skip
ASSIGNMENTS = ("assign", "assign_add", "assign_sub", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update")
TENSOR, VARIABLE = "tf.Tensor", "tf.Variable"
MODULES = tuple(home for home in rule.HOMES["tensorflow"] if home not in (TENSOR, VARIABLE))


@cache
def recordable() -> frozenset[str]:
    """Return the names of the functions that a recording may call."""
    return frozenset(
        {
            *(f"{home}.{name}" for home, module in modules() for name in functions_in(home, module)),
            *(f"{TENSOR}.{name}" for name in OPERATORS),
            *(f"{VARIABLE}.{name}" for name in ASSIGNMENTS),
        }
    )


def modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield the public modules by their names."""
    for home in MODULES:
        yield home, reduce(getattr, home.split(".")[1:], tf)


def functions_in(home: str, module: ModuleType) -> list[str]:
    """Return the names of a module's functions that compute."""
    return [
        name
        for name in dir(module)
        if rule.refusal("tensorflow", f"{home}.{name}") is None and _is_function(getattr(module, name))
    ]


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)
