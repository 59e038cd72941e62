"""Cases of functions that create an array from other values: ``arange``, ``array``, ``nn.one_hot``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from runners.jax.suites.paper.calls import in_vmap, jitted, using
from runners.suite.cases import Context, Function, Prepare
from runners.suite.checks import Expected


def spaced(*bounds: Any) -> Any:
    values = np.arange(*bounds)
    return Expected(values, "int32") if values.dtype.kind == "i" else values


arange = Function("jax.numpy.arange", spaced)
arange.value("int32-65536", lambda inputs: [65536])
arange.value("float32-65536", lambda inputs: [65536.0], prepare=using(dtype="float32"))
arange.value("from-to", lambda inputs: [-7, 12])
arange.value("step", lambda inputs: [3, 40, 4])
arange.value("step-backwards", lambda inputs: [20, -3, -5])
arange.value("float32-step", lambda inputs: [0.5, 4.0, 0.25])
arange.value("float64-step", lambda inputs: [0.5, 4.0, 0.3], dtype="float64")
arange.value("float16", lambda inputs: [2.0, 9.0, 0.5], dtype="float16", prepare=using(dtype="float16"))
arange.value("bfloat16", lambda inputs: [2.0, 9.0, 0.5], dtype="bfloat16", prepare=using(dtype="bfloat16"))
arange.value(
    "uint8",
    lambda inputs: [3, 200, 7],
    prepare=using(dtype="uint8"),
    reference=lambda start, stop, step: np.arange(start, stop, step).astype("uint8"),
)
arange.value(
    "int64",
    lambda inputs: [2**40, 2**40 + 9, 2],
    dtype="int64",
    reference=lambda start, stop, step: np.arange(start, stop, step),
)
arange.value("nothing", lambda inputs: [5, 5])
arange.value("nothing-backwards", lambda inputs: [1.0, 5.0, -1.0])


def within_jit(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a compiled program that creates the array as a constant."""
    return context.compiled(jax.jit(lambda: context.function(*arguments, **options)))


arange.value("jitted", lambda inputs: [4096], prepare=within_jit)


def from_host(**fixed: Any) -> Prepare:
    """Return a ``prepare`` that passes the values as a NumPy array in host memory."""

    def prepare(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
        here = np.asarray(values)
        return context.compiled(lambda: context.function(here, **fixed, **options))

    return prepare


def from_lists(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that gets the values as Python numbers in nested lists."""
    here = np.asarray(values).tolist()
    return context.compiled(lambda: context.function(here, **options))


def of_members(context: Context, members: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that gets a list of arrays on the device."""
    return context.compiled(lambda: context.function(members, **options))


def the_same(x: Any, ndmin: int = 0, copy: bool = True) -> Any:
    return np.array(x, ndmin=ndmin)


def copied(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a copy, and then delete the original. The copy must remain."""

    def call() -> Any:
        original = x + 1
        copy = context.function(original)
        original.delete()
        return copy

    return call


array = Function("jax.numpy.array", the_same)
array.value("float32-256x256-from-host", lambda inputs: [inputs.normal(256, 256)], prepare=from_host())
array.value("float64-from-host", lambda inputs: [inputs.normal(31, 9)], dtype="float64", prepare=from_host())
array.value("bfloat16-from-host", lambda inputs: [inputs.normal(31, 9)], dtype="bfloat16", prepare=from_host())
array.value("float16-from-host", lambda inputs: [inputs.normal(31, 9)], dtype="float16", prepare=from_host())
array.value(
    "complex64-from-host",
    lambda inputs: [inputs.normal(7) + 1j * inputs.normal(7)],
    dtype="complex64",
    prepare=from_host(),
)
array.value(
    "uint8-from-host",
    lambda inputs: [inputs.integers(40, low=0, high=256, dtype="uint8")],
    dtype="uint8",
    prepare=from_host(),
)
array.value("float32-lists", lambda inputs: [inputs.normal(4, 5)], prepare=from_lists)
array.value("int32-lists", lambda inputs: [inputs.integers(4, 5, dtype="int32")], dtype="int32", prepare=from_lists)
array.value("bool-lists", lambda inputs: [inputs.booleans(9)], dtype="bool", prepare=from_lists)
array.value("python-float", lambda inputs: [2.5], reference=lambda x: np.array(x, "float64"))
array.value(
    "integers-to-float32",
    lambda inputs: [inputs.integers(40, dtype="int32")],
    prepare=using(dtype="float32"),
    reference=lambda x: x.astype("float64"),
)
array.value(
    "float32-to-int32",
    lambda inputs: [10 * inputs.normal(40)],
    prepare=using(dtype="int32"),
    reference=lambda x: np.trunc(x).astype("int32"),
)
array.value("more-axes", lambda inputs: [inputs.normal(6)], ndmin=3)
array.value("list-of-arrays", lambda inputs: [[inputs.normal(6), inputs.normal(6)]], prepare=of_members)
array.value("empty", lambda inputs: [inputs.normal(0, 3)], prepare=from_host())
array.value("copy", lambda inputs: [inputs.normal(64)], prepare=copied, reference=lambda x: x + 1)
array.value(
    "no-copy-needed",
    lambda inputs: [inputs.normal(31, 9)],
    prepare=using(copy=False),
    reference=lambda x: np.array(x),
)
array.value(
    "nan-and-infinities-from-host",
    lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])],
    prepare=from_host(),
)


def encoded(x: Any, num_classes: int, axis: int = -1) -> Any:
    """Compute a one-hot encoding. A number that is not a class gives a row of zeros."""
    hot = np.asarray(x)[..., None] == np.arange(num_classes)
    return np.moveaxis(hot, -1, axis).astype("float64")


def as_type(dtype: str) -> Callable[..., Any]:
    return lambda *arguments, **options: Expected(encoded(*arguments, **options), dtype)


def classes(count: int, *shape: int) -> Callable[..., Any]:
    return lambda inputs: [inputs.integers(*shape, low=0, high=count, dtype="int32"), count]


one_hot = Function("jax.nn.one_hot", encoded)
one_hot.value("int32-256-of-128", classes(128, 256))
one_hot.value("float64", classes(9, 30), dtype="float64")
one_hot.value("to-bfloat16", classes(9, 30), prepare=using(dtype="bfloat16"), reference=as_type("bfloat16"))
one_hot.value("to-float16", classes(9, 30), prepare=using(dtype="float16"), reference=as_type("float16"))
one_hot.value("to-int32", classes(9, 30), prepare=using(dtype="int32"), reference=as_type("int32"))
one_hot.value("to-bool", classes(9, 30), prepare=using(dtype="bool"), reference=as_type("bool"))
one_hot.value("uint8", lambda inputs: [inputs.integers(40, low=0, high=20, dtype="uint8"), 20])
one_hot.value("of-floats", lambda inputs: [np.array([0.0, 2.0, 1.0, 1.5]), 3])
one_hot.value("outside", lambda inputs: [np.array([-1, 0, 3, 4, 2], "int32"), 4])
one_hot.value("first-axis", classes(5, 6, 7), axis=0)
one_hot.value("middle-axis", classes(5, 6, 7), axis=1)
one_hot.value("scalar", lambda inputs: [np.array(2, "int32"), 5])
one_hot.value("empty", classes(5, 0))
one_hot.value("jitted", classes(64, 128), prepare=jitted)
one_hot.value("vmap", classes(7, 4, 9), prepare=in_vmap)
one_hot.value("of-nan-and-infinities", lambda inputs: [np.array([0.0, np.nan, 2.0, np.inf, -np.inf]), 3])

FUNCTIONS: list[Function] = [arange, array, one_hot]
