"""The supervisor: runs tasks one after another, in processes that no function of a timed run shares with another.

It holds the clock and the memory limit, and reports how every attempt ended. It never imports a framework;
``children.py`` makes and ends the processes, and the HTTP server serves the outcomes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from protocol.catalogue import Catalogue
from protocol.enums import Ending, TimingPolicy
from protocol.events import Running
from protocol.outcomes import Outcome
from runners.errors import FrameworkBrokenError
from runners.isolation import memory, processes
from runners.isolation.attempts import Task
from runners.isolation.channel import CHANNEL_LOST, UNREADABLE, Message
from runners.isolation.child import Child, ChildEvent
from runners.isolation.children import Children
from runners.isolation.confirmation import confirmed, is_suspect
from runners.isolation.deadline import Clock
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.outcomes import cancelled, died, harness_failed, out_of_memory, timed_out, unkept, with_log
from runners.isolation.secrecy import Redaction

MEMORY_POLL_S = 0.25
EXIT_GRACE_S = 1.0
"""A child that closed its channel gets this long to end by itself, so that its exit code is seen."""

SHARED_LIMIT_S = 30.0
"""A case that takes longer in a process that ran other functions is begun anew in a fresh one."""
SHARED_LIMIT = 0.25
"""Or longer than this share of its deadline."""

EXPLAIN_LIMIT_S = 30.0
"""A failure that is reported is explained for so long, and never past the case's deadline."""

THREADS = 4
"""The threads of the loop: memory is measured in one while another kills; name look-ups may take the rest."""

CLOSED = "the case closed the channel to its runner"


@dataclass
class Current:
    """The task that runs now."""

    task: Task
    child: Child | None = None
    clock: Clock | None = None
    cancelled: bool = False
    spent_s: float = 0.0
    """Seconds of the deadline that the run which had to be confirmed took."""
    failure: Outcome | None = None
    """The failure as it was reported, while its process repeats it to explain it."""
    explained_by: float = math.inf

    def left(self, clock: Clock, now: float) -> float:
        """Seconds until the deadline of the case, or of its explanation."""
        return min(clock.left(now), self.explained_by - now)

    def settled(self, outcome: Outcome) -> Outcome:
        """The outcome of the task. How an explanation ended is none: what it was to explain has happened."""
        if self.failure is None or outcome.ending in (self.failure.ending, Ending.cancelled):
            return outcome
        return self.failure


