"""Lists of JAX functions: those whose values are not fully determined, and those whose values differ in a wider
type."""

from __future__ import annotations

UNINITIALISED = frozenset({"jax.lax.empty", "jax.numpy.empty", "jax.numpy.empty_like"})
NOT_UNIQUE = frozenset(
    {
        "argpartition", "approx_max_k", "approx_min_k", "cho_factor", "eig", "eigh", "hessenberg", "lu", "lu_factor",
        "partition", "qdwh", "qr", "qr_multiply", "roots", "rsf2csf", "schur", "svd", "tridiagonal",
    }
)  # fmt: skip
"""Functions that are also correct with other signs, phases, pivots or orders."""
OF_BITS = frozenset(
    {
        "jax.Array.view", "jax.lax.bitcast_convert_type", "jax.lax.nextafter", "jax.lax.reduce_precision",
        "jax.numpy.nextafter", "jax.numpy.spacing",
    }
)  # fmt: skip
"""Functions that compute with the bits of numbers, which differ in a wider type."""
