"""The limits of the search for the operation whose result differs from the host's, and the comparison. Framework-free.

Each framework's folder has the code that sees its operations and computes them a second time.
"""

from __future__ import annotations

from typing import Any

from runners.suite.checks import EXACT, TOLERANCES, Expected, Leaf, Mismatch, compare, leaves

COMPARED_FOR_S = 10.0
"""The maximum time for comparing operations: each comparison costs copies and, with a compiler, a compilation."""
MAX_ELEMENTS = 1 << 20
"""The maximum number of elements of a compared operation: larger copies take too much time and memory."""


def are_other(results: Any, host_results: Any) -> bool:
    """Whether an array among host copies of results is not the one that the host computed, at its dtype's tolerance."""
    return any(_is_other(one, other) for one, other in zip(leaves(results), leaves(host_results)))


def _is_other(result: Leaf, host_result: Leaf) -> bool:
    try:
        expectation = Expected(host_result.values, host_result.dtype)
        compare(result, expectation, host_result.dtype, TOLERANCES.get(host_result.dtype, EXACT))
    except Mismatch:
        return True
    return False
