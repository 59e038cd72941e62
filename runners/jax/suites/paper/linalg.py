"""Cases of linear algebra: ``numpy.linalg.eig`` and ``svd``, ``scipy.linalg.lu``; ``signal.convolve2d``.

Eigenvectors and singular vectors are only unique up to a factor of size one, and eigenvalues may have any order. So
they are judged by their defining equations. Unique results are compared value by value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import scipy.signal

from runners.jax.suites.paper.calls import gradient, in_vmap, jitted
from runners.suite.cases import Context, Function, Inputs, MakeArguments
from runners.suite.checks import Tolerance, require_refusal
from runners.suite.sequences import aligned

FACTORED = Tolerance(1e-4, 1e-4)
"""The tolerance of float32 results that depend on a factorization of some dozens of columns."""


def complex_normal(inputs: Inputs, *shape: int) -> Any:
    return inputs.normal(*shape) + 1j * inputs.normal(*shape)


def slack(dtype: str) -> float:
    """Return the allowed error of a product of factors, for matrices whose elements are about one."""
    return 1e-9 if dtype in ("float64", "complex128") else 1e-4


def assert_close(observed: Any, wanted: Any, margin: float, what: str) -> None:
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    off = float(np.max(np.abs(observed - wanted), initial=0.0))
    assert off <= margin * scale, f"{what}: off by {off:.3g}, at most {margin * scale:.3g}"


def assert_same_values(observed: Any, wanted: Any, margin: float) -> None:
    """Check that the numbers are the same, in any order."""
    left = list(observed)
    for eigenvalue in wanted:
        nearest = int(np.argmin([abs(other - eigenvalue) for other in left]))
        off = abs(left.pop(nearest) - eigenvalue)
        assert off <= margin * max(1.0, float(np.max(np.abs(wanted)))), f"eigenvalue {eigenvalue:.6g}: off by {off:.3g}"


def assert_eigen(found: Any, x: Any) -> None:
    """Check that ``x v = w v`` for columns of length one, and compare the eigenvalues with those of SciPy."""
    values, vectors = found
    complex_of = {"float64": "complex128", "complex128": "complex128"}
    dtype = "complex128" if values.dtype in complex_of.values() else "complex64"
    assert values.dtype == vectors.dtype == dtype, f"dtypes {values.dtype} and {vectors.dtype}"
    assert values.values.shape == x.shape[:-1], f"eigenvalues of shape {values.values.shape}"
    assert vectors.values.shape == x.shape, f"eigenvectors of shape {vectors.values.shape}"
    margin = slack(dtype)
    for index in np.ndindex(x.shape[:-2]):
        w, v = values.values[index].astype(complex), vectors.values[index].astype(complex)
        assert_same_values(w, scipy.linalg.eigvals(x[index]), 5 * margin)
        assert_close(x[index] @ v, v * w, margin, "x v - w v")
        assert_close(np.linalg.norm(v, axis=0), np.ones(len(w)), margin, "the length of eigenvectors")


def eigen_of_type(dtype: str) -> Callable[..., None]:
    def check(found: Any, x: Any) -> None:
        assert found[0].dtype == dtype, f"eigenvalues of {found[0].dtype}"
        assert_eigen(found, x)

    return check


def refused_gradient(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare the name of the error that differentiating the eigenvectors raises."""

    def call() -> Any:
        try:
            jax.grad(lambda x: jnp.sum(abs(context.function(x)[1])))(x)
        except Exception as error:
            return type(error).__name__
        return None

    return call


def assert_refused(error: Any, x: Any) -> None:
    require_refusal(error, "NotImplementedError")


