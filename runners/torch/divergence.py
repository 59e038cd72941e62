"""The first operation of a call of torch whose result is not the one that the host computes of the same inputs.

A mode sees every operation as it is dispatched. The inputs of each are copied from the device before it runs, the host
computes the same of the copies, and the two results are compared at the tolerance of their dtype. So an operation is
accused by its own inputs: what was wrong before it does not count against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from runners.suite import divergence
from runners.suite.checks import Leaf
from runners.suite.device import Operation
from runners.suite.trees import mapped
from runners.torch.evidence import dtypes_of
from runners.torch.placement.transfers import tensors

_HOST = torch.device("cpu")
_WITHOUT_WORK = frozenset({"detach", "alias", "lift_fresh"})
"""Another handle of the same array."""
_UNDETERMINED = frozenset(
    {
        "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "set_",
        "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter",
        "_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "svd", "eigh", "qr",
    }
)  # fmt: skip
"""Operations whose result is not determined by the values of their inputs: room that holds anything, what depends on
the layout of memory, and factorisations of which there are several."""

ToHost = Callable[[Any], Any]
"""Makes of each tensor of a tree a ``Leaf``: the device's own way to copy it."""


def diverging(call: Callable[[], object], device: torch.device, to_host: ToHost) -> Operation | None:
    """Repeat a call whose result is wrong, and name the first operation that computes otherwise than the host."""
    comparison = _Comparison(device, to_host)
    try:
        with comparison:
            call()
    except BaseException:  # the result is wrong again
        pass
    return comparison.found


class _Comparison(TorchDispatchMode):  # type: ignore[misc]
    """Has the host compute each operation of the device beside it, until one differs or the time is up."""

    def __init__(self, device: torch.device, to_host: ToHost) -> None:
        super().__init__()
        self.found: Operation | None = None
        self._device = device
        self._to_host = to_host
        self._until = monotonic() + divergence.COMPARED_FOR_S

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        kwargs = dict(kwargs or {})
        if self.found is not None or monotonic() > self._until or not self._is_comparable(func, args, kwargs):
            return func(*args, **kwargs)
        # Before it runs: it may write into its inputs.
        copies = self._copy_to_host((args, kwargs))
        result = func(*args, **kwargs)
        if copies is not None and self._differs(func, result, (args, kwargs), copies):
            self.found = Operation(func._schema.name, dtypes_of((args, kwargs)))
        return result

    def _is_comparable(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
        """Whether it is an operation of the device, of a size to be copied, whose inputs determine its result."""
        name = func._schema.name.rpartition("::")[2]
        if name in _UNDETERMINED | _WITHOUT_WORK or torch.Tag.nondeterministic_seeded in func.tags:
            return False
        own_tensors = list(tensors((args, kwargs)))
        there = [tensor.device for tensor in own_tensors] + [torch.device(kwargs.get("device") or _HOST)]
        on_device = any(device.type == self._device.type for device in there)
        return on_device and sum(tensor.numel() for tensor in own_tensors) <= divergence.MAX_ELEMENTS

    def _copy_to_host(self, tree: Any) -> Any:
        """The arguments for the same call on the host; ``None`` if they hold what cannot be copied there."""
        try:
            host_tree = mapped(self._to_host(tree), _tensor, Leaf)
        except Exception:
            return None
        return mapped(host_tree, lambda device: _HOST, torch.device)

    def _differs(self, func: Any, result: Any, inputs: Any, copies: Any) -> bool:
        """Whether results, or inputs that it writes into, are not the host's. What cannot be compared is equal."""
        args, kwargs = copies
        try:
            host_result = func(*args, **kwargs)
            if func._schema.is_mutable:
                result, host_result = (result, inputs), (host_result, copies)
            return divergence.are_other(self._to_host(result), self._to_host(host_result))
        except Exception:
            return False


def _tensor(leaf: Leaf) -> torch.Tensor:
    """The copy of an array as a tensor on the host, which shares nothing with it."""
    return torch.from_numpy(leaf.values).to(getattr(torch, leaf.dtype), copy=True)
