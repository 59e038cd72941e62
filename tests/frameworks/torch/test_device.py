"""Promises of a torch device: arrays arrive unchanged, come back unchanged, and are waited for."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from protocol.enums import DeviceClass, Ending
from runners.suite.checks import Leaf
from runners.suite.device import Device, DeviceUnavailableError
from runners.suite.rounding import rounded, to_bfloat16
from runners.torch import FRAMEWORK
from tests.frameworks.common import promises
from tests.frameworks.common.promises import ROOT
from tests.frameworks.common.running import cases, run

BITS = st.integers(min_value=0, max_value=2**32 - 1)


@pytest.fixture(params=["cpu", "xla"])
def device(request: pytest.FixtureRequest) -> Device:
    requested_device: Device = request.getfixturevalue(request.param)
    return requested_device


@given(st.lists(BITS, min_size=1, max_size=64))
def test_bfloat16_is_rounded_as_torch_does(patterns: list[int]) -> None:
    values = np.array(patterns, dtype=np.uint32).view(np.float32)
    expected_values = torch.from_numpy(values.copy()).to(torch.bfloat16).float().numpy()
    np.testing.assert_array_equal(to_bfloat16(values), expected_values)


@given(st.lists(st.floats(width=64), min_size=1, max_size=64))
def test_doubles_reach_bfloat16_and_float16_as_torch_moves_them(numbers: list[float]) -> None:
    values = np.array(numbers)
    for name in ("bfloat16", "float16", "float32"):
        expected_values = torch.from_numpy(values).to(getattr(torch, name)).double().numpy()
        np.testing.assert_array_equal(rounded(values, name), expected_values)


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_what_is_put_is_taken_back_exactly(device: Device, dtype: str) -> None:
    promises.assert_taken_back(device, dtype)


def test_only_floating_arrays_take_the_dtype_of_the_case(device: Device) -> None:
    kinds = ["int64", "bool", "complex64", "float32"]
    promises.assert_only_floating_arrays_take_the_dtype(device, "float32", kinds)


def test_a_call_in_place_does_not_reach_the_inputs_on_the_host(device: Device) -> None:
    values = np.ones(4)
    device.to_device(values, "float64").add_(1)
    assert values.tolist() == [1, 1, 1, 1]


def test_results_of_every_shape_of_container_are_taken(device: Device) -> None:
    matrix = device.to_device(np.array([[3.0, 1.0], [2.0, 5.0]]), "float32")
    sequence = torch.nn.utils.rnn.pack_sequence([matrix[0].cpu(), matrix[1].cpu()])
    results = device.to_host(
        {
            "named": torch.max(matrix, dim=1),
            "parameter": torch.nn.Parameter(matrix),
            "packed": sequence,
            "size": matrix.size(),
            "none": None,
        }
    )
    assert [leaf.values.tolist() for leaf in results["named"]] == [[3, 5], [0, 1]]
    assert results["parameter"].values.tolist() == [[3, 1], [2, 5]]
    assert isinstance(results["packed"][0], Leaf)
    assert results["size"] == (2, 2)
    assert results["none"] is None


def test_sparse_and_conjugated_results_are_taken_by_value(cpu: Device) -> None:
    sparse = torch.sparse_coo_tensor([[1]], [7.0], (3,))
    assert cpu.to_host(sparse).values.tolist() == [0, 7, 0]
    assert cpu.to_host(torch.tensor([1 + 2j]).conj()).values.tolist() == [1 - 2j]


def test_lookup_finds_functions_classes_methods_and_modules(cpu: Device) -> None:
    assert cpu.lookup("torch.nn.functional.dropout") is torch.nn.functional.dropout
    assert cpu.lookup("torch.nn.Linear") is torch.nn.Linear
    assert cpu.lookup("torch.Tensor.data_ptr") is torch.Tensor.data_ptr
    assert cpu.lookup("torch.cuda") is torch.cuda
    distribution = cpu.lookup("torch.distributions.RelaxedOneHotCategorical")
    assert distribution is torch.distributions.RelaxedOneHotCategorical


@pytest.mark.parametrize("name", ["torch.von_mises.VonMises", "torch.no_such", "nowhere.at_all"])
def test_a_function_that_is_gone_is_named_with_the_version(cpu: Device, name: str) -> None:
    promises.assert_gone(cpu, name, torch.__version__.partition("+")[0])


def test_waiting_for_xla_really_waits(xla: Device) -> None:
    matrix = xla.to_device(np.random.default_rng(0).standard_normal((1200, 1200)), "float32")

    def products() -> torch.Tensor:
        xla.wait(None)
        product = matrix @ matrix
        for _ in range(5):
            product = product @ matrix
        return product

    assert promises.assert_waits(xla, products, lambda product: product[0, 0].item()) > 3


def test_waiting_for_xla_runs_what_is_pending(xla: Device) -> None:
    import torch_xla

    result = xla.to_device(np.ones(3), "float32") + 1
    information = torch_xla._XLAC._get_xla_tensor_debug_info
    assert "aten::add" in information(result)
    xla.wait(result)
    assert "IR: None" in information(result)


def test_a_fault_that_a_device_mends_is_charted_by_a_case(xla: Device) -> None:
    by_id = {case.id: case for case in cases(FRAMEWORK)}
    page = (ROOT / "docs" / "reference" / "targets.md").read_text(encoding="utf-8")
    assert xla.mends
    for mend in xla.mends:
        assert f"| {mend.fault} | `{mend.shown_by}` |" in page
        outcome = run(xla, by_id[mend.shown_by])
        assert outcome.ending is Ending.mismatched, "the framework has mended this: so need not we"


def test_what_an_earlier_case_left_pending_does_not_reach_the_next(xla: Device) -> None:
    import torch_xla

    left = xla.to_device(np.ones(3), "float32") + 1
    before = torch_xla._XLAC._get_xla_tensor_debug_info(left)
    xla.seed(1)
    assert "aten::add" in before
    assert "aten::add" not in torch_xla._XLAC._get_xla_tensor_debug_info(left)


def test_a_seed_repeats_the_numbers_of_the_device(device: Device) -> None:
    def draw() -> list[float]:
        device.seed(7)
        numbers: list[float] = device.to_host(torch.rand(5, device=device.handle)).values.tolist()
        return numbers

    first = draw()
    assert draw() == first
    device.seed(8)
    assert device.to_host(torch.rand(5, device=device.handle)).values.tolist() != first


def test_the_host_describes_itself(cpu: Device) -> None:
    description = cpu.describe()
    assert description.device_class is DeviceClass.cpu
    assert description.version == torch.__version__.partition("+")[0]
    assert description.hardware
    assert description.notes == ()


def test_xla_on_the_host_says_that_it_is_no_tpu(xla: Device) -> None:
    description = xla.describe()
    assert description.device_class is DeviceClass.cpu
    assert description.notes == ("XLA on the host CPU, not a TPU",)
    assert "torch_xla" in description.libraries


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
def test_a_runner_without_cuda_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("torch", "cuda", "CUDA")


@pytest.mark.skipif(not promises.NO_TPU, reason="this machine has a TPU")
def test_a_runner_without_a_tpu_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("torch", "tpu", "torch_xla cannot open its device")


def test_xla_on_the_host_is_not_taken_for_a_tpu(xla: Device) -> None:
    with pytest.raises(DeviceUnavailableError, match="instead of a TPU"):
        FRAMEWORK.load_device("tpu").describe()


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
def test_a_missing_cuda_device_is_one_clear_line() -> None:
    with pytest.raises(DeviceUnavailableError) as error:
        FRAMEWORK.load_device("cuda").describe()
    assert "\n" not in str(error.value)
    assert "CUDA" in str(error.value)


def test_the_cpu_is_asked_for_what_is_torchs_own(cpu: Device) -> None:
    """In this process torch_xla has replaced some of torch's own objects, which the device must not use."""
    names = {function.name for suite in FRAMEWORK.load_suites().values() for function in suite.functions}
    functions = []
    for name in names:
        with suppress(LookupError):
            functions.append(cpu.lookup(name))
    assert len(functions) > 1400
    assert [
        function for function in functions if str(getattr(function, "__module__", "")).startswith("torch_xla")
    ] == []


def test_xla_works_in_a_child_forked_after_the_import() -> None:
    promises.assert_forkable("torch", "xla")


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
@pytest.mark.parametrize("name", ["cpu", "xla"])
def test_a_cuda_only_call_fails_for_want_of_a_device_and_not_for_our_forking(name: str) -> None:
    script = (
        "import os, sys\n"
        "from runners.torch import FRAMEWORK\n"
        f"os.environ.update(FRAMEWORK.devices[{name!r}].variables)\n"
        f"FRAMEWORK.load_device({name!r})\n"
        "import torch\n"
        "if os.fork():\n"
        "    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
        "try:\n"
        "    torch.cuda.synchronize()\n"
        "except RuntimeError as error:\n"
        "    print(error, flush=True)\n"
        "os._exit(0)\n"
    )
    assert "Found no NVIDIA driver" in promises.in_a_process(script)
