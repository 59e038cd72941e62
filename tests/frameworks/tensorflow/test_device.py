"""Promises of a TensorFlow device: arrays arrive unchanged, come back unchanged, and are waited for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from protocol.enums import DeviceClass
from runners.suite.checks import Leaf
from runners.suite.device import Device, DeviceUnavailableError
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common import promises


@pytest.fixture(params=["cpu", "xla"])
def device(request: pytest.FixtureRequest) -> Device:
    requested_device: Device = request.getfixturevalue(request.param)
    return requested_device


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_what_is_put_is_taken_back_exactly(device: Device, dtype: str) -> None:
    promises.assert_taken_back(device, dtype)


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_a_dtype_is_tensorflows_own(device: Device, dtype: str) -> None:
    assert device.dtype(dtype) is tf.dtypes.as_dtype(dtype)


def test_a_dtype_that_there_is_not_is_named(device: Device) -> None:
    with pytest.raises(LookupError, match="has no dtype 'float7'"):
        device.dtype("float7")


def test_only_floating_arrays_take_the_dtype_of_the_case(device: Device) -> None:
    kinds = ["int64", "bool", "complex64", "float32"]
    promises.assert_only_floating_arrays_take_the_dtype(device, "float32", kinds)


def test_strings_are_put_and_taken(cpu: Device) -> None:
    leaf = cpu.to_host(cpu.to_device(np.array(["ab", "c"]), "float32"))
    assert (leaf.values.tolist(), leaf.dtype) == ([b"ab", b"c"], "string")


def test_a_variable_of_what_was_put_does_not_reach_the_host(device: Device) -> None:
    values = np.ones(4, "float32")
    tf.Variable(device.to_device(values, "float32")).assign_add(tf.ones(4))
    assert values.tolist() == [1, 1, 1, 1]


def test_results_of_every_kind_are_taken(device: Device) -> None:
    matrix = device.to_device(np.array([[3.0, 0.0], [2.0, 5.0]]), "float32")
    results = device.to_host(
        {
            "named": tf.linalg.slogdet(matrix),
            "narrow": tf.cast(matrix, tf.bfloat16),
            "variable": tf.Variable(matrix),
            "ragged": tf.RaggedTensor.from_row_lengths(matrix[0], [0, 2]),
            "sparse": tf.sparse.from_dense(matrix),
            "slices": tf.IndexedSlices(matrix[:1], tf.constant([1])),
            "host": np.ones(2, "int16"),
            "none": None,
        }
    )
    assert [leaf.values.tolist() for leaf in results["named"]] == [1, pytest.approx(np.log(15))]
    assert (results["narrow"].values.tolist(), results["narrow"].dtype) == ([[3, 0], [2, 5]], "bfloat16")
    assert results["variable"].values.tolist() == [[3, 0], [2, 5]]
    assert [results["ragged"]["values"].values.tolist(), results["ragged"]["row_splits"][0].values.tolist()] == [
        [3, 0],
        [0, 0, 2],
    ]
    assert results["sparse"]["values"].values.tolist() == [3, 2, 5]
    assert results["sparse"]["indices"].values.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert results["slices"]["indices"].values.tolist() == [1]
    assert isinstance(results["host"], Leaf)
    assert (results["host"].dtype, results["host"].device) == ("int16", "host")
    assert not device.on_device(results["host"].device)
    assert results["none"] is None


def test_what_runs_in_its_scope_is_on_the_device(device: Device) -> None:
    with device.scope("float32"):
        arrays = [tf.ones(3), tf.function(lambda: tf.ones(3))(), tf.Variable([1.0])]
    assert all(device.on_device(leaf.device) for leaf in device.to_host(arrays))


@pytest.mark.parametrize(
    "nest",
    [lambda result: result, lambda result: [result], lambda result: (1, [{"deep": (None, result)}])],
    ids=["alone", "list", "deep"],
)
def test_waiting_really_waits(device: Device, nest: Any) -> None:
    """On the host, a call returns only when it is complete. The test shows that no work remains when the clock
    stops."""
    matrix = device.to_device(np.random.default_rng(0).standard_normal((1000, 1000)), "float32")

    def compute_power() -> Any:
        result = matrix
        for _ in range(4):
            result = tf.linalg.matmul(result, matrix)
        return result

    call = device.compiled(compute_power)

    def fetch(tree: Any) -> None:
        for tensor in tf.nest.flatten(tree):
            if isinstance(tensor, tf.Tensor):
                tensor.numpy()

    promises.assert_waits(device, lambda: nest(call()), fetch)


def test_the_host_is_called_as_it_is(cpu: Device) -> None:
    def call() -> None:
        return None

    assert cpu.compiled(call) is call


def test_xla_compiles_a_call_as_a_whole(xla: Device) -> None:
    """A call for which XLA has no kernel fails, although an uncompiled graph would run it on the host."""

    numbers = xla.to_device(np.array([10, 11]), "float32")

    def write() -> Any:
        return tf.strings.length(tf.strings.as_string(numbers))

    assert tf.function(write)().numpy().tolist() == [2, 2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="AsString"):
        xla.compiled(write)()


def test_a_compiled_call_is_compiled_once(xla: Device) -> None:
    traces = []

    def call() -> Any:
        traces.append(1)
        return tf.ones(3) + 1

    compiled_call = xla.compiled(call)
    assert [compiled_call().numpy().tolist() for _ in range(3)] == [[2, 2, 2]] * 3
    assert len(traces) == 1


def test_a_seed_repeats_the_numbers_of_the_host(cpu: Device) -> None:
    """XLA uses its own generator, which TensorFlow's seeds do not affect."""

    def draw(seed: int) -> Any:
        cpu.seed(seed)
        return tf.random.normal([5]).numpy().tolist()

    first = draw(7)
    assert draw(7) == first
    assert draw(8) != first


