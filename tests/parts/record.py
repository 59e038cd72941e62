"""The record of a run, as JSON: what its parts had and cost."""

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
    """By file: tests, wall seconds, CPU seconds."""


class Record(TypedDict):
    """One run, as JSON."""

    level: int
    cores: int
    wall_s: float
    idle_s: float
    """Seconds of all cores together in which nothing ran on the machine."""
    parts: dict[str, PartRecord]
