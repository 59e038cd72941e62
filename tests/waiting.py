"""Waiting for a condition that no event tells of: it is asked for again and again, at a small part of the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

LIMIT_S = 120.0
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.1


def pause_s(asked_s: float, waited_s: float) -> float:
    """The pause after an answer that took ``asked_s``, in a wait of ``waited_s`` so far.

    Asking takes a fifth of a short wait at most, and less of a long one: what is waited for needs the same cores.
    """
    return min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, 4 * asked_s, waited_s / 20))


def until(condition: Callable[[], Any], what: str, limit_s: float = LIMIT_S) -> Any:
    """What the condition says once that is true; fails after the limit."""
    began = time.monotonic()
    while True:
        asked_at = time.monotonic()
        if value := condition():
            return value
        now = time.monotonic()
        assert now < began + limit_s, f"not so within {limit_s:g} s: {what}"
        time.sleep(pause_s(now - asked_at, now - began))


async def async_until(condition: Callable[[], Awaitable[Any]], what: str, limit_s: float = LIMIT_S) -> Any:
    """The same of a condition that is awaited."""
    began = time.monotonic()
    while True:
        asked_at = time.monotonic()
        if value := await condition():
            return value
        now = time.monotonic()
        assert now < began + limit_s, f"not so within {limit_s:g} s: {what}"
        await asyncio.sleep(pause_s(now - asked_at, now - began))
