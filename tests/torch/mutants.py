"""Slightly wrong functions: what every value case must notice.

A mutant wraps the function under test and changes what comes out of it: one element a little
off, another dtype, or the input handed back untouched. ``swapped`` wraps plain functions;
each kind of class whose instances do the work has a wrapper of its own in ``wrappers.py``, and
``wrong`` chooses. ``Wrong`` is a device that looks up the wrong function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from wrappers import wrapper_of

from runners.devices import Device

Alter = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], Any]
"""From the right result and the call's arguments to a wrong one, or ``UNCHANGED``."""
UNCHANGED = object()

STEP: Mapping[torch.dtype, float] = {torch.bfloat16: 0.02}
"""1 % for all but bfloat16, whose neighbours lie up to 0.8 % apart: one rounding more is no error there."""

ANOTHER_DTYPE: Mapping[torch.dtype, torch.dtype] = {
    torch.float64: torch.float32,
    torch.float32: torch.float64,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.complex64: torch.complex128,
    torch.complex128: torch.complex64,
    torch.bool: torch.uint8,
    torch.int64: torch.int32,
}


@dataclass
class Mutant:
    """One way of being wrong, and whether it has come to bear in the calls so far."""

    name: str
    alter: Alter
    applied: bool = False

    def __call__(self, result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        altered = self.alter(result, arguments, options)
        if altered is UNCHANGED:
            return result
        self.applied = True
        return altered


def off_in(position: int) -> Mutant:
    """The array or number at ``position`` of the result has one value a little off."""
    return Mutant(f"value {position} off", lambda result, arguments, options: _at(result, position, _off))


def of_another_dtype(position: int) -> Mutant:
    return Mutant(
        f"value {position} of another dtype",
        lambda result, arguments, options: _at(result, position, _retyped),
    )


def untouched() -> Mutant:
    return Mutant("input untouched", _first_argument)


def loaded() -> Mutant:
    """Random numbers of which every tenth is the smallest that was drawn."""

    def alter(result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        if not isinstance(result, torch.Tensor) or result.numel() < 10:
            return UNCHANGED
        result.view(-1)[::10] = result.min()
        return result

    return Mutant("loaded", alter)


class Wrong:
    """A device on which every function looked up is wrong in the same way."""

    def __init__(self, device: Device, mutant: Mutant) -> None:
        self._device = device
        self._mutant = mutant

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def lookup(self, name: str) -> Any:
        return wrong(self._device.lookup(name), self._mutant)


def wrong(function: Any, mutant: Mutant) -> Any:
    """``function`` made wrong, by the wrapper for what it is."""
    return (wrapper_of(function) or swapped)(function, mutant)


def swapped(function: Callable[..., Any], mutant: Mutant) -> Callable[..., Any]:
    """A plain function: its result is altered."""

    def altered(*arguments: Any, **options: Any) -> Any:
        return mutant(function(*arguments, **options), arguments, options)

    return altered


def _first_argument(result: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """The first array as it came in, where it could pass for the result by shape and dtype; else unchanged.

    With ``out=``, the array that should have been filled stays as it was: zeros. A list of what
    was changed in place (``wrappers.py``) comes back as it was before.
    """
    if isinstance(result, list) and arguments and isinstance(arguments[0], list):
        return arguments[0] if _changed(arguments[0], result) else UNCHANGED
    if not isinstance(result, torch.Tensor):
        return UNCHANGED
    if "out" in options:
        return result.zero_() if result.count_nonzero() else UNCHANGED
    for given in arguments:
        if isinstance(given, torch.Tensor):
            alike = given.shape == result.shape and given.dtype == result.dtype
            return given if alike and not _equal(given, result) else UNCHANGED
    return UNCHANGED


def _at(result: Any, position: int, change: Callable[[Any], Any]) -> Any:
    """The result with the value at ``position`` (counted through lists and tuples) changed."""
    changed = False
    place = -1

    def walk(tree: Any) -> Any:
        nonlocal changed, place
        if isinstance(tree, (list, tuple)):
            members = [walk(each) for each in tree]
            return type(tree)(*members) if hasattr(tree, "_fields") else type(tree)(members)
        if isinstance(tree, dict):
            return {key: walk(each) for key, each in tree.items()}
        place += 1
        if place != position:
            return tree
        other = change(tree)
        changed = other is not UNCHANGED
        return other if changed else tree

    altered = walk(result)
    return altered if changed else UNCHANGED


def _off(value: Any) -> Any:
    """Booleans are flipped, integers one more, others off by 1 % in the largest finite element."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 if value else 0.01
    if not isinstance(value, torch.Tensor):
        return UNCHANGED
    array = value.to_dense() if value.is_sparse else value
    if not array.numel():
        return UNCHANGED
    flat = array.detach().reshape(-1)
    if array.dtype == torch.bool:
        return _written(array, 0, ~flat[0])
    if not (array.is_floating_point() or array.is_complex()):
        return _written(array, 0, flat[0] + 1)
    sizes = torch.where(flat.isfinite(), flat.abs().double(), -1.0)
    largest = int(sizes.argmax())
    if sizes[largest] < 0:
        return UNCHANGED
    step = STEP.get(array.dtype, 0.01)
    return _written(array, largest, flat[largest] * (1 + step) if sizes[largest] else step)


def _written(array: torch.Tensor, index: int, value: Any) -> torch.Tensor:
    """A copy with one element changed, still followed by autograd."""
    mask = torch.zeros(array.numel(), dtype=torch.bool, device=array.device)
    mask[index] = True
    return torch.where(mask.reshape(array.shape), torch.as_tensor(value, dtype=array.dtype), array)


def _retyped(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return UNCHANGED
    return value.to(ANOTHER_DTYPE.get(value.dtype, torch.int64))


def _changed(before: list[Any], after: list[Any]) -> bool:
    if len(before) != len(after):
        return True
    for one, other in zip(before, after, strict=True):
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            if one.shape != other.shape or not _equal(one, other):
                return True
        elif one is not other and one != other:
            return True
    return False


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(torch.equal(one.nan_to_num(0.5), other.nan_to_num(0.5)))
