"""The suite of the scripted runners, and the campaign that runs all of it."""

from __future__ import annotations

from typing import Any

from tests.scripted_runner import Case

QUICK_CASES = 12
LONG = "matrix.long"
"""For the faults that last as long as it; no other campaign has it."""
LONG_S = 100.0
SUITE = "matrix"
CAMPAIGN: dict[str, Any] = {
    "suite": SUITE,
    "targets": ["scripted/*"],
    "functions": ["matrix.quick", "matrix.wrong", "matrix.slow", "matrix.hang"],
    "runs": 2,
    "timing": "off",
    "timeout_s": 4.0,
}
"""A submission of all of it but what is long."""

TIMED: dict[str, Any] = {
    "suite": "hazards",
    "targets": ["hazards/*"],
    "functions": ["hazards.add"],
    "runs": 1,
    "timing": "quick",
    "timeout_s": 20.0,
}
"""A submission of what waits for the host's timing lock."""


def cases() -> list[Case]:
    """The suite: mostly quick cases, one that fails, one that takes a while, one that has to be killed,
    one that is long."""
    quick = [Case(f"quick/{number}", "matrix.quick", 0.05 + 0.03 * number) for number in range(QUICK_CASES)]
    others = [
        Case("wrong/0", "matrix.wrong", 0.1, "failed"),
        Case("slow/0", "matrix.slow", 1.5),
        Case("hang/0", "matrix.hang", 3_600.0),
        Case("long/0", LONG, LONG_S),
    ]
    return [*quick, *others]
