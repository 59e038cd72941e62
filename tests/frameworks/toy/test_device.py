"""The toy accelerator keeps the promises of every device, and torch computes gradients on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from protocol.enums import DeviceClass
from runners import frameworks
from runners.suite.device import Device
from tests.frameworks.common import promises

STORED = [dtype for dtype in promises.DTYPES if dtype != "bfloat16"]


def test_it_stands_beside_the_devices_of_ours(toy: Device) -> None:
    device_names = frameworks.devices(frameworks.load("torch"))
    assert device_names == ["cpu", "cuda", "tpu", "xla", "toy"]


def test_it_says_that_it_is_simulated(toy: Device) -> None:
    description = toy.describe()
    assert description.simulated
    assert description.device_class is DeviceClass.other
    assert {"torch", "portolan-toy"} <= description.libraries.keys()


@pytest.mark.parametrize("dtype", STORED)
def test_what_is_put_is_taken_back_exactly(toy: Device, dtype: str) -> None:
    promises.assert_taken_back(toy, dtype)


def test_a_dtype_that_it_lacks_is_a_type_error(toy: Device) -> None:
    with pytest.raises(TypeError, match=r"dtype torch\.bfloat16 is not supported"):
        toy.to_device(np.ones(3), "bfloat16")


def test_only_floating_arrays_take_the_dtype_of_the_case(toy: Device) -> None:
    promises.assert_only_floating_arrays_take_the_dtype(toy, "float32", ["int64", "bool", "complex64", "float32"])


def test_a_call_in_place_does_not_reach_the_inputs_on_the_host(toy: Device) -> None:
    values = np.ones(4)
    toy.to_device(values, "float64").add_(1)
    assert values.tolist() == [1, 1, 1, 1]


def test_waiting_really_waits(toy: Device) -> None:
    matrix = toy.to_device(np.random.default_rng(0).standard_normal((400, 400)), "float64")

    def products() -> torch.Tensor:
        product = matrix @ matrix
        for _ in range(5):
            product = product @ matrix
        return product

    promises.assert_waits(toy, products, lambda product: product[0, 0].item())


def test_a_seed_repeats_the_numbers_of_the_device(toy: Device) -> None:
    def draw(seed: int) -> list[float]:
        toy.seed(seed)
        numbers: list[float] = toy.to_host(torch.rand(5, device=toy.handle)).values.tolist()
        return numbers

    assert draw(7) == draw(7) != draw(8)


def test_conjugated_results_are_taken_by_value(toy: Device) -> None:
    assert toy.to_host(toy.to_device(np.array([1 + 2j]), "complex64").conj()).values.tolist() == [1 - 2j]


def test_gradients_flow_through_the_device(toy: Device) -> None:
    values = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x = toy.to_device(values, "float32").requires_grad_()
    (x * x + x * x + x).sum().backward()
    np.testing.assert_allclose(toy.to_host(x.grad).values, 4 * values + 1)


def test_gradients_know_what_a_view_was_changed_to_in_place(toy: Device) -> None:
    x = toy.to_device(np.ones((2, 3)), "float32").requires_grad_()
    y = x * 2
    y[0].mul_(3)
    y.sum().backward()
    assert toy.to_host(x.grad).values.tolist() == [[6, 6, 6], [2, 2, 2]]


def test_gradients_on_the_host_are_as_before(toy: Device) -> None:
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2, 2]


def test_memory_lives_as_long_as_a_view_of_it(toy: Device) -> None:
    row = toy.to_device(np.arange(1 << 16), "float32").view(256, 256)[7]
    for _ in range(8):
        toy.to_device(np.zeros(1 << 16), "float32")
    assert toy.to_host(row).values.tolist() == list(range(7 * 256, 8 * 256))


def test_it_works_in_a_child_forked_after_the_import() -> None:
    code = (
        "import os\n"
        "from runners import frameworks\n"
        "torch = frameworks.load('torch')\n"
        "os.environ.update(frameworks.variables(torch, 'toy'))\n"
        "device = frameworks.load_device(torch, 'toy')\n"
        "torch.load_suites()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    device.prime()\n"
        "    given = device.to_device(__import__('numpy').ones(3), 'float32').requires_grad_()\n"
        "    (given * given).sum().backward()\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    assert promises.in_a_process(code) == "7"
