"""Cases of linear algebra: ``addr``, ``slogdet``, ``linalg.matrix_rank``, ``triangular_solve``, ``ormqr``.

All matrices are well-conditioned, so that a wrong digit is the function's fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, gradient, into, strided

SOLVED = Tolerance(1e-4, 1e-4)
"""The tolerance of float32 results that depend on a factorization of some dozens of columns."""


def regular(inputs: Inputs, *shape: int) -> Any:
    """Make random matrices with a heavy diagonal. The sign of the determinant varies."""
    size = shape[-1]
    signs = np.where(inputs.booleans(*shape[:-1]), 1.0, -1.0)
    return 0.3 * inputs.normal(*shape) + np.eye(size) * signs[..., None, :] * (1 + size**0.5)


def outer_added(x: Any, one: Any, other: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """Compute ``addr``. If ``beta`` is zero, the first argument has no effect, even if it contains NaN."""
    outer = one[:, None] * other[None, :]
    if outer.dtype == np.bool_:
        return np.broadcast_to(x if beta else np.False_, outer.shape) | (outer & np.bool_(alpha))
    kept = 0 if beta == 0 else beta * x
    return np.asarray(kept + alpha * outer).astype(outer.dtype)


def outer_gradients(x: Any, one: Any, other: Any, upstream: Any, beta: float, alpha: float) -> Any:
    result = outer_added(x, one, other, beta, alpha)
    return [result, beta * upstream, alpha * (upstream @ other), alpha * (one @ upstream)]


addr = Function("torch.addr", outer_added)
addr.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), inputs.normal(256), inputs.normal(256)])
addr.value("float64", lambda inputs: [inputs.normal(4, 7), inputs.normal(4), inputs.normal(7)], dtype="float64")
addr.value("float16", lambda inputs: [inputs.normal(4, 7), inputs.normal(4), inputs.normal(7)], dtype="float16")
addr.value("bfloat16", lambda inputs: [inputs.normal(4, 7), inputs.normal(4), inputs.normal(7)], dtype="bfloat16")
addr.value(
    "complex64", lambda inputs: [inputs.normal(3, 5), inputs.normal(3) + 1j, inputs.normal(5) - 2j], dtype="complex64"
)
addr.value(
    "int64-scaled", lambda inputs: [inputs.integers(3, 4), inputs.integers(3), inputs.integers(4)], beta=2, alpha=-3
)
addr.value("bool", lambda inputs: [inputs.booleans(6, 5), inputs.booleans(6), inputs.booleans(5)])
addr.value("bool-alone", lambda inputs: [inputs.booleans(6, 5), inputs.booleans(6), inputs.booleans(5)], beta=False)
addr.value("row-broadcast", lambda inputs: [inputs.normal(9), inputs.normal(4), inputs.normal(9)], beta=0.5, alpha=2.0)
addr.value(
    "beta-zero-forgets-nan", lambda inputs: [np.full((3, 4), np.nan), inputs.normal(3), inputs.normal(4)], beta=0
)
addr.value("empty", lambda inputs: [inputs.normal(0, 4), inputs.normal(0), inputs.normal(4)])
addr.value("non-contiguous", lambda inputs: [inputs.normal(5, 6), inputs.normal(5), inputs.normal(6)], prepare=strided)
addr.value(
    "out",
    lambda inputs: [inputs.normal(5, 6), inputs.normal(5), inputs.normal(6)],
    prepare=into(),
    reference=both(outer_added),
)
addr.value(
    "gradient",
    lambda inputs: [inputs.normal(3, 4), inputs.normal(3), inputs.normal(4), inputs.normal(3, 4)],
    prepare=gradient,
    reference=outer_gradients,
    beta=0.5,
    alpha=-2.0,
)
for sample in library.samples("addr"):
    addr.value(sample.name, sample.inputs, **sample.options)


def eliminated(x: Any) -> Any:
    """Compute the sign and the logarithm of the determinant's magnitude, by Gaussian elimination with row exchanges."""
    if x.ndim > 2:
        pairs = [eliminated(x[index]) for index in np.ndindex(x.shape[:-2])]
        signs = np.array([sign for sign, _ in pairs], x.dtype).reshape(x.shape[:-2])
        return signs, np.array([size for _, size in pairs], "float64").reshape(x.shape[:-2])
    left, sign, logarithm = x.copy(), np.ones((), x.dtype), 0.0
    for step in range(len(x)):
        pivot = step + int(np.argmax(abs(left[step:, step])))
        if left[pivot, step] == 0:
            return np.zeros((), x.dtype), np.asarray(-np.inf)
        if pivot != step:
            left[[step, pivot]] = left[[pivot, step]]
            sign = -sign
        sign = sign * left[step, step] / abs(left[step, step])
        logarithm += np.log(abs(left[step, step]))
        left[step + 1 :] -= np.outer(left[step + 1 :, step] / left[step, step], left[step])
    return np.asarray(sign), np.asarray(logarithm)


