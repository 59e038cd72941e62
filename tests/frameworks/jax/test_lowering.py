"""Programs are lowered on the host for a platform that this machine lacks, and missing lowerings are detected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import pytest

from protocol.enums import DeviceClass, Ending, Kernels, Placement, Verdict
from protocol.outcomes import Outcome
from runners.isolation.channel import encode
from runners.isolation.harness import FreeTimingLock
from runners.isolation.lowering import lower_case, lowers
from runners.isolation.observations import as_message, as_storable
from runners.jax import FRAMEWORK
from runners.suite import conformance
from runners.suite.cases import Case, Function
from runners.suite.device import Device

PLATFORMS = ("tpu", "cuda")


@pytest.fixture(params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def device(platform: str) -> Device:
    return FRAMEWORK.load_device(f"{platform}-lowered")


def lower(case: Case, platform: str) -> Outcome:
    """Run a case for the platform. Returns the outcome as a supervisor reads it from the channel."""
    return Outcome.model_validate_json(
        encode(as_message(as_storable(lower_case(device(platform), case, FreeTimingLock()))))
    )


def case(call: Callable[[Any], Any], *, refuses: bool = False, dtype: str = "float32") -> Case:
    function = Function("jax", prepare=lambda context, matrix: lambda: call(matrix))
    function.behaviour("0", lambda inputs: [inputs.normal(3, 3)], lambda *observed: None, dtype=dtype, refuses=refuses)
    return function.cases[0]


@pytest.mark.parametrize(
    ("call", "primitive", "lacking"),
    [
        (jnp.linalg.eig, "eig", {"tpu"}),
        (jax.jit(jnp.linalg.eig), "eig", {"tpu"}),
        (lambda matrix: jax.scipy.linalg.qr(matrix, pivoting=True), "geqp3", {"tpu"}),
        (jax.lax.linalg.tridiagonal, "tridiagonal", {"tpu"}),
        (jax.scipy.linalg.schur, "schur", {"tpu", "cuda"}),
        (jax.scipy.linalg.hessenberg, "hessenberg", {"tpu", "cuda"}),
        (jnp.sin, None, set()),
        (jnp.linalg.svd, None, set()),
        (lambda matrix: jax.random.normal(jax.random.key(0), (3,)), None, set()),
    ],
)
def test_what_has_no_lowering(
    call: Callable[[Any], Any], primitive: str | None, lacking: set[str], platform: str
) -> None:
    outcome = lower(case(call), platform)
    assert outcome.verdict is Verdict.skipped
    if platform not in lacking:
        assert (outcome.ending, outcome.evidence) == (Ending.lowered, None)
        return
    assert outcome.ending is Ending.not_lowered
    assert outcome.evidence is not None
    assert (outcome.evidence.operation, outcome.evidence.kernels) == (primitive, Kernels.none)
    assert outcome.evidence.dtypes[0] == "float32"
    assert platform in (outcome.evidence.message or "")


def test_nothing_is_timed_placed_or_judged(platform: str) -> None:
    outcome = lower(case(lambda matrix: matrix * jnp.nan), platform)
    assert outcome.ending is Ending.lowered
    assert (outcome.timing.cold_ms, outcome.timing.samples_ms) == (None, [])
    assert (outcome.placement, outcome.proof.executed) == (Placement.unknown, None)


def test_what_was_compiled_before_is_lowered_again() -> None:
    """JAX would not lower a cached program again, so a missing lowering would stay undetected."""
    call = jax.jit(jax.scipy.linalg.schur)
    jax.block_until_ready(call(jnp.eye(3)))
    assert [lower(case(call), "tpu").ending for _ in range(2)] == [Ending.not_lowered] * 2


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda matrix: 3, "it compiles no program"),
        (lambda matrix: jax.pure_callback(lambda x: x, matrix, matrix), "its lowering asks the device itself"),
        (lambda matrix: jnp.sin(matrix) @ jnp.ones(4), "it fails on the host"),
    ],
)
def test_where_nothing_can_be_told_the_reason_is(call: Callable[[Any], Any], why: str, platform: str) -> None:
    outcome = lower(case(call), platform)
    assert outcome.ending is Ending.not_applicable
    assert outcome.evidence is not None
    assert why in (outcome.evidence.reason or "")


def test_a_refusal_needs_no_lowering(platform: str) -> None:
    assert lower(case(jax.scipy.linalg.schur, refuses=True), platform).ending is Ending.not_applicable


def test_the_runners_own_functions_run_as_anywhere(platform: str) -> None:
    own = conformance.FUNCTIONS[0].cases[0]
    assert not lowers(device(platform), own)
    assert lowers(device(platform), case(jnp.sin))
    assert not lowers(FRAMEWORK.load_device("cpu"), case(jnp.sin))


def test_it_says_that_it_is_not_the_device(platform: str) -> None:
    description = device(platform).describe()
    assert description.device_class is DeviceClass.other
    assert description.notes == (f"lowered for {platform.upper()} on the host CPU, not run",)