def test_lookup_finds_functions_classes_and_methods(cpu: Device) -> None:
    assert cpu.lookup("tf.math.reduce_mean") is tf.math.reduce_mean
    assert cpu.lookup("tf.keras.optimizers.Adadelta") is tf.keras.optimizers.Adadelta
    assert cpu.lookup("tf.data.Dataset.shard") is tf.data.Dataset.shard
    assert cpu.lookup("tensorflow.math.reduce_mean") is tf.math.reduce_mean


@pytest.mark.parametrize("name", ["tf.estimator.LoggingTensorHook", "tf.contrib.no_such", "nowhere.at_all"])
def test_a_function_that_is_gone_is_named_with_the_version(cpu: Device, name: str) -> None:
    promises.assert_gone(cpu, name, tf.__version__)


def test_the_host_describes_itself(cpu: Device) -> None:
    description = cpu.describe()
    assert description.device_class is DeviceClass.cpu
    assert description.version == tf.__version__
    assert description.device_count == 1
    assert description.hardware
    assert description.notes == ()
    assert "keras" in description.libraries


def test_xla_on_the_host_says_that_it_is_no_tpu(xla: Device) -> None:
    description = xla.describe()
    assert description.device_class is DeviceClass.cpu
    assert description.notes == ("XLA on the host CPU, not a TPU",)


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
def test_a_missing_gpu_is_one_clear_line() -> None:
    with pytest.raises(DeviceUnavailableError) as error:
        FRAMEWORK.load_device("gpu").describe()
    message = str(error.value)
    assert message.startswith(f"tensorflow {tf.__version__} sees no GPU on this machine; check the driver")
    assert "\n" not in message


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
def test_a_runner_without_a_gpu_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("tensorflow", "gpu", "sees no GPU on this machine")


@pytest.mark.skipif(not promises.NO_TPU, reason="this machine has a TPU")
def test_a_runner_without_a_tpu_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("tensorflow", "tpu", "cannot open a TPU")


@pytest.mark.parametrize("name", ["cpu", "xla"])
def test_tensorflow_works_in_a_child_forked_after_the_import(name: str) -> None:
    promises.assert_forkable("tensorflow", name)
