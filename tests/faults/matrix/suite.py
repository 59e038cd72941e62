"""The suite of the scripted runners, and the campaign that runs all of it."""

from __future__ import annotations

from typing import Any

from tests.scripted_runner import Case

QUICK_CASES = 12
SUITE = "matrix"
CAMPAIGN: dict[str, Any] = {
    "suite": SUITE,
    "targets": ["scripted/*"],
    "runs": 2,
    "timing": "off",
    "timeout_s": 4.0,
}
"""A submission of all of it."""


def cases() -> list[Case]:
    """The suite: mostly quick cases, one that fails, one that takes a while, one that has to be killed."""
    quick = [Case(f"quick/{number}", "matrix.quick", 0.05 + 0.03 * number) for number in range(QUICK_CASES)]
    others = [
        Case("wrong/0", "matrix.wrong", 0.1, "failed"),
        Case("slow/0", "matrix.slow", 1.5),
        Case("hang/0", "matrix.hang", 3_600.0),
    ]
    return [*quick, *others]
