"""A watchdog: it ends a runner whose event loop hangs, so that it is restarted.

A hung runner answers no request, not even its health check, and the coordinator quarantines it long before the watchdog
acts. The waiting thread belongs to the interpreter, so it runs even if Python code holds every lock.
"""

from __future__ import annotations

import asyncio
import faulthandler

LIMIT_S = 120.0
"""Seconds without a turn of the event loop. A busy host is faster, and the coordinator gives a runner up after 30 s."""


async def watch(limit_s: float | None = None) -> None:
    """End the process, with the stacks of all threads on stderr, if the loop makes no turn for this long."""
    limit_s = LIMIT_S if limit_s is None else limit_s
    try:
        while True:
            # Each call replaces the timer of the one before.
            faulthandler.dump_traceback_later(limit_s, exit=True)
            await asyncio.sleep(limit_s / 10)
    finally:
        faulthandler.cancel_dump_traceback_later()