eig = Function("jax.numpy.linalg.eig")
eig.behaviour("float32-32x32", lambda inputs: [inputs.normal(32, 32)], eigen_of_type("complex64"))
eig.behaviour("float64", lambda inputs: [inputs.normal(9, 9)], eigen_of_type("complex128"), dtype="float64")
eig.behaviour("complex64", lambda inputs: [complex_normal(inputs, 9, 9)], eigen_of_type("complex64"), dtype="complex64")
eig.behaviour(
    "complex128", lambda inputs: [complex_normal(inputs, 9, 9)], eigen_of_type("complex128"), dtype="complex128"
)
eig.behaviour("int32", lambda inputs: [inputs.integers(6, 6, dtype="int32")], eigen_of_type("complex64"))
eig.behaviour("batch", lambda inputs: [inputs.normal(3, 2, 5, 5)], assert_eigen)
eig.behaviour("symmetric", lambda inputs: [np.add(*[m := inputs.normal(8, 8), m.T])], assert_eigen)
eig.behaviour("rotation-has-a-complex-pair", lambda inputs: [np.array([[0.0, -2.0], [2.0, 0.0]])], assert_eigen)
eig.behaviour("diagonal", lambda inputs: [np.diag([3.0, -1.0, 0.5, 7.0])], assert_eigen)
eig.behaviour("one-by-one", lambda inputs: [np.array([[-2.5]])], assert_eigen)
eig.behaviour("empty-batch", lambda inputs: [inputs.normal(0, 3, 3)], assert_eigen)
eig.behaviour("jitted", lambda inputs: [inputs.normal(16, 16)], assert_eigen, prepare=jitted)
eig.behaviour("vmap", lambda inputs: [inputs.normal(4, 6, 6)], assert_eigen, prepare=in_vmap)
# The derivative of eigenvectors depends on a choice that JAX offers only in lax.linalg.eig.
eig.behaviour(
    "gradient-is-refused", lambda inputs: [inputs.normal(5, 5)], assert_refused, prepare=refused_gradient, refuses=True
)


def singular_values(x: Any, **options: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False)


def assert_svd(found: Any, x: Any, full_matrices: bool = True, hermitian: bool = False) -> None:
    """Check that the factors are orthonormal and the singular values descend, and that the product is ``x``."""
    assert len(found) == 3, f"{len(found)} factors"
    u, s, vh = (factor.values for factor in found)
    wide = {"float64": "complex128"}.get(found[1].dtype, "complex64")
    wanted = wide if np.iscomplexobj(x) else found[1].dtype
    assert found[0].dtype == found[2].dtype == wanted, f"factors of {found[0].dtype} and {found[2].dtype}"
    rows, columns = x.shape[-2:]
    inner = min(rows, columns)
    outer = (rows, columns) if full_matrices else (inner, inner)
    shapes = [factor.shape[len(x.shape) - 2 :] for factor in (u, s, vh)]
    assert shapes == [(rows, outer[0]), (inner,), (outer[1], columns)], f"shapes {shapes}"
    margin = slack(found[1].dtype)
    u, s, vh = (factor.astype(complex if np.iscomplexobj(x) else float) for factor in (u, s, vh))
    assert_close(s, np.linalg.svd(x, compute_uv=False), margin, "singular values")
    assert_close((u[..., :inner] * s[..., None, :]) @ vh[..., :inner, :], x, margin, "u s v")
    for name, product in (("u", u.conj().swapaxes(-1, -2) @ u), ("v", vh @ vh.conj().swapaxes(-1, -2))):
        assert_close(
            product, np.broadcast_to(np.eye(product.shape[-1]), product.shape), margin, f"{name} is not orthonormal"
        )


def svd_of_type(dtype: str) -> Callable[..., None]:
    def check(found: Any, x: Any, **options: Any) -> None:
        assert found[1].dtype == dtype, f"singular values of {found[1].dtype}"
        assert_svd(found, x, **options)

    return check


