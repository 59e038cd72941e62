"""Waits for a condition by polling it. The polls take only a small part of the elapsed time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

LIMIT_S = 120.0
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.1
"""The pause after a poll that costs nothing."""
LONGEST_COSTLY_PAUSE_S = 1.0
"""The pause after a poll that runs a command or asks a container engine."""


def pause_s(asked_s: float, waited_s: float) -> float:
    """The pause after a poll that took ``asked_s``, in a wait of ``waited_s`` so far.

    Polling takes at most a fifth of a short wait, and less of a long one, because the awaited work needs the same
    cores. Only a poll that took more than a quarter of a second may take a larger part.
    """
    for_the_wait = min(LONGEST_PAUSE_S, max(SHORTEST_PAUSE_S, waited_s / 20))
    for_the_asking = min(LONGEST_COSTLY_PAUSE_S, 4 * asked_s)
    return max(for_the_wait, for_the_asking)


class _Wait:
    """One wait. Its time counts from its creation, and the time of each poll from the end of the previous pause."""

    def __init__(self, what: str, limit_s: float) -> None:
        self._what = what
        self._limit_s = limit_s
        self._began = self._asks_at = time.monotonic()

    def next_pause_s(self) -> float:
        """The pause after a poll that returned false. Fails after the limit."""
        now = time.monotonic()
        assert now < self._began + self._limit_s, f"not so within {self._limit_s:g} s: {self._what}"
        pause = pause_s(now - self._asks_at, now - self._began)
        self._asks_at = now + pause
        return pause


def until(condition: Callable[[], Any], what: str, limit_s: float = LIMIT_S) -> Any:
    """Wait until the condition is true, and return its value. Fails after the limit."""
    wait = _Wait(what, limit_s)
    while not (value := condition()):
        time.sleep(wait.next_pause_s())
    return value


async def async_until(condition: Callable[[], Awaitable[Any]], what: str, limit_s: float = LIMIT_S) -> Any:
    """Like ``until``, for a condition that is awaited."""
    wait = _Wait(what, limit_s)
    while not (value := await condition()):  # noqa: ASYNC110  nobody sets an event
        await asyncio.sleep(wait.next_pause_s())
    return value
