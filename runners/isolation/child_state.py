"""The state of one child as its slot sees it: its cases, and whether the child can take another case. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from runners.isolation.attempts import Task
from runners.isolation.slot_events import ChannelLostEvent, ExitedEvent, MessageEvent

FUNCTIONS_PER_CHILD = 32
"""The maximum number of functions whose untimed cases one child runs. More functions save little time, and their
compiled code stays in the child's memory."""


@dataclass
class ChildState:
    """A forked process, from the order to fork it to the order to end it."""

    number: int
    on_share: bool
    """Whether its threads are limited to a share of the cores, because other cases run at the same time."""
    is_forked: bool = False
    is_primed: bool = False
    prime_by: float | None = None
    """The deadline of its priming; None if it is not being primed."""
    own_task: Task | None = None
    """The only task that it may run, because it was primed as this task's case requires."""
    turn: int = -1
    """The number of its current case, from 0; -1 before its first case."""
    begun: int = 0
    """How many of its cases have begun. A case that was sent ahead can begin before its turn."""
    task: Task | None = None
    """Its current or last task."""
    functions: int = 0
    """The number of functions whose cases it has run."""
    has_idled: bool = False
    """Whether it has been idle. Then it accepts no other function."""
    ahead: Task | None = None
    """The task that was sent ahead, before its turn."""
    is_gone: bool = False
    status: int | None = None
    """The wait status after its end; None if its zygote died with it."""
    inbox: deque[MessageEvent | ChannelLostEvent | ExitedEvent] = field(default_factory=deque)
    """Messages whose turn has not come, such as those of a case that was sent ahead."""

    @property
    def is_being_made(self) -> bool:
        return not self.is_forked or self.prime_by is not None

    def is_late(self, now: float) -> bool:
        """Whether its priming takes too long."""
        return self.prime_by is not None and self.prime_by <= now

    def take_turn(self, task: Task) -> None:
        """Begin the next turn with this task."""
        if self.task is None or self.task.group != task.group:
            self.functions += 1
        self.task, self.ahead = task, None
        self.turn += 1

    def admits(self, task: Task) -> bool:
        """Whether the task may run in this child after its earlier tasks."""
        if task.uses_device_first or self.own_task is not None:
            is_untouched = self.own_task is None and self.task is None and not self.is_primed
            return self.own_task is task or is_untouched
        if self.task is None:
            return True
        if task.group == self.task.group:
            # A cold time must come from a process that has run nothing for another function.
            return task.is_untimed or self.functions == 1
        has_room = self.functions < FUNCTIONS_PER_CHILD and not self.has_idled
        return has_room and task.is_shareable_with(self.task)

    def is_fit(self, task: Task | None = None) -> bool:
        """Whether the process can serve the task.

        If a task was sent ahead, the process can serve only this task. It may even have ended, if the task began
        before: then the outcome is how the process ended. Otherwise the process must be alive and have no unread
        messages. A process that ended together with its zygote can never serve, because the case is not to blame.
        """
        if self.is_gone and self.status is None:
            return False
        if self.ahead is not None:
            return self.ahead is task and (not self.is_gone or self.begun > self.turn + 1)
        return not self.is_gone and not self.inbox
