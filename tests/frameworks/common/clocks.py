"""A call whose length is known, for a clock to tell."""

from __future__ import annotations

import time

from runners.isolation import timing

HELD_MS = 20.0


def hold() -> None:
    time.sleep(HELD_MS / 1e3)


def assert_told(call: timing.Call, wait: timing.Wait) -> None:
    """No sample of a call that holds is shorter than it; other processes lengthen some, and not all."""
    times_ms = timing.steady(call, wait, budget_s=timing.BUDGET_S).milliseconds
    assert HELD_MS <= min(times_ms) < 2 * HELD_MS
