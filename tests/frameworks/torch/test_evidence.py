"""After a failure, the operation in flight and its kernels are read from torch's dispatch, not from error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from protocol.enums import Kernels
from runners.suite.device import Device
from runners.torch.devices import Cpu

CPU = Cpu()
MATRIX = torch.eye(3)


@pytest.mark.parametrize(
    ("call", "name", "dtype", "kernels"),
    [
        (lambda: torch.linalg.cholesky(MATRIX.half()), "aten::linalg_cholesky_ex", "float16", Kernels.other_dtypes),
        (lambda: torch.bitwise_and(MATRIX, MATRIX), "aten::bitwise_and", "float32", Kernels.other_dtypes),
        (lambda: torch.sort(MATRIX.to_sparse()), "aten::sort", "float32", None),
        (lambda: torch.mm(MATRIX, torch.ones(4, 4)), "aten::mm", "float32", None),
    ],
)
def test_the_operation_that_raises(call: Callable[[], Any], name: str, dtype: str, kernels: Kernels | None) -> None:
    operation = CPU.failing(call)
    assert operation is not None
    assert operation.name.startswith(name)
    assert operation.dtypes[0] == dtype
    assert operation.kernels is kernels
    assert dtype not in operation.kernel_dtypes


def test_an_operation_without_a_kernel_for_the_device() -> None:
    operation = CPU.failing(lambda: torch.ops.aten._cudnn_rnn_flatten_weight([MATRIX], 4, 3, 2, 3, 0, 1, False, False))
    assert operation is not None
    assert (operation.name, operation.kernels) == ("aten::_cudnn_rnn_flatten_weight", Kernels.none)


def test_a_function_that_dispatches_nothing_is_named_by_itself() -> None:
    operation = CPU.failing(lambda: torch.stack([MATRIX, torch.ones(4)], dim=9))
    assert operation is not None
    assert "stack" in operation.name


def test_what_python_raises_after_an_operation_blames_none() -> None:
    assert CPU.failing(lambda: [torch.abs(MATRIX), {}["missing"]]) is None


def test_a_call_that_does_not_fail_again_names_nothing() -> None:
    assert CPU.failing(lambda: torch.abs(MATRIX)) is None


def test_a_dtype_in_which_the_device_passes_the_operation_to_the_host_has_no_kernel(xla: Device) -> None:
    """XLA's lowering of ``cumprod`` for floats rejects an array without axes. Integers are passed to the host."""
    number = torch.tensor(2.0, device="xla")
    operation = xla.failing(lambda: torch.cumprod(number, 0))
    assert operation is not None
    assert (operation.name, operation.kernels, operation.kernel_dtypes) == ("aten::cumprod", None, ())


def test_a_dtype_in_which_the_device_computes_the_operation_has_one(xla: Device) -> None:
    numbers = torch.ones(3, dtype=torch.int32, device="xla")
    operation = xla.failing(lambda: torch.mean(numbers))
    assert operation is not None
    assert operation.kernels is Kernels.other_dtypes
    assert "float32" in operation.kernel_dtypes
