"""A watch changes nothing: every way to read an array's values gives the same with and without the watch."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runners.suite.device import Device, Proof
from runners.suite.host_work import Read
from runners.tensorflow.devices import TensorFlowDevice

READS: dict[str, Callable[[Any], Any]] = {
    "memoryview": lambda x: memoryview(x).tolist(),
    "frombuffer": lambda x: np.frombuffer(x, "float32"),
    "bytes": bytes,
    "bytearray": lambda x: bytes(bytearray(x)),
    "asarray": np.asarray,
    "array": np.array,
    "asarray of another dtype": lambda x: np.asarray(x, "float64"),
    "dunder": lambda x: x.__array__(),
    "ufunc": lambda x: np.add(x, x),
    "numpy": lambda x: x.numpy(),
    "a variable": lambda x: tf.Variable(x).numpy(),
    "dlpack": lambda x: tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)).numpy(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).numpy(),
    "copy": lambda x: copy.deepcopy(x).numpy(),
    "repr": repr,
    "str": str,
    "iteration": lambda x: [float(number) for number in x],
    "static value": lambda x: tf.get_static_value(x),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "written to": lambda x: memoryview(x).__setitem__(0, 1.0),
    "float of many": float,
    "bool of many": bool,
    "a place of a float": lambda x: [1, 2][x[0]],
}


def values() -> Any:
    return tf.constant([1.5, -2.5, 3.25])


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_gives_what_it_gives_unwatched(xla: TensorFlowDevice, read: Callable[[Any], Any]) -> None:
    x, proof = values(), Proof()
    before = read(x)
    with xla.counting(proof):
        after = read(x)
    assert type(after) is type(before)
    if isinstance(before, np.ndarray):
        assert after.dtype == before.dtype
        assert np.shares_memory(after, np.asarray(x)) == np.shares_memory(before, np.asarray(x))
    np.testing.assert_array_equal(after, before)
    assert xla._watching is not None
    numbers = sum(event.numbers for event in xla._watching.record.events if isinstance(event, Read))
    assert numbers >= 3, "and it is noted"


@pytest.mark.parametrize("read", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_refused_by_the_same_error(xla: Device, read: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception) as before:
        read(values())
    with xla.counting(Proof()), pytest.raises(before.type) as error:
        read(values())
    assert str(error.value) == str(before.value)


@pytest.mark.parametrize("x", [tf.constant(2.5), tf.constant("text"), tf.constant([True, False]), tf.constant([1, 2])])
def test_arrays_of_every_kind_are_given_to_numpy_as_they_are(xla: Device, x: Any) -> None:
    before = np.asarray(x)
    with xla.counting(Proof()):
        after = np.asarray(x)
    assert (after.dtype, after.shape) == (before.dtype, before.shape)
    np.testing.assert_array_equal(after, before)


def test_a_dtype_that_no_buffer_can_hold_comes_by_another_way(xla: Device) -> None:
    x = tf.cast([1.5, 2.5], tf.bfloat16)
    with xla.counting(Proof()):
        assert np.asarray(x).astype("float32").tolist() == [1.5, 2.5]
        # The refusal stays one, though its words are lost.
        with pytest.raises((ValueError, SystemError)):
            memoryview(x)


def test_an_array_that_becomes_a_constant_of_a_graph_is_read_by_nobody(xla: TensorFlowDevice) -> None:
    x, proof = values(), Proof()
    call = xla.compiled(lambda: tf.constant(x))
    with xla.counting(proof):
        call()
    assert xla._watching is not None
    assert not [event for event in xla._watching.record.events if isinstance(event, Read)]
    assert proof.fallbacks == {}
