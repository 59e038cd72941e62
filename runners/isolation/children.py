"""The children of a supervisor: the one whose turn it is, a spare that comes after it, and those that are to be ended.

When a process is made, primed and ended is decided here; which case it runs and what its end means, in the supervisor.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from protocol.catalogue import Catalogue
from protocol.enums import DeviceClass
from protocol.outcomes import Outcome
from runners.errors import FrameworkBrokenError
from runners.isolation.attempts import Task
from runners.isolation.child import FUNCTIONS_PER_CHILD, Child
from runners.isolation.fork_server import ForkServer, Interpreter
from runners.isolation.outcomes import cancelled, harness_failed

PRIME_LIMIT_S = 120.0
SPARE_AHEAD = 8
"""The spare is made so many functions before its turn: of small cases that is as long as it takes."""


class Children:
    """One child at a time has the turn. On the host the next may be made and primed beside it."""

    def __init__(self, framework: str, device: str, interpreter: Interpreter | None) -> None:
        self._framework = framework
        self._device = device
        self._interpreter = interpreter
        self._fork_server = self._new_fork_server()
        self._overlap = False
        self._spare: asyncio.Task[Child] | None = None
        self._left: list[Child] = []
        self._ending: set[asyncio.Task[None]] = set()
        self.present: Child | None = None
        """The child that ran the last case, or runs one now."""

    @property
    def can_be_made(self) -> bool:
        return self._fork_server.alive

    async def start(self) -> Catalogue:
        """Import the framework; returns its catalogue. Raises ``FrameworkBrokenError``."""
        return await self._fork_server.start()

    async def start_anew(self) -> None:
        """Begin with a new zygote, without any child. Raises ``FrameworkBrokenError``."""
        self.present = self._spare = None
        self._left.clear()
        await self._fork_server.close()
        self._fork_server = self._new_fork_server()
        await self._fork_server.start()

    async def describe(self) -> dict[str, Any]:
        """The description of the device, from a throwaway child: to look may initialise it."""
        child = await self._fork_server.fork()
        try:
            child.send({"type": "describe"})
            event = await child.next(PRIME_LIMIT_S)
        finally:
            await self._fork_server.end(child)
        name = f"{self._framework}/{self._device}"
        if event is None:
            raise FrameworkBrokenError(f"{name}: the device did not answer within {PRIME_LIMIT_S:g} s")
        message = event.message
        if message is None:
            raise FrameworkBrokenError(f"{name}: the process that looked for the device ended ({event.kind})")
        if message["type"] == "unavailable":
            raise FrameworkBrokenError(f"{name} is not available here: {message['reason']}")
        description: dict[str, Any] = message["description"]
        # On the host a second process can be primed beside the first; an accelerator may be exclusive.
        self._overlap = description["device_class"] == DeviceClass.cpu
        return description

    async def take(self, task: Task) -> Child:
        """The child for a task, which may have to be primed: the present one, the spare, or a new one.

        Raises ``FrameworkBrokenError`` if none can be forked.
        """
        child = self.present
        if child is None or not child.admits(task) or not child.is_fit(task):
            await self.leave(wait=not (task.is_untimed and self._overlap))
            child = await self._take_spare() or await self._fork_server.fork()
            self.present = child
        if not task.is_untimed:
            await self._quiet()
        return child

    async def prime(self, child: Child) -> Outcome | None:
        """Prime the device in a child; returns an outcome if that failed."""
        child.send({"type": "prime"})
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
        return await self._fork_server.has_orphans(child)

    async def leave(self, *, wait: bool) -> None:
        """The present child has had its turn: end it, with everything it started, at once or soon."""
        child, self.present = self.present, None
        if child is None:
            return
        if wait:
            await self._fork_server.end(child)
        else:
            self._left.append(child)

    def end_left(self) -> None:
        """End the children whose turn is over, beside whatever runs now."""
        for child in self._left:
            ending = asyncio.create_task(self._fork_server.end(child))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
        self._left.clear()

    async def close(self) -> None:
        if self._spare is not None:
            self._spare.cancel()
        await self._fork_server.close()
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
        await self._fork_server.end(child)
        return None

    async def _make_spare(self) -> Child:
        child = await self._fork_server.fork()
        if self._overlap:
            # If this fails it is found again, and reported, when the child's first case primes it.
            await self.prime(child)
        return child

    async def _quiet(self) -> None:
        """No fork, priming or killing may go on beside a timed case."""
        self.end_left()
        busy: list[asyncio.Task[Any]] = [*self._ending, *([self._spare] if self._spare else [])]
        if busy:
            await asyncio.wait(busy)

    def _new_fork_server(self) -> ForkServer:
        return ForkServer(self._framework, self._device, self._zygote_died, self._interpreter)

    def _zygote_died(self) -> None:
        """Found by the next task, which starts it anew; the child of this one has ended already."""
        self.present = None
