"""The public functions that call the operator of an OpInfo, as ``GatedFunction`` objects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.torch import references
from freezing.torch.processor import other_processors
from runners.suite.checks import Tolerance
from runners.torch.devices import Cpu
from runners.torch.frozen import FrozenCall
from runners.torch.left_open import FIRST_OF_EQUALS, NOT_UNIQUE, UNINITIALISED

KEPT: Mapping[str, tuple[int, int]] = {"function": (7, 3), "method": (4, 2), "in-place": (3, 2)}
"""The maximum numbers of cases of a function, in its first dtype and in its second, by style."""


def written_axes(name: str) -> int:
    """Return over how many last axes the indices of an unpooling count; 0 for any other operator or module."""
    unpooling = re.fullmatch(r"max_?unpool(\d)d", name.lower())
    return int(unpooling[1]) if unpooling else 0


class OperatorFunction(GatedFunction):
    """An operator, called by one of its public names."""

    def __init__(self, op: Any, name: str, style: str, call: Callable[..., Any]) -> None:
        super().__init__(name, call, Cpu())
        own = op.name.rpartition(".")[2]
        self._op = op
        self.style = style
        """``function``, ``method`` or ``in-place``."""
        self.in_place = style == "in-place"
        self.left_open = "uninitialised" if own in UNINITIALISED else "not-unique" if own in NOT_UNIQUE else None
        # A pooling can return indices, and may return that of any of several equal elements.
        self.first_of_equals = own in FIRST_OF_EQUALS or "max_pool" in own
        self.shows_places = True
        self.written_axes = written_axes(own)
        self.takes_device = _takes_device(call)

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        parts: Arguments = FrozenCall(call).parts(arrays, self.device.handle)
        return parts

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return references.rank(self._op, dtype, fresh, self.call)

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return references.tolerance_of(self._op, dtype, result)

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        return other_processors()

    def same_as(self) -> Callable[..., Any] | None:
        operator: Callable[..., Any] = self._op.op
        return None if operator is self.call else operator


def functions_of(op: Any) -> Iterator[OperatorFunction]:
    """Yield the operator as a public function, as a method of a tensor, and as an in-place method."""
    function = references.looked_up(torch, op.name)
    if function is not None and not op.name.startswith(("_", "ops.", "torch.ops.")):
        yield OperatorFunction(op, f"torch.{op.name}", "function", function)
    own = op.name.rpartition(".")[2]
    method = getattr(op.method_variant, "__name__", own) if op.method_variant else own if own == op.name else ""
    in_place = getattr(op.inplace_variant, "__name__", f"{own}_") if op.inplace_variant else ""
    if not in_place and op.name == own and not own.endswith("_"):
        in_place = f"{own}_"
    for name, style in ((method, "method"), (in_place, "in-place")):
        tensor_method = getattr(torch.Tensor, name, None) if name else None
        private = name.startswith("_") and not name.endswith("__")
        if callable(tensor_method) and not private:
            changes = name.endswith("_") and name[-2:] != "__"
            yield OperatorFunction(op, f"torch.Tensor.{name}", "in-place" if changes else style, tensor_method)


def _takes_device(function: Any) -> bool:
    try:
        return "device" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return "device=" in (function.__doc__ or "")
