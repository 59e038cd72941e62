"""Lists torch functions whose values are not fully determined, by their names after the last dot. Only the form of
their results is compared."""

from __future__ import annotations

UNINITIALISED = frozenset({"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"})
NOT_UNIQUE = frozenset(
    {
        "eig", "eigh", "geqrf", "lobpcg", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_unpack", "ldl_factor",
        "ldl_factor_ex", "pca_lowrank", "qr", "svd", "svd_lowrank", "symeig", "triangular_solve",
    }
)  # fmt: skip
"""Decompositions that are also correct with other signs, phases or pivots."""
FIRST_OF_EQUALS = frozenset({"argsort", "cummax", "cummin", "kthvalue", "median", "mode", "nanmedian", "sort", "topk"})
"""Functions that may return the position of any of several equal elements."""
