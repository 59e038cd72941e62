"""Functions that pick or turn around elements: ``flip``, ``fliplr``, ``compress``, ``delete``, ``lax.select``,
``lax.slice_in_dim``, ``lax.top_k``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.suite.cases import Function, Make, On
from runners.suite.checks import Expected


def flipped(x: Any, axis: Any = None) -> Any:
    return np.asarray(np.flip(x, axis)).copy()


flip = Function("jax.numpy.flip", flipped)
flip.value("float32-256x256", lambda make: [make.normal(256, 256)])
flip.value("float64-first-axis", lambda make: [make.normal(31, 9)], dtype="float64", axis=0)
flip.value("bfloat16-last-axis", lambda make: [make.normal(31, 9)], dtype="bfloat16", axis=-1)
flip.value("float16", lambda make: [make.normal(40)], dtype="float16")
flip.value("complex64", lambda make: [make.normal(7, 5) + 1j * make.normal(7, 5)], dtype="complex64", axis=1)
flip.value("int32-two-axes", lambda make: [make.integers(4, 5, 6, dtype="int32")], dtype="int32", axis=(0, -1))
flip.value("uint8", lambda make: [make.integers(9, 11, low=0, high=256, dtype="uint8")], dtype="uint8")
flip.value("bool", lambda make: [make.booleans(64)], dtype="bool")
flip.value("empty", lambda make: [make.normal(0, 4)], axis=1)
flip.value("jitted", lambda make: [make.normal(64, 128)], prepare=jitted, axis=1)
flip.value("vmap", lambda make: [make.normal(6, 20)], prepare=in_vmap, reference=lambda x: x[:, ::-1].copy())
flip.value(
    "gradient",
    lambda make: [make.normal(16, 16), make.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [np.flip(x), np.flip(upstream)],
)

fliplr = Function("jax.numpy.fliplr", lambda x: x[:, ::-1].copy())
fliplr.value("float32-256x256", lambda make: [make.normal(256, 256)])
fliplr.value("float64-three-axes", lambda make: [make.normal(5, 6, 7)], dtype="float64")
fliplr.value("bfloat16", lambda make: [make.normal(5, 60)], dtype="bfloat16")
fliplr.value("complex64", lambda make: [make.normal(7, 5) + 1j * make.normal(7, 5)], dtype="complex64")
fliplr.value("int32", lambda make: [make.integers(9, 8, dtype="int32")], dtype="int32")
fliplr.value("bool", lambda make: [make.booleans(9, 12)], dtype="bool")
fliplr.value("empty", lambda make: [make.normal(3, 0)])
fliplr.value("jitted", lambda make: [make.normal(64, 128)], prepare=jitted)
fliplr.value(
    "gradient",
    lambda make: [make.normal(16, 16), make.normal(16, 16)],
    prepare=gradient,
    reference=lambda x, upstream: [x[:, ::-1], upstream[:, ::-1]],
)


def compressed(condition: Any, a: Any, axis: Any = None, size: Any = None, fill_value: Any = 0) -> Any:
    """With a ``size``, that many are returned: the first ones, or filled up at the end."""
    found = np.compress(condition, a, axis)
    if size is None:
        return found
    axis = axis or 0
    shape = (*found.shape[:axis], max(0, size - found.shape[axis]), *found.shape[axis + 1 :])
    return np.concatenate([found, np.full(shape, fill_value, found.dtype)], axis).take(np.arange(size), axis)


def mask(make: Make, count: int) -> Any:
    """With both values in it, whatever the seed."""
    kept = make.booleans(count)
    kept[0], kept[-1] = True, False
    return kept


compress = Function("jax.numpy.compress", compressed)
compress.value("float32-rows-of-256x256", lambda make: [mask(make, 256), make.normal(256, 256)], axis=0)
compress.value("float64-columns", lambda make: [mask(make, 9), make.normal(31, 9)], dtype="float64", axis=-1)
compress.value("bfloat16-flattened", lambda make: [mask(make, 20), make.normal(4, 5)], dtype="bfloat16")
compress.value("float16", lambda make: [mask(make, 40), make.normal(40)], dtype="float16")
compress.value("complex64", lambda make: [mask(make, 7), make.normal(7) - 2j * make.normal(7)], dtype="complex64")
compress.value("int32", lambda make: [mask(make, 30), make.integers(30, dtype="int32")], dtype="int32")
compress.value("bool", lambda make: [mask(make, 30), make.booleans(30)], dtype="bool")
compress.value("condition-shorter", lambda make: [mask(make, 5), make.normal(12, 3)], axis=0)
compress.value("condition-of-integers", lambda make: [np.array([2, 0, -1, 0, 1], "int32"), make.normal(5, 4)], axis=0)
compress.value("nothing-kept", lambda make: [np.zeros(6, bool), make.normal(6, 3)], axis=0)
compress.value("size-filled", lambda make: [mask(make, 12), make.normal(12, 3)], axis=0, size=12, fill_value=-1.5)
compress.value("size-cut", lambda make: [np.ones(12, bool), make.normal(12, 3)], axis=0, size=5)
compress.value("jitted-of-size", lambda make: [mask(make, 64), make.normal(64, 128)], prepare=jitted, axis=0, size=64)
compress.value(
    "gradient",
    lambda make: [np.array([True, False, True, True]), make.normal(4, 5), make.normal(3, 5)],
    prepare=gradient,
    reference=lambda condition, a, upstream, axis, size: [a[condition], np.insert(upstream, 1, 0.0, axis)],
    axis=0,
    size=3,
)


def deleted(a: Any, obj: Any, axis: Any = None, assume_unique_indices: bool = False) -> Any:
    return np.delete(a, obj, axis)


delete = Function("jax.numpy.delete", deleted)
delete.value(
    "float32-rows-of-256x256",
    lambda make: [make.normal(256, 256), make.integers(40, low=0, high=256, dtype="int32")],
    axis=0,
)
delete.value("float32-one-column", lambda make: [make.normal(64, 128), 5], axis=1)
delete.value("float64-last", lambda make: [make.normal(31, 9), -1], dtype="float64", axis=0)
delete.value("bfloat16-slice", lambda make: [make.normal(31, 9), slice(2, 20, 3)], dtype="bfloat16", axis=0)
delete.value("float16", lambda make: [make.normal(31), 12], dtype="float16")
delete.value("jitted-slice-backwards", lambda make: [make.normal(31, 4), slice(20, 2, -4)], prepare=jitted, axis=0)
delete.value("complex64", lambda make: [make.normal(7) + 1j * make.normal(7), 3], dtype="complex64")
delete.value("int32-flattened", lambda make: [make.integers(6, 7, dtype="int32"), 11], dtype="int32")
delete.value("uint8", lambda make: [make.integers(40, low=0, high=256, dtype="uint8"), 7], dtype="uint8")
delete.value("bool-mask", lambda make: [make.normal(20, 3), mask(make, 20)], axis=0)
delete.value("of-booleans", lambda make: [make.booleans(30), 8], dtype="bool")
delete.value("negative-indices", lambda make: [make.normal(8, 6), np.array([-1, -6, 2], "int32")], axis=1)
delete.value("repeated-indices", lambda make: [make.normal(8, 6), np.array([3, 3, 1, -5], "int32")], axis=0)
delete.value("no-indices", lambda make: [make.normal(8, 6), np.zeros(0, "int32")], axis=0)
delete.value("every-one", lambda make: [make.normal(8, 6), slice(None)], axis=1)
delete.value("middle-of-three-axes", lambda make: [make.normal(4, 9, 5), np.array([0, 8], "int32")], axis=-2)
delete.value(
    "jitted-unique-indices",
    lambda make: [make.normal(64, 128), np.array([9, 1, 60], "int32")],
    prepare=jitted,
    axis=0,
    assume_unique_indices=True,
)
delete.value(
    "vmap", lambda make: [make.normal(6, 20), 4], prepare=in_vmap, reference=lambda a, obj: np.delete(a, obj, 1)
)
delete.value(
    "gradient",
    lambda make: [make.normal(5, 4), 2, make.normal(4, 4)],
    prepare=gradient,
    reference=lambda a, obj, upstream, axis: [np.delete(a, obj, axis), np.insert(upstream, obj, 0.0, axis)],
    axis=0,
)

select = Function("jax.lax.select", lambda which, yes, no: np.where(which, yes, no))
select.value("float32-256x256", lambda make: [make.booleans(256, 256), make.normal(256, 256), make.normal(256, 256)])
select.value("float64", lambda make: [make.booleans(40), make.normal(40), make.normal(40)], dtype="float64")
select.value("float16", lambda make: [make.booleans(40), make.normal(40), make.normal(40)], dtype="float16")
select.value("bfloat16", lambda make: [make.booleans(40), make.normal(40), make.normal(40)], dtype="bfloat16")
select.value(
    "complex64",
    lambda make: [make.booleans(20), make.normal(20) + 1j, 1j * make.normal(20) - 2],
    dtype="complex64",
)
select.value(
    "int32",
    lambda make: [make.booleans(9, 5), make.integers(9, 5, dtype="int32"), make.integers(9, 5, dtype="int32")],
    dtype="int32",
)
select.value("bool", lambda make: [make.booleans(40), make.booleans(40), make.booleans(40)], dtype="bool")
select.value("one-condition-for-all", lambda make: [np.array(False), make.normal(8, 5), make.normal(8, 5)])
select.value("nan-not-chosen", lambda make: [np.array([True, False] * 9), np.array([1.5, np.nan] * 9), make.normal(18)])
select.value("scalars", lambda make: [np.array(True), make.normal(), make.normal()])
select.value("empty", lambda make: [make.booleans(0, 3), make.normal(0, 3), make.normal(0, 3)])
select.value(
    "jitted", lambda make: [make.booleans(64, 128), make.normal(64, 128), make.normal(64, 128)], prepare=jitted
)
select.value(
    "vmap",
    lambda make: [make.booleans(6), make.normal(6, 20), make.normal(6, 20)],
    prepare=in_vmap,
    reference=lambda which, yes, no: np.where(which[:, None], yes, no),
)
select.value(
    "gradient",
    lambda make: [make.booleans(16, 16), *(make.normal(16, 16) for _ in range(3))],
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
slice_in_dim.value("float32-256x256", lambda make: [make.normal(256, 256), 32, 224], axis=1)
slice_in_dim.value("float64-stride", lambda make: [make.normal(31, 9), 1, 30], dtype="float64", stride=4)
slice_in_dim.value("bfloat16", lambda make: [make.normal(31, 9), 3, 8], dtype="bfloat16", axis=-1)
slice_in_dim.value("float16", lambda make: [make.normal(40), 5, 35], dtype="float16", stride=2)
slice_in_dim.value("complex64", lambda make: [make.normal(9) + 1j * make.normal(9), 2, 7], dtype="complex64")
slice_in_dim.value("int32", lambda make: [make.integers(12, 4, dtype="int32"), 3, 9], dtype="int32")
slice_in_dim.value("bool", lambda make: [make.booleans(30, 2), 4, 21], dtype="bool")
slice_in_dim.value("from-the-end", lambda make: [make.normal(12, 4), -5, -1])
slice_in_dim.value("open-start", lambda make: [make.normal(12, 4), None, 7])
slice_in_dim.value("open-end", lambda make: [make.normal(12, 4), 2, None], axis=1)
slice_in_dim.value("nothing", lambda make: [make.normal(12, 4), 5, 5])
slice_in_dim.value("jitted", lambda make: [make.normal(64, 128), 16, 96], prepare=jitted, axis=1, stride=3)
slice_in_dim.value(
    "gradient",
    lambda make: [make.normal(12, 9), 2, 9, make.normal(12, 3)],
    prepare=gradient,
    reference=scattered,
    axis=1,
    stride=3,
)


def largest(x: Any, k: int, axis: int = -1) -> Any:
    """In falling order; of equal values the earlier comes first, and NaN counts as the largest."""
    size = x.shape[axis]
    backwards = np.flip(x, axis)
    order = size - 1 - np.flip(np.argsort(backwards, axis, kind="stable"), axis)
    order = order.take(np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), Expected(order, "int32")]


def through_values(on: On, x: Any, upstream: Any, **options: Any) -> Callable[[], Any]:
    """The values alone have a gradient; the indices come along."""

    def forward_and_backward(x: Any, upstream: Any) -> list[Any]:
        values, backward, order = jax.vjp(lambda x: tuple(on.function(x, **options)), x, has_aux=True)
        return [values, order, *backward(upstream)]

    both = jax.jit(forward_and_backward)
    return on.compiled(lambda: both(x, upstream))


def largest_and_gradient(x: Any, upstream: Any, k: int) -> Any:
    values, order = largest(x, k)
    gradient = np.zeros_like(x)
    np.put_along_axis(gradient, order.values, upstream, -1)
    return [values, order, gradient]


top_k = Function("jax.lax.top_k", largest)
top_k.value("float32-64x128", lambda make: [make.distinct(64, 128), 10])
top_k.value("float64", lambda make: [make.distinct(9, 40), 7], dtype="float64")
top_k.value("float16", lambda make: [make.distinct(4, 40), 7], dtype="float16")
top_k.value("bfloat16", lambda make: [make.distinct(4, 40), 7], dtype="bfloat16")
top_k.value("int32", lambda make: [make.distinct(9, 40).astype("int32") * 2, 5], dtype="int32")
top_k.value("uint8", lambda make: [make.rng.permutation(200).astype("uint8"), 6], dtype="uint8")
top_k.value("ties", lambda make: [make.integers(8, 30, low=0, high=4, dtype="int32"), 9], dtype="int32")
top_k.value("all-of-them", lambda make: [make.distinct(5, 12), 12])
top_k.value("one", lambda make: [make.distinct(50), 1])
top_k.value("none", lambda make: [make.distinct(5, 12), 0])
top_k.value("infinities", lambda make: [np.array([1.0, -np.inf, np.inf, 0.5, -3.0]), 5])
top_k.value("nan", lambda make: [np.array([1.0, -np.inf, np.nan, np.inf, -3.0]), 3])
top_k.value("first-axis", lambda make: [make.distinct(40, 6), 5], axis=0)
top_k.value("jitted", lambda make: [make.distinct(64, 128), 10], prepare=jitted)
top_k.value("vmap", lambda make: [make.distinct(6, 20), 3], prepare=in_vmap)
top_k.value(
    "gradient",
    lambda make: [make.distinct(8, 20), make.normal(8, 4)],
    prepare=through_values,
    reference=largest_and_gradient,
    k=4,
)

FUNCTIONS: list[Function] = [flip, fliplr, compress, delete, select, slice_in_dim, top_k]
