"""The counters of torch_xla for one call: programs executed, arrays carried, operations that went to the host.

They cost nothing while the call is timed and count in every thread and below Python, so they also see what only the
first call does, or only the repeated ones. They give bytes and no shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.suite.host_work import WORKED, Elsewhere, Event, Read
from runners.torch.placement.transfers import MOVES, ROOM, VIEWS

SCALAR = "aten::_local_scalar_dense"
"""Reading one number, as ``.item()`` does."""
_EXECUTIONS = ("ExecuteTime", "ExecuteReplicatedTime")
_WIDEST = 16
"""Bytes of the widest number, complex128; what is longer is an array."""
_LOWERED = "xla::"
"""The beginning of the names of the counters of operations that the device was given."""


@dataclass(frozen=True)
class Metrics:
    """The counts of torch_xla since it was cleared."""

    executions: int
    inbound: tuple[int, ...]
    """Bytes of each transfer to the host."""
    fallbacks: Mapping[str, int]
    """Operations without a lowering, which torch_xla computed on the host."""

    @classmethod
    def read(cls, source: Any) -> Metrics:
        """From ``torch_xla.debug.metrics``."""
        return cls(
            executions=sum(data[0] for name in _EXECUTIONS if (data := source.metric_data(name))),
            inbound=_sizes(source.metric_data("InboundData")),
            fallbacks={
                operation: source.counter_value(operation) or 1
                for operation in source.executed_fallback_ops()
                # Fetching one value is what .item() is for, and computes nothing on the host.
                if operation != SCALAR
            },
        )

    def since(self, earlier: Metrics) -> Metrics:
        """The counts since others were read, without clearing in between."""
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
        """All events of the call, of which ``method_events`` are those that passed Python's methods, in order.

        An array that came to the host and passed none was read by torch_xla itself, in the midst of its work.
        """
        if self.fallbacks:
            # Their arrays went to the host and back, which is the same fallback.
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
    """How many operations the device was given so far, but for those that carry numbers or give them another form."""
    return sum(
        source.counter_value(name) or 0
        for name in source.counter_names()
        if name.startswith(_LOWERED)
        and name.removeprefix(_LOWERED).removesuffix("_symint") not in MOVES | VIEWS | ROOM | {"_to_cpu"}
    )


def _sizes(data: Any) -> tuple[int, ...]:
    return tuple(int(value) for _, value in data[2]) if data else ()
