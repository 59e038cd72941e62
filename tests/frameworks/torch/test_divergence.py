"""For a wrong result, the report names the first operation whose result differs from the host's result for the same
inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from protocol.enums import Ending, TimingPolicy
from runners.isolation.explanation import add_explanation
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import ObservedEvidence
from runners.suite import divergence
from runners.suite.cases import Function
from runners.suite.device import Device


@pytest.fixture(scope="module")
def library() -> Iterator[torch.library.Library]:
    """Planted kernels, which are removed with this library."""
    library = torch.library.Library("aten", "IMPL")
    yield library
    library._destroy()


@pytest.fixture(scope="module", autouse=True)
def wrong_sigmoid(library: torch.library.Library, xla: Device) -> None:
    """A wrong kernel of one operation in torch_xla. Its result equals the host's only at zero."""
    library.impl("sigmoid", lambda values: torch.div(torch.add(torch.tanh(values), 1), 2), "XLA", allow_override=True)


@pytest.fixture(scope="module", autouse=True)
def wrong_relu(library: torch.library.Library, xla: Device) -> None:
    """A wrong kernel. torch_xla replaces an in-place operation by the operation that is not in place, below the level
    that the mode sees."""
    library.impl("relu", lambda values: torch.mul(values, 0), "XLA", allow_override=True)


def explanation(
    device: Device, call: Callable[..., Any], reference: Callable[..., Any], **fields: Any
) -> ObservedEvidence:
    """The evidence, with the explanation, of a function whose only case returns a wrong value."""
    function = Function("planted", reference=reference, given=call)
    function.value("numbers", lambda inputs: (inputs.normal(6),), **fields)
    (case,) = function.cases
    before = run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    assert before.ending is Ending.mismatched
    after = add_explanation(device, case, before)
    assert after.evidence is not None
    return after.evidence


def sigmoid(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_wrong_operation_is_named_among_right_ones(xla: Device, dtype: str) -> None:
    evidence = explanation(
        xla, lambda values: torch.exp(torch.sigmoid(values * 2)) + 1, lambda values: np.exp(sigmoid(values * 2)) + 1,
        dtype=dtype,
    )  # fmt: skip
    assert (evidence.operation, evidence.dtypes) == ("aten::sigmoid", [dtype])
    assert evidence.on_host == "passed"


def test_the_first_of_two_is_named(xla: Device) -> None:
    evidence = explanation(
        xla,
        lambda values: torch.nn.functional.relu(torch.sigmoid(values), inplace=True),
        lambda values: np.maximum(sigmoid(values), 0),
    )
    assert evidence.operation == "aten::sigmoid"


def test_an_operation_that_writes_into_its_input_is_named(xla: Device) -> None:
    """The report has the name of the operation that is not in place, because torch_xla replaces the in-place operation
    above the mode."""
    evidence = explanation(xla, lambda values: (values + 1).relu_() * 2, lambda values: np.maximum(values + 1, 0) * 2)
    assert evidence.operation == "aten::relu"


def test_in_a_gradient_too(xla: Device) -> None:
    def gradient(values: Any) -> Any:
        leaf = values.detach().requires_grad_()
        return torch.autograd.grad(torch.sigmoid(leaf).sum(), leaf)[0]

    evidence = explanation(xla, gradient, lambda values: sigmoid(values) * (1 - sigmoid(values)))
    assert evidence.operation == "aten::sigmoid"


def test_right_operations_with_a_wrong_sum_are_not_accused(xla: Device) -> None:
    """The function is wrong on every device, but each of its operations is right."""
    assert explanation(xla, lambda values: values * 2, lambda values: values * 3).operation is None


def test_random_numbers_are_not_compared(xla: Device) -> None:
    noise = explanation(xla, lambda values: values + torch.rand_like(values) + 1, lambda values: values)
    assert noise.operation is None


def test_nothing_is_compared_on_the_host(cpu: Device) -> None:
    assert explanation(cpu, lambda values: values * 2, lambda values: values * 3).operation is None


def test_large_operations_are_left_out(xla: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "MAX_ELEMENTS", 5)
    assert explanation(xla, torch.sigmoid, sigmoid).operation is None


def test_nothing_is_compared_when_the_time_is_up(xla: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "COMPARED_FOR_S", 0.0)
    assert explanation(xla, torch.sigmoid, sigmoid).operation is None
