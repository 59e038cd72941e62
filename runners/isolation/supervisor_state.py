"""The state machine of all slots: passes each event to its slot, then lets all slots continue. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from protocol.events import Running
from runners.isolation.execution import Stage
from runners.isolation.outcomes import cancellation
from runners.isolation.slot_events import (
    CancelledEvent,
    ChildEvent,
    EndedEvent,
    LogFullEvent,
    LogRoomEvent,
    NotForkedEvent,
    NotRenewedEvent,
    OpenedEvent,
    RenewedEvent,
    SlotEvent,
    SlotTickEvent,
    SubmittedEvent,
    ZygoteDiedEvent,
)
from runners.isolation.slot_instructions import Break, ReportFinish, SlotInstruction
from runners.isolation.slot_state import SharedSlotState, SlotState


class RunningCase(NamedTuple):
    """The case that a child runs now. ``number`` identifies the child, and ``turn`` counts the cases of this child."""

    number: int
    turn: int
    alone: bool
    """Whether no case of another slot may run at the same time."""


class SupervisorState:
    """The state of all slots. Only ``handle`` changes it. Timed tasks run alone, so only the first slot takes them."""

    def __init__(self) -> None:
        self._shared = SharedSlotState()

    @property
    def slots(self) -> list[SlotState]:
        """The slots; empty before the ``OpenedEvent``."""
        return self._shared.slots

    @property
    def queued(self) -> int:
        """The number of tasks that wait."""
        return len(self._shared.queue) + sum(len(slot.stretch) for slot in self.slots)

    @property
    def starting(self) -> int:
        """The number of tasks that have left the queue but not begun."""
        return sum(slot.execution is not None and slot.execution.clock is None for slot in self.slots)

    def running(self, now: float) -> list[Running]:
        times = (slot.execution.running(now) for slot in self.slots if slot.execution is not None)
        return [running for running in times if running is not None]

    def cases(self) -> Iterator[RunningCase]:
        for slot in self.slots:
            run = slot.execution
            if run is not None and run.child is not None and run.stage is Stage.running:
                yield RunningCase(run.child.number, run.child.turn, run.alone)

    def left_s(self, now: float) -> float:
        """Return the seconds until a ``SlotTickEvent`` is due; infinite if no limit is running."""
        return min((slot.left_s(now) for slot in self.slots), default=math.inf)

    def handle(self, event: SlotEvent) -> list[SlotInstruction]:
        out = self._note(event)
        has_gone_on = True
        while has_gone_on:
            # Each slot gets another chance, because it may have waited for something that another slot has released.
            steps = [slot.step(event.now) for slot in self.slots]
            has_gone_on = any(step is not None for step in steps)
            out += [instruction for step in steps if step is not None for instruction in step]
        return out

    def _note(self, event: SlotEvent) -> list[SlotInstruction]:
        shared_state = self._shared
        match event:
            case OpenedEvent(_, slots, threads, overlap):
                shared_state.threads, shared_state.overlap = threads, overlap
                shared_state.slots = [
                    SlotState(number, shared_state, takes_timed=number == 0) for number in range(slots)
                ]
            case SubmittedEvent(_, tasks):
                shared_state.queue.extend(tasks)
            case CancelledEvent(now, id, attempt):
                return self._cancel((id, attempt), now)
            case SlotTickEvent(now):
                return [instruction for slot in self.slots for instruction in slot.tick(now)]
            case LogFullEvent():
                shared_state.has_room = False
            case LogRoomEvent():
                shared_state.has_room = True
            case ZygoteDiedEvent():
                if shared_state.zygote == "alive":
                    shared_state.zygote = "dead"
            case RenewedEvent():
                shared_state.zygote = "alive"
            case NotRenewedEvent():
                # The zygote's state stays "renewing", so that nothing is forked any more.
                return [Break()]
            case ChildEvent():
                return self._note_of_child(event)
            case _:
                raise TypeError(f"no rule handles {event!r}")
        return []

    def _note_of_child(self, event: ChildEvent) -> list[SlotInstruction]:
        slots = self._shared.slot_of
        is_last = isinstance(event, (EndedEvent, NotForkedEvent))
        slot = slots.pop(event.number, None) if is_last else slots.get(event.number)
        return [] if slot is None else slot.handle(event)

    def _cancel(self, key: tuple[str, int], now: float) -> list[SlotInstruction]:
        for slot in self.slots:
            if (instructions := slot.cancel(key, now)) is not None:
                return instructions
        for task in self._shared.queue:
            if task.key == key:
                self._shared.queue.remove(task)
                return [ReportFinish(task, cancellation())]
        return []
