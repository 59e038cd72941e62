"""Finds the first operation of a torch call whose result differs from the host's result for the same inputs.

A mode sees every operation when it is dispatched. The inputs of each operation are copied from the device before it
runs, the host computes the operation on the copies, and the two results are compared with the tolerance of their dtype.
So each operation is judged by its own inputs: earlier wrong results do not count against it.
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
"""Operations that only make another handle of the same array."""
_UNDETERMINED = frozenset(
    {
        "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "set_",
        "as_strided", "as_strided_", "as_strided_copy", "as_strided_scatter",
        "_linalg_svd", "_linalg_eigh", "linalg_eig", "linalg_qr", "geqrf", "svd", "eigh", "qr",
    }
)  # fmt: skip
"""Operations whose result is not determined by the values of their inputs: uninitialized memory, results that depend on
the memory layout, and factorizations that are not unique."""

ToHost = Callable[[Any], Any]
"""The device's own way to copy a tree to the host. It returns a ``Leaf`` for each tensor."""


def diverging(call: Callable[[], object], device: torch.device, to_host: ToHost) -> Operation | None:
    """Repeat a call that gave a wrong result, and return the first operation whose result differs from the host's."""
    comparison = _Comparison(device, to_host)
    try:
        with comparison:
            call()
    except BaseException:  # the result is wrong again
        pass
    return comparison.found


class _Comparison(TorchDispatchMode):  # type: ignore[misc]
    """Computes each operation of the device also on the host, until one differs or the time is up."""

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
        """Whether the operation runs on the device, is small enough to be copied, and is determined by its inputs."""
        name = func._schema.name.rpartition("::")[2]
        if name in _UNDETERMINED | _WITHOUT_WORK or torch.Tag.nondeterministic_seeded in func.tags:
            return False
        own_tensors = list(tensors((args, kwargs)))
        there = [tensor.device for tensor in own_tensors] + [torch.device(kwargs.get("device") or _HOST)]
        on_device = any(device.type == self._device.type for device in there)
        return on_device and sum(tensor.numel() for tensor in own_tensors) <= divergence.MAX_ELEMENTS

    def _copy_to_host(self, tree: Any) -> Any:
        """Return the arguments for the same call on the host; ``None`` if some cannot be copied."""
        try:
            host_tree = mapped(self._to_host(tree), _tensor, Leaf)
        except Exception:
            return None
        return mapped(host_tree, lambda device: _HOST, torch.device)

    def _differs(self, func: Any, result: Any, inputs: Any, copies: Any) -> bool:
        """Whether the results, or inputs that the operation changes, differ from the host's. Values that cannot be
        compared count as equal."""
        args, kwargs = copies
        try:
            host_result = func(*args, **kwargs)
            if func._schema.is_mutable:
                result, host_result = (result, inputs), (host_result, copies)
            return divergence.are_other(self._to_host(result), self._to_host(host_result))
        except Exception:
            return False


def _tensor(leaf: Leaf) -> torch.Tensor:
    """Return a tensor on the host with a copy of the array, which shares no memory with it."""
    return torch.from_numpy(leaf.values).to(getattr(torch, leaf.dtype), copy=True)
