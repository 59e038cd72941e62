"""Cases of functions that rearrange elements: ``reshape``, ``split``, ``stack``, and of ``size`` and ``isscalar``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted, using
from runners.suite.cases import Context, Function, Prepare, just_call
from runners.suite.checks import require_refusal
from runners.suite.sequences import aligned


def reshaped(x: Any, shape: Any, order: Any = "C") -> Any:
    return np.reshape(x, shape, order=order)


def transposed_first(context: Context, x: Any, shape: Any, **options: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(x.T, shape, **options))


def copied(context: Context, x: Any, shape: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a copy, and then delete the original. The copy must remain."""

    def call() -> Any:
        original = x + 1
        copy = context.function(original, shape, **options)
        original.delete()
        return copy

    return call


reshape = Function("jax.numpy.reshape", reshaped)
reshape.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), (128, 512)])
reshape.value("float64-one-size-open", lambda inputs: [inputs.normal(6, 7, 8), (-1, 21)], dtype="float64")
reshape.value("float16-flat", lambda inputs: [inputs.normal(40, 9), -1], dtype="float16")
reshape.value("bfloat16", lambda inputs: [inputs.normal(40, 9), (9, 40)], dtype="bfloat16")
reshape.value("complex64", lambda inputs: [inputs.normal(12, 5) + 1j, (5, 12)], dtype="complex64")
reshape.value("int32", lambda inputs: [inputs.integers(12, 5, dtype="int32"), (3, 4, 5)])
reshape.value("uint8", lambda inputs: [inputs.integers(12, 5, low=0, high=256, dtype="uint8"), (60, 1)])
reshape.value("bool", lambda inputs: [inputs.booleans(64), (4, 4, 4)])
reshape.value("columns-first", lambda inputs: [inputs.normal(6, 10), (4, 15)], order="F")
reshape.value("columns-first-open", lambda inputs: [inputs.normal(6, 10, 2), (5, -1)], order="F")
reshape.value("scalar-to-array", lambda inputs: [inputs.normal(), (1, 1)])
reshape.value("array-to-scalar", lambda inputs: [inputs.normal(1, 1), ()])
reshape.value("empty", lambda inputs: [inputs.normal(0, 6), (2, 0, 3)])
reshape.value(
    "transposed",
    lambda inputs: [inputs.normal(12, 5), (4, 15)],
    prepare=transposed_first,
    reference=lambda x, shape: np.reshape(x.T, shape),
)
reshape.value("jitted", lambda inputs: [inputs.normal(64, 128), (128, 64)], prepare=jitted)
reshape.value(
    "vmap",
    lambda inputs: [inputs.normal(6, 4, 5), (10, 2)],
    prepare=in_vmap,
    reference=lambda x, shape: x.reshape(6, 10, 2),
)
reshape.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 6), (4, 12), inputs.normal(4, 12)],
    prepare=gradient,
    reference=lambda x, shape, upstream: [x.reshape(shape), upstream.reshape(x.shape)],
)


