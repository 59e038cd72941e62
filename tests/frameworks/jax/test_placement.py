"""Proof of placement: each way in which JAX can leave the device raises an error or is detected."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax._src import callback, debugging
from jax.experimental import io_callback

from protocol.enums import DeviceClass, Ending, Placement, Verdict
from protocol.outcomes import Outcome
from runners.jax import FRAMEWORK
from runners.jax.devices import JaxDevice
from runners.suite.cases import Context, Function
from runners.suite.device import Device

OutcomeOf = Callable[..., Outcome]
ROOT = Path(__file__).parents[3]

DESCRIBE = """
import sys
from runners.jax import FRAMEWORK
from runners.suite.device import DeviceUnavailableError
try:
    print("described:", FRAMEWORK.load_device(sys.argv[1]).describe().hardware)
except DeviceUnavailableError as error:
    print("refused:", error)
"""


def describe(device: str, **environment: str) -> str:
    """The description of a device that a process prints if it is started like a runner."""
    command = [sys.executable, "-c", DESCRIBE, device]
    answer = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=True
    )
    return answer.stdout.strip()


def hide(device: str) -> dict[str, str]:
    """The environment variables of a target on a machine whose GPUs are hidden."""
    return {**FRAMEWORK.devices[device].variables, "CUDA_VISIBLE_DEVICES": ""}


def test_every_target_names_one_platform_and_no_other() -> None:
    # What is only lowered is traced on the host.
    platforms = {name: "cpu" if name.endswith("-lowered") else name for name in FRAMEWORK.devices}
    assert {name: device.variables["JAX_PLATFORMS"] for name, device in FRAMEWORK.devices.items()} == platforms


def test_without_cuda_the_cuda_target_is_refused_with_one_line() -> None:
    message = describe("cuda", **hide("cuda"))
    assert message.startswith("refused: jax ")
    assert message.count("\n") == 0
    assert message.rpartition(": ")[2], "it says why"


def test_a_list_of_platforms_would_fall_back_silently_and_is_refused_too() -> None:
    description = describe("cpu", **{**hide("cuda"), "JAX_PLATFORMS": "cuda,cpu"})
    assert description.startswith("described:"), "by itself JAX takes the host"
    message = describe("cuda", **{**hide("cuda"), "JAX_PLATFORMS": "cuda,cpu"})
    assert message.startswith(f"refused: jax {jax.__version__} has no cuda here and gave the host CPU instead")


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, Any]:
    """The outcomes from a process with two devices (``elsewhere.py``)."""
    command = [sys.executable, "-m", "tests.frameworks.jax.elsewhere"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def outcome(outcomes: dict[str, Any], name: str) -> Outcome:
    return Outcome.model_validate(outcomes[name])


def test_inputs_are_committed_to_the_forced_device(elsewhere: dict[str, Any]) -> None:
    assert elsewhere["put"] == {"committed": True, "devices": ["cpu:1"]}


@pytest.mark.parametrize("name", ["eager", "jit", "vmap", "gradient", "with a host array", "created"])
def test_what_begins_on_the_forced_device_stays_there(elsewhere: dict[str, Any], name: str) -> None:
    result = outcome(elsewhere, name)
    assert (result.verdict, result.placement) == (Verdict.passed, Placement.on_device), result.evidence
    assert result.proof.devices == ["cpu:1"]
    assert result.proof.fallbacks == {}
    assert result.proof.executed


@pytest.mark.parametrize("name", ["beside the first", "beside the first, compiled"])
def test_arrays_of_two_devices_are_not_mixed(elsewhere: dict[str, Any], name: str) -> None:
    result = outcome(elsewhere, name)
    assert result.ending is Ending.raised
    assert result.evidence is not None
    assert "incompatible devices" in str(result.evidence.message)


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("taken to the first", ["cpu:0", "cpu:1"]),
        ("fetched", ["cpu:1", "host"]),
        ("created on the first", ["cpu:0"]),
    ],
)
def test_a_result_on_another_device_or_on_the_host_is_seen(
    elsewhere: dict[str, Any], name: str, devices: list[str]
) -> None:
    result = outcome(elsewhere, name)
    assert (result.verdict, result.placement) == (Verdict.passed, Placement.fell_back)
    assert result.proof.devices == devices


class Only(JaxDevice):
    """The only device of the process, treated like an accelerator: the harness does not know that it is the host."""

    name = "cpu"
    device_class = DeviceClass.other


@pytest.fixture(scope="module")
def accelerator() -> Device:
    device = Only()
    device.prime()
    return device


def double(values: Any) -> Any:
    return np.asarray(values) * 2


def pure(x: Any) -> Any:
    return jax.pure_callback(double, x, x)


def impure(x: Any, is_ordered: bool = False) -> Any:
    return io_callback(double, x, x, ordered=is_ordered)


def looked_at(x: Any, is_ordered: bool = False) -> Any:
    jax.debug.callback(double, x, ordered=is_ordered)
    return x * 2


def print_values(x: Any, is_ordered: bool = False) -> Any:
    jax.debug.print("{}", x, ordered=is_ordered)
    return x * 2


def three_times(body: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Calls a function in a loop. Each turn begins with the previous result."""
    return jax.jit(lambda x: jax.lax.scan(lambda turned, _: (body(turned) / 2, None), x, None, 3)[0] * 2)


