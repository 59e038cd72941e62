"""The record of a test run, as JSON: the number of tests and the cost of its parts."""

from __future__ import annotations

from typing import TypedDict


class PartRecord(TypedDict):
    tests: int
    resting: int
    """Tests that were left to other changes."""
    members: int
    wall_s: float
    cpu_s: float
    files: dict[str, tuple[int, float, float]]
    """By file: number of tests, wall seconds, CPU seconds."""


class Record(TypedDict):
    """One run, as JSON."""

    level: int
    cores: int
    wall_s: float
    idle_s: float
    """Seconds, summed over all cores, in which a core was idle."""
    parts: dict[str, PartRecord]