def raised_by(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the name of the error that the function raises for its arguments; None without an error."""

    def call() -> Any:
        try:
            context.function(*arguments, **options)
        except Exception as error:
            return type(error).__name__
        return None

    return call


def assert_refused(error: Any, *arguments: Any, **options: Any) -> None:
    require_refusal(error, "TypeError", "ValueError")


reshape.behaviour(
    "other-size-is-refused",
    lambda inputs: [inputs.normal(6, 10), (7, 9)],
    assert_refused,
    prepare=raised_by,
    refuses=True,
)
reshape.value(
    "copy",
    lambda inputs: [inputs.normal(12, 5), (4, 15)],
    prepare=copied,
    reference=lambda x, shape, copy: np.reshape(x + 1, shape),
    copy=True,
)
reshape.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]]), (3, 2)])


def pieces(x: Any, where: Any, axis: int = 0) -> Any:
    """Split the array by the definition of the cuts, without NumPy's own function."""
    size = x.shape[axis]
    cuts = [size // where * number for number in range(1, where)] if isinstance(where, int) else list(where)
    bounds = [slice(start, stop) for start, stop in aligned([0, *cuts], [*cuts, size])]
    return [np.moveaxis(np.moveaxis(x, axis, 0)[part], 0, axis) for part in bounds]


def split_gradient(x: Any, where: Any, axis: int, upstream: Any) -> Any:
    return [pieces(x, where, axis), np.concatenate(upstream, axis)]


split = Function("jax.numpy.split", pieces)
split.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), 8])
split.value("float32-columns", lambda inputs: [inputs.normal(64, 128), 4], axis=1)
split.value("float64-at", lambda inputs: [inputs.normal(12, 9), (3, 4, 10)], dtype="float64")
split.value("float16", lambda inputs: [inputs.normal(12, 9), 3], dtype="float16", axis=-1)
split.value("bfloat16", lambda inputs: [inputs.normal(12, 9), 3], dtype="bfloat16", axis=-1)
split.value("complex64", lambda inputs: [inputs.normal(12) + 1j, 2], dtype="complex64")
split.value("int32", lambda inputs: [inputs.integers(12, 5, dtype="int32"), 6])
split.value("uint8", lambda inputs: [inputs.integers(12, 5, low=0, high=256, dtype="uint8"), 2])
split.value("bool", lambda inputs: [inputs.booleans(4, 6, 8), 2], axis=-2)
split.value("empty-piece", lambda inputs: [inputs.normal(9, 4), (2, 2, 5)])
split.value("to-the-end", lambda inputs: [inputs.normal(6), (2, 6)])
split.value("nothing-to-split", lambda inputs: [inputs.normal(0, 4), 2])
split.value("jitted", lambda inputs: [inputs.normal(64, 128), 2], prepare=jitted)
split.value(
    "gradient",
    lambda inputs: [inputs.normal(8, 6), (1, 4), 1, [inputs.normal(8, 1), inputs.normal(8, 3), inputs.normal(8, 2)]],
    prepare=gradient,
    reference=split_gradient,
)
split.behaviour(
    "unequal-parts-are-refused",
    lambda inputs: [inputs.normal(10, 3), 4],
    assert_refused,
    prepare=raised_by,
    refuses=True,
)
split.value("nan-and-infinities", lambda inputs: [np.array([np.nan, 1.0, np.inf, -np.inf, 0.0, np.nan]), 3])


def of_list(prepare: Prepare) -> Prepare:
    """Pass a case's arrays to the function as one list."""

    def prepared(context: Context, *arrays: Any, **options: Any) -> Callable[[], Any]:
        function = context.function
        return prepare(
            replace(context, function=lambda *members, **given: function(list(members), **given)), *arrays, **options
        )

    return prepared


def stacked(*arrays: Any, axis: int = 0) -> Any:
    first = arrays[0]
    axis %= first.ndim + 1
    result = np.empty((*first.shape[:axis], len(arrays), *first.shape[axis:]), np.result_type(*arrays))
    for index, array in enumerate(arrays):
        result[(slice(None),) * axis + (index,)] = array
    return result


