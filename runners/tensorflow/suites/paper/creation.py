"""Cases of functions that create a tensor from values, from another tensor (``tf.cast``), or by a rule (``tf.range``,
``tf.fill``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Expected
from runners.suite.rounding import rounded
from runners.tensorflow.suites.paper.calls import (
    from_host,
    gradient,
    in_graph,
    of_unknown_shapes,
    refused,
    refusing,
    traced,
    using,
)

NAN, INF = float("nan"), float("inf")
FLOATS = ("float16", "bfloat16", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def converted(x: Any, dtype: str) -> Expected:
    """Return the correct result of a cast to ``dtype``. Floats are rounded to a float type, and toward zero to an
    integer type."""
    if "float" in dtype:
        return Expected(rounded(np.real(x).astype("float64"), dtype), dtype)
    if dtype.startswith("complex"):
        return Expected(np.asarray(x).astype(dtype), dtype)
    return Expected(np.asarray(np.real(x)).astype(dtype), dtype)


cast = Function("tf.cast")


def casting(
    name: str,
    arguments: Callable[[Inputs], Any],
    source: str,
    target: str,
    expected: Callable[[Any], Any] | None = None,
    how: Callable[..., Any] = using,
) -> None:
    """Add a case of a cast from ``source`` to ``target``. It allows no difference, because a cast rounds correctly and
    once."""
    cast.value(
        name,
        arguments,
        dtype=source,
        prepare=how(dtype=target),
        reference=expected or (lambda x: converted(x, target)),
        tolerance=EXACT,
    )


casting("float32-to-int32-256x256", lambda inputs: [inputs.normal(256, 256) * 1000], "float32", "int32")
casting("float32-to-float16", lambda inputs: [inputs.normal(64, 128)], "float32", "float16")
casting("float32-to-bfloat16", lambda inputs: [inputs.normal(64, 128)], "float32", "bfloat16")
casting("float32-to-float64", lambda inputs: [inputs.normal(64, 128)], "float32", "float64")
casting("float64-to-float32", lambda inputs: [inputs.normal(64, 128)], "float64", "float32")
casting("float16-to-float32", lambda inputs: [inputs.normal(33, 65)], "float16", "float32")
casting("bfloat16-to-float32", lambda inputs: [inputs.normal(33, 65)], "bfloat16", "float32")
casting("bfloat16-to-float16", lambda inputs: [inputs.normal(33, 65)], "bfloat16", "float16")
casting("float64-to-int64", lambda inputs: [inputs.normal(9, 10) * 1e12], "float64", "int64")
casting("float32-to-bool", lambda inputs: [inputs.normal(9, 10) * inputs.booleans(9, 10)], "float32", "bool")
casting("float32-to-complex64", lambda inputs: [inputs.normal(9, 10)], "float32", "complex64")
casting(
    "complex64-to-float32-is-its-real-part",
    lambda inputs: [inputs.normal(9) + 1j * inputs.normal(9)],
    "complex64",
    "float32",
)
casting("complex64-to-complex128", lambda inputs: [inputs.normal(9) + 1j * inputs.normal(9)], "complex64", "complex128")
casting("bool-to-float32", lambda inputs: [inputs.booleans(20, 30)], "bool", "float32")
casting("bool-to-int32", lambda inputs: [inputs.booleans(20, 30)], "bool", "int32")
casting("int32-to-bool", lambda inputs: [inputs.integers(9, 9, low=-1, high=2, dtype="int32")], "int32", "bool")
casting(
    "uint8-to-float32", lambda inputs: [inputs.integers(64, 64, low=0, high=256, dtype="uint8")], "uint8", "float32"
)
casting(
    "int32-to-float16",
    lambda inputs: [inputs.integers(20, 20, low=-2000, high=2000, dtype="int32")],
    "int32",
    "float16",
)
casting(
    "int64-to-int32-keeps-the-low-bits",
    lambda inputs: [inputs.integers(40, low=-(2**40), high=2**40)],
    "int64",
    "int32",
)
casting(
    "int32-to-uint8-wraps", lambda inputs: [inputs.integers(40, low=-999, high=999, dtype="int32")], "int32", "uint8"
)
casting(
    "int8-to-uint16-wraps", lambda inputs: [inputs.integers(40, low=-128, high=127, dtype="int8")], "int8", "uint16"
)
casting("float32-above-float16-is-infinite", lambda inputs: [np.array([7e4, -1e6, 65504.0])], "float32", "float16")
casting("nan-and-infinities", lambda inputs: [np.array([NAN, INF, -INF, 0.5])], "float32", "float64")
casting("nan-and-infinities-are-true", lambda inputs: [np.array([NAN, INF, -INF, 0.0])], "float32", "bool")
casting("halves-towards-zero", lambda inputs: [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.9])], "float32", "int32")
casting("scalar", lambda inputs: [np.asarray(3.75)], "float32", "int64")
casting("empty", lambda inputs: [inputs.normal(0, 4)], "float32", "int32")
casting(
    "same-dtype-keeps-all",
    lambda inputs: [inputs.normal(8, 9)],
    "float32",
    "float32",
)


def cast_then_back(context: Context, x: Any, upstream: Any, *, through: str) -> Callable[[], Any]:
    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            result = context.function(x, through)
        return [result, tape.gradient(result, x, upstream)]

    return context.compiled(call)


def of_sparse(context: Context, indices: Any, values: Any, *, to: str) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(tf.SparseTensor(indices, values, [6, 7]), to))


cast.value(
    "gradient-has-the-dtype-of-what-was-cast",
    lambda inputs: [inputs.normal(5, 6), inputs.normal(5, 6)],
    prepare=lambda context, x, upstream: cast_then_back(context, x, tf.cast(upstream, tf.float64), through="float64"),
    reference=lambda x, upstream: [Expected(x, "float64"), upstream],
    tolerance=EXACT,
)
cast.value(
    "sparse",
    lambda inputs: [np.array([[0, 1], [2, 3], [5, 6]]), inputs.normal(3) * 9],
    prepare=of_sparse,
    reference=lambda indices, values, to: {
        "indices": indices,
        "values": values.astype(to),
        "shape": np.array([6, 7]),
    },
    to="int32",
)
cast.value(
    "traced",
    lambda inputs: [inputs.normal(12, 13) * 9],
    prepare=lambda context, x: context.compiled(lambda: tf.function(context.function)(x, tf.int32)),
    reference=lambda x: x.astype("int32"),
)

constant = Function("tf.constant", lambda x: np.asarray(x), from_host)
constant.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)], tolerance=EXACT)
for dtype in FLOATS:
    constant.value(dtype, lambda inputs: [inputs.normal(33, 17)], dtype=dtype, tolerance=EXACT)
for dtype in INTEGERS:
    constant.value(
        dtype,
        lambda inputs, dtype=dtype: [inputs.integers(6, 7, low=0, high=100, dtype=dtype)],  # type: ignore[misc]
        dtype=dtype,
    )
constant.value("bool", lambda inputs: [inputs.booleans(8, 9)], dtype="bool")
constant.value(
    "complex64", lambda inputs: [inputs.normal(4, 5) + 1j * inputs.normal(4, 5)], dtype="complex64", tolerance=EXACT
)
constant.value(
    "complex128", lambda inputs: [inputs.normal(4, 5) + 1j * inputs.normal(4, 5)], dtype="complex128", tolerance=EXACT
)
constant.value(
    "strings", lambda inputs: [np.array([b"cape", b"", b"sound"])], reference=lambda x: Expected(x, "string")
)
constant.value(
    "list-of-numbers-is-float32",
    lambda inputs: [[[1.5, 2.25], [-3.0, 4.0]]],
    reference=lambda x: np.array(x),
)
constant.value(
    "list-of-whole-numbers-is-int32",
    lambda inputs: [[1, -2, 3]],
    reference=lambda x: np.array(x, "int32"),
    dtype="int32",
)
constant.value("scalar-number", lambda inputs: [2.5])
constant.value("no-elements", lambda inputs: [inputs.normal(0, 3)])
constant.value("nan-and-infinities", lambda inputs: [np.array([NAN, INF, -INF, -0.5])])
constant.value("five-axes", lambda inputs: [inputs.normal(2, 1, 3, 1, 4)], tolerance=EXACT)
constant.value("not-contiguous", lambda inputs: [inputs.normal(9, 8)[::2, ::-1].T], tolerance=EXACT)
constant.value(
    "to-another-dtype",
    lambda inputs: [[1, 2, 300]],
    prepare=using(dtype=tf.float16),
    reference=lambda x: Expected(np.array(x), "float16"),
)
constant.value(
    "one-value-fills-a-shape", lambda inputs: [7.5], reference=lambda x, shape: np.full(shape, x), shape=(64, 128)
)
constant.value(
    "a-row-takes-a-shape",
    lambda inputs: [inputs.normal(24)],
    reference=lambda x, shape: x.reshape(shape),
    shape=(2, 3, 4),
)
constant.value("tensor-given", lambda inputs: [inputs.normal(8, 9)], prepare=using(), tolerance=EXACT)
constant.value(
    "traced",
    lambda inputs: [inputs.normal(8, 9)],
    prepare=lambda context, x: on_host_traced(context, x),
    tolerance=EXACT,
)
constant.value("in-graph", lambda inputs: [[[1.5, 2.0], [4.0, -8.0]]], prepare=in_graph, reference=np.array)


def on_host_traced(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a call in which the values become part of the function's graph."""
    values = x.numpy()
    return context.compiled(tf.function(lambda: context.function(values) * 1))


