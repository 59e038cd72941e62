"""Counts the kernels that ran on a GPU, from the events of torch's profiler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from runners.suite.device import Proof

_NO_KERNELS = ("Memcpy", "Memset")
"""Device activities of the driver that move values and compute nothing."""


def kernels(events: Iterable[Any]) -> int:
    """Return the number of kernels among the profiler's events (``FunctionEvent``)."""
    return sum(
        event.device_type is DeviceType.CUDA
        and not event.name.startswith(_NO_KERNELS)
        # This is a range of the host that the profiler also lists for the device.
        and not getattr(event, "is_user_annotation", False)
        for event in events
    )


@contextmanager
def counting_kernels(proof: Proof) -> Iterator[None]:
    """Count the kernels of a call, no matter which thread launches them. The block must wait for the end of the
    call."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        yield
    proof.executions(kernels(profiler.events()))
