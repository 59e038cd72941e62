"""A watchdog ends a runner whose event loop hangs, so that whatever started the runner starts it again.

A runner in that state answers nobody, its health check included, and the coordinator has quarantined it
long before. The thread that waits is the interpreter's own: it fires though Python code holds every lock.
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
            faulthandler.dump_traceback_later(limit_s, exit=True)
            await asyncio.sleep(limit_s / 10)
    finally:
        faulthandler.cancel_dump_traceback_later()
