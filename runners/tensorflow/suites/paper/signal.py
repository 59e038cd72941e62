"""Cases of signal transforms: ``tf.signal.idct``. The reference is an explicit matrix of cosines for each type."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.cases import Function
from runners.suite.checks import Tolerance
from runners.tensorflow.suites.paper.calls import (
    gradient,
    in_graph,
    of_unknown_shapes,
    refused,
    refusing,
    traced,
    using,
)

Array = np.ndarray[Any, Any]


def cosines(size: int, kind: int, norm: str | None) -> Any:
    """Return the matrix of the inverse transform of this type. It multiplies ``size`` coefficients from the left."""
    n, k = np.mgrid[:size, :size]
    if kind == 1:
        # The first and the last coefficient count once, the others twice.
        weights = np.where((k == 0) | (k == size - 1), 1.0, 2.0)
        return weights * np.cos(np.pi * n * k / max(1, size - 1))
    if kind == 2:
        matrix = np.where(k == 0, 1.0, 2.0) * np.cos(np.pi * (n + 0.5) * k / size)
    elif kind == 3:
        matrix = 2 * np.cos(np.pi * n * (k + 0.5) / size)
    else:
        matrix = 2 * np.cos(np.pi * (n + 0.5) * (k + 0.5) / size)
    if norm is None:
        return matrix
    # The matrix is orthonormal: every row and every column has length one.
    if kind == 2:
        return matrix * np.where(k == 0, np.sqrt(1 / size), np.sqrt(1 / (2 * size)))
    if kind == 3:
        return matrix * np.where(n == 0, np.sqrt(1 / (4 * size)), np.sqrt(1 / (2 * size)))
    return matrix * np.sqrt(1 / (2 * size))


def inverse(x: Array, kind: int = 2, norm: str | None = None) -> Any:
    return x @ cosines(x.shape[-1], kind, norm).T


def inverse_backward(x: Array, upstream: Array, kind: int = 2, norm: str | None = None) -> Any:
    return [inverse(x, kind, norm), upstream @ cosines(x.shape[-1], kind, norm)]


def tolerance(dtype: str, size: int) -> Tolerance:
    """Return a tolerance that grows with the length of the row, because a value is a sum over the row."""
    unit = 1e-9 if dtype == "float64" else 1e-5
    return Tolerance(unit, unit * max(1.0, size**0.5))


idct = Function("tf.signal.idct", inverse)


def typed(prepare: Any) -> Any:
    """Pass the case's option ``kind`` to TensorFlow as ``type``."""

    def prepared(context: Any, *arguments: Any, kind: int = 2, norm: str | None = None) -> Any:
        return prepare(context, *arguments, type=kind, norm=norm)

    return prepared


FORMS: dict[str, tuple[int, str | None]] = {
    "type1": (1, None),
    "type2": (2, None),
    "type3": (3, None),
    "type4": (4, None),
    "type2-ortho": (2, "ortho"),
    "type3-ortho": (3, "ortho"),
    "type4-ortho": (4, "ortho"),
}
idct.value(
    "float32-64x128",
    lambda inputs: [inputs.normal(64, 128)],
    prepare=typed(using()),
    tolerance=tolerance("float32", 128),
)
for form, (kind, norm) in FORMS.items():
    for dtype in ("float32", "float64"):
        for name, shape in {"row": (33,), "batch": (3, 4, 16), "odd": (5, 9), "pair": (4, 2)}.items():
            idct.value(
                f"{form}-{dtype}-{name}",
                lambda inputs, shape=shape: [inputs.normal(*shape)],  # type: ignore[misc]
                dtype=dtype,
                prepare=typed(using()),
                tolerance=tolerance(dtype, shape[-1]),
                kind=kind,
                norm=norm,
            )
    idct.value(
        f"{form}-gradient",
        lambda inputs: [inputs.normal(4, 12), inputs.normal(4, 12)],
        reference=inverse_backward,
        prepare=typed(gradient),
        tolerance=tolerance("float32", 12),
        kind=kind,
        norm=norm,
    )
idct.value("one-element", lambda inputs: [inputs.normal(5, 1)], prepare=typed(using()))
for name, how in {"traced": traced, "of-unknown-shape": of_unknown_shapes, "in-graph": in_graph}.items():
    idct.value(
        name,
        lambda inputs: [inputs.normal(6, 16)],
        prepare=typed(how),
        tolerance=tolerance("float32", 16),
        norm="ortho",
    )
REFUSED: dict[str, dict[str, Any]] = {
    "an-unknown-type": {"type": 5},
    "an-unknown-norm": {"norm": "unit"},
    "an-axis": {"axis": 0},
}
for name, options in REFUSED.items():
    idct.behaviour(
        f"refuses-{name}",
        lambda inputs: [inputs.normal(4, 8)],
        refused,
        prepare=refusing(ValueError, NotImplementedError, **options),
        refuses=True,
    )
idct.behaviour(
    "refuses-type1-of-one-element",
    lambda inputs: [inputs.normal(3, 1)],
    refused,
    prepare=refusing(ValueError, type=1),
    refuses=True,
)
idct.value(
    "nan-takes-its-row",
    lambda inputs: [np.vstack([inputs.normal(1, 8), [[np.nan] * 3 + [1.0] * 5], inputs.normal(1, 8)])],
    prepare=typed(using()),
    reference=lambda x: np.stack([inverse(x[0]), np.full(8, np.nan), inverse(x[2])]),
    tolerance=tolerance("float32", 8),
)

FUNCTIONS: list[Function] = [idct]