class Supervisor:
    """An ``Executor`` that runs cases in forked children."""

    def __init__(
        self,
        framework: str,
        device: str,
        log: EventLog,
        memory_limit: int | None = None,
        interpreter: Interpreter | None = None,
    ) -> None:
        self._log = log
        self._memory_limit = memory_limit or memory.default_limit()
        self._queue: deque[Task] = deque()
        self._arrived = asyncio.Event()
        self._current: Current | None = None
        self._cancelled_ahead: Task | None = None
        self._kernel_kills = 0
        """Counted before the present child's first case: whoever dies later may have died of them."""
        self._children = Children(framework, device, interpreter)
        self.redaction = Redaction()
        self.broken = asyncio.Event()
        """Set when no child can be forked any more: the service should stop."""
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> Catalogue:
        """Import the framework; returns its catalogue. The device is not touched."""
        await _start_threads()
        return await self._children.start()

    async def look(self) -> dict[str, Any]:
        """Look at the device and begin to execute; returns the device's description."""
        description = await self._children.describe()
        self._tasks = [asyncio.create_task(self._work()), asyncio.create_task(self._watch_memory())]
        return description

    @property
    def queued(self) -> int:
        return len(self._queue)

    @property
    def starting(self) -> int:
        return int(self._current is not None and self._current.clock is None)

    def running(self) -> list[Running]:
        current = self._current
        if current is None or current.clock is None:
            return []
        now, (id, attempt) = time.monotonic(), current.task.key
        elapsed_s = current.spent_s + current.clock.elapsed(now)
        return [Running(id=id, attempt=attempt, elapsed_s=elapsed_s, waited_s=current.clock.waited(now))]

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.extend(tasks)
        self._arrived.set()

    def cancel(self, id: str, attempt: int) -> None:
        current = self._current
        if current is not None and current.task.key == (id, attempt):
            current.cancelled = True
            if current.child is not None:
                current.child.interrupt("cancelled")
            return
        for task in self._queue:
            if task.key == (id, attempt):
                child = self._children.present
                if child is not None and child.ahead is task:
                    # Its child may be at it by now, and is ended when its turn comes.
                    self._cancelled_ahead = task
                    return
                self._queue.remove(task)
                self._log.finished(id, attempt, cancelled())
                return

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._children.close()

    async def _work(self) -> None:
        while True:
            await self._log.room()
            while not self._queue:
                self._children.end_left()
                if self._children.present is not None:
                    self._children.present.has_idled = True
                self._arrived.clear()
                await self._arrived.wait()
            task = self._queue.popleft()
            self._current = Current(task, cancelled=task is self._cancelled_ahead)
            outcome = await self._attempt(self._current)
            if self._current.clock is None:
                self._log.started(*task.key)
            self._current = None
            self._log.finished(*task.key, self.redaction.outcome(outcome))

    async def _attempt(self, current: Current) -> Outcome:
        """Carry out one task to its outcome. A failure here fails this task only."""
        if current.cancelled:
            await self._children.leave(wait=True)
            return cancelled()
        try:
            child = await self._child_for(current)
            if isinstance(child, Outcome):
                return child
            outcome = await self._run_to_outcome(child, current)
            suspect = is_suspect(outcome, earlier=child.turn, functions=child.functions)
            return await self._confirm(current, outcome, earlier=child.turn) if suspect else outcome
        except FrameworkBrokenError as error:
            await self._restart()
            return harness_failed(f"{error}; the framework is being imported again")

    async def _run_to_outcome(self, child: Child, current: Current) -> Outcome:
        """Have the child run the case, and end the child if it may run no other."""
        outcome = current.settled(await self._run(child, current))
        tail, size = child.take_output()
        paper = current.task.job.timing is TimingPolicy.paper
        if child is self._children.present and (paper or await self._children.has_orphans(child)):
            await self._children.leave(wait=True)
        return with_log(outcome, tail, size)

    async def _confirm(self, current: Current, suspect: Outcome, *, earlier: int) -> Outcome:
        """Run a case that is suspect after others once more, alone in a fresh child, within the same deadline.

        Neither the order of cases nor what an earlier one left pending may accuse a device. If the time that is left
        is too short, or the confirmation itself fails, the outcome stands as it was.
        """
        if current.clock is None:
            return suspect
        # Not what it took to kill it since: of a fork bomb that may be longer than the deadline.
        current.spent_s = min(suspect.duration_s, current.clock.elapsed(time.monotonic()))
        if current.task.job.timeout_s - current.spent_s <= suspect.duration_s:
            return suspect
        # At once: it may be at the next case already, which would run beside the confirmation.
        await self._children.leave(wait=True)
        current.failure, current.explained_by = None, math.inf
        try:
            child = await self._child_for(current)
            alone = child if isinstance(child, Outcome) else await self._run_to_outcome(child, current)
        except FrameworkBrokenError:
            await self._restart()
            return suspect
        return confirmed(suspect, alone, earlier=earlier)

    async def _run(self, child: Child, current: Current) -> Outcome:
        """Have the child run the case; on any end but a reported one the child is killed."""
        child.take_turn(current.task)
        if child.ahead is None:
            child.give(_order(current.task, child.turn), child.turn)
        child.ahead = None
        clock = self._start_clock(current, child)
        self._give_ahead(child, current.task)
        # In a child's first case its threads start, and what goes on beside it takes a core from them.
        if child.turn > 0 or not any(map(child.admits, self._queue)):
            self._children.end_left()
            self._children.prepare_spare(current.task, self._queue)
        try:
            while True:
                event = await child.next(current.left(clock, time.monotonic()))
                if event is None:
                    # Until the kill: that a fork bomb takes long to die is no time of the case.
                    elapsed_s = clock.elapsed(time.monotonic())
                    await self._children.leave(wait=True)
                    return _overdue(current, child, clock, elapsed_s)
                if event.turn not in (None, child.turn):
                    # It was meant for the case before, which had finished by then.
                    continue
                if event.message is None:
                    return await self._unreported(child, event, clock)
                message = event.message
                match message["type"]:
                    case "begun":
                        clock.begin(_moment(message))
                    case "waiting":
                        clock.pause(_moment(message))
                    case "resumed":
                        clock.resume(_moment(message))
                    case "failed":
                        current.failure = Outcome.model_validate(message["outcome"])
                        current.explained_by = time.monotonic() + EXPLAIN_LIMIT_S
                    case "finished":
                        return Outcome.model_validate(message["outcome"])
        except ValidationError as error:
            await self._children.leave(wait=True)
            return unkept(error, duration_s=clock.elapsed(time.monotonic()))
        except (KeyError, TypeError, ValueError) as error:
            await self._children.leave(wait=True)
            reason = f"the report of the case makes no sense: {type(error).__name__}: {error}"
            return harness_failed(reason, duration_s=clock.elapsed(time.monotonic()))

    def _start_clock(self, current: Current, child: Child) -> Clock:
        """A clock for the case, which has started; one that is run once more gets what time is left."""
        if current.clock is None:
            self._log.started(*current.task.key)
        limit_s = current.task.job.timeout_s - current.spent_s
        if child.functions > 1:
            limit_s = min(limit_s, SHARED_LIMIT_S, SHARED_LIMIT * limit_s)
        current.clock = Clock(limit_s, time.monotonic())
        return current.clock

    def _give_ahead(self, child: Child, task: Task) -> None:
        """The next case goes to its child before its turn, so that a child need not wait for us between cases.

        If the turn never comes, because the case before it took the child along, nobody hears of it.
        """
        following = next(iter(self._queue), None)
        if following is None or not child.admits(following) or not self._log.has_room:
            return
        if task.is_untimed and following.is_untimed:
            child.ahead = following
            child.give(_order(following, child.turn + 1), child.turn + 1)

    async def _unreported(self, child: Child, event: ChildEvent, clock: Clock) -> Outcome:
        """The outcome of a case that will not report any more, from the event that ended it."""
        elapsed = clock.elapsed(time.monotonic())
        if event.kind == "channel_lost":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXIT_GRACE_S):
                    await child.gone.wait()
        ended_alone, status = child.gone.is_set(), child.status
        await self._children.leave(wait=True)
        match event.kind:
            case "cancelled":
                return cancelled(elapsed)
            case "out_of_memory":
                return out_of_memory(event.reason, elapsed)
            case _ if status is None and ended_alone:
                return harness_failed("the zygote ended while the case ran", duration_s=elapsed)
            case "channel_lost" if event.reason in UNREADABLE:
                return harness_failed(f"what came from the case cannot be read: {event.reason}", duration_s=elapsed)
            case _ if not ended_alone:
                return died(None, elapsed, CLOSED)
        if memory.kernel_kills() > self._kernel_kills and status == 9:
            return out_of_memory("the kernel killed the process for lack of memory", elapsed)
        lost = status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == CHANNEL_LOST
        return died(status, elapsed, CLOSED if lost else None)

    async def _child_for(self, current: Current) -> Child | Outcome:
        """A primed child for the task, or the outcome of a task that can have none."""
        if not self._children.can_be_made:
            await self._restart()
        child = current.child = await self._children.take(current.task)
        if child.task is None:
            self._kernel_kills = memory.kernel_kills()
        if not current.cancelled and child.primed_ms is None:
            failure = await self._children.prime(child)
            if failure is not None:
                await self._children.leave(wait=True)
                tail, size = child.take_output()
                return with_log(failure, tail, size)
        return cancelled() if current.cancelled else child

    async def _watch_memory(self) -> None:
        limit = self._memory_limit
        while True:
            await asyncio.sleep(MEMORY_POLL_S)
            current = self._current
            if current is None or current.child is None or current.clock is None:
                continue
            child, turn = current.child, current.child.turn
            if await asyncio.to_thread(processes.hold_more_than, limit, child.pid) and child.turn == turn:
                child.interrupt("out_of_memory", f"its processes held more than {limit / (1 << 20):.0f} MiB")

    async def _restart(self) -> None:
        """Start over with a new zygote; if that fails too, nothing can be executed any more."""
        try:
            await self._children.start_anew()
        except FrameworkBrokenError:
            self.broken.set()
            await asyncio.Event().wait()


async def _start_threads() -> None:
    """Every thread that the loop will need: a case that forks without end leaves room for none, and must be killed."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "loop"))
    together = threading.Barrier(THREADS)
    await asyncio.gather(*(loop.run_in_executor(None, together.wait) for _ in range(THREADS)))


def _moment(message: Message) -> float:
    """The time that the child's message gives: not after now, or a clock that ran ahead would put off the deadline."""
    return min(float(message["at"]), time.monotonic())


def _overdue(current: Current, child: Child, clock: Clock, elapsed_s: float) -> Outcome:
    """The outcome of a case that did not end in its time: its own doing only where no other function ran before.

    There it took the time that it had, however late that was noticed: the rest is left for the case alone.
    """
    if child.functions > 1:
        took_s = min(elapsed_s, clock.timeout_s)
        return harness_failed("no end in a process that had run other functions", duration_s=took_s)
    return timed_out(current.task.job.timeout_s, current.spent_s + elapsed_s)


def _order(task: Task, turn: int) -> Message:
    """The order to run a case. A failure after other cases is confirmed alone, and explained there."""
    order = {"type": "case", "suite": task.suite, "case": task.job.case, "timing": task.job.timing}
    return order | {"explain": turn == 0}
