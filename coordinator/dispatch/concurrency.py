"""Runs coroutines concurrently until one of them fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from coordinator.errors import UnusableRunnerError


async def run_until_one_fails(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run coroutines that never return. When one fails, cancel the others and raise its error.

    If several fail, an error other than ``UnusableRunnerError`` is preferred. A ``TaskGroup`` is not used: on Python
    3.11, a group that fails while it is being cancelled forgets the cancellation, and the task that waits for the end
    of the session would wait forever.
    """
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    errors = [result for result in results if isinstance(result, Exception)]
    raise next((error for error in errors if not isinstance(error, UnusableRunnerError)), errors[0])
