"""Cases of functions that select or reverse elements: ``flip``, ``fliplr``, ``compress``, ``delete``, ``lax.select``,
``lax.slice_in_dim``, ``lax.top_k``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Expected


def flipped(x: Any, axis: Any = None) -> Any:
    return np.asarray(np.flip(x, axis)).copy()


flip = Function("jax.numpy.flip", flipped)
flip.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
flip.value("float64-first-axis", lambda inputs: [inputs.normal(31, 9)], dtype="float64", axis=0)
flip.value("bfloat16-last-axis", lambda inputs: [inputs.normal(31, 9)], dtype="bfloat16", axis=-1)
flip.value("float16", lambda inputs: [inputs.normal(40)], dtype="float16")
flip.value("complex64", lambda inputs: [inputs.normal(7, 5) + 1j * inputs.normal(7, 5)], dtype="complex64", axis=1)
flip.value("int32-two-axes", lambda inputs: [inputs.integers(4, 5, 6, dtype="int32")], dtype="int32", axis=(0, -1))
flip.value("uint8", lambda inputs: [inputs.integers(9, 11, low=0, high=256, dtype="uint8")], dtype="uint8")
flip.value("bool", lambda inputs: [inputs.booleans(64)], dtype="bool")
flip.value("empty", lambda inputs: [inputs.normal(0, 4)], axis=1)
flip.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted, axis=1)
flip.value("vmap", lambda inputs: [inputs.normal(6, 20)], prepare=in_vmap, reference=lambda x: x[:, ::-1].copy())
flip.value(
    "gradient",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.flip(x), np.flip(upstream)],
)
flip.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])], axis=1)

fliplr = Function("jax.numpy.fliplr", lambda x: x[:, ::-1].copy())
fliplr.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
fliplr.value("float64-three-axes", lambda inputs: [inputs.normal(5, 6, 7)], dtype="float64")
fliplr.value("bfloat16", lambda inputs: [inputs.normal(5, 60)], dtype="bfloat16")
fliplr.value("complex64", lambda inputs: [inputs.normal(7, 5) + 1j * inputs.normal(7, 5)], dtype="complex64")
fliplr.value("int32", lambda inputs: [inputs.integers(9, 8, dtype="int32")], dtype="int32")
fliplr.value("bool", lambda inputs: [inputs.booleans(9, 12)], dtype="bool")
fliplr.value("empty", lambda inputs: [inputs.normal(3, 0)])
fliplr.value("jitted", lambda inputs: [inputs.normal(64, 128)], prepare=jitted)
fliplr.value(
    "gradient",
    lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [x[:, ::-1], upstream[:, ::-1]],
)
fliplr.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])])


def compressed(condition: Any, a: Any, axis: Any = None, size: Any = None, fill_value: Any = 0) -> Any:
    """Compress the array. With a ``size``, the result has this many elements: the first ones, filled up at the end if
    there are fewer."""
    found = np.compress(condition, a, axis)
    if size is None:
        return found
    axis = axis or 0
    shape = (*found.shape[:axis], max(0, size - found.shape[axis]), *found.shape[axis + 1 :])
    return np.concatenate([found, np.full(shape, fill_value, found.dtype)], axis).take(np.arange(size), axis)


def mask(inputs: Inputs, count: int) -> Any:
    """Make a mask that contains both True and False for every seed."""
    kept = inputs.booleans(count)
    kept[0], kept[-1] = True, False
    return kept


compress = Function("jax.numpy.compress", compressed)
compress.value("float32-rows-of-256x256", lambda inputs: [mask(inputs, 256), inputs.normal(256, 256)], axis=0)
compress.value("float64-columns", lambda inputs: [mask(inputs, 9), inputs.normal(31, 9)], dtype="float64", axis=-1)
compress.value("bfloat16-flattened", lambda inputs: [mask(inputs, 20), inputs.normal(4, 5)], dtype="bfloat16")
compress.value("float16", lambda inputs: [mask(inputs, 40), inputs.normal(40)], dtype="float16")
compress.value(
    "complex64", lambda inputs: [mask(inputs, 7), inputs.normal(7) - 2j * inputs.normal(7)], dtype="complex64"
)
compress.value("int32", lambda inputs: [mask(inputs, 30), inputs.integers(30, dtype="int32")], dtype="int32")
compress.value("bool", lambda inputs: [mask(inputs, 30), inputs.booleans(30)], dtype="bool")
compress.value("condition-shorter", lambda inputs: [mask(inputs, 5), inputs.normal(12, 3)], axis=0)
compress.value(
    "condition-of-integers", lambda inputs: [np.array([2, 0, -1, 0, 1], "int32"), inputs.normal(5, 4)], axis=0
)
compress.value("nothing-kept", lambda inputs: [np.zeros(6, bool), inputs.normal(6, 3)], axis=0)
compress.value("size-filled", lambda inputs: [mask(inputs, 12), inputs.normal(12, 3)], axis=0, size=12, fill_value=-1.5)
compress.value("size-cut", lambda inputs: [np.ones(12, bool), inputs.normal(12, 3)], axis=0, size=5)
compress.value(
    "jitted-of-size", lambda inputs: [mask(inputs, 64), inputs.normal(64, 128)], prepare=jitted, axis=0, size=64
)
compress.value(
    "gradient",
    lambda inputs: [np.array([True, False, True, True]), inputs.normal(4, 5), inputs.normal(3, 5)],
    prepare=gradient,
    reference=lambda condition, a, upstream, axis, size: [a[condition], np.insert(upstream, 1, 0.0, axis)],
    axis=0,
    size=3,
)
compress.value(
    "nan-and-infinities",
    lambda inputs: [np.array([True, False, True]), np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])],
    axis=1,
)
compress.value("filled-with-nan", lambda inputs: [mask(inputs, 9), inputs.normal(9)], axis=0, size=9, fill_value=np.nan)


def deleted(a: Any, obj: Any, axis: Any = None, assume_unique_indices: bool = False) -> Any:
    return np.delete(a, obj, axis)


delete = Function("jax.numpy.delete", deleted)
delete.value(
    "float32-rows-of-256x256",
    lambda inputs: [inputs.normal(256, 256), inputs.integers(40, low=0, high=256, dtype="int32")],
    axis=0,
)
delete.value("float32-one-column", lambda inputs: [inputs.normal(64, 128), 5], axis=1)
delete.value("float64-last", lambda inputs: [inputs.normal(31, 9), -1], dtype="float64", axis=0)
delete.value("bfloat16-slice", lambda inputs: [inputs.normal(31, 9), slice(2, 20, 3)], dtype="bfloat16", axis=0)
delete.value("float16", lambda inputs: [inputs.normal(31), 12], dtype="float16")
delete.value("jitted-slice-backwards", lambda inputs: [inputs.normal(31, 4), slice(20, 2, -4)], prepare=jitted, axis=0)
delete.value("complex64", lambda inputs: [inputs.normal(7) + 1j * inputs.normal(7), 3], dtype="complex64")
delete.value("int32-flattened", lambda inputs: [inputs.integers(6, 7, dtype="int32"), 11], dtype="int32")
delete.value("uint8", lambda inputs: [inputs.integers(40, low=0, high=256, dtype="uint8"), 7], dtype="uint8")
delete.value("bool-mask", lambda inputs: [inputs.normal(20, 3), mask(inputs, 20)], axis=0)
delete.value("of-booleans", lambda inputs: [inputs.booleans(30), 8], dtype="bool")
delete.value("negative-indices", lambda inputs: [inputs.normal(8, 6), np.array([-1, -6, 2], "int32")], axis=1)
delete.value("repeated-indices", lambda inputs: [inputs.normal(8, 6), np.array([3, 3, 1, -5], "int32")], axis=0)
delete.value("no-indices", lambda inputs: [inputs.normal(8, 6), np.zeros(0, "int32")], axis=0)
delete.value("every-one", lambda inputs: [inputs.normal(8, 6), slice(None)], axis=1)
delete.value("middle-of-three-axes", lambda inputs: [inputs.normal(4, 9, 5), np.array([0, 8], "int32")], axis=-2)
delete.value(
    "jitted-unique-indices",
    lambda inputs: [inputs.normal(64, 128), np.array([9, 1, 60], "int32")],
    prepare=jitted,
    axis=0,
    assume_unique_indices=True,
)
delete.value(
    "vmap", lambda inputs: [inputs.normal(6, 20), 4], prepare=in_vmap, reference=lambda a, obj: np.delete(a, obj, 1)
)
delete.value(
    "gradient",
    lambda inputs: [inputs.normal(5, 4), 2, inputs.normal(4, 4)],
    prepare=gradient,
    reference=lambda a, obj, upstream, axis: [np.delete(a, obj, axis), np.insert(upstream, obj, 0.0, axis)],
    axis=0,
)
delete.value(
    "nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]]), 1], axis=1
)

select = Function("jax.lax.select", lambda which, yes, no: np.where(which, yes, no))
select.value(
    "float32-256x256", lambda inputs: [inputs.booleans(256, 256), inputs.normal(256, 256), inputs.normal(256, 256)]
)
select.value("float64", lambda inputs: [inputs.booleans(40), inputs.normal(40), inputs.normal(40)], dtype="float64")
select.value("float16", lambda inputs: [inputs.booleans(40), inputs.normal(40), inputs.normal(40)], dtype="float16")
select.value("bfloat16", lambda inputs: [inputs.booleans(40), inputs.normal(40), inputs.normal(40)], dtype="bfloat16")
select.value(
    "complex64",
    lambda inputs: [inputs.booleans(20), inputs.normal(20) + 1j, 1j * inputs.normal(20) - 2],
    dtype="complex64",
)
select.value(
    "int32",
    lambda inputs: [inputs.booleans(9, 5), inputs.integers(9, 5, dtype="int32"), inputs.integers(9, 5, dtype="int32")],
    dtype="int32",
)
select.value("bool", lambda inputs: [inputs.booleans(40), inputs.booleans(40), inputs.booleans(40)], dtype="bool")
select.value("one-condition-for-all", lambda inputs: [np.array(False), inputs.normal(8, 5), inputs.normal(8, 5)])
select.value(
    "nan-not-chosen", lambda inputs: [np.array([True, False] * 9), np.array([1.5, np.nan] * 9), inputs.normal(18)]
)
select.value("scalars", lambda inputs: [np.array(True), inputs.normal(), inputs.normal()])
select.value("empty", lambda inputs: [inputs.booleans(0, 3), inputs.normal(0, 3), inputs.normal(0, 3)])
select.value(
    "jitted", lambda inputs: [inputs.booleans(64, 128), inputs.normal(64, 128), inputs.normal(64, 128)], prepare=jitted
)
select.value(
    "vmap",
    lambda inputs: [inputs.booleans(6), inputs.normal(6, 20), inputs.normal(6, 20)],
    prepare=in_vmap,
    reference=lambda which, yes, no: np.where(which[:, None], yes, no),
)
select.value(
    "gradient",
    lambda inputs: [inputs.booleans(16, 16), *(inputs.normal(16, 16) for _ in range(3))],
    prepare=gradient,
    reference=lambda which, yes, no, upstream: [np.where(which, yes, no), upstream * which, upstream * ~which],
)


def slice_of(x: Any, start: Any, limit: Any, stride: int = 1, axis: int = 0) -> Any:
    return np.moveaxis(np.moveaxis(x, axis, 0)[start:limit:stride], 0, axis).copy()


def scattered(x: Any, start: Any, limit: Any, upstream: Any, stride: int = 1, axis: int = 0) -> Any:
    gradient = np.zeros_like(x)
    np.moveaxis(gradient, axis, 0)[start:limit:stride] = np.moveaxis(upstream, axis, 0)
    return [slice_of(x, start, limit, stride, axis), gradient]


slice_in_dim = Function("jax.lax.slice_in_dim", slice_of)
slice_in_dim.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), 32, 224], axis=1)
slice_in_dim.value("float64-stride", lambda inputs: [inputs.normal(31, 9), 1, 30], dtype="float64", stride=4)
slice_in_dim.value("bfloat16", lambda inputs: [inputs.normal(31, 9), 3, 8], dtype="bfloat16", axis=-1)
slice_in_dim.value("float16", lambda inputs: [inputs.normal(40), 5, 35], dtype="float16", stride=2)
slice_in_dim.value("complex64", lambda inputs: [inputs.normal(9) + 1j * inputs.normal(9), 2, 7], dtype="complex64")
slice_in_dim.value("int32", lambda inputs: [inputs.integers(12, 4, dtype="int32"), 3, 9], dtype="int32")
slice_in_dim.value("bool", lambda inputs: [inputs.booleans(30, 2), 4, 21], dtype="bool")
slice_in_dim.value("from-the-end", lambda inputs: [inputs.normal(12, 4), -5, -1])
slice_in_dim.value("open-start", lambda inputs: [inputs.normal(12, 4), None, 7])
slice_in_dim.value("open-end", lambda inputs: [inputs.normal(12, 4), 2, None], axis=1)
slice_in_dim.value("nothing", lambda inputs: [inputs.normal(12, 4), 5, 5])
slice_in_dim.value("jitted", lambda inputs: [inputs.normal(64, 128), 16, 96], prepare=jitted, axis=1, stride=3)
slice_in_dim.value(
    "gradient",
    lambda inputs: [inputs.normal(12, 9), 2, 9, inputs.normal(12, 3)],
    prepare=gradient,
    reference=scattered,
    axis=1,
    stride=3,
)
slice_in_dim.value(
    "nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]]), 1, 3], axis=1
)


def largest(x: Any, k: int, axis: int = -1) -> Any:
    """Return the ``k`` largest values in descending order, and their indices. Of equal values the earlier one comes
    first. NaN counts as the largest value."""
    size = x.shape[axis]
    backwards = np.flip(x, axis)
    order = size - 1 - np.flip(np.argsort(backwards, axis, kind="stable"), axis)
    order = order.take(np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), Expected(order, "int32")]


def through_values(context: Context, x: Any, upstream: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the gradient of the values. The indices have no gradient."""

    def forward_and_backward(x: Any, upstream: Any) -> list[Any]:
        values, backward, order = jax.vjp(lambda x: tuple(context.function(x, **options)), x, has_aux=True)
        return [values, order, *backward(upstream)]

    both = jax.jit(forward_and_backward)
    return context.compiled(lambda: both(x, upstream))


