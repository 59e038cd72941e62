"""Cases of matrices: their diagonals (``tf.linalg.set_diag``) and their singular values (``tf.linalg.svd``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, TOLERANCES, Tolerance
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

Array = np.ndarray[Any, Any]


def places(rows: int, columns: int, k: Any, align: str) -> list[tuple[int, int, int, int]]:
    """Return, for each element of a band, its row and column in the matrix, and in the packed diagonals."""
    lowest, highest = (k, k) if isinstance(k, int) else k
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(lowest, highest + 1)}
    above, below = align.split("_")
    found = []
    for d, length in lengths.items():
        shift = max(lengths.values()) - length if (above if d >= 0 else below) == "RIGHT" else 0
        found += [(at - min(d, 0), at + max(d, 0), highest - d, at + shift) for at in range(length)]
    return found


def with_diagonal(x: Array, diagonal: Array, k: Any = 0, align: str = "RIGHT_LEFT") -> Array:
    result = x.copy()
    packed = diagonal if not isinstance(k, int) and k[0] != k[1] else diagonal[..., None, :]
    for row, column, which, at in places(x.shape[-2], x.shape[-1], k, align):
        result[..., row, column] = packed[..., which, at]
    return result


def diagonal_backward(x: Array, diagonal: Array, upstream: Array, k: int = 0) -> Any:
    kept, taken = upstream.copy(), np.zeros(diagonal.shape)
    for row, column, _, at in places(x.shape[-2], x.shape[-1], k, "RIGHT_LEFT"):
        taken[..., at] = upstream[..., row, column]
        kept[..., row, column] = 0
    return [with_diagonal(x, diagonal, k), kept, taken]


def matrix_and(diagonal: tuple[int, ...], *shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: [inputs.normal(*shape), inputs.normal(*diagonal)]


set_diag = Function("tf.linalg.set_diag", with_diagonal)
set_diag.value("float32-256x256", matrix_and((256,), 256, 256), tolerance=EXACT)
set_diag.value("batch-of-wide", matrix_and((4, 5), 4, 5, 9), tolerance=EXACT)
set_diag.value("batch-of-tall", matrix_and((2, 3, 4), 2, 3, 9, 4), tolerance=EXACT)
set_diag.value("above", matrix_and((7,), 8, 9), tolerance=EXACT, k=2)
set_diag.value("below", matrix_and((3, 5), 3, 8, 6), tolerance=EXACT, k=-3)
set_diag.value("corner", matrix_and((1,), 5, 6), tolerance=EXACT, k=5)
set_diag.value("band", matrix_and((3, 6), 6, 6), tolerance=EXACT, k=(-1, 1))
set_diag.value("batch-of-bands", matrix_and((2, 4, 5), 2, 5, 7), tolerance=EXACT, k=(-2, 1))
set_diag.value("band-above", matrix_and((2, 5), 6, 6), tolerance=EXACT, k=(1, 2))
for align in ("LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
    set_diag.value(f"band-{align}", matrix_and((5, 6), 6, 7), tolerance=EXACT, k=(-2, 2), align=align)
for dtype in ("float64", "float16", "bfloat16"):
    set_diag.value(dtype, matrix_and((5,), 5, 6), dtype=dtype, tolerance=EXACT)
set_diag.value(
    "complex64", lambda inputs: [inputs.normal(4, 4) + 1j, inputs.normal(4) - 2j], dtype="complex64", tolerance=EXACT
)
set_diag.value("int32", lambda inputs: [inputs.integers(5, 5, dtype="int32"), np.arange(20, 25, dtype="int32")])
set_diag.value("bool", lambda inputs: [np.zeros((5, 6), bool), np.ones(5, bool)], dtype="bool")
set_diag.value("no-matrices", matrix_and((0, 4), 0, 4, 4))
set_diag.value("traced", matrix_and((5,), 5, 6), tolerance=EXACT, prepare=traced)
set_diag.value("of-unknown-shapes", matrix_and((2, 5), 2, 5, 6), tolerance=EXACT, prepare=of_unknown_shapes)
set_diag.value("in-graph", matrix_and((5,), 5, 6), tolerance=EXACT, prepare=in_graph)
set_diag.value(
    "gradient",
    lambda inputs: [inputs.normal(3, 5, 6), inputs.normal(3, 5), inputs.normal(3, 5, 6)],
    reference=diagonal_backward,
    prepare=gradient,
    tolerance=EXACT,
)
set_diag.value(
    "gradient-above",
    lambda inputs: [inputs.normal(5, 6), inputs.normal(4), inputs.normal(5, 6)],
    dtype="float64",
    reference=diagonal_backward,
    prepare=gradient,
    tolerance=EXACT,
    k=2,
)
set_diag.behaviour(
    "refuses-a-diagonal-too-long",
    matrix_and((6,), 5, 5),
    refused,
    prepare=refusing(ValueError, tf.errors.InvalidArgumentError),
    refuses=True,
)
set_diag.value(
    "nan-is-overwritten-or-stays",
    lambda inputs: [
        np.array([[np.nan, np.inf, 1.0], [2.0, np.nan, np.nan], [-np.inf, 0.5, 3.0]]),
        np.array([4.0, 5.0, np.nan]),
    ],
)

FACTORED = Tolerance(2e-4, 2e-4)
"""The tolerance for float32: a factorization is backward stable, so its errors grow with the matrix's norm and size."""


