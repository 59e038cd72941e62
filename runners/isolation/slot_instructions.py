"""The instructions from the state machine of the slots to the driver, which carries them out (``slot_driver.py``)."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.channel import Message


class SlotInstruction:
    """An instruction to the driver."""


@dataclass(frozen=True)
class Fork(SlotInstruction):
    """Fork a child and give it this number. Answer with a ``ForkedEvent`` or a ``NotForkedEvent``."""

    number: int


@dataclass(frozen=True)
class Prime(SlotInstruction):
    """Let the child prime its device with this many threads (None: no limit)."""

    number: int
    threads: int | None
    task: Task | None = None
    """The task whose case decides how the device is first used; None for the usual way."""


@dataclass(frozen=True)
class Order(SlotInstruction):
    """Send the child the order for its case of this turn. The child may still run the previous case."""

    number: int
    turn: int
    message: Message


@dataclass(frozen=True)
class LookForProcesses(SlotInstruction):
    """Check whether the case of this turn left processes behind. Answer with a ``ProcessesEvent``."""

    number: int
    turn: int


@dataclass(frozen=True)
class End(SlotInstruction):
    """Kill the child and all processes that it started. Answer with an ``EndedEvent`` when all are gone."""

    number: int
    turn: int
    """The answer carries the output of this turn."""


@dataclass(frozen=True)
class Renew(SlotInstruction):
    """Start a new zygote. Answer with a ``RenewedEvent`` or a ``NotRenewedEvent``."""


@dataclass(frozen=True)
class Break(SlotInstruction):
    """Stop the service, because nothing can be executed any more."""


@dataclass(frozen=True)
class ReportStart(SlotInstruction):
    """Report that the task has started."""

    task: Task


@dataclass(frozen=True)
class ReportFinish(SlotInstruction):
    """Report the outcome of the task."""

    task: Task
    outcome: Outcome