def largest_and_gradient(x: Any, upstream: Any, k: int) -> Any:
    values, order = largest(x, k)
    gradient = np.zeros_like(x)
    np.put_along_axis(gradient, order.values, upstream, -1)
    return [values, order, gradient]


top_k = Function("jax.lax.top_k", largest)
top_k.value("float32-64x128", lambda inputs: [inputs.distinct(64, 128), 10])
top_k.value("float64", lambda inputs: [inputs.distinct(9, 40), 7], dtype="float64")
top_k.value("float16", lambda inputs: [inputs.distinct(4, 40), 7], dtype="float16")
top_k.value("bfloat16", lambda inputs: [inputs.distinct(4, 40), 7], dtype="bfloat16")
top_k.value("int32", lambda inputs: [inputs.distinct(9, 40).astype("int32") * 2, 5], dtype="int32")
top_k.value("uint8", lambda inputs: [inputs.rng.permutation(200).astype("uint8"), 6], dtype="uint8")
top_k.value("ties", lambda inputs: [inputs.integers(8, 30, low=0, high=4, dtype="int32"), 9], dtype="int32")
top_k.value("all-of-them", lambda inputs: [inputs.distinct(5, 12), 12])
top_k.value("one", lambda inputs: [inputs.distinct(50), 1])
top_k.value("none", lambda inputs: [inputs.distinct(5, 12), 0])
top_k.value("infinities", lambda inputs: [np.array([1.0, -np.inf, np.inf, 0.5, -3.0]), 5])
top_k.value("nan", lambda inputs: [np.array([1.0, -np.inf, np.nan, np.inf, -3.0]), 3])
top_k.value("first-axis", lambda inputs: [inputs.distinct(40, 6), 5], axis=0)
top_k.value("jitted", lambda inputs: [inputs.distinct(64, 128), 10], prepare=jitted)
top_k.value("vmap", lambda inputs: [inputs.distinct(6, 20), 3], prepare=in_vmap)
top_k.value(
    "gradient",
    lambda inputs: [inputs.distinct(8, 20), inputs.normal(8, 4)],
    prepare=through_values,
    reference=largest_and_gradient,
    k=4,
)

FUNCTIONS: list[Function] = [flip, fliplr, compress, delete, select, slice_in_dim, top_k]
