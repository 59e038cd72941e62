"""After a failure, the primitive in flight and its lowerings are read from JAX's own tables, not from error
messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import pytest

from protocol.enums import Kernels
from runners.jax import evidence

MATRIX = jnp.eye(3)
UNLOWERED = jax.extend.core.Primitive("unlowered")
UNLOWERED.def_abstract_eval(lambda aval: aval)


@pytest.mark.parametrize(
    ("call", "name", "dtype", "kernels"),
    [
        (lambda: jnp.linalg.eigh(MATRIX.astype("float16")), "eigh", "float16", Kernels.other_dtypes),
        (lambda: jax.jit(jnp.linalg.qr)(MATRIX.astype("bfloat16")), "geqrf", "bfloat16", Kernels.other_dtypes),
        (lambda: jax.jit(UNLOWERED.bind)(MATRIX), "unlowered", "float32", Kernels.none),
        (lambda: UNLOWERED.bind(MATRIX), "unlowered", "float32", Kernels.none),
        (lambda: jax.lax.erf(MATRIX.astype("int32")), "erf", "int32", Kernels.other_dtypes),
    ],
)
def test_the_primitive_that_fails(call: Callable[[], Any], name: str, dtype: str, kernels: Kernels) -> None:
    primitive = evidence.failing(call, "cpu")
    assert primitive is not None
    assert (primitive.name, primitive.dtypes[0], primitive.kernels) == (name, dtype, kernels)
    assert dtype not in primitive.kernel_dtypes


def test_lowerings_are_those_of_the_platform_in_question() -> None:
    program = jax.jit(jax.lax.linalg.schur).trace(MATRIX)
    primitive = evidence.failing(lambda: program.lower(lowering_platforms=("tpu",)), "tpu")
    assert primitive is not None
    assert (primitive.name, primitive.kernels) == ("schur", Kernels.none)


def test_a_primitive_whose_dtype_is_lowered_is_not_blamed_for_it() -> None:
    primitive = evidence.failing(lambda: jax.lax.dot(MATRIX, jnp.ones((4, 4))), "cpu")
    assert primitive is None or primitive.kernels is not Kernels.other_dtypes


def test_a_call_that_does_not_fail_again_names_nothing() -> None:
    assert evidence.failing(lambda: jnp.abs(MATRIX), "cpu") is None
