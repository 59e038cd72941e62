"""Reads the counters of torch_xla for one call: executed programs, moved arrays, operations that the host ran.

The counters do not slow down the timed call, and count in every thread and below Python. So they can be read for every
call, the first and the repeated ones. They count bytes, but not shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.host_work import WORKED, Elsewhere, Event, Read
from runners.torch.placement.transfers import MOVES, ROOM, VIEWS

SCALAR = "aten::_local_scalar_dense"
"""The operation that reads one number, as ``.item()`` does."""
_EXECUTIONS = ("ExecuteTime", "ExecuteReplicatedTime")
_WIDEST = 16
"""The size in bytes of the largest number type, complex128. A larger transfer is an array."""
_LOWERED = "xla::"
"""The prefix of counters of operations that were given to the device."""


@dataclass(frozen=True)
class Metrics:
    """The counts of torch_xla since they were last cleared."""

    executions: int
    inbound: tuple[int, ...]
    """The bytes of each transfer to the host."""
    fallbacks: Mapping[str, int]
    """For each operation without a lowering that torch_xla computed on the host, the number of its executions."""

    @classmethod
    def read(cls, source: Any) -> Metrics:
        """Read the counts from ``torch_xla.debug.metrics``."""
        return cls(
            executions=sum(data[0] for name in _EXECUTIONS if (data := source.metric_data(name))),
            inbound=_sizes(source.metric_data("InboundData")),
            fallbacks={
                operation: source.counter_value(operation) or 1
                for operation in source.executed_fallback_ops()
                # ``.item()`` only copies one value to the host. It computes nothing there.
                if operation != SCALAR
            },
        )

    def since(self, earlier: Metrics) -> Metrics:
        """Return the difference from earlier counts. The counters must not be cleared in between."""
        return Metrics(
            executions=self.executions - earlier.executions,
            inbound=self.inbound[len(earlier.inbound) :],
            fallbacks={
                operation: further
                for operation, count in self.fallbacks.items()
                if (further := count - earlier.fallbacks.get(operation, 0)) > 0
            },
        )

    def elsewhere(self) -> list[Event]:
        return [Elsewhere(operation, count) for operation, count in self.fallbacks.items()]

    def events(self, method_events: Sequence[Event]) -> list[Event]:
        """Return all events of the call, in order. ``method_events`` are those that Python methods recorded.

        If an array came to the host without a Python method, torch_xla itself has read it in the middle of its work.
        """
        if self.fallbacks:
            # The arrays that these operations moved to the host and back are part of the same fallback.
            return self.elsewhere()
        arrays = sorted(size for size in self.inbound if size > _WIDEST)
        seen_arrays = sum(isinstance(event, Read) and event.numbers > 1 for event in method_events)
        unseen = arrays[seen_arrays:]
        return [
            *method_events,
            *(Read("torch_xla", size // _WIDEST + 1) for size in unseen),
            *([WORKED] if unseen else []),
        ]


def operations(source: Any) -> int:
    """Return the number of operations that torch has passed to the device so far. Operations that only move numbers or
    change their form do not count."""
    return sum(
        source.counter_value(name) or 0
        for name in source.counter_names()
        if name.startswith(_LOWERED)
        and name.removeprefix(_LOWERED).removesuffix("_symint") not in MOVES | VIEWS | ROOM | {"_to_cpu"}
    )


def _sizes(data: Any) -> tuple[int, ...]:
    return tuple(int(value) for _, value in data[2]) if data else ()
