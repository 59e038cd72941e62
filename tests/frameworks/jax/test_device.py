"""Promises of a JAX device: arrays arrive unchanged, come back unchanged, and are waited for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from protocol.enums import DeviceClass
from runners.jax import FRAMEWORK
from runners.suite.checks import Leaf
from runners.suite.device import Device, DeviceUnavailableError
from tests.frameworks.common import promises


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_what_is_put_is_taken_back_exactly(cpu: Device, dtype: str) -> None:
    promises.assert_taken_back(cpu, dtype)


@pytest.mark.parametrize("dtype", promises.DTYPES)
def test_a_dtype_is_jaxs_own(cpu: Device, dtype: str) -> None:
    with cpu.scope(dtype):
        assert jnp.zeros(1, cpu.dtype(dtype)).dtype.name == dtype


def test_a_dtype_that_there_is_not_is_named(cpu: Device) -> None:
    with pytest.raises(LookupError, match="has no dtype 'float7'"):
        cpu.dtype("float7")


@pytest.mark.parametrize(
    ("dtype", "kinds"),
    [
        ("float64", ["int64", "bool", "complex128", "float64"]),
        ("float32", ["int32", "bool", "complex64", "float32"]),
    ],
)
def test_only_floating_arrays_take_the_dtype_of_the_case(cpu: Device, dtype: str, kinds: list[str]) -> None:
    """Without 64-bit types, integers get the type that JAX gives them."""
    promises.assert_only_floating_arrays_take_the_dtype(cpu, dtype, kinds)


def test_64_bit_types_are_there_for_a_case_of_one_alone(cpu: Device) -> None:
    def new_dtypes() -> list[str]:
        return [jnp.ones(2).dtype.name, jnp.arange(2).dtype.name]

    with cpu.scope("complex128"):
        assert new_dtypes() == ["float64", "int64"]
    with cpu.scope("float32"):
        assert new_dtypes() == ["float32", "int32"]
    assert new_dtypes() == ["float32", "int32"]


def test_arrays_are_committed_to_the_device(cpu: Device) -> None:
    arrays = cpu.to_device([np.ones(3), {"key": np.arange(2)}], "float32")
    assert arrays[0].committed
    assert arrays[1]["key"].committed
    assert arrays[0].devices() == {cpu.handle}


def test_what_a_case_does_to_its_array_does_not_reach_the_host(cpu: Device) -> None:
    values = np.ones(4, "float32")
    jax.jit(lambda x: x + 1, donate_argnums=0)(cpu.to_device(values, "float32"))
    assert values.tolist() == [1, 1, 1, 1]


def test_results_of_every_kind_are_taken(cpu: Device) -> None:
    matrix = cpu.to_device(np.array([[3.0, 1.0], [2.0, 5.0]]), "float32")
    results = cpu.to_host(
        {
            "named": jnp.linalg.slogdet(matrix),
            "narrow": matrix.astype("bfloat16"),
            "key": jax.random.key(3),
            "host": np.ones(2, "int16"),
            "shape": matrix.shape,
            "none": None,
        }
    )
    assert [leaf.values.tolist() for leaf in results["named"]] == [1, pytest.approx(np.log(13))]
    assert (results["narrow"].values.tolist(), results["narrow"].dtype) == ([[3, 1], [2, 5]], "bfloat16")
    assert results["key"].values.tolist() == [0, 3]
    assert (results["host"].dtype, results["host"].device) == ("int16", "host")
    assert isinstance(results["host"], Leaf)
    assert (results["shape"], results["none"]) == ((2, 2), None)
    assert not cpu.on_device(results["host"].device)


@pytest.fixture(scope="module")
def power(cpu: Device) -> Any:
    """Start a product of matrices that takes a while."""
    matrix = cpu.to_device(np.random.default_rng(0).standard_normal((1200, 1200)), "float32")

    @jax.jit
    def compute_power(base: Any) -> Any:
        result = base
        for _ in range(4):
            result = result @ base
        return result

    return lambda: compute_power(matrix)


@pytest.mark.parametrize(
    "nest",
    [
        lambda result: result,
        lambda result: [result],
        lambda result: (1, [{"deep": (None, result)}]),
        lambda result: jnp.linalg.slogdet(jnp.eye(2))._replace(sign=result),
    ],
    ids=["alone", "list", "deep", "named"],
)
def test_waiting_really_waits(cpu: Device, power: Any, nest: Any) -> None:
    def fetch(tree: Any) -> None:
        for leaf in jax.tree_util.tree_leaves(tree):
            np.asarray(leaf)

    ratio = promises.assert_waits(cpu, lambda: nest(power()), fetch)
    assert ratio > 3, "the call itself waited: nothing is shown"


@pytest.mark.parametrize("name", sorted(FRAMEWORK.devices))
def test_no_device_compiles_more_than_the_host_beside_it(name: str) -> None:
    """So a repetition on the host shows the behavior of a compiled call, and no other graph is needed."""
    device, call = FRAMEWORK.load_device(name), object
    host = device.host()  # type: ignore[attr-defined]
    assert device.compiled(call) is host.compiled(call) is call
    assert not hasattr(device, "graph")


def test_calls_go_out_as_they_are(cpu: Device) -> None:
    def call() -> None:
        return None

    assert cpu.compiled(call) is call


def test_the_case_seeds_the_hosts_generators(cpu: Device) -> None:
    def draw() -> Any:
        cpu.seed(7)
        return np.random.rand(3).tolist()

    assert draw() == draw()


def test_lookup_finds_functions_classes_and_modules(cpu: Device) -> None:
    assert cpu.lookup("jax.numpy.sum") is jnp.sum
    assert cpu.lookup("jax.tree_util.Partial") is jax.tree_util.Partial
    assert cpu.lookup("jax.scipy.stats.norm.cdf") is jax.scipy.stats.norm.cdf


@pytest.mark.parametrize("name", ["jax.core.eval_context_of_old", "jax.no_such.at_all", "nowhere.at_all"])
def test_a_function_that_is_gone_is_named_with_the_version(cpu: Device, name: str) -> None:
    promises.assert_gone(cpu, name, jax.__version__)


def test_the_host_describes_itself(cpu: Device) -> None:
    description = cpu.describe()
    assert description.device_class is DeviceClass.cpu
    assert description.version == jax.__version__
    assert description.device_count == len(jax.devices())
    assert description.hardware
    assert description.libraries["jaxlib"]


@pytest.mark.parametrize("name", ["cuda", "tpu"])
def test_the_host_is_not_taken_for_an_accelerator(name: str) -> None:
    with pytest.raises(DeviceUnavailableError, match=f"has no {name} here and gave the host CPU instead"):
        FRAMEWORK.load_device(name).describe()


@pytest.mark.skipif(not promises.NO_NVIDIA, reason="this machine has an NVIDIA device")
def test_a_runner_without_cuda_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("jax", "cuda", "cannot open cuda")


@pytest.mark.skipif(not promises.NO_TPU, reason="this machine has a TPU")
def test_a_runner_without_a_tpu_says_so_at_its_start() -> None:
    promises.assert_refused_at_start("jax", "tpu", "cannot open tpu")


def test_jax_works_in_a_child_forked_after_the_import() -> None:
    promises.assert_forkable("jax", "cpu")