def singular_values(x: Array, **_: Any) -> Any:
    """Compute singular values from the eigenvalues of the smaller Gram matrix, which is independent of any SVD
    algorithm."""
    adjoint = np.conj(np.swapaxes(x, -1, -2))
    gram = x @ adjoint if x.shape[-2] <= x.shape[-1] else adjoint @ x
    return np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0))[..., ::-1]


def put_together(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a decomposition. The signs of singular vectors are arbitrary, so it returns their product, and products
    that show whether each set is orthonormal."""

    def call() -> Any:
        s, u, v = context.function(x, **options)
        count = s.shape[-1]
        scaled = u[..., :count] * tf.cast(s, u.dtype)[..., None, :]
        return [
            s,
            tf.matmul(scaled, v[..., :count], adjoint_b=True),
            tf.matmul(u, u, adjoint_a=True),
            tf.matmul(v, v, adjoint_a=True),
        ]

    return context.compiled(call)


def parts(x: Array, full_matrices: bool = False) -> Any:
    rows, columns = x.shape[-2:]
    left, right = (rows, columns) if full_matrices else (min(rows, columns),) * 2
    batch = x.shape[:-2]
    eyes = [np.broadcast_to(np.eye(size, dtype=x.dtype), (*batch, size, size)) for size in (left, right)]
    return [singular_values(x), x, *eyes]


svd = Function("tf.linalg.svd", parts, put_together)


def factored(name: str, *shape: int, dtype: str = "float32", **options: Any) -> None:
    def arguments(inputs: Inputs) -> Any:
        if dtype.startswith("complex"):
            return [inputs.normal(*shape) + 1j * inputs.normal(*shape)]
        return [inputs.normal(*shape)]

    tolerance = TOLERANCES["float64"] if dtype in ("float64", "complex128") else FACTORED
    svd.value(name, arguments, dtype=dtype, tolerance=tolerance, **options)


factored("float32-64x64", 64, 64)
factored("wide", 12, 30)
factored("tall", 30, 12)
factored("wide-full", 7, 12, full_matrices=True)
factored("tall-full", 12, 7, full_matrices=True)
factored("batch", 3, 4, 6, 5)
factored("float64", 20, 16, dtype="float64")
factored("complex64", 9, 6, dtype="complex64")
factored("complex128", 6, 9, dtype="complex128")
factored("one-by-one", 1, 1)


def only_values(context: Context, x: Any) -> Callable[[], Any]:
    return context.compiled(lambda: context.function(x, compute_uv=False))


for dtype in ("float32", "float64"):
    svd.value(
        f"values-only-{dtype}",
        lambda inputs: [inputs.normal(5, 24, 16)],
        dtype=dtype,
        tolerance=FACTORED if dtype == "float32" else TOLERANCES["float64"],
        reference=singular_values,
        prepare=only_values,
    )
svd.value(
    "rank-one",
    lambda inputs: [np.outer(inputs.uniform(8, low=1, high=2), inputs.uniform(6, low=1, high=2))],
    # The rounding error of a zero singular value is relative to the largest value.
    tolerance=FACTORED,
    reference=lambda x: np.array([np.linalg.norm(x), 0, 0, 0, 0, 0]),
    prepare=only_values,
)
svd.value(
    "no-matrices", lambda inputs: [inputs.normal(0, 4, 3)], reference=lambda x: np.zeros((0, 3)), prepare=only_values
)


def values_backward(context: Context, x: Any, upstream: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            s, u, v = context.function(x)
        return [s, tf.matmul(u * s, v, transpose_b=True), tape.gradient(s, x, upstream)]

    return context.compiled(call)


def values_backward_reference(x: Array, upstream: Array) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return [s, x, (u * upstream) @ vh]


for dtype in ("float32", "float64"):
    svd.value(
        f"gradient-of-values-{dtype}",
        lambda inputs: [inputs.normal(8, 6), inputs.normal(6)],
        dtype=dtype,
        tolerance=Tolerance(1e-3, 1e-3) if dtype == "float32" else TOLERANCES["float64"],
        reference=values_backward_reference,
        prepare=values_backward,
    )

FUNCTIONS: list[Function] = [set_diag, svd]
