"""The references that judge a result of JAX when a case is frozen, the most independent first.

``numpy`` is a formula here, or NumPy's or SciPy's counterpart, in float64. ``float64`` is the same function on the CPU
with 64-bit types enabled. ``itself`` is the same function on the CPU in the dtype of the case. It is used if wider
types add no precision, as for integers. JAX has no second implementation in Python that could be a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from scipy import special

import jax
from freezing.common.agreement import Reference, members
from freezing.common.gate import Arguments
from runners.errors import UnjudgedError
from runners.jax.left_open import OF_BITS

WIDE: Mapping[str, str] = {
    "float16": "float64",
    "bfloat16": "float64",
    "float32": "float64",
    "complex64": "complex128",
}
HOMES: Mapping[str, str] = {"jax.numpy": "numpy", "jax.scipy": "scipy", "jax.Array": "numpy"}
"""Modules of JAX, and the modules whose functions with the same names are their references."""


def _same_names(module: str, names: str) -> dict[str, str]:
    """Map each name to the function of the same name in a module."""
    return {name: f"{module}.{name}" for name in names.split()}


LAX_COUNTERPARTS: Mapping[str, str] = {
    **_same_names(
        "numpy",
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor cbrt ceil "
        "concatenate conj cos cosh cumprod cumsum dot exp exp2 expm1 floor imag log log1p nextafter pow real "
        "reciprocal reshape sign sin sinh sqrt square squeeze stack tan tanh tile transpose",
    ),
    **_same_names("scipy.special", "betainc digamma erf erfc polygamma zeta"),
    "batch_matmul": "numpy.matmul",
    "bessel_i0e": "scipy.special.i0e",
    "bessel_i1e": "scipy.special.i1e",
    "eq": "numpy.equal",
    "erf_inv": "scipy.special.erfinv",
    "ge": "numpy.greater_equal",
    "gt": "numpy.greater",
    "igamma": "scipy.special.gammainc",
    "igammac": "scipy.special.gammaincc",
    "integer_pow": "numpy.power",
    "is_finite": "numpy.isfinite",
    "le": "numpy.less_equal",
    "lgamma": "scipy.special.gammaln",
    "logistic": "scipy.special.expit",
    "lt": "numpy.less",
    "max": "numpy.maximum",
    "min": "numpy.minimum",
    "mul": "numpy.multiply",
    "ne": "numpy.not_equal",
    "neg": "numpy.negative",
    "population_count": "numpy.bitwise_count",
    "reduce_max": "numpy.max",
    "reduce_min": "numpy.min",
    "reduce_prod": "numpy.prod",
    "reduce_sum": "numpy.sum",
    "rev": "numpy.flip",
    "select": "numpy.where",
    "shift_left": "numpy.left_shift",
    "shift_right_arithmetic": "numpy.right_shift",
    "sub": "numpy.subtract",
}
"""Functions of ``jax.lax``, and their counterparts in NumPy and SciPy."""

FORMULAS: Mapping[str, Callable[..., Any]] = {
    "jax.Array.view": lambda x, dtype: x.view(dtype),
    "jax.lax.bitcast_convert_type": lambda x, dtype: x.view(dtype),
    "jax.lax.rem": np.fmod,
    "jax.lax.rsqrt": lambda x: 1 / np.sqrt(x),
    "jax.lax.div": lambda x, y: np.trunc(x / y).astype(x.dtype) if x.dtype.kind in "biu" else x / y,
    "jax.lax.clamp": lambda low, x, high: np.clip(x, low, high),
    "jax.lax.complex": lambda x, y: x + 1j * y,
    "jax.lax.cummax": lambda x, axis=0, reverse=False: _accumulate(np.maximum, x, axis, reverse),
    "jax.lax.cummin": lambda x, axis=0, reverse=False: _accumulate(np.minimum, x, axis, reverse),
    "jax.lax.cumsum": lambda x, axis=0, reverse=False: _accumulate(np.add, x, axis, reverse),
    "jax.lax.cumprod": lambda x, axis=0, reverse=False: _accumulate(np.multiply, x, axis, reverse),
    "jax.lax.cumlogsumexp": lambda x, axis=0, reverse=False: _accumulate(np.logaddexp, x, axis, reverse),
    "jax.lax.fft": lambda x, kind, lengths: getattr(np.fft, kind)(x),
    "jax.nn.celu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
    "jax.nn.elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x)),
    "jax.nn.gelu": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "jax.nn.hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "jax.nn.hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "jax.nn.hard_tanh": lambda x: np.clip(x, -1, 1),
    "jax.nn.identity": lambda x: x,
    "jax.nn.leaky_relu": lambda x, slope=0.01: np.where(x >= 0, x, slope * x),
    "jax.nn.log1mexp": lambda x: np.log1p(-np.exp(-x)),
    "jax.nn.log_sigmoid": special.log_expit,
    "jax.nn.mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "jax.nn.relu": lambda x: np.maximum(x, 0),
    "jax.nn.relu6": lambda x: np.clip(x, 0, 6),
    "jax.nn.sigmoid": special.expit,
    "jax.nn.silu": lambda x: x * special.expit(x),
    "jax.nn.soft_sign": lambda x: x / (np.abs(x) + 1),
    "jax.nn.softplus": lambda x: np.logaddexp(x, 0),
    "jax.nn.squareplus": lambda x, b=4: (x + np.sqrt(x**2 + b)) / 2,
    "jax.nn.tanh": np.tanh,
    "jax.nn.logsumexp": special.logsumexp,
    "jax.nn.softmax": lambda x, axis=-1: special.softmax(x, axis=axis),
    "jax.nn.log_softmax": lambda x, axis=-1: special.log_softmax(x, axis=axis),
}
"""One-line references for functions without a counterpart of the same name or arguments in NumPy and SciPy."""


def rank(name: str, fresh: Callable[[], Arguments], function: Callable[..., Any]) -> Iterator[tuple[str, Reference]]:
    """Yield the kinds and references of a call, the most independent first."""
    own = independent(name)
    if own is not None:
        yield "numpy", lambda: _with_numpy(own, fresh, {} if name in OF_BITS else WIDE)
    kind = "float64" if name not in OF_BITS and _is_wider(fresh, function) else "itself"
    yield kind, lambda: flat(_with_wide_types(fresh, function) if kind == "float64" else _call(fresh, function))


def independent(name: str) -> Callable[..., Any] | None:
    """Return a function's formula or its counterpart in NumPy or SciPy; None if there is none."""
    if name in FORMULAS:
        return FORMULAS[name]
    owner, _, own = name.rpartition(".")
    if owner == "jax.lax":
        return _find(LAX_COUNTERPARTS[own]) if own in LAX_COUNTERPARTS else None
    for module, follows in HOMES.items():
        if name.startswith(f"{module}."):
            return _find(follows + name.removeprefix(module))
    return None