def slogdet_gradient(context: Context, x: Any) -> Callable[[], Any]:
    x.requires_grad_()

    def call() -> list[Any]:
        sign, logarithm = context.function(x)
        return [sign, logarithm, *torch.autograd.grad(logarithm.sum(), x)]

    return call


slogdet = Function("torch.slogdet", eliminated)
slogdet.value("float32-64x64", lambda inputs: [regular(inputs, 64, 64)], tolerance=SOLVED)
slogdet.value("float32-5x5", lambda inputs: [regular(inputs, 5, 5)])
slogdet.value("float64-batch", lambda inputs: [regular(inputs, 3, 2, 6, 6)], dtype="float64")
slogdet.value("complex64", lambda inputs: [regular(inputs, 4, 4) + 1j * inputs.normal(4, 4)], dtype="complex64")
slogdet.value("complex128-batch", lambda inputs: [regular(inputs, 2, 5, 5) * 1j], dtype="complex128")
slogdet.value("odd-permutation-is-negative", lambda inputs: [3 * np.eye(4)[[1, 0, 2, 3]]])
slogdet.value("even-permutation-is-positive", lambda inputs: [2 * np.eye(4)[[1, 2, 0, 3]]])
slogdet.value(
    "column-of-zeros-has-no-sign",
    lambda inputs: [np.array([[1.0, 0.0, 3.0], [2.0, 0.0, 6.0], [4.0, 0.0, 1.0]])],
)
slogdet.value("determinant-past-float32", lambda inputs: [1e20 * np.eye(5)])
slogdet.value("determinant-below-float32", lambda inputs: [-1e-20 * np.eye(5)])
slogdet.value("one-by-one", lambda inputs: [np.array([[-2.5]])])
slogdet.value("empty-matrix-has-determinant-one", lambda inputs: [inputs.normal(0, 0)])
slogdet.value("empty-batch", lambda inputs: [inputs.normal(0, 3, 3)])
slogdet.value("non-contiguous", lambda inputs: [regular(inputs, 6, 6)], prepare=strided)
slogdet.value(
    "gradient-is-the-inverse-transposed",
    lambda inputs: [regular(inputs, 2, 4, 4)],
    prepare=slogdet_gradient,
    reference=lambda x: [*eliminated(x), np.linalg.inv(x).swapaxes(-1, -2)],
)
for sample in library.samples("linalg.slogdet"):
    slogdet.value(sample.name, sample.inputs, tolerance=SOLVED)


def of_rank(inputs: Inputs, rank: int, *shape: int) -> Any:
    """Make matrices of this rank as products of two factors, scaled so that the smallest singular value is far from
    zero."""
    *batch, rows, columns = shape
    left, _ = np.linalg.qr(inputs.normal(*batch, rows, rank))
    right, _ = np.linalg.qr(inputs.normal(*batch, columns, rank))
    return (left * np.linspace(4, 1, rank)) @ right.swapaxes(-1, -2)


