"""Recipes of functions of matrices: products, decompositions, inverses and systems of equations."""

from __future__ import annotations

import numpy as np

from freezing.tensorflow.recipe import ONE, recipe

LEFT = "a x x1 matrix"
RIGHT = "b y x2 rhs"
MATRIX = ONE + " l"

RECIPES = [
    recipe(
        "square",
        lambda d: {MATRIX: d.definite(4, 4)},
        {"full_matrices": True},
        {"compute_uv": False},
        {"adjoint": True},
    ),
    recipe("square-batch", lambda d: {MATRIX: d.definite(2, 3, 3)}),
    recipe("tall", lambda d: {MATRIX: d.array(4, 3)}, {"compute_uv": False}, {"full_matrices": True}),
    recipe("decomposed-into", lambda d: {"input tensor": d.definite(4, 4), "Tout": "complex64"}),
    recipe("product", lambda d: {LEFT: d.array(3, 4), RIGHT: d.array(4, 2)}),
    recipe("product-batch", lambda d: {LEFT: d.array(2, 3, 4), RIGHT: d.array(2, 4, 5)}),
    recipe("product-turned", lambda d: {LEFT: d.array(4, 3), RIGHT: d.array(4, 2), "transpose_a adj_x": True}),
    recipe("product-broadcast", lambda d: {LEFT: d.array(2, 1, 3, 4), RIGHT: d.array(4, 2)}),
    recipe("product-empty", lambda d: {LEFT: d.array(3, 0), RIGHT: d.array(0, 2)}),
    recipe("product-of-square", lambda d: {LEFT: d.array(4, 4), RIGHT: d.array(4, 4)}),
    recipe("product-with-vector", lambda d: {LEFT: d.array(3, 4), RIGHT: d.array(4)}),
    recipe("product-into", lambda d: {"x": d.array(3, 4), "y": d.array(4, 2), "Tout": "float32"}),
    recipe(
        "three-vectors",
        lambda d: {LEFT: d.array(2, 3), RIGHT: d.array(2, 3)},
        {"axis": 1},
        only="(?i)cross|dot|vec|inner|kron",
    ),
    recipe("vectors", lambda d: {LEFT: d.array(4), RIGHT: d.array(4)}),
    recipe("contracted", lambda d: {"a x1 x": d.array(3, 4), "b x2 y": d.array(4, 2), "axes": 1}),
    recipe("contracted-over", lambda d: {"a x1": d.array(2, 3, 4), "b x2": d.array(4, 3), "axes": [[1, 2], [1, 0]]}),
    recipe("batch-dot", lambda d: {"x": d.array(2, 3, 4), "y": d.array(2, 4, 3), "axes": [2, 1]}),
    recipe("einsum-product", lambda d: {"equation subscripts": "ij,jk->ik", "*": [d.array(3, 4), d.array(4, 2)]}),
    recipe("einsum-trace", lambda d: {"equation subscripts": "ii->", "*": [d.array(3, 3)]}),
    recipe(
        "einsum-batch", lambda d: {"equation subscripts": "bij,bjk->bik", "*": [d.array(2, 3, 4), d.array(2, 4, 2)]}
    ),
    recipe("einsum-list", lambda d: {"inputs": [d.array(3, 4), d.array(4, 2)], "equation": "ij,jk->ik"}),
    recipe("solved", lambda d: {"matrix a": d.definite(4, 4), "rhs b": d.array(4, 2)}, {"adjoint": True}),
    recipe("solved-batch", lambda d: {"matrix a": d.definite(2, 3, 3), "rhs b": d.array(2, 3, 1)}),
    recipe(
        "solved-triangular",
        lambda d: {"matrix a": d.triangular(4, 4), "rhs b": d.array(4, 2)},
        {"lower": True},
        {"lower": True, "adjoint": True},
    ),
    recipe("solved-by-cholesky", lambda d: {"chol": d.triangular(4, 4), "rhs": d.array(4, 2)}),
    recipe("least-squares", lambda d: {"matrix a": d.array(5, 3), "rhs b": d.array(5, 2)}, {"fast": False}),
    recipe(
        "least-squares-regularised",
        lambda d: {"matrix": d.array(5, 3), "rhs": d.array(5, 2), "l2_regularizer": np.asarray(0.1)},
    ),
    recipe("solved-banded", lambda d: {"matrix bands": d.positive(2, 4), "rhs": d.array(4, 2)}, {"lower": True}),
    recipe("tridiagonal", lambda d: {"diagonals": d.positive(3, 4), "rhs": d.array(4, 2)}),
    recipe(
        "tridiagonal-product",
        lambda d: {
            "superdiag": d.array(1, 4),
            "maindiag": d.array(1, 4),
            "subdiag": d.array(1, 4),
            "rhs": d.array(4, 2),
        },
    ),
    recipe("tridiagonal-values", lambda d: {"alpha": d.array(4), "beta": d.array(3)}, {"eigvals_only": True}),
    recipe("factors", lambda d: {"lower_upper": d.definite(3, 3), "perm": np.array([1, 0, 2], np.int32)}),
    recipe(
        "factors-solved",
        lambda d: {"lower_upper": d.definite(3, 3), "perm": np.array([1, 0, 2], np.int32), "rhs": d.array(3, 2)},
    ),
    recipe("square-root", lambda d: {"input": d.definite(3, 3)}, only="(?i)square_?root|sqrtm"),
    recipe("powers", lambda d: {"x a": d.array(3, 3), "n": 2}),
    recipe("cholesky-back", lambda d: {"l": d.triangular(3, 3), "grad": d.array(3, 3)}),
    recipe(
        "norm",
        lambda d: {"tensor x": d.array(3, 4)},
        {"ord": 1},
        {"ord": 2, "axis": 1},
        {"ord": "fro", "axis": [0, 1]},
        {"axis": 0, "keepdims": True},
        only="norm",
    ),
    recipe("indices-of-triangle", lambda d: {"n": 4}, {"m": 3}, {"k": 1}),
]
