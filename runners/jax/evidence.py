"""Finds the primitive at which a JAX call fails, and the lowerings in JAX's tables for it.

A primitive is *in flight* while it is bound, or while its equation is lowered. Meanwhile a frame of the traceback holds
the primitive. The tables show whether a platform has a rule at all, but not for which dtypes. So the primitive is
lowered again for other dtypes, only from shapes, without running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import config
from jax._src.interpreters import mlir
from jax.extend import core

from protocol.enums import Kernels
from runners.suite.device import Operation

TRIED = ("float32", "int32", "complex64", "bool", "float16", "bfloat16", "float64", "int8", "uint8")
CALLS = frozenset(
    {"jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr",
     "remat", "remat2", "checkpoint", "xla_call"}
)  # fmt: skip
"""Primitives that call a function once with their own arguments."""
_HOLDING = CALLS | {"while", "scan", "cond"}
"""Primitives that contain other primitives. If an inner primitive is in flight, the inner primitive is reported."""


@dataclass(frozen=True)
class Bound:
    """A primitive with the arguments to which it was bound."""

    primitive: core.Primitive
    avals: tuple[Any, ...]
    params: Mapping[str, Any]


def failing(call: Callable[[], object], platform: str) -> Operation | None:
    """Return the primitive at which ``call`` fails; None if it fails outside of any primitive."""
    try:
        # With filtering, JAX would remove the frames that hold the primitive from the traceback.
        with config.traceback_filtering("off"):
            call()
    except BaseException as error:
        return operation_of_error(error, platform)
    return None


def operation_of_error(error: BaseException, platform: str) -> Operation | None:
    """Return the primitive at which JAX raised an error, from the error's frames, with its lowerings on a platform."""
    bindings = list(_bound(error))
    inner = [bound for bound in bindings if bound.primitive.name not in _HOLDING]
    if not bindings:
        return None
    bound = (inner or bindings)[-1]
    # Inner frames may hold the primitive without the arguments to which it was bound.
    bound = next((outer for outer in bindings if outer.primitive is bound.primitive and outer.avals), bound)
    return Operation(bound.primitive.name, _dtypes(bound.avals), *_lowerings(bound, platform))


def _bound(error: BaseException) -> Iterator[Bound]:
    """Yield the primitives in the frames of a traceback, innermost last."""
    trace = error.__traceback__
    while trace is not None:
        frame_locals, name = trace.tb_frame.f_locals, trace.tb_frame.f_code.co_name
        equation = frame_locals.get("eqn")
        if equation is not None and hasattr(equation, "invars"):
            yield Bound(equation.primitive, tuple(var.aval for var in equation.invars), equation.params)
        elif name == "bind" and isinstance(frame_locals.get("self"), core.Primitive):
            yield Bound(
                frame_locals["self"], tuple(_avals(frame_locals.get("args", ()))), frame_locals.get("params", {})
            )
        elif isinstance(frame_locals.get("prim"), core.Primitive):
            yield Bound(
                frame_locals["prim"], tuple(_avals(frame_locals.get("args", ()))), frame_locals.get("params", {})
            )
        trace = trace.tb_next


def _avals(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        try:
            yield jax.typeof(value)
        except TypeError:
            yield None


def _dtypes(avals: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(aval.dtype) for aval in avals if hasattr(aval, "dtype"))


def _lowerings(bound: Bound, platform: str) -> tuple[Kernels | None, tuple[str, ...]]:
    primitive = bound.primitive
    if primitive not in mlir._lowerings and primitive not in mlir._platform_specific_lowerings[platform]:
        return Kernels.none, ()
    if primitive.name in _HOLDING or not all(map(_is_plain, bound.avals)) or not bound.avals:
        return None, ()
    own = np.dtype(bound.avals[0].dtype)
    if _lowers(bound, own, own, platform):
        return Kernels.this_dtype, ()
    others = tuple(name for name in TRIED if jnp.dtype(name) != own and _lowers(bound, own, jnp.dtype(name), platform))
    return (Kernels.other_dtypes, others) if others else (None, ())


def _is_plain(aval: Any) -> bool:
    return hasattr(aval, "shape") and not jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended)


def _lowers(bound: Bound, own: Any, dtype: Any, platform: str) -> bool:
    """Whether the primitive can be lowered for the platform if its arrays of dtype ``own`` get another dtype."""
    shapes = [jax.ShapeDtypeStruct(aval.shape, dtype if aval.dtype == own else aval.dtype) for aval in bound.avals]
    try:
        program = jax.jit(lambda *arrays: bound.primitive.bind(*arrays, **bound.params)).trace(*shapes)
        program.lower(lowering_platforms=(platform,))
    except Exception:  # then it has no rule for these dtypes
        return False
    return True
