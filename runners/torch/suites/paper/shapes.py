"""Cases of functions that join, split and rearrange: ``cat``, ``diag``, ``broadcast_tensors``, ``fliplr``,
``moveaxis``, ``unbind``, ``unsqueeze``.

They compute nothing, so every value must be exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, MakeArguments
from runners.suite.checks import EXACT, TOLERANCES
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, gradient, into, strided


class Rearrangement(Function):
    """A function that computes nothing. Its cases allow no difference."""

    def value(self, name: str, arguments: MakeArguments, **described: Any) -> None:
        super().value(name, arguments, **{"tolerance": EXACT, **described})


def written_to(context: Context, x: Any, *arguments: Any) -> Callable[[], Any]:
    """Prepare ``[views, array]`` after a write to the array and a write to the last view. Each write must change
    both."""

    def call() -> list[Any]:
        array = x.clone()
        views = context.function(array, *arguments)
        array.mul_(2)
        (views[-1] if isinstance(views, tuple) else views).neg_()
        return [views, array]

    return call


def joined(arrays: Any, dim: int = 0) -> Any:
    """Join the arrays. An empty vector can be joined with any array."""
    return np.concatenate([array for array in arrays if array.shape != (0,)] or arrays, dim)


cat = Rearrangement("torch.cat", joined)
cat.value("float32-64x128-twice", lambda inputs: [[inputs.normal(64, 128), inputs.normal(64, 128)]])
cat.value("float32-last-dim", lambda inputs: [[inputs.normal(4, 3), inputs.normal(4, 5)]], dim=-1)
cat.value("float64", lambda inputs: [[inputs.normal(2, 3, 4), inputs.normal(2, 1, 4)]], dtype="float64", dim=1)
cat.value("float16", lambda inputs: [[inputs.normal(9), inputs.normal(4)]], dtype="float16")
cat.value("bfloat16", lambda inputs: [[inputs.normal(9), inputs.normal(4)]], dtype="bfloat16")
cat.value("complex64", lambda inputs: [[inputs.normal(3) + 1j, 1j * inputs.normal(5)]], dtype="complex64")
cat.value("int64", lambda inputs: [[inputs.integers(3, 2), inputs.integers(1, 2)]], dtype="int64")
cat.value("bool", lambda inputs: [[inputs.booleans(4), inputs.booleans(7)]], dtype="bool")
cat.value("int32-and-float32-become-float32", lambda inputs: [[inputs.integers(4, dtype="int32"), inputs.normal(3)]])
cat.value(
    "uint8-and-int64-become-int64", lambda inputs: [[inputs.integers(4, low=0, dtype="uint8"), inputs.integers(3)]]
)
cat.value("thirty-two-of-them", lambda inputs: [[inputs.normal(5, 7) for _ in range(32)]], dim=1)
cat.value("one", lambda inputs: [[inputs.normal(3, 4)]], dim=1)
cat.value("empty-vector-joins-a-matrix", lambda inputs: [[inputs.normal(0), inputs.normal(3, 4)]])
cat.value("nothing-along-the-dim", lambda inputs: [[inputs.normal(2, 0), inputs.normal(2, 0)]], dim=1)
cat.value("nan-and-infinities", lambda inputs: [[np.array([np.nan, 1, -np.inf]), np.array([np.inf])]])
cat.value("non-contiguous", lambda inputs: [[inputs.normal(6, 5), inputs.normal(6, 2)]], dim=1, prepare=strided)
cat.value("out", lambda inputs: [[inputs.normal(6), inputs.normal(2)]], prepare=into(), reference=both(joined))
cat.value(
    "gradient",
    lambda inputs: [[inputs.normal(3, 4), inputs.normal(2, 4)], inputs.normal(5, 4)],
    prepare=gradient,
    reference=lambda arrays, upstream: [joined(arrays), upstream[:3], upstream[3:]],
)
for sample in library.samples("cat"):
    cat.value(sample.name, sample.inputs, **sample.options)


def diagonalised(x: Any, diagonal: int = 0) -> Any:
    """Take the diagonal out of a matrix, or make a matrix from it, element by element."""
    down, right = max(-diagonal, 0), max(diagonal, 0)
    if x.ndim == 2:
        length = max(min(x.shape[0] - down, x.shape[1] - right), 0)
        return np.array([x[step + down, step + right] for step in range(length)], x.dtype)
    matrix = np.zeros((len(x) + abs(diagonal),) * 2, x.dtype)
    for step, value in enumerate(x):
        matrix[step + down, step + right] = value
    return matrix


diag = Rearrangement("torch.diag", diagonalised)
diag.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
diag.value("float32-vector-of-128", lambda inputs: [inputs.normal(128)])
diag.value("float64-below", lambda inputs: [inputs.normal(5, 8)], dtype="float64", diagonal=-2)
diag.value("float16-vector-above", lambda inputs: [inputs.normal(6)], dtype="float16", diagonal=3)
diag.value("bfloat16", lambda inputs: [inputs.normal(6, 4)], dtype="bfloat16")
diag.value("complex64", lambda inputs: [inputs.normal(5) + 2j], dtype="complex64")
diag.value("int64-vector-below", lambda inputs: [inputs.integers(7)], dtype="int64", diagonal=-1)
diag.value("bool", lambda inputs: [inputs.booleans(6, 9)], dtype="bool", diagonal=1)
diag.value("one-element", lambda inputs: [inputs.normal(1, 1)])
diag.value("empty-vector", lambda inputs: [inputs.normal(0)], diagonal=2)
diag.value("last-diagonal", lambda inputs: [inputs.normal(3, 5)], diagonal=4)
diag.value("nan-and-infinities", lambda inputs: [np.array([np.nan, np.inf, -np.inf])])
diag.value("non-contiguous", lambda inputs: [inputs.normal(7, 8)], prepare=strided)
diag.value("out", lambda inputs: [inputs.normal(4)], prepare=into(), reference=both(diagonalised))
diag.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 6), inputs.normal(4)],
    prepare=gradient,
    reference=lambda x, upstream: [diagonalised(x), np.eye(4, 6) * upstream[:, None]],
)
for sample in library.samples("diag"):
    diag.value(sample.name, sample.inputs, **sample.options)


def broadcast(*arrays: Any) -> Any:
    return list(np.broadcast_arrays(*arrays))


def folded(*arrays: Any) -> Any:
    """Broadcast a column against a row. The backward pass sums over the axes that were broadcast."""
    column, row, upstream, other = arrays
    return [*broadcast(column, row), upstream.sum(1, keepdims=True), other.sum(0)]


def broadcast_gradient(context: Context, column: Any, row: Any, upstream: Any, other: Any) -> Callable[[], Any]:
    wanted = (column.requires_grad_(), row.requires_grad_())

    def call() -> list[Any]:
        results = context.function(*wanted)
        return [*results, *torch.autograd.grad(results, wanted, (upstream, other))]

    return call


def broadcast_written_to(context: Context, column: Any, row: Any) -> Callable[[], Any]:
    """Prepare a broadcast, followed by writes to its sources. The result itself cannot be written to."""

    def call() -> Any:
        sources = column.clone(), row.clone()
        spread = context.function(*sources)
        sources[0].mul_(2)
        sources[1].neg_()
        return spread

    return call


broadcast_tensors = Rearrangement("torch.broadcast_tensors", broadcast)
broadcast_tensors.value("float32-64x128", lambda inputs: [inputs.normal(64, 1), inputs.normal(128)])
broadcast_tensors.value(
    "float64-three", lambda inputs: [inputs.normal(3), inputs.normal(4, 1), inputs.normal(2, 1, 1)], dtype="float64"
)
broadcast_tensors.value("float16", lambda inputs: [inputs.normal(3, 1), inputs.normal(1, 4)], dtype="float16")
broadcast_tensors.value("bfloat16", lambda inputs: [inputs.normal(3, 1), inputs.normal(1, 4)], dtype="bfloat16")
broadcast_tensors.value("complex64", lambda inputs: [inputs.normal(3, 1) + 1j, inputs.normal(2)], dtype="complex64")
broadcast_tensors.value("dtypes-stay-apart", lambda inputs: [inputs.integers(5, dtype="int32"), inputs.booleans(3, 1)])
broadcast_tensors.value("scalar-with-matrix", lambda inputs: [inputs.normal(), inputs.normal(2, 3)])
broadcast_tensors.value("empty", lambda inputs: [inputs.normal(0, 1), inputs.normal(1, 3)])
broadcast_tensors.value("one", lambda inputs: [inputs.normal(2, 3)])
broadcast_tensors.value("non-contiguous", lambda inputs: [inputs.normal(4, 1), inputs.normal(3)], prepare=strided)
broadcast_tensors.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 1), inputs.normal(3), inputs.normal(4, 3), inputs.normal(4, 3)],
    prepare=broadcast_gradient,
    reference=folded,
    tolerance=TOLERANCES["float32"],
)
broadcast_tensors.value(
    "views-see-a-write",
    lambda inputs: [inputs.normal(4, 1), inputs.normal(3)],
    prepare=broadcast_written_to,
    reference=lambda column, row: broadcast(2 * column, -row),
)
for sample in library.samples("broadcast_tensors"):
    broadcast_tensors.value(sample.name, sample.inputs)
broadcast_tensors.value(
    "nan-and-infinities", lambda inputs: [np.array([[np.nan], [-np.inf]]), np.array([1.0, np.inf, np.nan])]
)


def mirrored(x: Any) -> Any:
    return x[:, [x.shape[1] - 1 - column for column in range(x.shape[1])]]


fliplr = Rearrangement("torch.fliplr", mirrored)
fliplr.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
fliplr.value("float64-3d", lambda inputs: [inputs.normal(3, 4, 5)], dtype="float64")
fliplr.value("float16", lambda inputs: [inputs.normal(3, 7)], dtype="float16")
fliplr.value("bfloat16", lambda inputs: [inputs.normal(3, 7)], dtype="bfloat16")
fliplr.value("complex64", lambda inputs: [inputs.normal(4, 5) - 1j], dtype="complex64")
fliplr.value("int64", lambda inputs: [inputs.integers(6, 9)], dtype="int64")
fliplr.value("bool", lambda inputs: [inputs.booleans(5, 11)], dtype="bool")
fliplr.value("one-column", lambda inputs: [inputs.normal(6, 1)])
fliplr.value("empty", lambda inputs: [inputs.normal(4, 0)])
fliplr.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1], [np.inf, -np.inf]])])
fliplr.value("non-contiguous", lambda inputs: [inputs.normal(5, 8)], prepare=strided)
fliplr.value(
    "gradient",
    lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)],
    prepare=gradient,
    reference=lambda x, upstream: [mirrored(x), mirrored(upstream)],
)
for sample in library.samples("fliplr"):
    fliplr.value(sample.name, sample.inputs)


moveaxis = Rearrangement("torch.moveaxis", np.moveaxis)
moveaxis.value("float32-64x32x16", lambda inputs: [inputs.normal(64, 32, 16), 0, -1])
moveaxis.value("float32-two-axes", lambda inputs: [inputs.normal(2, 3, 4, 5), [0, 1], [-1, 0]])
moveaxis.value("float64", lambda inputs: [inputs.normal(2, 3, 4), -1, 0], dtype="float64")
moveaxis.value("float16", lambda inputs: [inputs.normal(2, 3), 0, 1], dtype="float16")
moveaxis.value("bfloat16", lambda inputs: [inputs.normal(2, 3), 0, 1], dtype="bfloat16")
moveaxis.value("complex64", lambda inputs: [inputs.normal(2, 3) + 1j, 0, 1], dtype="complex64")
moveaxis.value("int64", lambda inputs: [inputs.integers(3, 4, 2), 1, 2], dtype="int64")
moveaxis.value("bool", lambda inputs: [inputs.booleans(3, 4), 0, 1], dtype="bool")
moveaxis.value("onto-itself", lambda inputs: [inputs.normal(3, 4), 1, -1])
moveaxis.value("scalar-no-axes", lambda inputs: [inputs.normal(), [], []])
moveaxis.value("empty", lambda inputs: [inputs.normal(0, 3, 2), 0, 2])
moveaxis.value("non-contiguous", lambda inputs: [inputs.normal(4, 5, 6), 0, 2], prepare=strided)
moveaxis.value(
    "gradient",
    lambda inputs: [inputs.normal(2, 3, 4), 0, 2, inputs.normal(3, 4, 2)],
    prepare=gradient,
    reference=lambda x, source, to, upstream: [np.moveaxis(x, source, to), np.moveaxis(upstream, to, source)],
)
moveaxis.value(
    "is-a-view",
    lambda inputs: [inputs.normal(2, 3, 4), 0, 2],
    prepare=written_to,
    reference=lambda x, source, to: [np.moveaxis(-2 * x, source, to), -2 * x],
)
for sample in library.samples("movedim"):
    moveaxis.value(sample.name, sample.inputs)
moveaxis.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]]), 0, 1])


def unbound(x: Any, dim: int = 0) -> Any:
    return [x.take(index, dim) for index in range(x.shape[dim])]


def unbind_gradient(context: Context, x: Any, *upstream: Any, **options: Any) -> Callable[[], Any]:
    x.requires_grad_()

    def call() -> list[Any]:
        results = context.function(x, **options)
        return [*results, *torch.autograd.grad(results, x, upstream)]

    return call


unbind = Rearrangement("torch.unbind", unbound)
unbind.value("float32-16x64x64", lambda inputs: [inputs.normal(16, 64, 64)])
unbind.value("float32-last-dim", lambda inputs: [inputs.normal(6, 3)], dim=-1)
unbind.value("float64", lambda inputs: [inputs.normal(2, 3, 4)], dtype="float64", dim=1)
unbind.value("float16", lambda inputs: [inputs.normal(3, 2)], dtype="float16")
unbind.value("bfloat16", lambda inputs: [inputs.normal(3, 2)], dtype="bfloat16")
unbind.value("complex64", lambda inputs: [inputs.normal(3, 2) - 2j], dtype="complex64")
unbind.value("int64", lambda inputs: [inputs.integers(4, 3)], dtype="int64", dim=1)
unbind.value("bool-vector", lambda inputs: [inputs.booleans(8)], dtype="bool")
unbind.value("one-slice", lambda inputs: [inputs.normal(1, 5)])
unbind.value("empty-slices", lambda inputs: [inputs.normal(3, 0)])
unbind.value("non-contiguous", lambda inputs: [inputs.normal(4, 5)], dim=1, prepare=strided)
unbind.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 2), inputs.normal(4), inputs.normal(4)],
    dim=1,
    prepare=unbind_gradient,
    reference=lambda x, one, other, dim: [*unbound(x, dim), np.stack([one, other], dim)],
)
unbind.value(
    "are-views",
    lambda inputs: [inputs.normal(3, 4)],
    prepare=written_to,
    reference=lambda x: [[2 * x[0], 2 * x[1], -2 * x[2]], np.stack([2 * x[0], 2 * x[1], -2 * x[2]])],
)
for sample in library.samples("unbind"):
    unbind.value(sample.name, sample.inputs)
unbind.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])], dim=1)


unsqueeze = Rearrangement("torch.unsqueeze", np.expand_dims)
unsqueeze.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), 1])
unsqueeze.value("float64-first", lambda inputs: [inputs.normal(3, 4), 0], dtype="float64")
unsqueeze.value("float16-negative", lambda inputs: [inputs.normal(3, 4), -1], dtype="float16")
unsqueeze.value("bfloat16-most-negative", lambda inputs: [inputs.normal(3, 4), -3], dtype="bfloat16")
unsqueeze.value("complex64", lambda inputs: [inputs.normal(3) + 3j, 1], dtype="complex64")
unsqueeze.value("int64", lambda inputs: [inputs.integers(5), 0], dtype="int64")
unsqueeze.value("bool", lambda inputs: [inputs.booleans(5), -1], dtype="bool")
unsqueeze.value("scalar", lambda inputs: [inputs.normal(), 0])
unsqueeze.value("empty", lambda inputs: [inputs.normal(0, 2), 1])
unsqueeze.value("non-contiguous", lambda inputs: [inputs.normal(4, 5), 1], prepare=strided)
unsqueeze.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 5), 1, inputs.normal(4, 1, 5)],
    prepare=gradient,
    reference=lambda x, dim, upstream: [np.expand_dims(x, dim), upstream[:, 0]],
)
unsqueeze.value(
    "is-a-view",
    lambda inputs: [inputs.normal(4, 5), 1],
    prepare=written_to,
    reference=lambda x, dim: [np.expand_dims(-2 * x, dim), -2 * x],
)
for sample in library.samples("unsqueeze"):
    unsqueeze.value(sample.name, sample.inputs)
unsqueeze.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]]), 1])

FUNCTIONS: list[Function] = [cat, diag, broadcast_tensors, fliplr, moveaxis, unbind, unsqueeze]
