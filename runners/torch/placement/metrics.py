"""The counters of torch_xla for one call: programs executed, values carried, operations that went to the host.

They cost nothing while the call is timed and count in every thread, so they also see what only the first call does,
or only the repeated ones. They give bytes and no shapes, so small transfers are judged by their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SCALAR = "aten::_local_scalar_dense"
"""Reading one number, as ``.item()`` does."""
_EXECUTIONS = ("ExecuteTime", "ExecuteReplicatedTime")
_MADE = "xla::lift_fresh"
"""An array made of Python's numbers."""
_WIDEST = 16
"""Bytes of the widest number, complex128; what is longer is an array."""
_WIDEST_REAL = 8


@dataclass(frozen=True)
class Metrics:
    """The counts of torch_xla since it was cleared."""

    executions: int
    reads: int
    """Single numbers read by ``.item()`` and its like."""
    made: int
    """Arrays made of Python's numbers."""
    inbound: tuple[int, ...]
    """Bytes of each transfer to the host."""
    outbound: tuple[int, ...]
    """Bytes of each transfer to the device."""
    fallbacks: Mapping[str, int]
    """Operations without a lowering, which torch_xla computed on the host."""

    @classmethod
    def read(cls, source: Any) -> Metrics:
        """From ``torch_xla.debug.metrics``."""
        return cls(
            executions=sum(data[0] for name in _EXECUTIONS if (data := source.metric_data(name))),
            reads=source.counter_value(SCALAR) or 0,
            made=source.counter_value(_MADE) or 0,
            inbound=_sizes(source.metric_data("InboundData")),
            outbound=_sizes(source.metric_data("OutboundData")),
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
            reads=self.reads - earlier.reads,
            made=self.made - earlier.made,
            inbound=self.inbound[len(earlier.inbound) :],
            outbound=self.outbound[len(earlier.outbound) :],
            fallbacks={
                operation: further
                for operation, count in self.fallbacks.items()
                if (further := count - earlier.fallbacks.get(operation, 0)) > 0
            },
        )

    def accusations(self, returned: int) -> dict[str, int]:
        """The work of the host: operations that ran there, and values carried there to be computed.

        The call returned so many numbers on the host.
        """
        if self.fallbacks:
            # Their arrays went to the host and back, which is the same fallback.
            return dict(self.fallbacks)
        found = {}
        arrays = self._arrays()
        if arrays and sum(self.inbound) > _WIDEST * returned:
            found["arrays to the host"] = arrays
        if self.reads > max(1, returned) and (self.made > 1 or self._came_back()):
            found["numbers to the host and back"] = self.reads
        return found

    def _arrays(self) -> int:
        """Transfers to the host that no reading of single numbers explains."""
        unread = max(0, len(self.inbound) - self.reads)
        return max(_longer(self.inbound, _WIDEST), min(_longer(self.inbound, _WIDEST_REAL), unread))

    def _came_back(self) -> bool:
        """Whether an array went to the device that is no larger than what was read."""
        return any(_WIDEST < size <= sum(self.inbound) for size in self.outbound)


def _longer(sizes: tuple[int, ...], limit: int) -> int:
    return sum(size > limit for size in sizes)


def _sizes(data: Any) -> tuple[int, ...]:
    return tuple(int(value) for _, value in data[2]) if data else ()
