"""Cases that the CPU gets wrong, if a review has confirmed the defect. A result is wrong if an independent reference
clearly differs from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from freezing.common.samples import Sample
from protocol.enums import JUDGED_BY, WRONG_ON_HOST
from runners.suite.checks import Tolerance
from runners.suite.frozen import PackWriter

Array = np.ndarray[Any, Any]

WRONG = "wrong"
"""The end of the name of a case that fails on the CPU."""
CLEAR_TOLERANCES = 100
"""A result is clearly wrong if its error is more than this many tolerances. Processors differ by less."""


def is_close(one: Array, other: Array, tolerance: Tolerance) -> Array:
    if other.dtype.kind not in "fc":
        return np.asarray(one == other)
    with np.errstate(all="ignore"):
        return np.isclose(one, other, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)


def clearly_differ(one: Array, other: Array, tolerance: Tolerance) -> Array:
    """Return where ``other``, the expected value, is a number and ``one`` is far from it."""
    wide = Tolerance(CLEAR_TOLERANCES * tolerance.relative, CLEAR_TOLERANCES * tolerance.absolute)
    return np.asarray(~is_close(one, other, wide) & ~np.isnan(other))


def case_failing_on_host(
    function: str,
    sample: Sample,
    judge: str,
    reference_result: Any,
    tolerance: Tolerance,
    pack: PackWriter,
    *,
    facts: Mapping[str, Any] = {},
    tags: Collection[str] = (),
) -> dict[str, Any]:
    """Make the case of a sample that the CPU gets wrong. It expects the reference's result. ``facts`` and ``tags`` are
    added to those of every such case."""
    result, digests = pack.add_tree(reference_result)
    return {
        "function": function,
        "name": f"{sample.name}-{WRONG}",
        "dtype": sample.dtype,
        "arrays": list(sample.arrays),
        "call": sample.call,
        **facts,
        "kind": "value",
        "result": result,
        "expected": digests,
        "tolerance": [tolerance.relative, tolerance.absolute],
        "tags": [*sample.kinds, f"{JUDGED_BY}{judge}", *tags, WRONG_ON_HOST],
    }
