"""A slot of a supervisor: runs one case at a time, in processes that no function of a timed run shares with another.

It holds the clock of its case, and says how each attempt ended. ``children.py`` makes and ends the processes,
``company.py`` says which slots may be at work together, and the supervisor has the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable

from pydantic import ValidationError

from protocol.enums import TimingPolicy
from protocol.outcomes import Outcome
from runners.errors import FrameworkBrokenError
from runners.isolation import memory
from runners.isolation.attempts import Task
from runners.isolation.channel import CHANNEL_LOST, UNREADABLE, Message
from runners.isolation.child import Child, ChildEvent
from runners.isolation.children import Children
from runners.isolation.company import Company
from runners.isolation.confirmation import confirm, is_crowded, is_suspect
from runners.isolation.current import Current
from runners.isolation.deadline import Clock
from runners.isolation.events import EventLog
from runners.isolation.fork_server import ForkServer
from runners.isolation.forks import Forks
from runners.isolation.outcomes import cancelled, died, harness_failed, out_of_memory, timed_out, unkept, with_log
from runners.isolation.secrecy import Redaction
from runners.isolation.task_queue import TaskQueue

EXIT_GRACE_S = 1.0
"""A child that closed its channel gets this long to end by itself, so that its exit code is seen."""

SHARED_LIMIT_S = 30.0
"""A case that takes longer beside others, or in a process that ran other functions, is begun anew: alone."""
SHARED_LIMIT = 0.25
"""Or longer than this share of its deadline."""

EXPLAIN_LIMIT_S = 30.0
"""A failure that is reported is explained for so long, and never past the case's deadline."""

CLOSED = "the case closed the channel to its runner"


