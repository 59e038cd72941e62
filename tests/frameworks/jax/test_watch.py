"""A watch changes nothing: every way to read an array's values gives the same with and without the watch."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from runners.jax.placement.executions import watch
from runners.suite.device import Proof

READS: dict[str, Callable[[Any], Any]] = {
    "memoryview": lambda x: memoryview(x).tobytes(),
    "frombuffer": lambda x: np.frombuffer(x, "float32"),
    "bytes": bytes,
    "tobytes": lambda x: x.tobytes(),
    "asarray": np.asarray,
    "array": np.array,
    "asarray of another dtype": lambda x: np.asarray(x, "float64"),
    "dunder": lambda x: x.__array__(),
    "ufunc": lambda x: np.add(x, x),
    "tolist": lambda x: x.tolist(),
    "dlpack": np.from_dlpack,
    "pickle": lambda x: np.asarray(pickle.loads(pickle.dumps(x))),
    "copy": lambda x: np.asarray(copy.deepcopy(x)),
    "repr": repr,
    "str": str,
    "iteration": lambda x: [float(number) for number in x],
    "pointer": lambda x: x.unsafe_buffer_pointer(),
    "device_get": jax.device_get,
    "a mask": lambda x: np.asarray(x[x > 0]),
    "a slice": lambda x: np.asarray(x[1:]),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "written to": lambda x: memoryview(x).__setitem__(0, 1.0),
    "float of many": float,
    "bool of many": bool,
    "a place of a float": lambda x: [1, 2][x[0]],
    "iteration over none": lambda x: iter(x[0]),
}


def values() -> Any:
    return jnp.array([1.5, -2.5, 3.25])


def watched_by(proof: Proof) -> Any:
    return watch(proof, lambda device: True, jax.devices()[0])


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_gives_what_it_gives_unwatched(read: Callable[[Any], Any]) -> None:
    x, proof = values(), Proof()
    before = read(x)
    with watched_by(proof):
        after = read(x)
        jnp.sin(x)
    assert type(after) is type(before)
    if isinstance(before, np.ndarray):
        assert after.dtype == before.dtype
        assert np.shares_memory(after, np.asarray(x)) == np.shares_memory(before, np.asarray(x))
    np.testing.assert_array_equal(after, before)
    assert proof.fallbacks, "and it is noted"


@pytest.mark.parametrize("read", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_by_the_same_error(read: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception) as before:
        read(values())
    with watched_by(Proof()), pytest.raises(before.type) as error:
        read(values())
    assert str(error.value) == str(before.value)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "bfloat16", "complex64"])
def test_arrays_of_every_dtype_are_given_to_numpy_as_they_are(dtype: str) -> None:
    x = jnp.array([0, 1, 1], dtype)
    before = np.asarray(x)
    with watched_by(Proof()):
        after = np.asarray(x)
    assert after.dtype == before.dtype
    np.testing.assert_array_equal(after, before)
