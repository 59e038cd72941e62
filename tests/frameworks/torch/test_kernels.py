"""Kernels of a GPU are distinguished from other events of the profiler. Work of the host is no kernel."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

from runners.torch.placement.activity import kernels


def on_gpu(name: str, **options: bool) -> FunctionEvent:
    return FunctionEvent(
        id=1, name=name, thread=0, start_us=1.0, end_us=2.0, device_type=DeviceType.CUDA, device_index=0, **options
    )


def test_the_hosts_own_operations_are_no_kernels() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(8, 8) @ torch.ones(8, 8)
    events = profiler.events()
    assert "aten::mm" in {event.name for event in events}
    assert kernels(events) == 0


def test_a_kernel_among_the_hosts_operations_is_counted() -> None:
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(8) + 1
    launches = [on_gpu("void at::native::vectorized_elementwise_kernel<4>"), on_gpu("sm80_xmma_gemm_f32f32")]
    assert kernels([*profiler.events(), *launches]) == 2


@pytest.mark.parametrize(
    "name", ["Memcpy DtoH (Device -> Pageable)", "Memcpy HtoD (Pageable -> Device)", "Memset (Device)"]
)
def test_copies_are_no_kernels(name: str) -> None:
    assert kernels([on_gpu(name)]) == 0


def test_a_range_of_the_host_on_the_devices_row_is_no_kernel() -> None:
    assert kernels([on_gpu("forward", is_user_annotation=True)]) == 0
