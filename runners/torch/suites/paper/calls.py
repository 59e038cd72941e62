"""The ways in which a case calls its function, where a plain call is not the point.

Each is a ``prepare`` for a case, or makes one: ``gradient`` (forward and backward), ``into``
(an ``out=`` tensor), ``strided`` (non-contiguous arguments), ``using`` (options whose names a
case keeps for itself, such as ``dtype``), ``created`` (a new array on the device). ``both`` is
the reference that belongs to ``into``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from runners.suite.cases import Context, Prepare
from runners.torch.layouts import moved


def gradient(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Backward from ``upstream``, the last argument: ``[result, gradient of each floating argument]``."""
    *called, upstream = arguments
    wanted = [array.requires_grad_() for array in _arrays(called) if array.is_floating_point() or array.is_complex()]

    def call() -> list[Any]:
        result = context.function(*called, **options)
        return [result, *torch.autograd.grad(result, wanted, upstream)]

    return call


def into(dtype: torch.dtype | None = None) -> Prepare:
    """With ``out=`` an empty tensor (of the case's dtype by default): ``[result, out]``."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        out = torch.empty(0, dtype=dtype or context.dtype, device=context.device)
        return lambda: [context.function(*arguments, out=out, **options), out]

    return prepare


def both(reference: Callable[..., Any]) -> Callable[..., Any]:
    """The pair that ``into`` must find: the value returned, and the same in ``out``."""
    return lambda *arguments, **options: [reference(*arguments, **options)] * 2


def strided(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Every array is every other element of one twice as long, and its axes lie in reverse order."""
    return partial(context.function, *(_strided(argument) for argument in arguments), **options)


def using(**fixed: Any) -> Prepare:
    """With further options, for those whose names ``Function.value`` takes itself."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return partial(context.function, *arguments, **fixed, **options)

    return prepare


def created(**fixed: Any) -> Prepare:
    """For functions that make an array of their own: it must come to be on the device."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return partial(context.function, *arguments, device=context.device, **fixed, **options)

    return prepare


def _strided(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [_strided(member) for member in argument]
    if not isinstance(argument, torch.Tensor):
        return argument
    axes = tuple(reversed(range(argument.ndim)))
    turned = argument.cpu().permute(axes)
    return moved(torch.stack([turned, torch.ones_like(turned)], -1)[..., 0].permute(axes), argument.device)


def _arrays(arguments: Any) -> list[torch.Tensor]:
    if isinstance(arguments, torch.Tensor):
        return [arguments]
    if isinstance(arguments, (list, tuple)):
        return [array for argument in arguments for array in _arrays(argument)]
    return []
