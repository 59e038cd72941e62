"""The references that judge a result when a case is frozen, the most independent first.

``numpy`` is a formula (``formulas.py``), or NumPy's or SciPy's counterpart, in float64. ``float64`` is the same
function on the CPU in float64, also for integers of 8 bits, of which some functions compute floats. ``itself`` is the
same function on the CPU in the dtype of the case. It is used for calls without floats, because float64 adds no
precision to integers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import tensorflow as tf
from freezing.common.agreement import Reference, members
from freezing.common.gate import Arguments
from freezing.tensorflow.formulas import formula_of
from freezing.tensorflow.numpy_functions import counterparts
from runners.suite.checks import Leaf
from runners.suite.rounding import rounded
from runners.suite.trees import mapped
from runners.tensorflow.devices import Cpu

WIDE = {tf.float16: tf.float64, tf.bfloat16: tf.float64, tf.float32: tf.float64, tf.complex64: tf.complex128}
SMALL = frozenset({tf.int8, tf.uint8})
_WIDE_NAMES = {"float16": "float64", "bfloat16": "float64"}
"""The dtype that NumPy gets for an option with another dtype. NumPy has no bfloat16."""
_AXES = ("axis", "dimension", "reduction_indices", "axes", "dim", "split_dim", "concat_dim")
_KEPT = ("keepdims", "keep_dims")


def rank(name: str, fresh: Callable[[], Arguments], function: Callable[..., Any]) -> Iterator[tuple[str, Reference]]:
    """Yield the kinds and references of a call, the most independent first."""
    formula = formula_of(name)
    if formula is not None:
        yield "numpy", partial(_by_formula, formula, fresh, function)
    for counterpart in counterparts(name):
        for calling in (_as_it_stands, _arrays_and_axes):
            yield "numpy", partial(_by_numpy, counterpart, calling, fresh)
    tensors: list[Any] = []
    mapped(list(fresh()), tensors.append, tf.Tensor)
    if any(tensor.dtype in WIDE for tensor in tensors):
        yield "float64", partial(_by_itself, function, fresh, widen)
    else:
        if any(tensor.dtype in SMALL for tensor in tensors):
            yield "float64", partial(_by_itself, function, fresh, widen_small)
        yield "itself", partial(_by_itself, function, fresh, lambda tree: tree)


def _by_formula(formula: Callable[..., Any], fresh: Callable[[], Arguments], function: Callable[..., Any]) -> list[Any]:
    arguments, options = (to_numpy(part) for part in fresh())
    return flat(formula(**inspect.signature(function).bind(*arguments, **options).arguments))


def _by_numpy(
    counterpart: Callable[..., Any], calling: Callable[..., Any], fresh: Callable[[], Arguments]
) -> list[Any]:
    arguments, options = calling(*(to_numpy(part) for part in fresh()))
    return flat(counterpart(*arguments, **options))


def _by_itself(function: Callable[..., Any], fresh: Callable[[], Arguments], change: Callable[[Any], Any]) -> list[Any]:
    arguments, options = fresh()
    return flat(Cpu().to_host(function(*change(arguments), **change(options))))


def _as_it_stands(arguments: list[Any], options: dict[str, Any]) -> Arguments:
    """Keep all arguments. Arrays become positional, and options of axes get NumPy's names."""
    keywords = dict(options)
    numpy_keywords = _axes_of(keywords)
    arrays = [keywords.pop(key) for key in list(keywords) if _holds_array(keywords[key])]
    plain = {
        key: _WIDE_NAMES.get(value, value) if isinstance(value, str) else value
        for key, value in keywords.items()
        if key not in (*_AXES, *_KEPT)
    }
    return [*arguments, *arrays], {**plain, **numpy_keywords}


def _arrays_and_axes(arguments: list[Any], options: dict[str, Any]) -> Arguments:
    """Keep only the arrays and the axes. If an omitted argument matters, the values differ and no reference agrees."""
    arrays = [value for value in (*arguments, *options.values()) if _holds_array(value)]
    return arrays, _axes_of(options)


def _axes_of(options: Mapping[str, Any]) -> dict[str, Any]:
    axes = [tuple(value) if isinstance(value, list) else value for key, value in options.items() if key in _AXES]
    flags = [value for key, value in options.items() if key in _KEPT]
    return {**({"axis": axes[0]} if axes else {}), **({"keepdims": flags[0]} if flags else {})}


def _holds_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        isinstance(value, (list, tuple)) and bool(value) and all(map(_holds_array, value))
    )


def widen(tree: Any) -> Any:
    """Cast the floating tensors of a tree to float64, and the complex ones to complex128."""
    return mapped(tree, lambda tensor: tf.cast(tensor, WIDE.get(tensor.dtype, tensor.dtype)), tf.Tensor)


def widen_small(tree: Any) -> Any:
    """Cast the tensors of 8-bit integers of a tree to float64."""
    return mapped(tree, lambda tensor: tf.cast(tensor, tf.float64) if tensor.dtype in SMALL else tensor, tf.Tensor)


def to_numpy(tree: Any) -> Any:
    """Convert the tensors of a tree to NumPy arrays, floating ones to float64 and complex128."""
    host = mapped(tree, lambda tensor: Cpu().to_host(tensor).values, tf.Tensor)
    return rounded(host, "float64")


def flat(tree: Any) -> list[Any]:
    """Return the arrays and plain values of a tree, in order."""
    return [member.values if isinstance(member, Leaf) else member for member in members(tree)]
