"""Our steady medians are those of ``torch.utils.benchmark``, and their samples are honest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.benchmark import Timer

from runners import timing
from runners.devices import Device
from tests.framework.clocks import assert_agree

Call = Callable[[], Any]


def calls(device: Device) -> Mapping[str, Call]:
    rng = np.random.default_rng(0)
    vector = device.put(rng.standard_normal(1_000), "float32")
    matrix = device.put(rng.standard_normal((128, 128)), "float32")
    image = device.put(rng.standard_normal((4, 3, 32, 32)), "float32")
    linear, convolution = torch.nn.Linear(128, 128), torch.nn.Conv2d(3, 8, 3)
    cell = torch.nn.LSTMCell(128, 64)
    return {
        "add": lambda: vector + vector,
        "exp": lambda: torch.exp(matrix),
        "sum": lambda: torch.sum(matrix),
        "sort": lambda: torch.sort(vector),
        "argsort": lambda: torch.argsort(matrix),
        "cat": lambda: torch.cat([matrix, matrix]),
        "matmul": lambda: matrix @ matrix,
        "svdvals": lambda: torch.linalg.svdvals(matrix[:32, :32]),
        "slogdet": lambda: torch.slogdet(matrix),
        "linear": lambda: linear(matrix),
        "conv2d": lambda: convolution(image),
        "lstm-cell": lambda: cell(matrix),
    }


def benchmarked(call: Call) -> float:
    """Microseconds by torch's own benchmark."""
    return float(
        Timer("call()", globals={"call": call}, num_threads=1).blocked_autorange(min_run_time=0.05).median * 1e6
    )


@pytest.fixture
def _one_thread() -> Iterator[None]:
    # The benchmark's own default. Several threads on a busy host wait for each other.
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_one_thread")
def test_steady_medians_agree_with_torchs_own_benchmark(cpu: Device) -> None:
    assert_agree(calls(cpu), cpu.wait, benchmarked)


def test_every_call_on_a_lazy_device_is_its_own(xla: Device) -> None:
    """Calls not waited for would merge into one graph, and their time would be that of building it."""
    import torch_xla.debug.metrics as metrics

    values = xla.put(np.ones(8), "float32")
    made = 0

    def call() -> Any:
        nonlocal made
        made += 1
        return values + 1

    metrics.clear_metrics()
    timing.steady(call, xla.wait, budget_s=0.05)
    executed = metrics.metric_data("ExecuteTime")[0]
    assert executed == made


def test_the_cold_call_holds_the_compilation(xla: Device) -> None:
    values = xla.put(np.ones((17, 19)), "float32")

    def call() -> Any:
        return torch.tanh(values @ values.T) * 3

    _, cold_ms = timing.cold(call, xla.wait)
    steady_ms = timing.median(timing.steady(call, xla.wait, budget_s=0.05).milliseconds)
    assert cold_ms > 2 * steady_ms


def test_what_a_call_raises_leaves_garbage_collection_as_it_was(cpu: Device) -> None:
    import gc

    def call() -> Any:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        timing.steady(call, cpu.wait)
    assert gc.isenabled()
