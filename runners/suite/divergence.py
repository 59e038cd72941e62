"""Limits and comparison for the search for the first operation whose result differs from the host's.

Each framework's folder has the code that observes its operations and repeats them. Imports no framework.
"""

from __future__ import annotations

from typing import Any

from runners.suite.checks import EXACT, TOLERANCES, Expected, Leaf, Mismatch, compare, leaves

COMPARED_FOR_S = 10.0
"""The maximum time for comparing operations: each comparison costs copies and, with a compiler, a compilation."""
MAX_ELEMENTS = 1 << 20
"""The maximum number of elements of a compared operation: larger copies take too much time and memory."""


def are_other(results: Any, host_results: Any) -> bool:
    """Whether any array of the results differs from the host's, at the tolerance of its dtype."""
    return any(_is_other(one, other) for one, other in zip(leaves(results), leaves(host_results)))


def _is_other(result: Leaf, host_result: Leaf) -> bool:
    try:
        expectation = Expected(host_result.values, host_result.dtype)
        compare(result, expectation, host_result.dtype, TOLERANCES.get(host_result.dtype, EXACT))
    except Mismatch:
        return True
    return False
