"""The driver of the slots: carries out the instructions of their state machine, and reports the results to it."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Coroutine
from typing import Any

from runners.errors import FrameworkBrokenError
from runners.isolation import memory
from runners.isolation.child import Child
from runners.isolation.events import EventLog
from runners.isolation.renewable_fork_server import RenewableForkServer
from runners.isolation.secrecy import Redaction
from runners.isolation.slot_events import (
    EndedEvent,
    ForkedEvent,
    LogFullEvent,
    LogRoomEvent,
    NotForkedEvent,
    NotRenewedEvent,
    ProcessesEvent,
    RenewedEvent,
    SlotEvent,
    SlotTickEvent,
    ZygoteDiedEvent,
)
from runners.isolation.slot_instructions import (
    Break,
    End,
    Fork,
    LookForProcesses,
    Order,
    Prime,
    Renew,
    ReportFinish,
    ReportStart,
    SlotInstruction,
)
from runners.isolation.supervisor_state import SupervisorState


class SlotDriver:
    """Passes events to the state machine of the slots. Sets ``broken`` when nothing can be executed any more."""

    def __init__(
        self,
        state: SupervisorState,
        log: EventLog,
        fork_server: RenewableForkServer,
        redaction: Redaction,
        broken: asyncio.Event,
    ) -> None:
        self._state = state
        self._log = log
        self._fork_server = fork_server
        self._redaction = redaction
        self._broken = broken
        self._children: dict[int, Child] = {}
        self._kernel_kills: dict[int, int] = {}
        """For each child, how many processes the kernel had killed for lack of memory before the child's first case. If
        the number has grown when the child dies, the kernel may have killed it."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Background work that is cancelled when the driver closes."""
        self._ending: set[asyncio.Task[None]] = set()
        self._events: deque[SlotEvent] = deque()
        self._is_handling = False
        self._is_closed = False
        self._tick: asyncio.TimerHandle | None = None
        self._tick_at = math.inf
        self._waits_for_room = False
        fork_server.on_death = lambda: self.handle(ZygoteDiedEvent(time.monotonic()))

    def pid(self, number: int) -> int:
        return self._children[number].pid

    def handle(self, event: SlotEvent) -> None:
        """Pass an event to the state machine, and carry out its instructions.

        An error stops the service, because jobs would hang otherwise.
        """
        self._events.append(event)
        if self._is_handling or self._is_closed:
            return
        self._is_handling = True
        try:
            while self._events:
                for instruction in self._state.handle(self._events.popleft()):
                    self._carry_out(instruction)
        except Exception:
            self._broken.set()
            raise
        finally:
            self._is_handling = False
        self._set_tick()

    async def close(self) -> None:
        """Stop at once, and end every process."""
        self._is_closed = True
        if self._tick is not None:
            self._tick.cancel()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._fork_server.close()
        if self._ending:
            await asyncio.wait(self._ending)

    def _carry_out(self, instruction: SlotInstruction) -> None:
        match instruction:
            case ReportStart(task):
                self._log.record_start(*task.key)
            case ReportFinish(task, outcome):
                self._log.record_finish(*task.key, self._redaction.outcome(outcome))
                self._look_for_room()
            case Order(number, turn, message):
                if turn == 0:
                    self._kernel_kills[number] = memory.kernel_kills()
                self._children[number].give(message, turn)
            case Prime(number, threads, task):
                case = {} if task is None else {"suite": task.suite, "case": task.job.case}
                self._children[number].send({"type": "prime", "threads": threads, **case})
            case LookForProcesses(number, turn):
                self._look_for_processes(self._children[number], turn)
            case Fork(number):
                self._begin(self._fork(number))
            case End(number, turn):
                self._begin(self._end(number, turn), self._ending)
            case Renew():
                self._begin(self._renew())
            case Break():
                self._broken.set()
            case _:
                raise TypeError(f"nothing carries out {instruction!r}")

    def _begin(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]] | None = None) -> None:
        tasks = self._tasks if tasks is None else tasks
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        task.add_done_callback(self._break)

    def _break(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._broken.set()

    async def _fork(self, number: int) -> None:
        try:
            self._children[number] = await self._fork_server.fork(number, self.handle)
        except FrameworkBrokenError as error:
            self.handle(NotForkedEvent(time.monotonic(), number, str(error)))
        else:
            self.handle(ForkedEvent(time.monotonic(), number))

    async def _end(self, number: int, turn: int) -> None:
        child = self._children.pop(number)
        await self._fork_server.end(child)
        kernel_kills = self._kernel_kills.pop(number, None)
        kernel_killed = kernel_kills is not None and memory.kernel_kills() > kernel_kills
        self.handle(EndedEvent(time.monotonic(), number, child.take_output(turn), kernel_killed))

    def _look_for_processes(self, child: Child, turn: int) -> None:
        output = child.take_output(turn)
        if self._fork_server.is_surely_alone(child):
            self.handle(ProcessesEvent(time.monotonic(), child.number, False, output))
        else:
            self._begin(self._look_further(child, output))

    async def _look_further(self, child: Child, output: tuple[bytes, int]) -> None:
        has_processes = await self._fork_server.has_orphans(child)
        self.handle(ProcessesEvent(time.monotonic(), child.number, has_processes, output))

    async def _renew(self) -> None:
        try:
            await self._fork_server.renew()
        except FrameworkBrokenError:
            self.handle(NotRenewedEvent(time.monotonic()))
        else:
            self.handle(RenewedEvent(time.monotonic()))

    def _look_for_room(self) -> None:
        if not self._log.has_room and not self._waits_for_room:
            self._waits_for_room = True
            self.handle(LogFullEvent(time.monotonic()))
            self._begin(self._wait_for_room())

    async def _wait_for_room(self) -> None:
        await self._log.room()
        self._waits_for_room = False
        self.handle(LogRoomEvent(time.monotonic()))

    def _set_tick(self) -> None:
        """Schedule the next tick. If an earlier tick is already scheduled, it stays, and schedules the next one."""
        now = time.monotonic()
        left_s = self._state.left_s(now)
        if now + left_s < self._tick_at:
            if self._tick is not None:
                self._tick.cancel()
            self._tick_at = now + left_s
            self._tick = asyncio.get_running_loop().call_later(max(left_s, 0.0), self._on_tick)

    def _on_tick(self) -> None:
        self._tick, self._tick_at = None, math.inf
        self.handle(SlotTickEvent(time.monotonic()))