class Slot:
    """Takes stretches of tasks from the queue and reports to the event log."""

    def __init__(
        self,
        queue: TaskQueue,
        log: EventLog,
        forks: Forks,
        company: Company,
        redaction: Redaction,
        broken: asyncio.Event,
        *,
        takes_timed: bool,
        threads: int | None,
        quiet: Callable[[], Awaitable[None]],
    ) -> None:
        self._queue = queue
        self._log = log
        self._forks = forks
        self._company = company
        self._redaction = redaction
        self._broken = broken
        """To be set when no child can be forked any more."""
        self._takes_timed = takes_timed
        self._quiet = quiet
        """Waits until no slot makes or ends a process."""
        self._joined = False
        """Whether it is at work beside the others."""
        self._cancelled_ahead: Task | None = None
        self._kernel_kills = 0
        """Counted before the present child's first case: whoever dies later may have died of them."""
        self.children = Children(forks, threads)
        self.stretch: deque[Task] = deque()
        """The tasks that are its to run next."""
        self.current: Current | None = None

    async def work(self) -> None:
        """Run task after task, for ever."""
        while True:
            await self._log.room()
            await self._wait_for_tasks()
            task = self.stretch.popleft()
            self.current = Current(task, alone=not task.is_untimed, cancelled=task is self._cancelled_ahead)
            outcome = await self._in_company(self.current)
            if self.current.clock is None:
                self._log.started(*task.key)
            self.current = None
            self._log.finished(*task.key, self._redaction.outcome(outcome))

    def cancel(self, id: str, attempt: int) -> bool:
        """Stop the task if it is this slot's; whether it is."""
        current = self.current
        if current is not None and current.task.key == (id, attempt):
            current.cancelled = True
            if current.child is not None:
                current.child.interrupt("cancelled")
            self._company.look_again()
            return True
        for task in self.stretch:
            if task.key == (id, attempt):
                child = self.children.present
                if child is not None and child.ahead is task:
                    # Its child may be at it by now, and is ended when its turn comes.
                    self._cancelled_ahead = task
                else:
                    self.stretch.remove(task)
                    self._log.finished(id, attempt, cancelled())
                return True
        return False

    async def _wait_for_tasks(self) -> None:
        while not self.stretch:
            self.stretch = self._queue.take(timed=self._takes_timed)
            if self.stretch:
                return
            self.children.end_left()
            if self.children.present is not None:
                self.children.present.has_idled = True
            self._queue.changed.clear()
            await self._queue.changed.wait()

    async def _in_company(self, current: Current) -> Outcome:
        """Carry out one task to its outcome: beside those of the other slots, or alone."""
        if current.alone:
            async with self._company.alone(unless=lambda: current.cancelled):
                return await self._attempt(current)
        if not self._joined:
            self._joined = await self._company.join(unless=lambda: current.cancelled)
        try:
            return await self._attempt(current)
        finally:
            # Its child may be at the next case already.
            if self.children.present is None or self.children.present.ahead is None:
                self._part()

    def _part(self) -> None:
        if self._joined:
            self._company.part()
        self._joined = False

    async def _attempt(self, current: Current) -> Outcome:
        """Have a child run the task. A failure here fails this task only."""
        if current.cancelled:
            await self.children.leave(wait=True)
            return cancelled()
        outcome = await self._run_in_child(current)
        child = current.child
        earlier, functions = (0, 0) if child is None or current.clock is None else (child.turn, child.functions)
        alone = self._has_company(current) and is_crowded(outcome)
        if alone or is_suspect(outcome, earlier=earlier, functions=functions):
            return await self._confirm(current, outcome, earlier=earlier, alone=alone)
        return outcome

    async def _run_in_child(self, current: Current) -> Outcome:
        """Have a child run the case, if one can be had."""
        server = self._forks.server
        try:
            child = await self._child_for(current)
            return child if isinstance(child, Outcome) else await self._run_to_outcome(child, current)
        except FrameworkBrokenError as error:
            await self._renew(server)
            return harness_failed(f"{error}; the framework is being imported again")

    def _has_company(self, current: Current) -> bool:
        return self._company.slots > 1 and not current.alone

    async def _run_to_outcome(self, child: Child, current: Current) -> Outcome:
        """Have the child run the case, and end the child if it may run no other."""
        outcome = current.settled(await self._run(child, current))
        tail, size = child.take_output()
        paper = current.task.job.timing is TimingPolicy.paper
        if child is self.children.present and (paper or await self.children.has_orphans(child)):
            await self.children.leave(wait=True)
        return with_log(outcome, tail, size)

    async def _confirm(self, current: Current, suspect: Outcome, *, earlier: int, alone: bool) -> Outcome:
        """Run a case that is suspect after or beside others once more in a fresh child, within the same deadline.

        Neither the order of cases, nor what an earlier one left pending, nor what another slot took may accuse a
        device. The outcome stands as it was if the time that is left is too short, and a failure also if the
        confirmation comes to no outcome.
        """
        if current.clock is not None:
            current.begin_anew(suspect)
        if current.task.job.timeout_s - current.spent_s <= suspect.duration_s:
            return suspect
        # At once: it may be at the next case already, which would run beside the confirmation.
        await self.children.leave(wait=True)
        if alone:
            self._part()
            async with self._company.alone(unless=lambda: current.cancelled):
                current.alone = True
                again = await self._run_in_child(current)
        else:
            again = await self._run_in_child(current)
        return confirm(suspect, again, earlier=earlier)

    async def _run(self, child: Child, current: Current) -> Outcome:
        """Have the child run the case; on any end but a reported one the child is killed."""
        child.take_turn(current.task)
        if child.ahead is None:
            child.give(_order(current.task, child.turn, current.spent_s), child.turn)
        child.ahead = None
        clock = self._start_clock(current, child)
        self._give_ahead(child, current)
        # In a child's first case its threads start, and what goes on beside it takes a core from them.
        if child.turn > 0 or not any(map(child.admits, itertools.chain(self.stretch, self._queue))):
            self.children.end_left()
            if not current.alone:
                self.children.prepare_spare(current.task, itertools.chain(self.stretch, self._queue))
        try:
            while True:
                event = await child.next(current.left(clock, time.monotonic()))
                if event is None:
                    # Until the kill: that a fork bomb takes long to die is no time of the case.
                    elapsed_s = clock.elapsed(time.monotonic())
                    await self.children.leave(wait=True)
                    return _overdue(current, clock, elapsed_s, shared=self._is_shared(current, child))
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
            await self.children.leave(wait=True)
            return unkept(error, duration_s=clock.elapsed(time.monotonic()))
        except (KeyError, TypeError, ValueError) as error:
            await self.children.leave(wait=True)
            reason = f"the report of the case makes no sense: {type(error).__name__}: {error}"
            return harness_failed(reason, duration_s=clock.elapsed(time.monotonic()))

    def _start_clock(self, current: Current, child: Child) -> Clock:
        """A clock for the case, which has started; one that is run once more gets what time is left."""
        now = time.monotonic()
        if current.clock is None:
            self._log.started(*current.task.key)
        else:
            current.waited_s += current.clock.waited(now)
        limit_s = current.task.job.timeout_s - current.spent_s
        if self._is_shared(current, child):
            limit_s = min(limit_s, SHARED_LIMIT_S, SHARED_LIMIT * limit_s)
        current.clock = Clock(limit_s, now)
        return current.clock

    def _is_shared(self, current: Current, child: Child) -> bool:
        """Whether another case may be the reason that this one does not end."""
        return child.functions > 1 or self._has_company(current)

    def _give_ahead(self, child: Child, current: Current) -> None:
        """The next case goes to its child before its turn, so that a child need not wait for us between cases.

        If the turn never comes, because the case before it took the child along, nobody hears of it.
        """
        if current.alone or self._company.is_asked_for_silence or not self._log.has_room:
            return
        first = self._queue.first
        if not self.stretch and first is not None and first.is_untimed and child.admits(first):
            self.stretch = self._queue.take(timed=False)
        following = next(iter(self.stretch), None)
        if following is not None and following.is_untimed and child.admits(following):
            child.ahead = following
            child.give(_order(following, child.turn + 1, spent_s=0.0), child.turn + 1)

    async def _unreported(self, child: Child, event: ChildEvent, clock: Clock) -> Outcome:
        """The outcome of a case that will not report any more, from the event that ended it."""
        elapsed_s = clock.elapsed(time.monotonic())
        if event.kind == "channel_lost":
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXIT_GRACE_S):
                    await child.gone.wait()
        ended_alone, status = child.gone.is_set(), child.status
        await self.children.leave(wait=True)
        match event.kind:
            case "cancelled":
                return cancelled(elapsed_s)
            case "out_of_memory":
                return out_of_memory(event.reason, elapsed_s)
            case _ if status is None and ended_alone:
                return harness_failed("the zygote ended while the case ran", duration_s=elapsed_s)
            case "channel_lost" if event.reason in UNREADABLE:
                return harness_failed(f"what came from the case cannot be read: {event.reason}", duration_s=elapsed_s)
            case _ if not ended_alone:
                return died(None, elapsed_s, CLOSED)
        if memory.kernel_kills() > self._kernel_kills and status == 9:
            return out_of_memory("the kernel killed the process for lack of memory", elapsed_s)
        lost_channel = status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == CHANNEL_LOST
        return died(status, elapsed_s, CLOSED if lost_channel else None)

    async def _child_for(self, current: Current) -> Child | Outcome:
        """A primed child for the task, or the outcome of a task that can have none.

        If the zygote ends meanwhile, as another case may kill it, the child is made from the next zygote.
        """
        server = self._forks.server
        try:
            child = await self._prepared_child(current)
            if isinstance(child, Child) or current.cancelled or server.alive:
                return child
        except FrameworkBrokenError:
            await self._renew(server)
        return await self._prepared_child(current)

    async def _prepared_child(self, current: Current) -> Child | Outcome:
        if not self._forks.server.alive:
            await self._renew(self._forks.server)
        child = current.child = await self.children.take(current.task, alone=current.alone)
        if not current.task.is_untimed:
            await self._quiet()
        if child.task is None:
            self._kernel_kills = memory.kernel_kills()
        if not current.cancelled and child.primed_ms is None:
            failure = await self.children.prime(child)
            if failure is not None:
                await self.children.leave(wait=True)
                tail, size = child.take_output()
                return with_log(failure, tail, size)
        return cancelled() if current.cancelled else child

    async def _renew(self, dead: ForkServer) -> None:
        """Start over with a new zygote; if that fails too, nothing can be executed any more."""
        try:
            await self._forks.renew(dead)
        except FrameworkBrokenError:
            self._broken.set()
            await asyncio.Event().wait()


def _moment(message: Message) -> float:
    """The time that the child's message gives: not after now, or a clock that ran ahead would put off the deadline."""
    return min(float(message["at"]), time.monotonic())


def _overdue(current: Current, clock: Clock, elapsed_s: float, *, shared: bool) -> Outcome:
    """The outcome of a case that did not end in its time: its own doing only where no other may be the reason.

    There it took the time that it had, however late that was noticed: the rest is left for the case alone.
    """
    if shared:
        took_s = min(elapsed_s, clock.timeout_s)
        return harness_failed("no end beside other cases, or after those of other functions", duration_s=took_s)
    return timed_out(current.task.job.timeout_s, current.spent_s + elapsed_s)


def _order(task: Task, turn: int, spent_s: float) -> Message:
    """The order to run a case. A failure after other cases is confirmed alone, and explained there.

    Beside others it may be stopped sooner than it is told: it is then begun anew, alone, with the time that is left.
    """
    order = {"type": "case", "suite": task.suite, "case": task.job.case, "timing": task.job.timing}
    return order | {"timeout_s": task.job.timeout_s - spent_s, "explain": turn == 0}
