"""The JAX functions that a recording may name: functions that compute or create arrays.

These are functions of public modules, methods of arrays, and updates at an index. The rule in
``suite/recording/rule.py`` decides which of them are allowed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from runners.suite.recording import rule

READS = frozenset(
    {
        "item", "tolist", "tobytes", "copy_to_host_async", "device_get", "__array__", "__bool__", "__int__",
        "__float__", "__complex__", "__index__", "__repr__", "__format__",
    }
)  # fmt: skip
"""Functions and methods that give values to Python, or move an array to the host."""
METHODS = (
    "__abs__", "__add__", "__and__", "__divmod__", "__eq__", "__floordiv__", "__ge__", "__getitem__", "__gt__",
    "__invert__", "__le__", "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__or__",
    "__pos__", "__pow__", "__radd__", "__rand__", "__rdivmod__", "__rfloordiv__", "__rlshift__", "__rmatmul__",
    "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__", "__rtruediv__",
    "__rxor__", "__sub__", "__truediv__", "__xor__", "all", "any", "argmax", "argmin", "argpartition", "argsort",
    "astype", "byteswap", "choose", "clip", "compress", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal",
    "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat", "reshape", "round",
    "searchsorted", "sort", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view",
)  # fmt: skip
"""Methods of an array that compute."""
UPDATES = ("get", "set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max")
"""Methods of ``x.at[index]``."""
ARRAY, AT = "jax.Array", "jax.Array.at"
DEVICE_PUT = "jax.device_put"
MODULES = tuple(home for home in rule.HOMES["jax"] if home not in (ARRAY, AT))


@cache
def recordable() -> frozenset[str]:
    """Return the names of the functions that a recording may call."""
    return frozenset(
        {
            *(f"{module.__name__}.{name}" for module in modules() for name in functions_in(module)),
            *(f"{ARRAY}.{method}" for method in METHODS),
            *(f"{AT}.{method}" for method in UPDATES),
            DEVICE_PUT,
        }
    )


def modules() -> Iterator[ModuleType]:
    return map(import_module, MODULES)


def functions_in(module: ModuleType) -> list[str]:
    """Return the names of a module's functions that compute."""
    return [
        name
        for name in dir(module)
        if rule.refusal("jax", f"{module.__name__}.{name}") is None and _is_function(getattr(module, name))
    ]


@cache
def value_classes() -> Mapping[str, type]:
    """Return the enumerations and named tuples that a recording may contain, by their public names."""
    return {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, type) and (issubclass(value, enum.Enum) or hasattr(value, "_fields"))
    }


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not hasattr(value, "__args__")
