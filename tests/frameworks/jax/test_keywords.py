"""Every keyword that decides values is given by some case, and every function on floats is fed NaN, or it says why."""

from __future__ import annotations

from collections.abc import Sequence

from runners.jax import FRAMEWORK
from runners.suite.cases import Case
from runners.suite.device import Device
from tests.frameworks.common.keywords import Reading, assert_given, assert_words_known, of_functions
from tests.frameworks.common.nans import assert_fed
from tests.frameworks.common.right import assert_known

READING = Reading()
WITHOUT_VALUE: dict[str, str] = {
    "device": "it places the result",
    "out": "NumPy's own; JAX refuses all but None",
    "out_sharding": "it places the result on several devices",
    "sharding": "it places the callback on several devices",
}
"""Keywords that decide no value, wherever they stand."""

UNUSED: dict[str, dict[str, str]] = {
    "jax.lax.all_gather": {"to": "it marks the result for shard_map's own checks"},
    "jax.numpy.add": {"where": "NumPy's own; JAX refuses all but None"},
    "jax.numpy.array": {"order": "it lays the result out, and JAX has its own layouts"},
    "jax.numpy.linalg.svd": {"subset_by_index": "its kernels for CPU and GPU refuse all but the whole range"},
    "jax.scipy.linalg.lu": {
        "check_finite": "SciPy's own; JAX does not look at it",
        "overwrite_a": "SciPy's own; JAX does not look at it",
    },
    "jax.scipy.signal.convolve2d": {
        "boundary": "JAX refuses all but the default",
        "fillvalue": "JAX refuses all but the default",
    },
    "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic": {
        "auto_dce": "it shortens the program, which computes the same",
        "keep_inputs": "it shortens the program, which computes the same",
        "lower": "it chooses the types of what is to be lowered, within JAX itself",
    },
    "jax.vjp": {"reduce_axes": "JAX refuses all but the default"},
}
"""Keywords that could decide values and that no case gives, and why."""

NOT_FED: dict[str, str] = {
    "jax.lax.infeed": "this JAX has none",
    "jax.numpy.linalg.svd": "nothing is promised of a factorisation of NaN",
    "jax.named_call": "it gives a name, and the named function computes",
    "jax.numpy.tril_indices_from": "it reads the shape alone",
    "jax.scipy.linalg.lu": "nothing is promised of a factorisation of NaN",
    "jax.vjp": "the functions that it differentiates have their own cases",
}
"""Functions on floats that no case feeds NaN, and why."""


@of_functions(FRAMEWORK)
def test_every_keyword_that_decides_values_is_given(cpu: Device, chosen: Sequence[Case]) -> None:
    assert_given(cpu, chosen, READING, without_value=WITHOUT_VALUE, exceptions=UNUSED)


@of_functions(FRAMEWORK)
def test_every_function_on_floats_is_fed_nan(chosen: Sequence[Case]) -> None:
    assert_fed(chosen, NOT_FED)


def test_everything_named_as_an_exception_is_charted(cpu: Device) -> None:
    assert_known(FRAMEWORK, [*UNUSED, *NOT_FED])
    assert_words_known(FRAMEWORK, cpu, READING, WITHOUT_VALUE)