def rank(x: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """Count the singular values (for Hermitian matrices the magnitudes of eigenvalues) above the larger of the two
    thresholds.

    The default of ``rtol`` uses the precision of float32, because only float32 cases come near this threshold.
    """
    if 0 in x.shape[-2:]:
        return np.zeros(x.shape[:-2], "int64")
    if hermitian:
        lower = np.tril(x) + np.tril(x, -1).conj().swapaxes(-1, -2)
        values = abs(np.linalg.eigvalsh(lower))
    else:
        values = np.linalg.svd(x, compute_uv=False)
    absolute = tol if tol is not None else atol if atol is not None else 0.0
    given = tol is not None or (atol is not None and np.any(np.asarray(atol) > 0))
    relative = rtol if rtol is not None else 0.0 if given else max(x.shape[-2:]) * np.finfo("float32").eps
    largest = values.max(-1, keepdims=True)
    threshold = np.maximum(np.asarray(absolute)[..., None], np.asarray(relative)[..., None] * largest)
    return np.asarray((values > threshold).sum(-1)).astype("int64")


matrix_rank = Function("torch.linalg.matrix_rank", rank)
matrix_rank.value("float32-64x64-rank-17", lambda inputs: [of_rank(inputs, 17, 64, 64)])
matrix_rank.value("float32-full", lambda inputs: [regular(inputs, 8, 8)])
matrix_rank.value("float64-wide", lambda inputs: [of_rank(inputs, 3, 5, 9)], dtype="float64", rtol=1e-9)
matrix_rank.value("float32-tall-batch", lambda inputs: [of_rank(inputs, 2, 3, 4, 7, 5)])
matrix_rank.value("complex64", lambda inputs: [of_rank(inputs, 2, 6, 6) * (1 + 2j)], dtype="complex64")
matrix_rank.value(
    "ranks-differ-in-a-batch", lambda inputs: [np.stack([of_rank(inputs, number, 6, 6) for number in (0, 1, 4, 6)])]
)
matrix_rank.value("zeros", lambda inputs: [np.zeros((4, 5))])
matrix_rank.value("absolute-tolerance", lambda inputs: [np.diag([5.0, 2.0, 0.5, 0.1])], atol=1.0)
matrix_rank.value("relative-tolerance", lambda inputs: [np.diag([5.0, 2.0, 0.5, 0.1])], rtol=0.05)
matrix_rank.value("larger-tolerance-counts", lambda inputs: [np.diag([5.0, 2.0, 0.5, 0.1])], atol=0.2, rtol=0.3)
matrix_rank.value("tolerance-by-its-old-name", lambda inputs: [np.diag([5.0, 2.0, 0.5, 0.1])], tol=0.3)
matrix_rank.value(
    "one-tolerance-each", lambda inputs: [np.stack([np.diag([3.0, 2.0, 1.0])] * 3), np.array([0.5, 1.5, 2.5])]
)
matrix_rank.value(
    "hermitian-with-negative-eigenvalues", lambda inputs: [np.diag([-4.0, 0.0, 2.0, -1.0])], hermitian=True
)
matrix_rank.value("one-by-one", lambda inputs: [np.array([[1e-30]])])
matrix_rank.value("empty-matrix", lambda inputs: [inputs.normal(3, 0, 4)])
matrix_rank.value("empty-batch", lambda inputs: [inputs.normal(0, 4, 4)])
matrix_rank.value("non-contiguous", lambda inputs: [of_rank(inputs, 3, 6, 5)], prepare=strided)
matrix_rank.value(
    "out",
    lambda inputs: [of_rank(inputs, 3, 4, 6, 5)],
    prepare=into(torch.int64),
    reference=both(rank),
)
for sample in library.samples("linalg.matrix_rank"):
    matrix_rank.value(sample.name, sample.inputs, **sample.options)
for sample in library.samples("linalg.matrix_rank.hermitian"):
    matrix_rank.value(f"hermitian-{sample.name}", sample.inputs, **sample.options)


def substituted(b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """Solve by substitution, row by row. The coefficients are returned unchanged, broadcast over the batch."""
    batch = np.broadcast_shapes(b.shape[:-2], a.shape[:-2])
    b, a = (np.broadcast_to(matrix, batch + matrix.shape[-2:]) for matrix in (b, a))
    factor = np.triu(a) if upper else np.tril(a)
    if transpose:
        factor = factor.swapaxes(-1, -2)
    size = a.shape[-1]
    x = np.zeros_like(b)
    for row in reversed(range(size)) if upper != transpose else range(size):
        left = b[..., row, :] - np.einsum("...k,...kj->...j", factor[..., row, :], x)
        x[..., row, :] = left if unitriangular else left / factor[..., row, row, None]
    return x, a


def solve_gradients(b: Any, a: Any, upstream: Any) -> Any:
    """Compute the gradients of ``a x = b``. The gradient of ``b`` solves the transposed system, and the gradient of
    ``a`` is its product with ``x``."""
    x, _ = substituted(b, a)
    by_b, _ = substituted(upstream, a, transpose=True)
    return [x, a, by_b, np.triu(-by_b @ x.swapaxes(-1, -2))]


def solve_gradient(context: Context, b: Any, a: Any, upstream: Any) -> Callable[[], Any]:
    wanted = (b.requires_grad_(), a.requires_grad_())

    def call() -> list[Any]:
        x, coefficients = context.function(*wanted)
        return [x, coefficients, *torch.autograd.grad(x, wanted, upstream)]

    return call


solve = Function("torch.triangular_solve", substituted)
solve.value("float32-64x32", lambda inputs: [inputs.normal(64, 32), regular(inputs, 64, 64)], tolerance=SOLVED)
solve.value("float32-upper-ignores-the-rest", lambda inputs: [inputs.normal(5, 3), regular(inputs, 5, 5)])
solve.value("float64-lower", lambda inputs: [inputs.normal(5, 3), regular(inputs, 5, 5)], dtype="float64", upper=False)
solve.value("transposed", lambda inputs: [inputs.normal(5, 3), regular(inputs, 5, 5)], transpose=True)
solve.value(
    "lower-transposed", lambda inputs: [inputs.normal(5, 3), regular(inputs, 5, 5)], upper=False, transpose=True
)
solve.value(
    "unit-diagonal-assumed", lambda inputs: [inputs.normal(5, 3), 0.4 * inputs.normal(5, 5)], unitriangular=True
)
solve.value("complex64", lambda inputs: [inputs.normal(4, 2) + 1j, regular(inputs, 4, 4) * (1 + 1j)], dtype="complex64")
solve.value("batch", lambda inputs: [inputs.normal(2, 3, 4, 2), regular(inputs, 2, 3, 4, 4)])
solve.value("one-matrix-for-a-batch", lambda inputs: [inputs.normal(3, 4, 2), regular(inputs, 4, 4)])
solve.value("one-by-one", lambda inputs: [inputs.normal(1, 1), np.array([[-0.5]])])
solve.value("no-right-hand-side", lambda inputs: [inputs.normal(4, 0), regular(inputs, 4, 4)])
solve.value("empty-batch", lambda inputs: [inputs.normal(0, 4, 2), regular(inputs, 0, 4, 4)])
solve.value("non-contiguous", lambda inputs: [inputs.normal(5, 3), regular(inputs, 5, 5)], prepare=strided)
solve.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 3), regular(inputs, 4, 4), inputs.normal(4, 3)],
    prepare=solve_gradient,
    reference=solve_gradients,
)
for sample in library.samples("triangular_solve"):
    solve.value(sample.name, sample.inputs, tolerance=SOLVED, **sample.options)