constant.behaviour(
    "refuses-rows-of-unequal-length",
    lambda inputs: [[[1, 2], [3]]],
    refused,
    prepare=refusing(ValueError),
    refuses=True,
)
constant.behaviour(
    "refuses-too-many-values-for-a-shape",
    lambda inputs: [[1.0, 2.0, 3.0]],
    refused,
    prepare=refusing(TypeError, ValueError, shape=(2, 2)),
    refuses=True,
)

convert = Function("tf.convert_to_tensor", lambda x: np.asarray(x), from_host)
convert.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)], tolerance=EXACT)
for dtype in FLOATS:
    convert.value(dtype, lambda inputs: [inputs.normal(33, 17)], dtype=dtype, tolerance=EXACT)
convert.value("int64", lambda inputs: [inputs.integers(9, 8)], dtype="int64")
convert.value("uint8", lambda inputs: [inputs.integers(9, 8, low=0, high=255, dtype="uint8")], dtype="uint8")
convert.value("bool", lambda inputs: [inputs.booleans(9, 8)], dtype="bool")
convert.value(
    "complex64", lambda inputs: [inputs.normal(9) - 1j * inputs.normal(9)], dtype="complex64", tolerance=EXACT
)
convert.value("list-of-lists", lambda inputs: [[[1.5, 2.25], [-3.0, 4.0]]], reference=np.array)
convert.value("scalar", lambda inputs: [-1.25])
convert.value("empty-list-is-float32", lambda inputs: [[]], reference=lambda x: np.zeros(0))
convert.value(
    "tensors-in-a-list-are-stacked",
    lambda inputs: [[inputs.normal(5), inputs.normal(5), inputs.normal(5)]],
    prepare=using(),
    reference=np.stack,
    tolerance=EXACT,
)
convert.value("tensor-as-it-is", lambda inputs: [inputs.normal(6, 7)], prepare=using(), tolerance=EXACT)
convert.value(
    "wanted-dtype",
    lambda inputs: [[1, 2, 3]],
    prepare=using(dtype=tf.float64),
    reference=lambda x: Expected(np.array(x), "float64"),
)
convert.value(
    "hint-that-fits",
    lambda inputs: [[1, 2, 3]],
    prepare=using(dtype_hint=tf.float16),
    reference=lambda x: Expected(np.array(x), "float16"),
)
convert.value(
    "hint-that-cannot-be-followed",
    lambda inputs: [[1.5, 2.5]],
    prepare=using(dtype_hint=tf.int32),
    reference=lambda x: np.array(x),
)