stack = Function("jax.numpy.stack", stacked, prepare=of_list(just_call))
stack.value("float32-4-of-128x128", lambda inputs: [inputs.normal(128, 128) for _ in range(4)])
stack.value("float32-last-axis", lambda inputs: [inputs.normal(64, 32) for _ in range(3)], axis=-1)
stack.value("float64", lambda inputs: [inputs.normal(6, 7) for _ in range(5)], dtype="float64", axis=1)
stack.value("float16", lambda inputs: [inputs.normal(9) for _ in range(3)], dtype="float16", axis=1)
stack.value("bfloat16", lambda inputs: [inputs.normal(9) for _ in range(3)], dtype="bfloat16", axis=1)
stack.value("complex64", lambda inputs: [inputs.normal(9) + 1j, inputs.normal(9) - 1j], dtype="complex64")
stack.value("int32", lambda inputs: [inputs.integers(4, 5, dtype="int32") for _ in range(2)], axis=-2)
stack.value("uint8", lambda inputs: [inputs.integers(9, low=0, high=256, dtype="uint8") for _ in range(2)])
stack.value("bool", lambda inputs: [inputs.booleans(9) for _ in range(2)], axis=1)
stack.value(
    "int32-and-float32",
    lambda inputs: [inputs.integers(9, dtype="int32"), inputs.normal(9)],
)
stack.value("scalars", lambda inputs: [inputs.normal(), inputs.normal(), inputs.normal()])
stack.value("one-array", lambda inputs: [inputs.normal(4, 3)], axis=1)
stack.value("empty", lambda inputs: [inputs.normal(0, 3), inputs.normal(0, 3)], axis=1)
stack.value("jitted", lambda inputs: [inputs.normal(64, 32) for _ in range(3)], prepare=of_list(jitted), axis=1)
stack.value(
    "vmap",
    lambda inputs: [inputs.normal(6, 5) for _ in range(3)],
    prepare=of_list(in_vmap),
    reference=lambda *arrays: stacked(*arrays, axis=1),
)
stack.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 3), inputs.normal(4, 3), inputs.normal(2, 4, 3)],
    prepare=of_list(gradient),
    reference=lambda x, y, upstream: [stacked(x, y), upstream[0], upstream[1]],
)
stack.behaviour(
    "unequal-shapes-are-refused",
    lambda inputs: [inputs.normal(4, 3), inputs.normal(3, 4)],
    assert_refused,
    prepare=of_list(raised_by),
    refuses=True,
)
stack.value(
    "to-float64",
    lambda inputs: [inputs.integers(9, dtype="int32"), inputs.integers(9, dtype="int32")],
    dtype="float64",
    prepare=of_list(using(dtype="float64")),
    reference=lambda *arrays: stacked(*arrays).astype("float64"),
)
stack.value(
    "nan-and-infinities",
    lambda inputs: [np.array([np.nan, 1.0, np.inf]), np.array([-np.inf, 0.0, np.nan])],
    axis=1,
)


def counted(x: Any, axis: Any = None) -> int:
    axes = range(np.ndim(x)) if axis is None else (axis,) if isinstance(axis, int) else axis
    count = 1
    for dimension in axes:
        count *= np.shape(x)[dimension]
    return count


size = Function("jax.numpy.size", counted)
size.value("float32-64x128", lambda inputs: [inputs.normal(64, 128)])
size.value("one-axis", lambda inputs: [inputs.normal(6, 7, 8)], axis=-2)
size.value("two-axes", lambda inputs: [inputs.normal(6, 7, 8)], axis=(0, 2))
size.value("scalar", lambda inputs: [inputs.normal()])
size.value("empty", lambda inputs: [inputs.normal(0, 7)])
size.value("bool", lambda inputs: [inputs.booleans(3, 4)])
size.value("python-number", lambda inputs: [3.5])


def of_what_it_holds(context: Context, kind: str, x: Any = None) -> Callable[[], Any]:
    argument = {"string": "twelve", "list": [1.0], "none": None}.get(kind, x)
    return lambda: context.function(argument)


isscalar = Function(
    "jax.numpy.isscalar",
    lambda kind, x=None: kind in ("string", "scalar"),
    prepare=of_what_it_holds,
)
isscalar.value("array-without-axes", lambda inputs: ["scalar", inputs.normal()])
isscalar.value("int32-without-axes", lambda inputs: ["scalar", inputs.integers(dtype="int32")])
isscalar.value("one-element", lambda inputs: ["array", inputs.normal(1)])
isscalar.value("float32-64x128", lambda inputs: ["array", inputs.normal(64, 128)])
isscalar.value("python-float", lambda inputs: ["scalar", 2.5])
isscalar.value("python-complex", lambda inputs: ["scalar", 2.5j])
isscalar.value("python-bool", lambda inputs: ["scalar", True])
isscalar.value("string", lambda inputs: ["string"])
isscalar.value("list", lambda inputs: ["list"])
isscalar.value("none", lambda inputs: ["none"])

FUNCTIONS: list[Function] = [reshape, split, stack, size, isscalar]
