"""Watches the Python methods that move values, on a device without counters, during timed calls.

Only these methods become slower, by less than a microsecond per call. So timed calls can also be watched, in every
thread. ``dispatch.py`` finds transfers below Python, in torch's own C++.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch
from torch import overrides
from torch.jit import _builtins
from torch.utils import _device

from runners.suite.replacing import replacing
from runners.torch.placement.transfers import Transfers

_READS = ("item", "tolist", "numpy", "__bool__", "__int__", "__float__", "__complex__", "__index__")
"""Tensor methods that return Python numbers or a NumPy array."""
_MOVES = ("to", "cpu", "type", "copy_")
"""Tensor methods that return a tensor and may move it to the host or back."""
_MAKERS = ("tensor", "as_tensor")
"""Torch functions that create a tensor on the host from numbers."""

_CACHES = tuple(function for function in vars(overrides).values() if hasattr(function, "cache_clear"))
"""Functions of torch that cache information about torch's functions."""

_Method = Callable[..., Any]


@contextmanager
def watched_methods(transfers: Transfers) -> Iterator[None]:
    """Replace the methods of all tensors, so that they record the values that they move."""

    def reading(name: str, method: _Method) -> _Method:
        @wraps(method)
        def read(tensor: torch.Tensor, *arguments: Any, **options: Any) -> Any:
            result = method(tensor, *arguments, **options)
            transfers.note_fetch(f"Tensor.{name}", tensor)
            return result

        return read

    def moving(name: str, method: _Method) -> _Method:
        @wraps(method)
        def move(*arguments: Any, **options: Any) -> Any:
            result = method(*arguments, **options)
            transfers.note_move(f"Tensor.{name}", (arguments, options), result)
            return result

        return move

    def making(name: str, function: _Method) -> _Method:
        @wraps(function)
        def make(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            transfers.note_arrival(result)
            return result

        return make

    with _caches_kept_clean(), ExitStack() as stack:
        for owner, names, watch in (
            (torch.Tensor, _READS, reading),
            (torch.Tensor, _MOVES, moving),
            (torch, _MAKERS, making),
        ):
            for name in names:
                function = getattr(owner, name)
                stand_in = watch(name, function)
                stack.enter_context(replacing(owner, name, stand_in))
                stack.enter_context(_known_to_the_compiler(function, stand_in))
        yield


@contextmanager
def watched_export(transfers: Transfers, owner: Any, name: str) -> Iterator[None]:
    """Replace a function that shares a tensor's memory with other libraries, so that it records which tensor it
    shared."""
    export = getattr(owner, name)

    def export_and_note(tensor: torch.Tensor) -> Any:
        capsule = export(tensor)
        transfers.note_fetch(name.strip("_"), tensor)
        return capsule

    with replacing(owner, name, export_and_note):
        yield


@contextmanager
def _known_to_the_compiler(function: _Method, stand_in: _Method) -> Iterator[None]:
    """Let TorchScript compile a replaced function like the original. TorchScript recognizes torch's functions by
    identity."""
    builtins = _builtins._get_builtin_table()
    operation = builtins.get(id(function))
    if operation is None:
        yield
        return
    builtins[id(stand_in)] = operation
    try:
        yield
    finally:
        del builtins[id(stand_in)]


@contextmanager
def _caches_kept_clean() -> Iterator[None]:
    """Remove the replaced functions from torch's caches at the end of the block."""
    # A device context asks these functions at each call. Torch itself calls the originals, not the replacements.
    _device._device_constructors()
    empty = [cache for cache in _CACHES if not cache.cache_info().currsize]
    try:
        yield
    finally:
        for cache in empty:
            cache.cache_clear()