def of_variable(context: Context, x: Any) -> Callable[[], Any]:
    variable = tf.Variable(x)
    return context.compiled(lambda: context.function(variable))


convert.value("variable", lambda inputs: [inputs.normal(6, 7)], prepare=of_variable, tolerance=EXACT)
convert.value(
    "traced-list-of-tensors",
    lambda inputs: [[inputs.normal(4, 3), inputs.normal(4, 3)]],
    prepare=lambda context, rows: context.compiled(lambda: tf.function(context.function)(rows)),
    reference=np.stack,
    tolerance=EXACT,
)
convert.behaviour(
    "refuses-another-dtype-than-the-tensors",
    lambda inputs: [inputs.normal(3)],
    refused,
    prepare=refusing(ValueError, dtype=tf.int32),
    refuses=True,
)
convert.value("nan-and-infinities", lambda inputs: [np.array([[NAN, INF], [-INF, -0.5]])])


def filled(shape: Any, value: Any) -> Any:
    return np.full(tuple(shape), value, value.dtype if isinstance(value, np.ndarray) else np.float64)


fill = Function("tf.fill", filled)
fill.value("float32-256x256", lambda inputs: [[256, 256], inputs.normal()])
for dtype in FLOATS:
    fill.value(dtype, lambda inputs: [[17, 9], inputs.normal()], dtype=dtype, tolerance=EXACT)
for dtype in ("uint8", "int32", "int64"):
    fill.value(
        dtype,
        lambda inputs, dtype=dtype: [[6, 7], inputs.integers(low=1, high=90, dtype=dtype)],  # type: ignore[misc]
        dtype=dtype,
    )
fill.value("bool", lambda inputs: [[6, 7], np.array(True)], dtype="bool")
fill.value(
    "complex64", lambda inputs: [[6, 7], inputs.normal() + 2j], dtype="complex64", reference=lambda s, x: np.full(s, x)
)
fill.value("number", lambda inputs: [[64, 128], 4.5])
fill.value("no-axes", lambda inputs: [[], inputs.normal()])
fill.value("no-elements", lambda inputs: [[3, 0, 2], inputs.normal()])
fill.value("infinity", lambda inputs: [[4, 5], np.asarray(-INF)])
fill.value("shape-on-device", lambda inputs: [np.array([12, 13], "int32"), inputs.normal()])
fill.value("in-graph", lambda inputs: [[12, 13], inputs.normal()], prepare=in_graph)
fill.value(
    "gradient-is-the-sum",
    lambda inputs: [[8, 9], inputs.normal(), inputs.normal(8, 9)],
    prepare=gradient,
    reference=lambda shape, x, upstream: [np.full(shape, x), np.asarray(upstream.sum())],
)
fill.value("nan", lambda inputs: [[4, 5], np.asarray(NAN)])

