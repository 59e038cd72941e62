"""The functions of JAX that a recording may name: what computes or makes arrays, and nothing else.

A recording is data from anywhere, and its names are looked up and called. So a name counts only if it is a function of
one of the modules below, a method of an array, or an update at an index. Left out is what reads or writes files, shares
memory with other libraries, or changes settings. What calls back into Python needs a function among its arguments,
which no recording can hold.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

MODULES = (
    "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.nn", "jax.random",
    "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.stats", "jax.scipy.ndimage",
    "jax.scipy.fft", "jax.scipy.integrate", "jax.scipy.cluster.vq", "jax.image", "jax.ops",
)  # fmt: skip
READS = frozenset(
    {
        "item", "tolist", "tobytes", "copy_to_host_async", "device_get", "__array__", "__bool__", "__int__",
        "__float__", "__complex__", "__index__", "__repr__", "__format__",
    }
)  # fmt: skip
"""Functions and methods that give values to Python, or carry an array to the host."""
_NOT_COMPUTING = frozenset(
    {
        # Files, texts, and memory of others.
        "save", "savez", "load", "fromfile", "fromstring", "frombuffer", "fromiter", "from_dlpack", "array_repr",
        "array_str", "__dlpack__", "__array_namespace__", "__reduce__", "__reduce_ex__",
        # Settings.
        "printoptions", "get_printoptions", "set_printoptions",
        # Work with a function.
        "apply_along_axis", "apply_over_axes", "fromfunction", "frompyfunc", "piecewise", "vectorize", "composite",
        "custom_linear_solve", "custom_root", "platform_dependent",
        # Tokens and stages of a program, and work across devices, which a call by itself has none of.
        "after_all", "create_token", "dce_sink", "stage", "all_gather", "all_to_all", "axis_index", "axis_size",
        "pbroadcast", "pcast", "pmax", "pmean", "pmin", "ppermute", "precv", "psend", "pshuffle", "psum",
        "psum_scatter", "pswapaxes", "ragged_all_to_all", "with_sharding_constraint",
    }
)  # fmt: skip
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


@cache
def recordable() -> frozenset[str]:
    """The names of the functions that a recording may call."""
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
    """The names of a module's functions that compute."""
    return [
        name
        for name in dir(module)
        if not name.startswith("_") and name not in _NOT_COMPUTING and _is_function(getattr(module, name))
    ]


@cache
def value_classes() -> Mapping[str, type]:
    """The enumerations and named tuples that a recording may hold, by their public names."""
    return {
        f"{module.__name__}.{name}": value
        for module in modules()
        for name, value in vars(module).items()
        if isinstance(value, type) and (issubclass(value, enum.Enum) or hasattr(value, "_fields"))
    }


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type) and not hasattr(value, "__args__")
