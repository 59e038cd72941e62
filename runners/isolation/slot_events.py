"""The events for the state of a supervisor's slots: orders from outside, and reports of children and the zygote."""

from __future__ import annotations

from dataclasses import dataclass

from runners.isolation.attempts import Task
from runners.isolation.channel import Message

Output = tuple[bytes, int]
"""The tail of what a case printed, and the size of the whole in bytes."""


@dataclass(frozen=True)
class SlotEvent:
    """An event; ``now`` is in seconds on this machine's monotonic clock, which the children share."""

    now: float


@dataclass(frozen=True)
class OpenedEvent(SlotEvent):
    """The device was looked at, and this many cases can run at once."""

    slots: int
    threads: int | None
    """The threads of a child that runs cases beside others; null: no limit."""
    overlap: bool
    """Whether a child may be made and primed while another runs a case."""


@dataclass(frozen=True)
class SubmittedEvent(SlotEvent):
    """These tasks are to be run."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class CancelledEvent(SlotEvent):
    """This task is to be stopped, if it is here."""

    id: str
    attempt: int


@dataclass(frozen=True)
class SlotTickEvent(SlotEvent):
    """Time has passed."""


@dataclass(frozen=True)
class LogFullEvent(SlotEvent):
    """The event log has no room for another attempt."""


@dataclass(frozen=True)
class LogRoomEvent(SlotEvent):
    """The event log has room again."""


@dataclass(frozen=True)
class ZygoteDiedEvent(SlotEvent):
    """The zygote has ended, and with it every child that was forked from it; their ``ExitedEvent`` came before."""


@dataclass(frozen=True)
class RenewedEvent(SlotEvent):
    """A new zygote has taken the place of the one that died."""


@dataclass(frozen=True)
class NotRenewedEvent(SlotEvent):
    """No new zygote can be started: no child can be forked any more."""


@dataclass(frozen=True)
class ChildEvent(SlotEvent):
    """An event of the child of this number."""

    number: int


@dataclass(frozen=True)
class ForkedEvent(ChildEvent):
    """The child exists. It has done nothing yet."""


@dataclass(frozen=True)
class NotForkedEvent(ChildEvent):
    """The child cannot be forked: its zygote is gone, or the limit of processes is reached."""

    reason: str


@dataclass(frozen=True)
class MessageEvent(ChildEvent):
    """A message from the child."""

    message: Message


@dataclass(frozen=True)
class ChannelLostEvent(ChildEvent):
    """The child's channel is closed."""

    reason: str


@dataclass(frozen=True)
class ExitedEvent(ChildEvent):
    """The child has ended, after all of its messages. The wait status is null if its zygote died with it."""

    status: int | None


@dataclass(frozen=True)
class MemoryEvent(ChildEvent):
    """The processes of the child's case of this turn use more memory than a case may."""

    turn: int
    reason: str


@dataclass(frozen=True)
class ProcessesEvent(ChildEvent):
    """The answer to ``LookForProcesses``."""

    has_processes: bool
    output: Output


@dataclass(frozen=True)
class EndedEvent(ChildEvent):
    """The answer to ``End``: the child and everything that it started are gone."""

    output: Output = (b"", 0)
    kernel_killed: bool = False
    """Whether the kernel has killed a process for lack of memory since the child's first case."""
