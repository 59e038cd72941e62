"""The functions of TensorFlow that a recording may name: what computes or makes arrays, and nothing else.

A recording is data from anywhere, and its names are looked up and called. So a name counts only if it is a function of
one of the modules below, an operator of a tensor, or a method that assigns to a variable. Left out is what reads or
writes files, loads libraries, prints, or changes settings. What calls back into Python needs a function among its
arguments, which no recording can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, reduce
from types import ModuleType
from typing import Any

import tensorflow as tf

MODULES = (
    "tf", "tf.math", "tf.linalg", "tf.nn", "tf.signal", "tf.bitwise", "tf.image", "tf.random", "tf.quantization",
    "tf.experimental.numpy",
)  # fmt: skip
READS = frozenset(
    {
        "numpy", "__array__", "__bool__", "__int__", "__float__", "__complex__", "__index__", "__repr__", "__format__",
    }
)  # fmt: skip
"""Methods that give values to Python."""
_NOT_COMPUTING = frozenset(
    {
        # Files and libraries: a vocabulary, a graph, a kernel.
        "fixed_unigram_candidate_sampler", "import_graph_def", "load_library", "load_op_library",
        # Output, settings, scopes.
        "Assert", "print", "get_logger", "register_tensor_conversion_function", "device", "init_scope",
        "control_dependencies", "variable_creator_scope", "set_seed", "get_global_generator", "set_global_generator",
        "experimental_enable_numpy_behavior", "no_gradient",
        # Work with a function.
        "case", "cond", "custom_gradient", "foldl", "foldr", "function", "grad_pass_through", "map_fn",
        "nondifferentiable_batch_function", "numpy_function", "py_function", "recompute_grad", "scan", "switch_case",
        "vectorized_map", "while_loop",
        # Graphs, messages and texts.
        "as_string", "fingerprint", "get_static_value", "gradients", "group", "hessians", "make_ndarray",
        "make_tensor_proto", "no_op", "timestamp", "tuple", "type_spec_from_value",
    }
)  # fmt: skip
OPERATORS = (
    "__abs__", "__add__", "__and__", "__eq__", "__floordiv__", "__ge__", "__getitem__", "__gt__", "__invert__",
    "__le__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__or__", "__pow__", "__radd__",
    "__rand__", "__rfloordiv__", "__rmatmul__", "__rmod__", "__rmul__", "__ror__", "__rpow__", "__rsub__",
    "__rtruediv__", "__rxor__", "__sub__", "__truediv__", "__xor__",
)  # fmt: skip
ASSIGNMENTS = ("assign", "assign_add", "assign_sub", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update")
TENSOR, VARIABLE = "tf.Tensor", "tf.Variable"


@cache
def recordable() -> frozenset[str]:
    """The names of the functions that a recording may call."""
    return frozenset(
        {
            *(f"{home}.{name}" for home, module in modules() for name in functions_in(module)),
            *(f"{TENSOR}.{name}" for name in OPERATORS),
            *(f"{VARIABLE}.{name}" for name in ASSIGNMENTS),
        }
    )


def modules() -> Iterator[tuple[str, ModuleType]]:
    """The modules by their names."""
    for home in MODULES:
        yield home, reduce(getattr, home.split(".")[1:], tf)


def functions_in(module: ModuleType) -> list[str]:
    """The names of a module's functions that compute."""
    return [
        name
        for name in dir(module)
        if not name.startswith("_") and name not in _NOT_COMPUTING and _is_function(getattr(module, name))
    ]


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type)