steps = Function("tf.range", lambda *limits, **_: np.arange(*limits))


def counted(dtype: str) -> Callable[..., Any]:
    return lambda *limits: Expected(np.arange(*map(float, limits)), dtype)


steps.value("int32-100000", lambda inputs: [100_000], dtype="int32", reference=lambda n: np.arange(n, dtype="int32"))
steps.value("int32-start-and-limit", lambda inputs: [-7, 300], reference=lambda *n: np.arange(*n, dtype="int32"))
steps.value("int32-backwards", lambda inputs: [90, -30, -7], reference=lambda *n: np.arange(*n, dtype="int32"))
steps.value("float32-fractions", lambda inputs: [0.5, 64.0, 0.25])
steps.value("float32-backwards", lambda inputs: [3.0, -3.0, -0.125])
for dtype in ("int64", "float64", "float32", "float16", "bfloat16", "int32"):
    steps.value(
        f"dtype-{dtype}",
        lambda inputs: [2, 60, 2],
        prepare=using(dtype=getattr(tf, dtype)),
        reference=counted(dtype),
        tolerance=EXACT,
    )
steps.value("none-left", lambda inputs: [5, 5], reference=lambda *n: np.arange(*n, dtype="int32"))
steps.value("step-past-the-limit", lambda inputs: [0, 10, 100], reference=lambda *n: np.zeros(1, "int32"))
steps.value(
    "limits-on-device",
    lambda inputs: [np.asarray(3, "int64"), np.asarray(90, "int64"), np.asarray(4, "int64")],
    reference=lambda *n: np.arange(*n),
)
steps.value(
    "traced",
    lambda inputs: [40],
    prepare=lambda context, n: context.compiled(lambda: tf.function(context.function)(n) + 0),
    reference=lambda n: np.arange(n, dtype="int32"),
)
steps.value("in-graph", lambda inputs: [4.0, 20.0, 0.5], prepare=in_graph)
steps.behaviour(
    "refuses-a-step-of-zero",
    lambda inputs: [0, 5, 0],
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)


def masked(lengths: Any, maxlen: int | None = None, dtype: Any = None) -> Any:
    longest = int(lengths.max()) if maxlen is None else maxlen
    return np.arange(longest) < np.expand_dims(lengths, -1)


mask = Function("tf.sequence_mask", masked)
mask.value("int32-256-of-128", lambda inputs: [inputs.integers(256, low=0, high=129, dtype="int32")], maxlen=128)
mask.value("int64-longest-counts", lambda inputs: [np.array([1, 3, 2, 0, 7])])
mask.value("two-axes", lambda inputs: [inputs.integers(4, 5, low=0, high=9, dtype="int32")], maxlen=8)
mask.value("scalar", lambda inputs: [np.asarray(3, "int32")], maxlen=7)
mask.value("longer-than-the-mask", lambda inputs: [np.array([9, 2, 30], "int32")], maxlen=5)
mask.value("negative-is-none", lambda inputs: [np.array([-2, 2, 1], "int32")], maxlen=4)
mask.value("no-lengths", lambda inputs: [np.zeros(0, "int32")], maxlen=4)
mask.value(
    "list-of-numbers", lambda inputs: [[1, 4, 2]], maxlen=4, reference=lambda x, maxlen: masked(np.array(x), maxlen)
)
for dtype in ("float32", "float16", "int32", "uint8"):
    mask.value(
        f"as-{dtype}",
        lambda inputs: [inputs.integers(12, low=0, high=10, dtype="int32")],
        prepare=using(dtype=getattr(tf, dtype)),
        reference=lambda lengths, maxlen, dtype=dtype: Expected(masked(lengths, maxlen).astype("float64"), dtype),
        maxlen=10,
    )
mask.value(
    "uint8-lengths", lambda inputs: [inputs.integers(9, low=0, high=20, dtype="uint8")], dtype="uint8", maxlen=20
)
mask.value("traced", lambda inputs: [np.array([1, 3, 2])], prepare=traced, maxlen=3)
mask.value("of-unknown-shapes", lambda inputs: [np.array([1, 3, 2])], prepare=of_unknown_shapes, maxlen=4)

FUNCTIONS: list[Function] = [cast, constant, convert, fill, steps, mask]
