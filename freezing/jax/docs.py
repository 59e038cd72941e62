"""Freeze the suite ``docs``: the examples of JAX's public docstrings.

    python -m freezing.jax.docs FOLDER SURFACE

Do not open JAX's backend before a process is forked. Otherwise its children would hang.
"""

from __future__ import annotations

import sys

from freezing.common.admission import LeftOpen
from freezing.common.docs import Docs, main
from runners.jax import FRAMEWORK
from runners.jax.examples import JaxDialect

LEFT_OPEN = LeftOpen(
    frozenset(
        {
            "approx_max_k", "approx_min_k", "argpartition", "eig", "eigh", "eigvals", "hessenberg", "lu", "lu_factor",
            "null_space", "orthogonal", "partition", "qr", "roots", "schur", "svd", "top_k", "tridiagonal",
        }
    )
)  # fmt: skip
"""Functions with several right results: signs, orders or places of equal elements may differ. Functions of random
numbers are not among them, because a key determines the numbers on every device."""
UNASKED = {
    "jax.distributed": "works across processes",
    "jax.profiler": "measures time",
}


def begin(stage: str) -> str:
    """Import JAX."""
    import jax

    return str(jax.__version__)


if __name__ == "__main__":
    docs = Docs(FRAMEWORK, "freezing.jax.docs", JaxDialect(), LEFT_OPEN, UNASKED)
    raise SystemExit(main(docs, begin, sys.argv[1:]))
