"""The bounds and the measure of a search for the operation that computes otherwise than the host. Framework-free.

How each framework's operations are seen, and computed a second time, stands in its folder.
"""

from __future__ import annotations

from typing import Any

from runners.suite.checks import EXACT, TOLERANCES, Expected, Leaf, Mismatch, compare, leaves

COMPARED_FOR_S = 10.0
"""After so long, no more operations are compared: each costs copies, and where there is a compiler, a compilation."""
MAX_ELEMENTS = 1 << 20
"""An operation on more elements is not compared: its copies would take long, and much memory."""


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
