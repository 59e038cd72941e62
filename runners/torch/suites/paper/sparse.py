"""Functions of sparse matrices: ``torch.saddmm``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.suite.cases import Function, Make, On


def thinned(make: Make, *shape: int) -> Any:
    """A matrix of which a quarter is not zero."""
    return make.normal(*shape) * (make.uniform(*shape) < 0.25)


def on_sparse(on: On, added: Any, matrix: Any, dense: Any, **scales: Any) -> Callable[[], Any]:
    """Sparse plus sparse times dense. It was never documented, and may be gone under this name."""
    added, matrix = added.to_sparse(), matrix.to_sparse()
    return lambda: on.function(added, matrix, dense, **scales)


saddmm = Function(
    "torch.saddmm",
    lambda added, matrix, dense, beta=1, alpha=1: np.asarray(beta * added + alpha * matrix @ dense),
    prepare=on_sparse,
)
saddmm.value("float32-64x64", lambda make: [thinned(make, 64, 32), thinned(make, 64, 48), make.normal(48, 32)])

FUNCTIONS: list[Function] = [saddmm]