def reflected(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Multiply by Q, the product of the reflections ``I - tau v v*``. Q is built in full."""
    if other.ndim > 2:
        batches = aligned(x, tau, other)
        products = [reflected(a, scales, b, left, transpose) for a, scales, b in batches]
        return np.array(products).reshape(other.shape)
    size = x.shape[0]
    q = np.eye(size, dtype=other.dtype)
    for step, scale in enumerate(tau):
        v = np.concatenate([np.zeros(step), [1.0], x[step + 1 :, step]]).astype(other.dtype)
        q = q @ (np.eye(size) - scale * np.outer(v, v.conj()))
    q = q.conj().T if transpose else q
    return q @ other if left else other @ q


def reflections(inputs: Inputs, *shape: int) -> Any:
    """Make columns below the diagonal, and the factors that make each reflection orthogonal."""
    x = inputs.normal(*shape)
    below = np.tril(x, -1)
    return [x, 2 / (1 + (below**2).sum(-2))]


ormqr = Function("torch.ormqr", reflected)
ormqr.value("float32-64x64", lambda inputs: [*reflections(inputs, 64, 64), inputs.normal(64, 64)], tolerance=SOLVED)
ormqr.value("float32-right", lambda inputs: [*reflections(inputs, 5, 5), inputs.normal(3, 5)], left=False)
ormqr.value(
    "float64-transposed",
    lambda inputs: [*reflections(inputs, 6, 6), inputs.normal(6, 2)],
    dtype="float64",
    transpose=True,
)
ormqr.value(
    "right-transposed", lambda inputs: [*reflections(inputs, 5, 5), inputs.normal(3, 5)], left=False, transpose=True
)
ormqr.value("few-reflections", lambda inputs: [*reflections(inputs, 6, 2), inputs.normal(6, 4)])
ormqr.value("batch", lambda inputs: [*reflections(inputs, 3, 5, 4), inputs.normal(3, 5, 2)])
ormqr.value(
    "complex64",
    lambda inputs: [
        inputs.normal(4, 3) + 1j * inputs.normal(4, 3),
        0.5 * inputs.normal(3) + 0.5j,
        inputs.normal(4, 2) + 1j,
    ],
    dtype="complex64",
    transpose=True,
)
ormqr.value("tau-zero-is-the-identity", lambda inputs: [inputs.normal(4, 4), np.zeros(4), inputs.normal(4, 3)])
ormqr.value("no-reflections", lambda inputs: [inputs.normal(4, 0), inputs.normal(0), inputs.normal(4, 3)])
ormqr.value("empty-batch", lambda inputs: [inputs.normal(0, 4, 2), inputs.normal(0, 2), inputs.normal(0, 4, 3)])
ormqr.value("non-contiguous", lambda inputs: [*reflections(inputs, 5, 4), inputs.normal(5, 6)], prepare=strided)
ormqr.value(
    "out",
    lambda inputs: [*reflections(inputs, 5, 4), inputs.normal(5, 6)],
    prepare=into(),
    reference=both(reflected),
)
for sample in library.samples("ormqr"):
    ormqr.value(sample.name, sample.inputs, tolerance=SOLVED, **sample.options)

FUNCTIONS: list[Function] = [addr, slogdet, matrix_rank, solve, ormqr]
