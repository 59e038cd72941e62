"""Recipes of linear algebra: products, decompositions, solutions, and special matrices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from freezing.jax.draws import Draw
from freezing.jax.recipes.elementwise import LAX, NUMBERS, NUMPY
from freezing.jax.recipes.recipe import Call, alike, call, of_arrays, of_one, of_sources, recipe
from runners.suite.frozen import Named

NUMPY_LINALG, LINALG, LAX_LINALG = "jax.numpy.linalg", "jax.scipy.linalg", "jax.lax.linalg"
FIELDS = "float32 complex64"

product = of_arrays(((3, 4), (4, 2)), ((2, 3, 4), (4, 2)), ((4,), (4,)), ((0, 4), (4, 2)))
outer = of_arrays(((3,), (4,)), ((0,), (2,)))
of_vectors = of_arrays(((4,), (4,)), ((3, 4), (4,)), ((2, 4), (2, 4)))
matrix_and_vector = of_arrays(((3, 4), (4,)), ((2, 3, 4), (2, 4)))
vector_and_matrix = of_arrays(((4,), (4, 3)), ((2, 4), (2, 4, 3)))
cross_products = of_arrays(((4, 3), (4, 3)), ((3,), (2, 3)))
two_columns = of_arrays(((4,),), ((4,), (3,)))
least_squares = of_arrays(((5, 3), (5,)), ((5, 3), (5, 2)))
oblong = of_arrays(*alike(1, (4, 3), (2, 3, 4), (3, 3)))
matrices = of_arrays(*alike(1, (3, 3), (2, 4, 4), (1, 1)), by=Draw.matrix)
one_matrix = of_arrays(*alike(1, (3, 3), (4, 4)), by=Draw.matrix)
symmetric = of_arrays(*alike(1, (3, 3), (2, 4, 4)), by=Draw.symmetric)
solutions = of_sources((((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (2, 3, 1))), Draw.matrix, Draw.array)
norms = of_one(
    call((3, 4)), call((3, 4), ord=1, axis=1), call((3, 4), ord=2, axis=0, keepdims=True), call((5,), ord=np.inf)
)
vector_norms = of_one(call((3, 4)), call((3, 4), axis=1, ord=1), call((3, 4), axis=0, keepdims=True))
matrix_norms = of_one(call((3, 4)), call((2, 3, 4), ord=1), call((3, 4), keepdims=True, ord="nuc"))
values_only = of_one(call((3, 3), eigvals_only=True), call((4, 4), lower=False, eigvals_only=True), by=Draw.symmetric)


def contractions(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(2, 3, 4), draw.array(3, 4, 2))
    yield call(draw.array(3, 4), draw.array(4, 2), axes=1)
    yield call(draw.array(3, 4), draw.array(4, 3), axes=([1, 0], [0, 1]))


def einsums(draw: Draw) -> Iterator[Call]:
    yield call("ij,jk->ik", draw.array(3, 4), draw.array(4, 2))
    yield call("bij->bji", draw.array(2, 3, 4))
    yield call("ii", draw.array(3, 3))
    yield call("i,j->ij", draw.array(0), draw.array(3))


def triangular(draw: Draw) -> Iterator[Call]:
    yield call(np.triu(draw.matrix(3, 3)), draw.array(3, 2))
    yield call(np.tril(draw.matrix(3, 3)), draw.array(3), lower=True)
    yield call(np.triu(draw.matrix(3, 3)), draw.array(3, 2), trans=1)


def triangular_of_lax(draw: Draw) -> Iterator[Call]:
    yield call(np.tril(draw.matrix(3, 3)), draw.array(3, 2), left_side=True, lower=True)
    yield call(np.triu(draw.matrix(3, 3)), draw.array(2, 3))
    yield call(np.tril(draw.matrix(3, 3)), draw.array(2, 3), lower=True, transpose_a=True)


def factored_solution(draw: Draw) -> Iterator[Call]:
    factor = np.linalg.cholesky(draw.symmetric(3, 3))
    yield call((factor, True), draw.array(3))
    yield call((factor, True), draw.array(3, 2))


def permuted_solution(draw: Draw) -> Iterator[Call]:
    lu = draw.matrix(3, 3)
    pivots = np.array([1, 1, 2], np.int32)
    for trans in (0, 1):
        yield call((lu, pivots), draw.array(3, 2), trans)


def tridiagonals(draw: Draw) -> Iterator[Call]:
    yield call(draw.distinct(4), draw.unit(3), eigvals_only=True)
    yield call(draw.array(5), draw.array(4), eigvals_only=True)


def general_products(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(3, 4), draw.array(4, 2), (((1,), (0,)), ((), ())))
    yield call(draw.array(2, 3, 4), draw.array(2, 4, 3), (((2,), (1,)), ((0,), (0,))))
    yield call(draw.array(4), draw.array(4), (((0,), (0,)), ((), ())))


def images(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(1, 2, 5, 5), draw.array(3, 2, 2, 2), (1, 1), "SAME")
    yield call(draw.array(1, 2, 5, 5), draw.array(3, 2, 2, 2), (2, 1), "VALID")


def dilated_images(draw: Draw) -> Iterator[Call]:
    yield from images(draw)
    yield call(draw.array(1, 2, 5, 5), draw.array(3, 2, 2, 2), (1, 1), ((1, 0), (0, 2)), rhs_dilation=(1, 2))
    yield call(draw.array(1, 4, 5), draw.array(2, 2, 3), (1,), "SAME", feature_group_count=2)


def transposed_images(draw: Draw) -> Iterator[Call]:
    yield call(draw.array(1, 3, 3, 2), draw.array(2, 2, 2, 3), (2, 2), "SAME")
    yield call(draw.array(1, 3, 3, 2), draw.array(2, 2, 2, 3), (1, 2), "VALID")


RECIPES = [
    recipe(NUMPY, "dot matmul inner", lambda draw: list(product(draw))[0::2], NUMBERS),
    recipe(NUMPY, "outer kron", outer, NUMBERS),
    recipe(NUMPY, "vdot", lambda draw: [call(draw.array(4), draw.array(4))], NUMBERS),
    recipe(NUMPY, "vecdot", of_vectors, NUMBERS),
    recipe(NUMPY, "matvec", matrix_and_vector, NUMBERS),
    recipe(NUMPY, "vecmat", vector_and_matrix, NUMBERS),
    recipe(NUMPY, "cross", cross_products, NUMBERS),
    recipe(NUMPY, "tensordot", contractions, NUMBERS),
    recipe(NUMPY, "einsum", einsums, NUMBERS),
    recipe(NUMPY_LINALG, "matmul", product, NUMBERS),
    recipe(NUMPY_LINALG, "outer", outer, NUMBERS),
    recipe(NUMPY_LINALG, "vecdot", of_vectors, NUMBERS),
    recipe(NUMPY_LINALG, "cross", cross_products, NUMBERS),
    recipe(NUMPY_LINALG, "tensordot", contractions, NUMBERS),
    recipe(NUMPY_LINALG, "det slogdet inv cond matrix_rank eig eigvals pinv", matrices, FIELDS),
    recipe(NUMPY_LINALG, "cholesky eigh eigvalsh", symmetric, FIELDS),
    recipe(NUMPY_LINALG, "svd qr svdvals", oblong, FIELDS),
    recipe(NUMPY_LINALG, "solve", solutions, FIELDS),
    recipe(NUMPY_LINALG, "lstsq", least_squares, FIELDS),
    recipe(NUMPY_LINALG, "norm", norms, FIELDS),
    recipe(NUMPY_LINALG, "vector_norm", vector_norms, FIELDS),
    recipe(NUMPY_LINALG, "matrix_norm", matrix_norms, FIELDS),
    recipe(
        NUMPY_LINALG,
        "matrix_power",
        lambda draw: [call(draw.matrix(3, 3), power) for power in (0, 1, 3, -1)],
        FIELDS,
    ),
    recipe(
        NUMPY_LINALG, "multi_dot", lambda draw: [call([draw.array(2, 3), draw.array(3, 4), draw.array(4, 1)])], FIELDS
    ),
    recipe(NUMPY_LINALG, "matrix_transpose diagonal trace", oblong, NUMBERS),
    recipe(NUMPY_LINALG, "tensorinv", lambda draw: [call(draw.matrix(6, 6).reshape(2, 3, 6), ind=2)], FIELDS),
    recipe(
        NUMPY_LINALG, "tensorsolve", lambda draw: [call(draw.matrix(6, 6).reshape(2, 3, 6), draw.array(2, 3))], FIELDS
    ),
    recipe(LINALG, "det inv", matrices, FIELDS),
    recipe(LINALG, "expm sqrtm lu lu_factor polar schur hessenberg", one_matrix, FIELDS),
    recipe(LINALG, "svd qr", lambda draw: list(oblong(draw))[0::2], FIELDS),
    recipe(LINALG, "cholesky cho_factor", symmetric, FIELDS),
    recipe(LINALG, "eigh", values_only, FIELDS),
    recipe(LINALG, "solve", lambda draw: list(solutions(draw))[:2], FIELDS),
    recipe(LINALG, "solve_triangular", triangular, FIELDS),
    recipe(LINALG, "cho_solve", factored_solution, FIELDS),
    recipe(LINALG, "lu_solve", permuted_solution, FIELDS),
    recipe(
        LINALG,
        "solve_sylvester",
        lambda draw: [call(draw.matrix(3, 3), draw.matrix(2, 2), draw.array(3, 2))],
        FIELDS,
    ),
    recipe(LINALG, "eigh_tridiagonal", tridiagonals, "float32"),
    recipe(LINALG, "expm_frechet", lambda draw: [call(draw.matrix(3, 3), draw.array(3, 3))], FIELDS),
    recipe(LINALG, "block_diag", lambda draw: [call(draw.array(2, 2), draw.array(1, 3))], NUMBERS),
    recipe(LINALG, "toeplitz hankel", two_columns, NUMBERS),
    recipe(LINALG, "circulant fiedler", lambda draw: [call(draw.array(4)), call(draw.array(1))], NUMBERS),
    recipe(LINALG, "companion fiedler_companion", lambda draw: [call(draw.positive(4))], FIELDS),
    recipe(LINALG, "convolution_matrix", lambda draw: [call(draw.array(3), 4), call(draw.array(3), 4, "same")]),
    recipe(LINALG, "leslie", lambda draw: [call(draw.unit(4), draw.unit(3))]),
    recipe(LINALG, "qr_multiply", lambda draw: [call(draw.matrix(3, 3), draw.array(2, 3))], FIELDS),
    recipe(
        LINALG, "rsf2csf", lambda draw: [call(np.triu(draw.matrix(3, 3)), np.eye(3) + 0 * draw.array(3, 3))], FIELDS
    ),
    recipe(LINALG, "funm", lambda draw: [call(draw.matrix(3, 3), Named("public", "jax.numpy.exp"))], FIELDS),
    recipe(LAX_LINALG, "cholesky eigh", symmetric, FIELDS),
    recipe(LAX_LINALG, "lu eig schur hessenberg", one_matrix, FIELDS),
    recipe(LAX_LINALG, "qr svd", oblong, FIELDS),
    recipe(LAX_LINALG, "qdwh", lambda draw: [call(draw.matrix(3, 3))], FIELDS),
    recipe(LAX_LINALG, "tridiagonal", lambda draw: [call(draw.symmetric(4, 4))], FIELDS),
    recipe(
        LAX_LINALG,
        "tridiagonal_solve",
        lambda draw: [call(draw.unit(4), draw.within(3, 4, 4), draw.unit(4), draw.array(4, 2))],
        FIELDS,
    ),
    recipe(LAX_LINALG, "triangular_solve", triangular_of_lax, FIELDS),
    recipe(
        LAX_LINALG,
        "lu_pivots_to_permutation",
        lambda draw: [call(np.array([1, 1, 2], np.int32), 3), call(np.array([2, 2, 2], np.int32), 4)],
        "int32",
    ),
    recipe(LAX_LINALG, "householder_product", lambda draw: [call(draw.array(4, 3), draw.unit(3))], FIELDS),
    recipe(LAX_LINALG, "ormqr", lambda draw: [call(draw.array(4, 3), draw.unit(3), draw.array(4, 2))], FIELDS),
    recipe(LAX_LINALG, "symmetric_product", lambda draw: [call(draw.array(3, 2), draw.symmetric(3, 3))], "float32"),
    recipe(LAX_LINALG, "cholesky_update", lambda draw: [call(np.triu(draw.matrix(3, 3)), draw.unit(3))], "float32"),
    recipe(LAX, "dot", lambda draw: list(product(draw))[0::2], NUMBERS),
    recipe(LAX, "batch_matmul", lambda draw: [call(draw.array(2, 3, 4), draw.array(2, 4, 2))], NUMBERS),
    recipe(LAX, "dot_general", general_products, NUMBERS),
    recipe(
        LAX,
        "ragged_dot",
        lambda draw: [call(draw.array(5, 3), draw.array(2, 3, 4), np.array([2, 3], np.int32))],
        "float32 bfloat16",
    ),
    recipe(LAX, "conv", images, "float32 bfloat16 complex64"),
    recipe(
        LAX,
        "conv_with_general_padding",
        lambda draw: [call(draw.array(1, 2, 5, 5), draw.array(3, 2, 2, 2), (1, 1), ((1, 0), (0, 2)), (1, 1), (1, 2))],
        "float32 bfloat16",
    ),
    recipe(LAX, "conv_general_dilated", dilated_images, "float32 bfloat16 complex64"),
    recipe(LAX, "conv_transpose", transposed_images, "float32 bfloat16"),
    recipe(
        LAX,
        "conv_general_dilated_patches",
        lambda draw: [call(draw.array(1, 2, 5, 5), (2, 2), (1, 1), "SAME")],
        "float32",
    ),
    recipe(
        LAX,
        "conv_general_dilated_local",
        lambda draw: [call(draw.array(1, 2, 4), draw.array(3, 4, 3), (1,), "VALID", (2,))],
        "float32",
    ),
]
