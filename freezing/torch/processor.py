"""Compute a call of torch as another processor may, with other rounding and another order of operations.

The CPU computes float16 and bfloat16 in float32 and rounds once at the end. It adds and multiplies from the first
element to the last. A device may round after each operation, and may combine elements pairwise. Both are right. If they
change a result too much, a case with this result would prove nothing about a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from runners.torch.ways import tensors_in
from torch import _prims_common as common
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

_SIXTEEN_BITS = frozenset({torch.float16, torch.bfloat16})
_SCANS: Mapping[str, Callable[..., torch.Tensor]] = {"cumsum": torch.add, "cumprod": torch.mul}
_WHOLE: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {"floor": torch.floor, "trunc": torch.trunc}

_NOT_FOR_BACKWARD = frozenset({"_scaled_dot_product_flash_attention_for_cpu"})
"""Operations whose parts in Python do not give what the operation's own backward pass needs, which is then garbage."""


def other_processors() -> Sequence[AbstractContextManager[None]]:
    """Return the context managers within which a call is computed again."""
    return several_threads(), in_steps()


@contextmanager
def several_threads() -> Iterator[None]:
    """Compute with two threads, because torch then uses other kernels for some operations."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def in_steps() -> Iterator[None]:
    """Compute each operation by its decomposition, and round after each step."""
    computation_dtype = common.get_computation_dtype
    common.get_computation_dtype = lambda dtype: dtype
    try:
        with _InSteps():
            yield
    finally:
        common.get_computation_dtype = computation_dtype


class _InSteps(TorchDispatchMode):  # type: ignore[misc]
    """Replaces each operation on real floats by torch's decomposition of it, if there is one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        tensors = list(tensors_in((args, kwargs)))
        dtypes = {tensor.dtype for tensor in tensors}
        if func._opname in _NOT_FOR_BACKWARD and any(tensor.requires_grad for tensor in tensors):
            return func(*args, **kwargs)
        if not any(dtype.is_floating_point for dtype in dtypes) or any(dtype.is_complex for dtype in dtypes):
            return func(*args, **kwargs)
        result, decomposition = _in_other_order(func, args, kwargs), decomposition_table.get(func)
        if result is NotImplemented and decomposition is not None:
            try:
                with self:
                    result = decomposition(*args, **kwargs)
            except Exception:  # the decomposition may not support these arguments
                result = NotImplemented
        return func(*args, **kwargs) if result is NotImplemented else result


def _in_other_order(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Compute a cumulative sum or product pairwise, or round a quotient before it is truncated.

    Return ``NotImplemented`` for any other operation.
    """
    name = func._schema.name.rpartition("::")[2]
    own_name = name.rstrip("_")
    first = args[0]
    if own_name in _SCANS and first.is_floating_point() and first.dim() and not kwargs.get("dtype"):
        result = _scan(first, args[1], _SCANS[own_name])
    elif own_name in ("div", "floor_divide") and all(one.dtype in _SIXTEEN_BITS for one in tensors_in(args)):
        mode = kwargs.get("rounding_mode") if own_name == "div" else "floor"
        if mode is None:
            return NotImplemented
        result = _WHOLE[mode](torch.true_divide(*args))
    else:
        return NotImplemented
    return first.copy_(result) if name.endswith("_") else result


def _scan(array: torch.Tensor, axis: int, join: Callable[..., torch.Tensor]) -> torch.Tensor:
    """Compute the cumulative sums or products along an axis pairwise, with doubling distances."""
    result = array.clone()
    length, distance = array.shape[axis], 1
    while distance < length:
        before = result.clone()
        parts = (before.narrow(axis, start, length - distance) for start in (0, distance))
        result.narrow(axis, distance, length - distance).copy_(join(*parts))
        distance *= 2
    return result
