"""Functions of linear algebra: ``addr``, ``slogdet``, ``linalg.matrix_rank``, ``triangular_solve``, ``ormqr``.

Matrices are made well-conditioned, so that a wrong digit is the function's and not the problem's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Function, Make, On
from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned
from runners.torch.suites.paper import library
from runners.torch.suites.paper.calls import both, gradient, into, strided

SOLVED = Tolerance(1e-4, 1e-4)
"""For float32 results that pass through a factorisation of some dozens of columns."""


def regular(make: Make, *shape: int) -> Any:
    """Random matrices with a heavy diagonal; the determinant's sign varies."""
    size = shape[-1]
    signs = np.where(make.booleans(*shape[:-1]), 1.0, -1.0)
    return 0.3 * make.normal(*shape) + np.eye(size) * signs[..., None, :] * (1 + size**0.5)


def outer_added(x: Any, one: Any, other: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """With ``beta`` zero the first argument does not count, not even its NaN."""
    outer = one[:, None] * other[None, :]
    if outer.dtype == np.bool_:
        return np.broadcast_to(x if beta else np.False_, outer.shape) | (outer & np.bool_(alpha))
    kept = 0 if beta == 0 else beta * x
    return np.asarray(kept + alpha * outer).astype(outer.dtype)


def outer_gradients(x: Any, one: Any, other: Any, upstream: Any, beta: float, alpha: float) -> Any:
    result = outer_added(x, one, other, beta, alpha)
    return [result, beta * upstream, alpha * (upstream @ other), alpha * (one @ upstream)]


addr = Function("torch.addr", outer_added)
addr.value("float32-256x256", lambda make: [make.normal(256, 256), make.normal(256), make.normal(256)])
addr.value("float64", lambda make: [make.normal(4, 7), make.normal(4), make.normal(7)], dtype="float64")
addr.value("float16", lambda make: [make.normal(4, 7), make.normal(4), make.normal(7)], dtype="float16")
addr.value("bfloat16", lambda make: [make.normal(4, 7), make.normal(4), make.normal(7)], dtype="bfloat16")
addr.value("complex64", lambda make: [make.normal(3, 5), make.normal(3) + 1j, make.normal(5) - 2j], dtype="complex64")
addr.value("int64-scaled", lambda make: [make.integers(3, 4), make.integers(3), make.integers(4)], beta=2, alpha=-3)
addr.value("bool", lambda make: [make.booleans(6, 5), make.booleans(6), make.booleans(5)])
addr.value("bool-alone", lambda make: [make.booleans(6, 5), make.booleans(6), make.booleans(5)], beta=False)
addr.value("row-broadcast", lambda make: [make.normal(9), make.normal(4), make.normal(9)], beta=0.5, alpha=2.0)
addr.value("beta-zero-forgets-nan", lambda make: [np.full((3, 4), np.nan), make.normal(3), make.normal(4)], beta=0)
addr.value("empty", lambda make: [make.normal(0, 4), make.normal(0), make.normal(4)])
addr.value("non-contiguous", lambda make: [make.normal(5, 6), make.normal(5), make.normal(6)], prepare=strided)
addr.value(
    "out",
    lambda make: [make.normal(5, 6), make.normal(5), make.normal(6)],
    prepare=into(),
    reference=both(outer_added),
)
addr.value(
    "gradient",
    lambda make: [make.normal(3, 4), make.normal(3), make.normal(4), make.normal(3, 4)],
    prepare=gradient,
    reference=outer_gradients,
    beta=0.5,
    alpha=-2.0,
)
for sample in library.samples("addr"):
    addr.value(sample.name, sample.inputs, **sample.options)


def eliminated(x: Any) -> Any:
    """Gaussian elimination with row exchanges: the sign, and the logarithm of the magnitude."""
    if x.ndim > 2:
        pairs = [eliminated(x[each]) for each in np.ndindex(x.shape[:-2])]
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


def slogdet_gradient(on: On, x: Any) -> Callable[[], Any]:
    x.requires_grad_()

    def call() -> list[Any]:
        sign, logarithm = on.function(x)
        return [sign, logarithm, *torch.autograd.grad(logarithm.sum(), x)]

    return call


slogdet = Function("torch.slogdet", eliminated)
slogdet.value("float32-64x64", lambda make: [regular(make, 64, 64)], tolerance=SOLVED)
slogdet.value("float32-5x5", lambda make: [regular(make, 5, 5)])
slogdet.value("float64-batch", lambda make: [regular(make, 3, 2, 6, 6)], dtype="float64")
slogdet.value("complex64", lambda make: [regular(make, 4, 4) + 1j * make.normal(4, 4)], dtype="complex64")
slogdet.value("complex128-batch", lambda make: [regular(make, 2, 5, 5) * 1j], dtype="complex128")
slogdet.value("odd-permutation-is-negative", lambda make: [3 * np.eye(4)[[1, 0, 2, 3]]])
slogdet.value("even-permutation-is-positive", lambda make: [2 * np.eye(4)[[1, 2, 0, 3]]])
slogdet.value(
    "column-of-zeros-has-no-sign",
    lambda make: [np.array([[1.0, 0.0, 3.0], [2.0, 0.0, 6.0], [4.0, 0.0, 1.0]])],
)
slogdet.value("determinant-past-float32", lambda make: [1e20 * np.eye(5)])
slogdet.value("determinant-below-float32", lambda make: [-1e-20 * np.eye(5)])
slogdet.value("one-by-one", lambda make: [np.array([[-2.5]])])
slogdet.value("empty-matrix-has-determinant-one", lambda make: [make.normal(0, 0)])
slogdet.value("empty-batch", lambda make: [make.normal(0, 3, 3)])
slogdet.value("non-contiguous", lambda make: [regular(make, 6, 6)], prepare=strided)
slogdet.value(
    "gradient-is-the-inverse-transposed",
    lambda make: [regular(make, 2, 4, 4)],
    prepare=slogdet_gradient,
    reference=lambda x: [*eliminated(x), np.linalg.inv(x).swapaxes(-1, -2)],
)
for sample in library.samples("linalg.slogdet"):
    slogdet.value(sample.name, sample.inputs, tolerance=SOLVED)


def of_rank(make: Make, rank: int, *shape: int) -> Any:
    """Products of two factors of ``rank``, scaled so that the smallest singular value is far from zero."""
    *batch, rows, columns = shape
    left, _ = np.linalg.qr(make.normal(*batch, rows, rank))
    right, _ = np.linalg.qr(make.normal(*batch, columns, rank))
    return (left * np.linspace(4, 1, rank)) @ right.swapaxes(-1, -2)


def rank(x: Any, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Any:
    """Singular values (or magnitudes of eigenvalues) above the larger of both thresholds.

    The default of ``rtol`` is float32's, whose cases alone come near it.
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
matrix_rank.value("float32-64x64-rank-17", lambda make: [of_rank(make, 17, 64, 64)])
matrix_rank.value("float32-full", lambda make: [regular(make, 8, 8)])
matrix_rank.value("float64-wide", lambda make: [of_rank(make, 3, 5, 9)], dtype="float64", rtol=1e-9)
matrix_rank.value("float32-tall-batch", lambda make: [of_rank(make, 2, 3, 4, 7, 5)])
matrix_rank.value("complex64", lambda make: [of_rank(make, 2, 6, 6) * (1 + 2j)], dtype="complex64")
matrix_rank.value(
    "ranks-differ-in-a-batch", lambda make: [np.stack([of_rank(make, each, 6, 6) for each in (0, 1, 4, 6)])]
)
matrix_rank.value("zeros", lambda make: [np.zeros((4, 5))])
matrix_rank.value("absolute-tolerance", lambda make: [np.diag([5.0, 2.0, 0.5, 0.1])], atol=1.0)
matrix_rank.value("relative-tolerance", lambda make: [np.diag([5.0, 2.0, 0.5, 0.1])], rtol=0.05)
matrix_rank.value("larger-tolerance-counts", lambda make: [np.diag([5.0, 2.0, 0.5, 0.1])], atol=0.2, rtol=0.3)
matrix_rank.value("tolerance-by-its-old-name", lambda make: [np.diag([5.0, 2.0, 0.5, 0.1])], tol=0.3)
matrix_rank.value(
    "one-tolerance-each", lambda make: [np.stack([np.diag([3.0, 2.0, 1.0])] * 3), np.array([0.5, 1.5, 2.5])]
)
matrix_rank.value("hermitian-with-negative-eigenvalues", lambda make: [np.diag([-4.0, 0.0, 2.0, -1.0])], hermitian=True)
matrix_rank.value("one-by-one", lambda make: [np.array([[1e-30]])])
matrix_rank.value("empty-matrix", lambda make: [make.normal(3, 0, 4)])
matrix_rank.value("empty-batch", lambda make: [make.normal(0, 4, 4)])
matrix_rank.value("non-contiguous", lambda make: [of_rank(make, 3, 6, 5)], prepare=strided)
matrix_rank.value(
    "out",
    lambda make: [of_rank(make, 3, 4, 6, 5)],
    prepare=into(torch.int64),
    reference=both(rank),
)
for sample in library.samples("linalg.matrix_rank"):
    matrix_rank.value(sample.name, sample.inputs, **sample.options)
for sample in library.samples("linalg.matrix_rank.hermitian"):
    matrix_rank.value(f"hermitian-{sample.name}", sample.inputs, **sample.options)


def substituted(b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """Substitution, row by row; the coefficients come back as given, spread over the batch."""
    batch = np.broadcast_shapes(b.shape[:-2], a.shape[:-2])
    b, a = (np.broadcast_to(each, batch + each.shape[-2:]) for each in (b, a))
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
    """Of ``a x = b``: by ``b`` the solution of the transposed system, by ``a`` its product with ``x``."""
    x, _ = substituted(b, a)
    by_b, _ = substituted(upstream, a, transpose=True)
    return [x, a, by_b, np.triu(-by_b @ x.swapaxes(-1, -2))]


def solve_gradient(on: On, b: Any, a: Any, upstream: Any) -> Callable[[], Any]:
    wanted = (b.requires_grad_(), a.requires_grad_())

    def call() -> list[Any]:
        x, coefficients = on.function(*wanted)
        return [x, coefficients, *torch.autograd.grad(x, wanted, upstream)]

    return call


solve = Function("torch.triangular_solve", substituted)
solve.value("float32-64x32", lambda make: [make.normal(64, 32), regular(make, 64, 64)], tolerance=SOLVED)
solve.value("float32-upper-ignores-the-rest", lambda make: [make.normal(5, 3), regular(make, 5, 5)])
solve.value("float64-lower", lambda make: [make.normal(5, 3), regular(make, 5, 5)], dtype="float64", upper=False)
solve.value("transposed", lambda make: [make.normal(5, 3), regular(make, 5, 5)], transpose=True)
solve.value("lower-transposed", lambda make: [make.normal(5, 3), regular(make, 5, 5)], upper=False, transpose=True)
solve.value("unit-diagonal-assumed", lambda make: [make.normal(5, 3), 0.4 * make.normal(5, 5)], unitriangular=True)
solve.value("complex64", lambda make: [make.normal(4, 2) + 1j, regular(make, 4, 4) * (1 + 1j)], dtype="complex64")
solve.value("batch", lambda make: [make.normal(2, 3, 4, 2), regular(make, 2, 3, 4, 4)])
solve.value("one-matrix-for-a-batch", lambda make: [make.normal(3, 4, 2), regular(make, 4, 4)])
solve.value("one-by-one", lambda make: [make.normal(1, 1), np.array([[-0.5]])])
solve.value("no-right-hand-side", lambda make: [make.normal(4, 0), regular(make, 4, 4)])
solve.value("empty-batch", lambda make: [make.normal(0, 4, 2), regular(make, 0, 4, 4)])
solve.value("non-contiguous", lambda make: [make.normal(5, 3), regular(make, 5, 5)], prepare=strided)
solve.value(
    "gradient",
    lambda make: [make.normal(4, 3), regular(make, 4, 4), make.normal(4, 3)],
    prepare=solve_gradient,
    reference=solve_gradients,
)
for sample in library.samples("triangular_solve"):
    solve.value(sample.name, sample.inputs, tolerance=SOLVED, **sample.options)


def reflected(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """Q is the product of reflections ``I - tau v v*``, built in full and multiplied."""
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


def reflections(make: Make, *shape: int) -> Any:
    """Columns below the diagonal, and the scales that make each reflection orthogonal."""
    x = make.normal(*shape)
    below = np.tril(x, -1)
    return [x, 2 / (1 + (below**2).sum(-2))]


ormqr = Function("torch.ormqr", reflected)
ormqr.value("float32-64x64", lambda make: [*reflections(make, 64, 64), make.normal(64, 64)], tolerance=SOLVED)
ormqr.value("float32-right", lambda make: [*reflections(make, 5, 5), make.normal(3, 5)], left=False)
ormqr.value(
    "float64-transposed", lambda make: [*reflections(make, 6, 6), make.normal(6, 2)], dtype="float64", transpose=True
)
ormqr.value("right-transposed", lambda make: [*reflections(make, 5, 5), make.normal(3, 5)], left=False, transpose=True)
ormqr.value("few-reflections", lambda make: [*reflections(make, 6, 2), make.normal(6, 4)])
ormqr.value("batch", lambda make: [*reflections(make, 3, 5, 4), make.normal(3, 5, 2)])
ormqr.value(
    "complex64",
    lambda make: [make.normal(4, 3) + 1j * make.normal(4, 3), 0.5 * make.normal(3) + 0.5j, make.normal(4, 2) + 1j],
    dtype="complex64",
    transpose=True,
)
ormqr.value("tau-zero-is-the-identity", lambda make: [make.normal(4, 4), np.zeros(4), make.normal(4, 3)])
ormqr.value("no-reflections", lambda make: [make.normal(4, 0), make.normal(0), make.normal(4, 3)])
ormqr.value("empty-batch", lambda make: [make.normal(0, 4, 2), make.normal(0, 2), make.normal(0, 4, 3)])
ormqr.value("non-contiguous", lambda make: [*reflections(make, 5, 4), make.normal(5, 6)], prepare=strided)
ormqr.value(
    "out",
    lambda make: [*reflections(make, 5, 4), make.normal(5, 6)],
    prepare=into(),
    reference=both(reflected),
)
for sample in library.samples("ormqr"):
    ormqr.value(sample.name, sample.inputs, tolerance=SOLVED, **sample.options)

FUNCTIONS: list[Function] = [addr, slogdet, matrix_rank, solve, ormqr]