CALLS = {
    "pure_callback": pure,
    "io_callback": impure,
    "io_callback, ordered": partial(impure, is_ordered=True),
    "debug_callback": looked_at,
    "debug_callback, ordered": partial(looked_at, is_ordered=True),
    "debug_callback, printed": print_values,
    "debug_callback, printed, ordered": partial(print_values, is_ordered=True),
}


def doubling(call: Callable[[Any], Any]) -> Function:
    function = Function("jax.numpy.add", lambda x: x * 2, lambda context, x: lambda: call(x))
    function.value("doubled", lambda inputs: [inputs.normal(3, 4)])
    return function


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("wrap", "times"), [(lambda call: call, 1), (jax.jit, 1), (three_times, 3)])
def test_a_callback_to_the_host_is_seen_at_each_call(
    accelerator: Device, outcome_of: OutcomeOf, name: str, wrap: Callable[..., Any], times: int
) -> None:
    call = wrap(CALLS[name])
    for _ in range(2):
        # The second time nothing is compiled anew.
        result = outcome_of(accelerator, doubling(call))
        assert (result.verdict, result.placement) == (Verdict.passed, Placement.fell_back), result.evidence
        assert result.proof.fallbacks[name.partition(",")[0]] == 3 * times, "at the cold call, watched, and later"


@pytest.mark.parametrize("name", CALLS)
def test_a_callback_compiled_before_the_case_is_seen(accelerator: Device, outcome_of: OutcomeOf, name: str) -> None:
    compiles = []

    @jax.jit
    def old(x: Any) -> Any:
        compiles.append(x)
        return CALLS[name](x)

    old(np.ones((3, 4), "float32"))
    result = outcome_of(accelerator, doubling(old))
    assert len(compiles) == 1
    assert result.placement is Placement.fell_back


def test_a_callback_is_not_blamed_on_the_next_case(accelerator: Device, outcome_of: OutcomeOf) -> None:
    def implementations() -> list[Any]:
        owners = [(callback, "pure_callback_impl"), (callback, "io_callback_impl"), (debugging, "debug_callback_impl")]
        return [*(getattr(owner, name) for owner, name in owners), debugging.debug_callback_p.impl]

    before = implementations()
    assert outcome_of(accelerator, doubling(jax.jit(pure))).placement is Placement.fell_back
    assert implementations() == before
    assert outcome_of(accelerator, doubling(lambda x: x + x)).placement is Placement.on_device


def test_a_callback_that_is_compiled_and_not_called_is_no_fallback(accelerator: Device, outcome_of: OutcomeOf) -> None:
    branching = jax.jit(lambda x: jax.lax.cond(x.sum() > 1e9, pure, lambda values: values * 2, x))
    result = outcome_of(accelerator, doubling(branching))
    assert (result.verdict, result.placement) == (Verdict.passed, Placement.on_device)
    assert result.proof.fallbacks == {}


def fetch_result(context: Context, x: Any) -> Callable[[], Any]:
    return lambda: np.asarray(context.function(x, x))


def test_a_result_that_is_numpy_is_not_on_the_device(accelerator: Device, outcome_of: OutcomeOf) -> None:
    function = Function("jax.numpy.add", lambda x: x * 2, fetch_result)
    function.value("fetched", lambda inputs: [inputs.normal(4)])
    assert outcome_of(accelerator, function).placement is Placement.fell_back


def test_without_any_array_nothing_is_claimed(accelerator: Device, outcome_of: OutcomeOf) -> None:
    function = Function("jax.numpy.add", lambda: 0, prepare=lambda context: jax.process_index)
    function.value("none", lambda inputs: [])
    assert outcome_of(accelerator, function).placement is Placement.unknown


@pytest.mark.parametrize("name", CALLS)
def test_on_the_host_itself_no_callback_is_accused(cpu: Device, outcome_of: OutcomeOf, name: str) -> None:
    result = outcome_of(cpu, doubling(jax.jit(CALLS[name])))
    assert (result.verdict, result.placement) == (Verdict.passed, Placement.on_device)
    assert result.proof.fallbacks == {}
    assert result.proof.executed == 3


def test_on_the_host_itself_numpy_is_where_it_belongs(cpu: Device, outcome_of: OutcomeOf) -> None:
    function = Function("jax.numpy.add", lambda x: x * 2, fetch_result)
    function.value("fetched", lambda inputs: [inputs.normal(4)])
    result = outcome_of(cpu, function)
    assert (result.placement, result.proof.fallbacks) == (Placement.on_device, {})
