"""Values that one call carries between device and host, and the rule by which they are a fallback.

Fetching a number is what ``.item()`` is for: an optimizer reads its loss to decide whether to go on, on every device.
Work on the host needs more than that. A call is accused of it where values reached the host that its own result does
not hold, and they were

- an array, by whatever copy: ``.cpu()``, ``.tolist()``, ``.numpy()``, ``copy_`` into an array of the host;
- an array number by number: most of its numbers, picked out one after the other and read;
- numbers that were read and came back to the device as arrays of no more numbers than those.

One number that is computed on the device, read, and used as a number accuses nobody, however often that happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

PICKS = frozenset(
    name + copied
    for name in (
        "as_strided", "diagonal", "index", "index_select", "narrow", "select", "slice", "split", "split_with_sizes",
        "take", "unbind",
    )
    for copied in ("", "_copy")
)  # fmt: skip
"""Operations that may pick a single number out of an array."""
MANY_NUMBERS = 8
"""Numbers of one array that are never read one by one merely to decide something."""


class Transfers:
    """The values that crossed between device and host in one call, as its operations showed them."""

    def __init__(self, on_device: Callable[[str], bool]) -> None:
        self._on_device = on_device
        self._arrays: dict[str, int] = {}
        """The values of arrays that went to the host, by the operation that carried them."""
        self._picked_from: WeakIdKeyDictionary = WeakIdKeyDictionary()
        """The size of the array that a single number on the device was picked out of."""
        self._picked: dict[int, int] = {}
        """How many numbers were read of arrays of a size."""
        self._read = 0
        """Single numbers read since the call began."""
        self._came_back = 0
        """Values that came to the device in arrays small enough to be made of those read before them."""
        self._made = 0
        """Single values that came to the device as arrays of their own after others had been read."""

    def moved(self, operation: str, given: Any, result: Any) -> None:
        """Note an operation whose purpose is to carry values."""
        there = [tensor for tensor in tensors(given) if self._is_there(tensor)]
        brought = [tensor for tensor in tensors(result) if self._is_there(tensor)]
        name = operation.partition("::")[2]
        if name == "lift_fresh":
            # torch.tensor() of Python's numbers has put them there by now.
            self._bring(there)
        elif there and not brought:
            for tensor in there:
                self._fetch(operation, tensor)
        elif brought and not all(self._is_there(tensor) for tensor in tensors(given)):
            self._bring(brought)
        else:
            self._follow(there, brought)

    def fetched(self, operation: str, tensor: torch.Tensor) -> None:
        """Note that the numbers of a tensor were asked for; a view of a single one is picked out of its array."""
        if not self._is_there(tensor):
            return
        whole = tensor._base
        if whole is not None and tensor.numel() == 1 < whole.numel():
            self._picked_from[tensor] = whole.numel()
        self._fetch(operation, tensor)

    def brought(self, made: torch.Tensor) -> None:
        """Note a tensor that was made of numbers on the host."""
        if self._is_there(made):
            self._bring([made])

    def computed(self, operation: str, given: Any, result: Any) -> None:
        """Note any other operation: a number that it picks out of an array, or makes of such a number."""
        arrays = [tensor for tensor in tensors(given) if self._is_there(tensor)]
        made = [tensor for tensor in tensors(result) if self._is_there(tensor)]
        if operation.partition("::")[2] in PICKS and arrays and arrays[0].numel() > 1:
            for tensor in made:
                if tensor.numel() == 1:
                    self._picked_from[tensor] = arrays[0].numel()
        else:
            self._follow(arrays, made)

    def accusations(self, returned: int) -> dict[str, int]:
        """The fallbacks that these transfers are, by operation; the call returned so many numbers on the host."""
        found: dict[str, int] = {}
        whole = {size: read for size, read in self._picked.items() if read >= max(2, min(MANY_NUMBERS, size // 2))}
        if sum(self._arrays.values()) + sum(whole.values()) > returned:
            found.update({f"{operation} (to the host)": count for operation, count in self._arrays.items()})
            if whole:
                found["aten::_local_scalar_dense (an array by its numbers)"] = sum(whole.values())
        came_back = self._came_back + (self._made if self._made > 1 else 0)
        if came_back:
            found["aten::_local_scalar_dense (numbers that came back)"] = came_back
        return found

    def _fetch(self, operation: str, tensor: torch.Tensor) -> None:
        if tensor.numel() > 1:
            self._arrays[operation] = self._arrays.get(operation, 0) + tensor.numel()
        elif tensor.numel() == 1:
            self._read += 1
            size = self._picked_from.get(tensor)
            if size is not None:
                self._picked[size] = self._picked.get(size, 0) + 1

    def _bring(self, brought: Iterable[torch.Tensor]) -> None:
        for tensor in brought:
            if 1 < tensor.numel() <= self._read:
                self._came_back += tensor.numel()
            elif tensor.numel() == 1 and self._read > self._made:
                self._made += 1

    def _follow(self, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        sizes = [size for tensor in given if (size := self._picked_from.get(tensor)) is not None]
        if sizes and all(tensor.numel() == 1 for tensor in made):
            for tensor in made:
                self._picked_from[tensor] = max(sizes)

    def _is_there(self, tensor: torch.Tensor) -> bool:
        return self._on_device(str(tensor.device))


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """Every tensor among an operation's arguments or results, which hold no other containers."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for branch in tree:
            yield from tensors(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from tensors(branch)