def values_alone(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    def forward_and_backward(x: Any, upstream: Any) -> Any:
        values, backward = jax.vjp(lambda x: context.function(x, compute_uv=False), x)
        return [values, *backward(upstream)]

    both = jax.jit(forward_and_backward)
    return context.compiled(lambda: both(x, upstream))


def values_gradient(x: Any, upstream: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return [s, (u * upstream) @ vh]


SIZES = {"square": (9, 9), "tall": (12, 5), "wide": (5, 12), "batch": (2, 3, 6, 4), "column": (7, 1), "row": (1, 7)}

svd = Function("jax.numpy.linalg.svd", singular_values)
svd.value("float32-64x64-values", lambda inputs: [inputs.normal(64, 64)], compute_uv=False, tolerance=FACTORED)
svd.behaviour("float32-64x48", lambda inputs: [inputs.normal(64, 48)], svd_of_type("float32"))


def matrix(*shape: int) -> MakeArguments:
    return lambda inputs: [inputs.normal(*shape)]


def complex_matrix(*shape: int) -> MakeArguments:
    return lambda inputs: [complex_normal(inputs, *shape)]


for name, shape in SIZES.items():
    svd.value(f"values-{name}", matrix(*shape), compute_uv=False, tolerance=FACTORED)
    svd.behaviour(f"full-{name}", matrix(*shape), svd_of_type("float32"))
    svd.behaviour(f"thin-{name}", matrix(*shape), svd_of_type("float32"), full_matrices=False)
    svd.behaviour(f"float64-{name}", matrix(*shape), svd_of_type("float64"), dtype="float64", full_matrices=False)
    svd.behaviour(f"complex64-{name}", complex_matrix(*shape), svd_of_type("float32"), dtype="complex64")
svd.value("float64-values", lambda inputs: [inputs.normal(12, 9)], dtype="float64", compute_uv=False)
svd.value("complex128-values", complex_matrix(6, 8), dtype="complex128", compute_uv=False)
svd.behaviour("int32", lambda inputs: [inputs.integers(6, 4, dtype="int32")], svd_of_type("float32"))
svd.behaviour("rank-one", lambda inputs: [np.outer(inputs.normal(6), inputs.normal(5))], svd_of_type("float32"))
svd.behaviour("zeros", lambda inputs: [np.zeros((4, 3))], svd_of_type("float32"))
svd.behaviour(
    "hermitian",
    lambda inputs: [np.add(*[m := inputs.normal(8, 8), m.T])],
    svd_of_type("float32"),
    hermitian=True,
)
svd.value(
    "hermitian-values",
    lambda inputs: [np.diag([3.0, -7.0, 0.5, -0.25]) + 0.01],
    compute_uv=False,
    hermitian=True,
)
svd.behaviour("empty-batch", lambda inputs: [inputs.normal(0, 3, 2)], svd_of_type("float32"))
svd.behaviour("jitted", lambda inputs: [inputs.normal(16, 12)], svd_of_type("float32"), prepare=jitted)
svd.behaviour("vmap", lambda inputs: [inputs.normal(4, 6, 5)], svd_of_type("float32"), prepare=in_vmap)
svd.value(
    "gradient-of-values",
    lambda inputs: [inputs.normal(8, 5), inputs.normal(5)],
    prepare=values_alone,
    reference=values_gradient,
    tolerance=FACTORED,
)


def pivoted(inputs: Inputs, *shape: int) -> Any:
    """Make rows in random order, each with one element far larger than the others, so that the pivots are
    unambiguous."""
    rows, columns = shape[-2:]
    heavy = np.zeros(shape)
    for index in np.ndindex(shape[:-2]):
        order = inputs.rng.permutation(rows)
        for column in range(min(rows, columns)):
            heavy[(*index, order[column], column)] = 3 + rows**0.5
    return heavy + 0.3 * inputs.normal(*shape)


def heavy_matrix(*shape: int) -> MakeArguments:
    return lambda inputs: [pivoted(inputs, *shape)]


def factored(x: Any, permute_l: bool = False) -> Any:
    """Compute Gaussian elimination with row exchanges, step by step."""
    if x.ndim > 2:
        parts = [factored(member, permute_l) for member in x]
        return tuple(np.stack(factors) for factors in aligned(*parts))
    rows, columns = x.shape
    inner = min(rows, columns)
    u, order, lower = x.copy(), np.arange(rows), np.zeros((rows, inner), x.dtype)
    for step in range(inner):
        pivot = step + int(np.argmax(np.abs(u[step:, step])))
        for array in (u, order, lower):
            array[[step, pivot]] = array[[pivot, step]]
        lower[step, step] = 1
        lower[step + 1 :, step] = u[step + 1 :, step] / u[step, step]
        u[step + 1 :] -= np.outer(lower[step + 1 :, step], u[step])
    p = np.eye(rows)[:, order]
    u = np.triu(u[:inner])
    return (p @ lower, u) if permute_l else (p, lower, u)


def log_determinant(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare all factors, the logarithm of the diagonal's product, and its gradient."""

    def total(x: Any) -> Any:
        factors = context.function(x)
        return jnp.sum(jnp.log(jnp.abs(jnp.diagonal(factors[2])))), factors

    both = jax.jit(jax.value_and_grad(total, has_aux=True))
    return context.compiled(lambda: both(x))


lu = Function("jax.scipy.linalg.lu", factored)
lu.value("float32-64x64", lambda inputs: [pivoted(inputs, 64, 64)], tolerance=FACTORED)
for name, shape in {"square": (7, 7), "tall": (9, 5), "wide": (5, 9), "column": (6, 1), "row": (1, 6)}.items():
    for dtype in ("float32", "float64"):
        lu.value(f"{dtype}-{name}", heavy_matrix(*shape), dtype=dtype)
    lu.value(f"permuted-{name}", heavy_matrix(*shape), permute_l=True)
for dtype in ("complex64", "complex128"):
    lu.value(dtype, lambda inputs: [pivoted(inputs, 6, 6) * (1 + 0.5j)], dtype=dtype)
lu.value("exchange", lambda inputs: [np.array([[0.0, 2.0], [5.0, 1.0]])])
lu.value("one-by-one", lambda inputs: [np.array([[-2.5]])])
lu.value("jitted", lambda inputs: [pivoted(inputs, 16, 16)], prepare=jitted, tolerance=FACTORED)
lu.value("vmap", lambda inputs: [pivoted(inputs, 4, 6, 6)], prepare=in_vmap)
lu.value(
    "gradient-is-the-inverse-transposed",
    lambda inputs: [pivoted(inputs, 6, 6)],
    prepare=log_determinant,
    reference=lambda x: ((np.asarray(np.log(abs(np.linalg.det(x)))), factored(x)), np.linalg.inv(x).T),
)


def slid(x: Any, y: Any, mode: Any = "full") -> Any:
    return scipy.signal.convolve2d(x, y, mode)


def slid_gradients(x: Any, y: Any, upstream: Any) -> Any:
    """Compute the gradients, which are correlations with the other operand."""
    along = [scipy.signal.correlate2d(upstream, operand, "valid") for operand in (y, x)]
    return [slid(x, y), *along]


def with_edges(x: Any) -> Any:
    x[1, 2], x[5, 7] = np.nan, np.inf
    return x


convolve2d = Function("jax.scipy.signal.convolve2d", slid)
convolve2d.value(
    "float32-64x64-by-5x5", lambda inputs: [inputs.normal(64, 64), inputs.uniform(5, 5)], tolerance=FACTORED
)
for mode in ("full", "same", "valid"):
    convolve2d.value(f"{mode}-odd", lambda inputs: [inputs.normal(12, 15), inputs.normal(3, 5)], mode=mode)
    convolve2d.value(f"{mode}-even", lambda inputs: [inputs.normal(12, 15), inputs.normal(4, 2)], mode=mode)
convolve2d.value("float64", lambda inputs: [inputs.normal(12, 9), inputs.normal(3, 3)], dtype="float64")
convolve2d.value("float16", lambda inputs: [inputs.uniform(12, 9), inputs.uniform(3, 3)], dtype="float16")
convolve2d.value("bfloat16", lambda inputs: [inputs.uniform(12, 9), inputs.uniform(3, 3)], dtype="bfloat16")
convolve2d.value(
    "complex64", lambda inputs: [complex_normal(inputs, 9, 8), complex_normal(inputs, 3, 2)], dtype="complex64"
)
convolve2d.value("second-larger-valid", lambda inputs: [inputs.normal(3, 2), inputs.normal(9, 8)], mode="valid")
convolve2d.value("one-by-one", lambda inputs: [inputs.normal(9, 8), np.array([[2.5]])])
convolve2d.value("one-row", lambda inputs: [inputs.normal(1, 20), inputs.normal(1, 4)])
convolve2d.value("jitted", lambda inputs: [inputs.normal(24, 24), inputs.normal(3, 3)], prepare=jitted)
convolve2d.value(
    "gradient",
    lambda inputs: [inputs.normal(9, 8), inputs.normal(3, 2), inputs.normal(11, 9)],
    prepare=gradient,
    reference=slid_gradients,
)
convolve2d.value(
    "highest-precision",
    lambda inputs: [inputs.normal(12, 15), inputs.normal(3, 5)],
    reference=lambda x, y, precision: slid(x, y),
    precision="highest",
)
convolve2d.value(
    "nan-and-infinity-reach-their-windows",
    lambda inputs: [with_edges(inputs.normal(7, 9)), inputs.uniform(3, 2, low=1, high=2)],
    mode="valid",
)

FUNCTIONS: list[Function] = [eig, svd, lu, convolve2d]
