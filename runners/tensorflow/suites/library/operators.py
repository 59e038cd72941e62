"""Handwritten cases of linear operators: products, solutions and determinants of matrices with a known structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Function, Inputs
from runners.suite.checks import Tolerance
from runners.tensorflow.suites.library.by_hand import TAGS, Array, chart_in, with_function

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)
SOLVED = Tolerance(1e-4, 1e-5)
"""The tolerance of float32 solutions of linear systems, whose errors grow with the condition number."""
TRIANGULAR = tf.linalg.LinearOperatorLowerTriangular


def well_conditioned(inputs: Inputs) -> list[Array]:
    return [inputs.normal(4, 4) / 4 + 2 * np.eye(4), inputs.normal(4, 3)]


def used(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a case that multiplies by an operator, solves a system with it, and computes its
    determinant."""

    def body(function: Any, values: Any, columns: Any) -> Any:
        operator = make(function, values)
        return [operator.matmul(columns), operator.solve(columns), operator.log_abs_determinant()]

    return body


def of_matrix(build: Callable[[Array], Array]) -> Callable[[Array, Array], Any]:
    """Return a reference that computes the same three results with NumPy."""

    def reference(values: Array, columns: Array) -> Any:
        matrix = build(values)
        return [matrix @ columns, np.linalg.solve(matrix, columns), np.log(abs(np.linalg.det(matrix)))]

    return reference


def plain(function: Any, values: Any) -> Any:
    return function(values)


def of_diagonal(function: Any, values: Any) -> Any:
    return function(tf.linalg.diag_part(values))


def of_blocks(function: Any, values: Any) -> Any:
    """Create the Kronecker product of two 2 by 2 matrices, which is a 4 by 4 matrix."""
    return function([tf.linalg.LinearOperatorFullMatrix(block) for block in (values[:2, :2], values[2:, 2:])])


for name, make, build in (
    ("tf.linalg.LinearOperatorFullMatrix", plain, np.asarray),
    ("tf.linalg.LinearOperatorLowerTriangular", plain, np.tril),
    ("tf.linalg.LinearOperatorDiag", of_diagonal, lambda values: np.diag(np.diag(values))),
    ("tf.linalg.LinearOperatorKronecker", of_blocks, lambda values: np.kron(values[:2, :2], values[2:, 2:])),
):
    charted(name, of_matrix(build), with_function(used(make))).value(
        "float32-4x4", well_conditioned, tolerance=SOLVED, tags=TAGS
    )


def identity(function: Any, values: Any, columns: Any) -> Any:
    """Create an operator from its size only, multiply by it, and add a matrix to it."""
    operator = function(num_rows=4, dtype=values.dtype)
    return [operator.matmul(columns), operator.add_to_tensor(values)]


charted(
    "tf.linalg.LinearOperatorIdentity", lambda values, columns: [columns, values + np.eye(4)], with_function(identity)
).value("float32-4x4", well_conditioned, tags=TAGS)
charted(
    "tf.linalg.LinearOperatorLowerTriangular.solve",
    lambda values, columns: np.linalg.solve(np.tril(values), columns),
    with_function(lambda function, values, columns: function(TRIANGULAR(values), columns)),
).value("float32-4x4", well_conditioned, tolerance=SOLVED, tags=TAGS)
charted(
    "tf.linalg.LinearOperatorLowerTriangular.solvevec",
    lambda values, column: np.linalg.solve(np.tril(values), column),
    with_function(lambda function, values, column: function(TRIANGULAR(values), column)),
).value(
    "float32-4x4",
    lambda inputs: [well_conditioned(inputs)[0], inputs.normal(4)],
    tolerance=SOLVED,
    tags=TAGS,
)
