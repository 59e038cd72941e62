"""Ways to call a function, for cases that need more than a plain call.

Each is a ``prepare`` of a case, or returns one: ``gradient`` (forward and backward), ``into`` (an ``out=`` tensor),
``strided`` (non-contiguous arguments), ``using`` (options whose names the case itself uses, such as ``dtype``),
``created`` (a new array on the device). ``both`` returns the reference for ``into``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from runners.suite.cases import Context, Prepare
from runners.torch.layouts import moved


def gradient(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a backward pass. Its upstream gradient is the last argument. It returns ``[result, gradient of each
    floating argument]``."""
    *called, upstream = arguments
    wanted = [array.requires_grad_() for array in _arrays(called) if array.is_floating_point() or array.is_complex()]

    def call() -> list[Any]:
        result = context.function(*called, **options)
        return [result, *torch.autograd.grad(result, wanted, upstream)]

    return call


def into(dtype: torch.dtype | None = None) -> Prepare:
    """Prepare a call with an empty tensor as ``out=``, of the case's dtype by default. It returns ``[result, out]``."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        out = torch.empty(0, dtype=dtype or context.dtype, device=context.device)
        return lambda: [context.function(*arguments, out=out, **options), out]

    return prepare


def both(reference: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reference for ``into``: the result, and the same in ``out``."""
    return lambda *arguments, **options: [reference(*arguments, **options)] * 2


def strided(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call with non-contiguous arrays. Each consists of every other element of an array of twice the length,
    with its axes in reverse order."""
    return partial(context.function, *(_strided(argument) for argument in arguments), **options)


def using(**fixed: Any) -> Prepare:
    """Prepare a call with further options, whose names ``Function.value`` itself uses."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        return partial(context.function, *arguments, **fixed, **options)

    return prepare


def created(**fixed: Any) -> Prepare:
    """Prepare a call that creates an array on the device."""

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
