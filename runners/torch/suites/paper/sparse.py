"""Cases of functions of sparse matrices: ``torch.saddmm``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, Inputs


def thinned(inputs: Inputs, *shape: int) -> Any:
    """Make a matrix in which about a quarter of the elements is not zero."""
    return inputs.normal(*shape) * (inputs.uniform(*shape) < 0.25)


def on_sparse(context: Context, added: Any, matrix: Any, dense: Any, **scales: Any) -> Callable[[], Any]:
    """Prepare the sum of a sparse matrix and a product of a sparse and a dense matrix. The function was never
    documented, and this name may no longer exist."""
    added, matrix = added.to_sparse(), matrix.to_sparse()
    return lambda: context.function(added, matrix, dense, **scales)


saddmm = Function(
    "torch.saddmm",
    lambda added, matrix, dense, beta=1, alpha=1: np.asarray(beta * added + alpha * matrix @ dense),
    prepare=on_sparse,
)
saddmm.value("float32-64x64", lambda inputs: [thinned(inputs, 64, 32), thinned(inputs, 64, 48), inputs.normal(48, 32)])

FUNCTIONS: list[Function] = [saddmm]
