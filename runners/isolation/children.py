"""The children of a supervisor: the one whose turn it is, a spare that comes after it, and those that are to be ended.

When a process is made, primed and ended is decided here; which case it runs and what its end means, in the supervisor.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from protocol.outcomes import Outcome
from runners.errors import FrameworkBrokenError
from runners.isolation.attempts import Task
from runners.isolation.child import FUNCTIONS_PER_CHILD, Child
from runners.isolation.forks import PRIME_LIMIT_S, Forks
from runners.isolation.outcomes import cancelled, harness_failed

SPARE_AHEAD = 8
"""The spare is made so many functions before its turn: of small cases that is as long as it takes."""


class Children:
    """One child at a time has the turn. On the host the next may be made and primed beside it."""

    def __init__(self, forks: Forks, threads: int | None = None) -> None:
        self._forks = forks
        self._threads = threads
        """The threads of a child that has company; null: as many as it takes."""
        self._spare: asyncio.Task[Child] | None = None
        self._left: list[Child] = []
        self._ending: set[asyncio.Task[None]] = set()
        self.present: Child | None = None
        """The child that ran the last case, or runs one now."""
        forks.on_death.append(self._forget)

    async def take(self, task: Task, *, alone: bool) -> Child:
        """The child for a task, which may have to be primed: the present one, the spare, or a new one.

        Raises ``FrameworkBrokenError`` if none can be forked.
        """
        child, on_share = self.present, self._threads is not None and not alone
        if child is None or not child.admits(task) or not child.is_fit(task) or child.on_share is not on_share:
            await self.leave(wait=not (task.is_untimed and self._forks.overlap))
            has_spare = on_share is (self._threads is not None)
            child = (await self._take_spare() if has_spare else None) or await self._fork(on_share)
            self.present = child
        return child

    async def prime(self, child: Child) -> Outcome | None:
        """Prime the device in a child; returns an outcome if that failed."""
        child.send({"type": "prime", "threads": self._threads if child.on_share else None})
        event = await child.next(PRIME_LIMIT_S)
        if event is None:
            return harness_failed(f"the device was not primed within {PRIME_LIMIT_S:g} s", stage="prime")
        if event.kind == "cancelled":
            return cancelled()
        if event.message is None:
            status = "" if event.status is None else f" (wait status {event.status})"
            return harness_failed(f"the process ended while its device was primed{status}", stage="prime")
        if event.message["type"] != "primed":
            return harness_failed(str(event.message.get("reason")), stage="prime")
        child.primed_ms = event.message["ms"]
        return None

    def prepare_spare(self, task: Task, queue: Iterable[Task]) -> None:
        """Make the child that comes after this one while this one runs a task, unless that could disturb a clock."""
        left = 0 if self.present is None else FUNCTIONS_PER_CHILD - self.present.functions
        if self._spare is not None or left > SPARE_AHEAD:
            return
        in_sight: Sequence[Task] = [task, *queue]
        further = sum(before.group != after.group for before, after in itertools.pairwise(in_sight))
        if further > left and all(other.is_untimed for other in in_sight):
            self._spare = asyncio.create_task(self._make_spare())

    async def has_orphans(self, child: Child) -> bool:
        return await self._forks.server.has_orphans(child)

    async def leave(self, *, wait: bool) -> None:
        """The present child has had its turn: end it, with everything it started, at once or soon."""
        child, self.present = self.present, None
        if child is None:
            return
        if wait:
            await self._forks.server.end(child)
        else:
            self._left.append(child)

    def end_left(self) -> None:
        """End the children whose turn is over, beside whatever runs now."""
        for child in self._left:
            ending = asyncio.create_task(self._forks.server.end(child))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        self._left.clear()

    def stop_spare(self) -> None:
        if self._spare is not None:
            self._spare.cancel()

    async def close(self) -> None:
        """Wait for what is being ended, once the fork servers are closed."""
        if self._ending:
            await asyncio.wait(self._ending)

    async def _take_spare(self) -> Child | None:
        making, self._spare = self._spare, None
        if making is None:
            return None
        try:
            child = await making
        except FrameworkBrokenError:
            return None
        if child.is_fit():
            return child
        await self._forks.server.end(child)
        return None

    async def _make_spare(self) -> Child:
        child = await self._fork(on_share=self._threads is not None)
        if self._forks.overlap:
            # If this fails it is found again, and reported, when the child's first case primes it.
            await self.prime(child)
        return child

    async def _fork(self, on_share: bool) -> Child:
        child = await self._forks.server.fork()
        child.on_share = on_share
        return child

    async def quiet(self) -> None:
        """No fork, priming or killing may go on beside a timed case."""
        self.end_left()
        busy: list[asyncio.Task[Any]] = [*self._ending, *([self._spare] if self._spare else [])]
        if busy:
            await asyncio.wait(busy)

    def _forget(self) -> None:
        """The zygote died, and every child with it: found by the next task."""
        self.stop_spare()
        self.present = self._spare = None
        self._left.clear()