def import_followed(names: Iterable[str]) -> None:
    """Import the modules of NumPy and SciPy that have the references of these functions."""
    for name in names:
        independent(name)


def _find(name: str) -> Callable[..., Any] | None:
    parts = name.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            member: Any = import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            member = getattr(member, part, None)
        return member if callable(member) else None
    return None


def _with_numpy(own: Callable[..., Any], fresh: Callable[[], Arguments], wide: Mapping[str, str]) -> list[Any]:
    arguments, options = fresh()
    if any(callable(member) and not isinstance(member, (np.dtype, type)) for member in members([arguments, options])):
        raise UnjudgedError("a function of JAX's is among its arguments")
    converted_arguments = [
        _change(tree, lambda member: _in_numpy(member, wide)) for tree in (list(arguments), dict(options))
    ]
    return flat(own(*converted_arguments[0], **converted_arguments[1]))


def _is_wider(fresh: Callable[[], Arguments], function: Callable[..., Any]) -> bool:
    """Whether 64-bit types make the result more exact: an input is a narrower float, or the result becomes float64."""
    try:
        arrays = [leaf for leaf in members(_with_wide_types(fresh, function)) if hasattr(leaf, "dtype")]
    except Exception:
        return False
    return any(str(array.dtype) in WIDE.values() for array in arrays) or any(
        str(member.dtype) in WIDE for member in members(list(fresh())) if isinstance(member, jax.Array)
    )


def _with_wide_types(fresh: Callable[[], Arguments], function: Callable[..., Any]) -> Any:
    arguments, options = fresh()
    with jax.enable_x64(True):
        return function(*widen(list(arguments)), **widen(dict(options)))


def _call(fresh: Callable[[], Arguments], function: Callable[..., Any]) -> Any:
    arguments, options = fresh()
    return function(*arguments, **options)


def widen(tree: Any) -> Any:
    """Convert the floats of a tree to float64 and complex128. 64-bit types must be enabled."""
    return _change(tree, _widen)


def _widen(member: Any) -> Any:
    if isinstance(member, jax.Array):
        return member.astype(WIDE.get(str(member.dtype), member.dtype))
    return np.dtype(WIDE.get(member.name, member)) if isinstance(member, np.dtype) else member


def _in_numpy(member: Any, wide: Mapping[str, str] = WIDE) -> Any:
    if isinstance(member, jax.Array) and jax.numpy.issubdtype(member.dtype, jax.dtypes.prng_key):
        member = jax.random.key_data(member)
    if isinstance(member, (jax.Array, np.ndarray)):
        return np.asarray(member).astype(wide.get(str(member.dtype), member.dtype))
    return np.dtype(wide.get(member.name, member)) if isinstance(member, np.dtype) else member


def _change(tree: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(tree, Mapping):
        return {key: _change(member, change) for key, member in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(_change(member, change) for member in tree)
    return change(tree)


def flat(tree: Any) -> list[Any]:
    """Return the arrays and plain values of a result, in order. Arrays become NumPy arrays, with floats in float64."""
    return [_in_numpy(member) for member in members(tree)]


def _accumulate(operator: Any, x: Any, axis: int, reverse: bool) -> Any:
    along_axis = np.flip(x, axis) if reverse else x
    totals = operator.accumulate(along_axis, axis=axis) if x.size else x
    return np.flip(totals, axis) if reverse else totals
