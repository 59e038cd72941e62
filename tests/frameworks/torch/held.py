"""A device made by a subclass of tensors. Its arrays are Python objects that decide how an operation is executed.

Torch's own watch cannot follow an operation into such a class. The device ``Counting`` proves placement by the reports
of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Description, Proof
from runners.suite.host_work import WORKED, Brought, CallRecord, Read
from runners.suite.trees import mapped
from runners.torch.devices import TorchDevice


class Held(torch.Tensor):  # type: ignore[misc]
    """An array of the device. Torch sees an array without memory, and the class has the values."""

    values: Any
    record = CallRecord()
    """The events since a watch began."""

    @staticmethod
    def __new__(cls, values: torch.Tensor) -> Any:
        array = torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype, device="meta")
        array.values = values
        return array

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map_only(Held, lambda array: array.values, (args, kwargs or {}))
        cls.record.add(WORKED)
        return tree_map_only(torch.Tensor, Held, func(*args, **kwargs))

    def tolist(self) -> Any:
        self.record.add(Read("Held.tolist", self.values.numel(), "float32"))
        return self.values.tolist()

    @classmethod
    def of(cls, numbers: list[float]) -> Any:
        cls.record.add(Brought(len(numbers), "float32"))
        return cls(torch.tensor(numbers))


class Silent(TorchDevice):
    """The device without any reports, like a first version that somebody writes."""

    name = "held"
    handle_name = "meta"

    def describe(self) -> Description:
        return Description("1", DeviceClass.other, 1, "none", simulated=True)

    def _array_to_device(self, values: Any, dtype: str) -> Any:
        return Held(torch.tensor(values, dtype=self.dtype(dtype)))

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda array: Leaf(array.values.numpy(), "float32", "meta"), Held)


class Counting(Silent):
    """The device whose class reports the operations that it executed and the values that it moved to the host."""

    @contextmanager
    def counting(self, proof: Proof) -> Iterator[None]:
        Held.record = record = CallRecord()
        yield
        proof.executions(record.events.count(WORKED))
        proof.judge(record.events)
        proof.counted = True


def on_the_device(x: Any) -> Any:
    return x + x


def by_its_list(x: Any) -> Any:
    return Held.of([2 * number for number in x.tolist()]) + x * 0


def scaled(x: Any) -> Any:
    return x * (2 + 0 * x.sum().tolist())


CALLS: dict[str, Callable[[Any], Any]] = {call.__name__: call for call in (on_the_device, by_its_list, scaled)}
