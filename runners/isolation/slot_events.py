"""The events for the state machine of the slots: requests from outside, and reports of children and the zygote."""

from __future__ import annotations

from dataclasses import dataclass

from runners.isolation.attempts import Task
from runners.isolation.channel import Message

Output = tuple[bytes, int]
"""The tail of a case's output, and the size of the whole output in bytes."""


@dataclass(frozen=True)
class SlotEvent:
    """An event; ``now`` is in seconds on this machine's monotonic clock, which the children share."""

    now: float


@dataclass(frozen=True)
class OpenedEvent(SlotEvent):
    """The device was looked at, and this many cases can run at once."""

    slots: int
    threads: int | None
    """The number of threads of a child that runs cases beside others; None: no limit."""
    overlap: bool
    """Whether a child may be made and primed while another child runs a case."""


@dataclass(frozen=True)
class SubmittedEvent(SlotEvent):
    """These tasks were submitted."""

    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class CancelledEvent(SlotEvent):
    """This task must be stopped, if the supervisor has it."""

    id: str
    attempt: int


@dataclass(frozen=True)
class SlotTickEvent(SlotEvent):
    """A time limit may have expired."""


@dataclass(frozen=True)
class LogFullEvent(SlotEvent):
    """The event log has no room for another attempt."""


@dataclass(frozen=True)
class LogRoomEvent(SlotEvent):
    """The event log has room again."""


@dataclass(frozen=True)
class ZygoteDiedEvent(SlotEvent):
    """The zygote has ended, together with all its children. Their ``ExitedEvent`` came before."""


@dataclass(frozen=True)
class RenewedEvent(SlotEvent):
    """A new zygote has replaced the old one."""


@dataclass(frozen=True)
class NotRenewedEvent(SlotEvent):
    """No new zygote can be started, so no child can be forked any more."""


@dataclass(frozen=True)
class ChildEvent(SlotEvent):
    """An event of the child with this number."""

    number: int


@dataclass(frozen=True)
class ForkedEvent(ChildEvent):
    """The child has been forked. It has done nothing yet."""


@dataclass(frozen=True)
class NotForkedEvent(ChildEvent):
    """The child cannot be forked, because its zygote is gone or the limit of processes is reached."""

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
    """The child has ended. All its messages came before. The wait status is None if the zygote died with the child."""

    status: int | None


@dataclass(frozen=True)
class MemoryEvent(ChildEvent):
    """The processes of the child's case use more memory than a case may use."""

    turn: int
    reason: str


@dataclass(frozen=True)
class ProcessesEvent(ChildEvent):
    """The answer to ``LookForProcesses``."""

    has_processes: bool
    output: Output


@dataclass(frozen=True)
class EndedEvent(ChildEvent):
    """The answer to ``End``: the child and all processes that it started are gone."""

    output: Output = (b"", 0)
    kernel_killed: bool = False
    """Whether the kernel has killed a process for lack of memory since the child's first case."""
