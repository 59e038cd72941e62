"""Functions of JAX that leave their values open, and functions whose values change in a wider type."""

from __future__ import annotations

UNINITIALISED = frozenset({"jax.lax.empty", "jax.numpy.empty", "jax.numpy.empty_like"})
NOT_UNIQUE = frozenset(
    {
        "argpartition", "approx_max_k", "approx_min_k", "cho_factor", "eig", "eigh", "hessenberg", "lu", "lu_factor",
        "partition", "qdwh", "qr", "qr_multiply", "roots", "rsf2csf", "schur", "svd", "tridiagonal",
    }
)  # fmt: skip
"""Functions that may return other signs, phases, pivots or orders and still be right."""
OF_BITS = frozenset(
    {
        "jax.Array.view", "jax.lax.bitcast_convert_type", "jax.lax.nextafter", "jax.lax.reduce_precision",
        "jax.numpy.nextafter", "jax.numpy.spacing",
    }
)  # fmt: skip
"""Functions of an array's bits, which are different in a wider type."""
