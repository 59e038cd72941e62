"""The driver of the slots: carries out the instructions of their state machine, and reports the results to it."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from runners.errors import FrameworkBrokenError
from runners.isolation.alarm import Alarm
from runners.isolation.background_tasks import BackgroundTasks
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
        self._tasks = BackgroundTasks(broken)
        self._ends = BackgroundTasks(broken)
        """The ends of children, which are not cancelled when the driver closes."""
        self._events: deque[SlotEvent] = deque()
        self._is_handling = False
        self._is_closed = False
        self._tick = Alarm(lambda: self.handle(SlotTickEvent(time.monotonic())))
        log.on_full = lambda: self.handle(LogFullEvent(time.monotonic()))
        log.on_room = lambda: self.handle(LogRoomEvent(time.monotonic()))
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
        now = time.monotonic()
        self._tick.set(now + self._state.left_s(now))

    async def close(self) -> None:
        """Stop at once, and end every process."""
        self._is_closed = True
        self._tick.cancel()
        await self._tasks.cancel()
        await self._fork_server.close()
        await self._ends.wait()

    def _carry_out(self, instruction: SlotInstruction) -> None:
        match instruction:
            case ReportStart(task):
                self._log.record_start(*task.key)
            case ReportFinish(task, outcome):
                self._log.record_finish(*task.key, self._redaction.outcome(outcome))
            case Order(number, turn, message):
                self._children[number].give(message, turn)
            case Prime(number, threads, task):
                case = {} if task is None else {"suite": task.suite, "case": task.job.case}
                self._children[number].send({"type": "prime", "threads": threads, **case})
            case LookForProcesses(number, turn):
                self._look_for_processes(self._children[number], turn)
            case Fork(number):
                self._tasks.begin(self._fork(number))
            case End(number, turn):
                self._ends.begin(self._end(number, turn))
            case Renew():
                self._tasks.begin(self._renew())
            case Break():
                self._broken.set()
            case _:
                raise TypeError(f"nothing carries out {instruction!r}")

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
        self.handle(EndedEvent(time.monotonic(), number, child.take_output(turn), child.kernel_has_killed()))

    def _look_for_processes(self, child: Child, turn: int) -> None:
        output = child.take_output(turn)
        if self._fork_server.is_surely_alone(child):
            self.handle(ProcessesEvent(time.monotonic(), child.number, False, output))
        else:
            self._tasks.begin(self._look_further(child, output))

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
