"""Records the values that one call moves between device and host, as its operations and methods show them.

The values are reported as events of ``runners/suite/host_work.py``, which decides when they are a fallback. This module
has the torch-specific part: which operations move values, and which take a single number out of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from runners.suite.host_work import WORKED, Brought, CallRecord, Read
from runners.suite.picks import Picks

MOVES = frozenset(
    {
        "_to_copy", "_to_cpu", "to", "copy_", "_copy_from", "_copy_from_and_resize", "_local_scalar_dense",
        "lift_fresh",
    }
)  # fmt: skip
"""Operations whose purpose is to move values between host and device."""
VIEWS = frozenset(
    name + copied
    for name in (
        "as_strided", "diagonal", "gather", "index", "index_select", "narrow", "select", "slice", "split",
        "split_with_sizes", "take", "unbind",
        "alias", "detach", "expand", "permute", "reshape", "squeeze", "t", "transpose", "unfold", "unsqueeze", "view",
        "_reshape_alias", "_unsafe_view",
    )
    for copied in ("", "_copy")
)  # fmt: skip
"""Operations that pick numbers out of an array, or change its form, without computing."""
ROOM = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "resize_", "set_"})
"""Operations that allocate memory on the device without computing."""


class Transfers:
    """The values that moved between device and host in one call."""

    def __init__(self, on_device: Callable[[str], bool], operations: Callable[[], int] = lambda: 0) -> None:
        """``operations`` returns how many operations torch has passed to the device so far, for devices that count
        them."""
        self.record = CallRecord()
        self._on_device = on_device
        self._operations = operations
        self._operations_before = operations()
        self._picks = Picks(torch.Tensor.numel)

    def note_move(self, operation: str, inputs: Any, result: Any) -> None:
        """Record an operation whose purpose is to move values."""
        there = [tensor for tensor in tensors(inputs) if self._is_there(tensor)]
        arrivals = [tensor for tensor in tensors(result) if self._is_there(tensor)]
        name = operation.partition("::")[2]
        if name == "lift_fresh":
            # When torch.tensor() is called with Python numbers, it has already put them on the device.
            self._bring(there)
        elif there and not arrivals:
            for tensor in there:
                self._read(operation, tensor)
        elif arrivals and not all(self._is_there(tensor) for tensor in tensors(inputs)):
            self._bring(arrivals)
        else:
            self._picks.note_results(there, arrivals)

    def note_fetch(self, operation: str, tensor: torch.Tensor) -> None:
        """Record that the numbers of a tensor were read. If the tensor is a view of a single number, this counts as
        taking the number out of the viewed array."""
        if not self._is_there(tensor):
            return
        whole = tensor._base
        if whole is not None and tensor.numel() == 1 and not self._picks.behind(tensor):
            self._picks.note_parts(whole, [tensor])
        self._read(operation, tensor)

    def note_arrival(self, tensor: torch.Tensor) -> None:
        """Record a tensor that was created on the host from numbers."""
        if self._is_there(tensor):
            self._bring([tensor])

    def note_operation(self, operation: str, inputs: Any, result: Any) -> None:
        """Record any other operation: either it takes a number out of an array, or it is work of the device."""
        arrays = [tensor for tensor in tensors(inputs) if self._is_there(tensor)]
        outputs = [tensor for tensor in tensors(result) if self._is_there(tensor)]
        name = operation.partition("::")[2]
        if name in VIEWS and arrays:
            self._picks.note_parts(arrays[0], outputs)
        else:
            self._picks.note_results(arrays, outputs)
        if name not in VIEWS | ROOM:
            self.record.add(WORKED)

    def end(self) -> None:
        """Record the operations that torch has passed to the device since the last event."""
        self._catch_up()

    def _read(self, operation: str, tensor: torch.Tensor) -> None:
        self._catch_up()
        self.record.add(Read(operation, tensor.numel(), _dtype(tensor), picks=self._picks.behind(tensor)))

    def _bring(self, arrivals: Iterable[torch.Tensor]) -> None:
        self._catch_up()
        for tensor in arrivals:
            self.record.add(Brought(tensor.numel(), _dtype(tensor)))

    def _catch_up(self) -> None:
        operations = self._operations()
        if operations > self._operations_before:
            self.record.add(WORKED)
        self._operations_before = operations

    def _is_there(self, tensor: torch.Tensor) -> bool:
        return self._on_device(str(tensor.device))


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """Yield every tensor in a tree of lists, tuples and dicts, such as an operation's arguments or results."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from tensors(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from tensors(branch)
