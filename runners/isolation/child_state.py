"""One child from the view of its slot: the cases that it got, and whether it can take another. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from runners.isolation.attempts import Task
from runners.isolation.slot_events import ChannelLostEvent, ExitedEvent, MessageEvent

FUNCTIONS_PER_CHILD = 32
"""Maximum number of functions whose untimed cases one child runs. More save little, and their compiled code stays in
its memory."""


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
    turn: int = -1
    """The number of its current case; it is primed before the first."""
    begun: int = 0
    """The number of its cases that have begun; a case sent ahead can begin before its turn."""
    task: Task | None = None
    """Its current or last task."""
    functions: int = 0
    """The functions of which it has run cases."""
    has_idled: bool = False
    """Whether it has been idle; then it accepts no other function."""
    ahead: Task | None = None
    """The task that was sent to it ahead of its turn."""
    is_gone: bool = False
    status: int | None = None
    """Its wait status once it is gone; null if its zygote died with it."""
    inbox: deque[MessageEvent | ChannelLostEvent | ExitedEvent] = field(default_factory=deque)
    """Messages that it sent too early, such as those of the case ahead."""

    @property
    def is_being_made(self) -> bool:
        return not self.is_forked or self.prime_by is not None

    def is_late(self, now: float) -> bool:
        """Whether its priming takes too long."""
        return self.prime_by is not None and self.prime_by <= now

    def take_turn(self, task: Task) -> None:
        """Make this task the next turn's."""
        if self.task is None or self.task.group != task.group:
            self.functions += 1
        self.task, self.ahead = task, None
        self.turn += 1

    def admits(self, task: Task) -> bool:
        """Whether the task may run here after those before it."""
        if self.task is None:
            return True
        if task.group == self.task.group:
            # A cold time is that of a process that did nothing for another function.
            return task.is_untimed or self.functions == 1
        has_room = self.functions < FUNCTIONS_PER_CHILD and not self.has_idled
        return has_room and task.is_shareable_with(self.task)

    def is_fit(self, task: Task | None = None) -> bool:
        """Whether the process has this task already and lives or began it, or has been idle since its last case.

        A case that ends its process before its turn has its own outcome. If the zygote ended the process, the case is
        not to blame.
        """
        if self.is_gone and self.status is None:
            return False
        if self.ahead is not None:
            return self.ahead is task and (not self.is_gone or self.begun > self.turn + 1)
        return not self.is_gone and not self.inbox
