"""Calls of known duration, with which a clock is checked."""

from __future__ import annotations

import time

from runners.isolation import timing

HELD_MS = 20.0


def hold() -> None:
    time.sleep(HELD_MS / 1e3)


def assert_told(call: timing.Call, wait: timing.Wait) -> None:
    """Check that no sample is shorter than the call. Other processes make some samples longer, but not all."""
    times_ms = timing.steady(call, wait, budget_s=timing.BUDGET_S).milliseconds
    assert HELD_MS <= min(times_ms) < 2 * HELD_MS
