"""The suite of the scripted runners, and the campaigns that run it."""

from __future__ import annotations

from typing import Any

from tests.scripted_runner import Case

QUICK_CASES = 12
LONG = "matrix.long"
"""The name of the long case, for faults that last as long as this case. Only one campaign has it."""
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
"""A submission of all cases except the long case."""

TIMED: dict[str, Any] = {
    "suite": "hazards",
    "targets": ["hazards/*"],
    "functions": ["hazards.add"],
    "runs": 1,
    "timing": "quick",
    "timeout_s": 20.0,
}
"""A submission of the cases that wait for the host's timing lock."""


def cases() -> list[Case]:
    """The suite: mostly quick cases, and one each that fails, takes a while, must be killed, or is long."""
    quick = [Case(f"quick/{number}", "matrix.quick", 0.05 + 0.03 * number) for number in range(QUICK_CASES)]
    others = [
        Case("wrong/0", "matrix.wrong", 0.1, "failed"),
        Case("slow/0", "matrix.slow", 1.5),
        Case("hang/0", "matrix.hang", 3_600.0),
        Case("long/0", LONG, LONG_S),
    ]
    return [*quick, *others]
