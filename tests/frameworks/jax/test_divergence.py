"""For a wrong result, the report names the first primitive whose result on the device differs from the host's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from protocol.enums import Ending, TimingPolicy
from runners.isolation.explanation import add_explanation
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import Observation, ObservedEvidence
from runners.suite import divergence
from runners.suite.cases import Case, Context, Function, Prepare, just_call
from runners.suite.device import Device
from tests.frameworks.jax.accelerator import Accelerator, wrong_tanh


@pytest.fixture(scope="module")
def accelerator(cpu: Device) -> Device:
    return Accelerator()


def the_case(
    call: Callable[..., Any], reference: Callable[..., Any] | None, prepare: Prepare = just_call, dtype: str = "float32"
) -> Case:
    function = Function("planted", reference=reference, given=call)
    function.value("numbers", lambda inputs: (inputs.normal(2, 3),), prepare=prepare, dtype=dtype)
    return function.cases[0]


def explain(device: Device, case: Case, ending: Ending = Ending.mismatched) -> ObservedEvidence:
    """Run a case that fails, and return the evidence with the explanation."""
    before: Observation = run_case(device, case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)
    assert before.ending is ending, before.evidence
    after = add_explanation(device, case, before)
    assert after.evidence is not None
    return after.evidence


def add_up(values: Any) -> Any:
    return jnp.sum(wrong_tanh(jnp.concatenate([values, values * 2])), axis=1) + 1


def numpy_sum(values: Any) -> Any:
    return np.tanh(np.concatenate([values, values * 2])).sum(axis=1) + 1


def with_jit(context: Context, values: Any) -> Callable[[], Any]:
    call = jax.jit(context.function)
    return lambda: call(values)


def with_vmap(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: jax.vmap(context.function)(jnp.stack([values, values]))[1]


def with_checkpoint(context: Context, values: Any) -> Callable[[], Any]:
    return lambda: jax.jit(jax.checkpoint(jax.jit(context.function)))(values)


def with_own_derivative(context: Context, values: Any) -> Callable[[], Any]:
    own = jax.custom_jvp(context.function)
    own.defjvp(lambda primals, tangents: (own(*primals), tangents[0]))
    return lambda: own(values)


def with_gradient(context: Context, values: Any) -> Callable[[], Any]:
    """The gradient of the sum is one, so the value is passed on unchanged."""
    return lambda: jax.value_and_grad(lambda leaf: jnp.sum(context.function(leaf)))(values)[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_the_wrong_operation_is_named_among_right_ones(accelerator: Device, dtype: str) -> None:
    evidence = explain(accelerator, the_case(add_up, numpy_sum, dtype=dtype))
    assert (evidence.operation, evidence.dtypes) == ("wrong_tanh", [dtype])
    assert evidence.on_host == "passed"


@pytest.mark.parametrize("prepare", [with_jit, with_vmap, with_checkpoint, with_own_derivative])
def test_within_functions_that_a_call_calls_too(accelerator: Device, prepare: Prepare) -> None:
    assert explain(accelerator, the_case(add_up, numpy_sum, prepare)).operation == "wrong_tanh"


def test_in_a_gradient_too(accelerator: Device) -> None:
    case = the_case(add_up, lambda values: numpy_sum(values).sum(), with_gradient)
    assert explain(accelerator, case).operation == "wrong_tanh"


def test_the_first_of_two_is_named(accelerator: Device) -> None:
    """The loop is wrong because of the operation inside it."""

    def loop(values: Any) -> Any:
        return wrong_tanh(jax.lax.fori_loop(0, 2, lambda _, carry: wrong_tanh(carry), values))

    evidence = explain(accelerator, the_case(loop, lambda values: np.tanh(np.tanh(np.tanh(values)))))
    assert evidence.operation in ("scan", "while")


def test_right_operations_with_a_wrong_sum_are_not_accused(accelerator: Device) -> None:
    """The function is wrong on every device, but each of its operations is right."""
    evidence = explain(accelerator, the_case(lambda values: jnp.sin(values) * 2, lambda values: np.sin(values) * 3))
    assert evidence.operation is None
    assert evidence.on_host == "failed_alike"


def test_nothing_is_compared_on_the_host(cpu: Device) -> None:
    evidence = explain(cpu, the_case(lambda values: values * 2, lambda values: values * 3))
    assert (evidence.operation, evidence.on_host) == (None, None)


def test_what_cannot_be_traced_names_nothing(accelerator: Device) -> None:
    """The function cannot be traced, because a shape depends on values."""
    evidence = explain(accelerator, the_case(lambda values: wrong_tanh(values[values > 0]), lambda values: values))
    assert evidence.operation is None


def test_large_operations_are_left_out(accelerator: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "MAX_ELEMENTS", 5)
    assert explain(accelerator, the_case(add_up, numpy_sum)).operation is None


def test_nothing_is_compared_when_the_time_is_up(accelerator: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divergence, "COMPARED_FOR_S", 0.0)
    assert explain(accelerator, the_case(add_up, numpy_sum)).operation is None


def test_what_raises_here_alone_passes_on_the_host(accelerator: Device) -> None:
    def refusing(values: Any) -> Any:
        if values.devices() == set(jax.devices()):
            raise RuntimeError("not here")
        return values * 2

    assert explain(accelerator, the_case(refusing, lambda values: values * 2), Ending.raised).on_host == "passed"


def test_the_host_is_no_device_that_a_case_finds(accelerator: Device) -> None:
    host = accelerator.host()
    assert host is not None
    assert host.handle not in jax.devices()
    assert host.handle.platform == "cpu"
    with host.scope("float64"):
        assert jnp.ones(2, "float64").devices() == {host.handle}
    assert jnp.ones(2).devices() == {jax.devices()[0]}
