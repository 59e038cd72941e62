"""One child as its slot knows it: the cases that it was given, and whether it can take another. Pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from runners.isolation.attempts import Task
from runners.isolation.slot_events import ChannelLostEvent, ExitedEvent, MessageEvent

FUNCTIONS_PER_CHILD = 32
"""Functions whose untimed cases one child runs: more save little, and what it has compiled stays in its memory."""


@dataclass
class ChildState:
    """A forked process, from the order to fork it to the order to end it."""

    number: int
    on_share: bool
    """Whether its threads are held to a share of the cores, as cases run beside it."""
    is_forked: bool = False
    is_primed: bool = False
    prime_by: float | None = None
    """When its priming is given up; null while it is not being primed."""
    turn: int = -1
    """The number of its present case; it is primed before the first."""
    begun: int = 0
    """Its cases that have begun; a case sent ahead may begin before its turn."""
    task: Task | None = None
    """The task that it has, or had last."""
    functions: int = 0
    """The functions of which it has run cases."""
    has_idled: bool = False
    """Whether it had nothing to do for a while: then it takes no other function on."""
    ahead: Task | None = None
    """The task that was sent to it before its turn."""
    is_gone: bool = False
    status: int | None = None
    """Its wait status once it is gone; null if its zygote died with it."""
    inbox: deque[MessageEvent | ChannelLostEvent | ExitedEvent] = field(default_factory=deque)
    """Its messages out of turn, such as those of the case ahead."""

    @property
    def is_being_made(self) -> bool:
        return not self.is_forked or self.prime_by is not None

    def is_late(self, now: float) -> bool:
        """Whether its priming takes too long."""
        return self.prime_by is not None and self.prime_by <= now

    def take_turn(self, task: Task) -> None:
        """Note that the next turn is this task's."""
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

        A case that ends its process may do so before its turn: that it did is its own outcome. The end of the zygote
        is not.
        """
        if self.is_gone and self.status is None:
            return False
        if self.ahead is not None:
            return self.ahead is task and (not self.is_gone or self.begun > self.turn + 1)
        return not self.is_gone and not self.inbox
