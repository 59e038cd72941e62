"""A watchdog that ends a runner whose event loop hangs, so that the runner is restarted.

A runner that hangs responds to no request, not even to its health check. The coordinator quarantines such a runner long
before the watchdog ends it. The watchdog's thread belongs to the interpreter itself, so it runs even if Python code
blocks all other threads.
"""

from __future__ import annotations

import asyncio
import faulthandler

LIMIT_S = 120.0
"""The maximum seconds without progress of the event loop. Even on a busy host, the event loop makes progress earlier.
The coordinator gives up a runner after 30 s."""


async def watch(limit_s: float | None = None) -> None:
    """End the process if its event loop makes no progress for this long. Before that, the stacks of all threads are
    written to stderr."""
    limit_s = LIMIT_S if limit_s is None else limit_s
    try:
        while True:
            # Each call replaces the previous timer.
            faulthandler.dump_traceback_later(limit_s, exit=True)
            await asyncio.sleep(limit_s / 10)
    finally:
        faulthandler.cancel_dump_traceback_later()
