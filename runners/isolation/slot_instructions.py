"""The instructions that the state of a supervisor's slots gives; ``slot_driver.py`` executes them."""

from __future__ import annotations

from dataclasses import dataclass

from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.channel import Message


class SlotInstruction:
    """An order to the driver."""


@dataclass(frozen=True)
class Fork(SlotInstruction):
    """Fork a child, known by this number; answer with a ``ForkedEvent`` or a ``NotForkedEvent``."""

    number: int


@dataclass(frozen=True)
class Prime(SlotInstruction):
    """Have the child prime its device with this many threads (null: no limit)."""

    number: int
    threads: int | None


@dataclass(frozen=True)
class Order(SlotInstruction):
    """Order the child to run its case of this turn. The child may still be running the case before."""

    number: int
    turn: int
    message: Message


@dataclass(frozen=True)
class LookForProcesses(SlotInstruction):
    """Check whether the case of this turn left processes behind; answer with a ``ProcessesEvent``."""

    number: int
    turn: int


@dataclass(frozen=True)
class End(SlotInstruction):
    """Kill the child with everything that it started; answer with an ``EndedEvent`` when all of it is gone."""

    number: int
    turn: int
    """The turn whose output the answer carries."""


@dataclass(frozen=True)
class Renew(SlotInstruction):
    """Begin with a new zygote; answer with a ``RenewedEvent`` or a ``NotRenewedEvent``."""


@dataclass(frozen=True)
class Break(SlotInstruction):
    """Report that nothing can be executed any more."""


@dataclass(frozen=True)
class ReportStart(SlotInstruction):
    """Report that the task has started."""

    task: Task


@dataclass(frozen=True)
class ReportFinish(SlotInstruction):
    """Report the outcome of the task."""

    task: Task
    outcome: Outcome
