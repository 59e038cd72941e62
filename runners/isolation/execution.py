"""The state of a task that a slot executes, from start to outcome: its child, clock and evidence. Pure.

A task may run a second time to confirm a failure. Both runs share one deadline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from protocol.enums import Ending, TimingPolicy
from protocol.events import Running
from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.channel import Message
from runners.isolation.child_state import ChildState
from runners.isolation.deadline import Clock


class Stage(Enum):
    """The stage of an execution. To confirm an outcome, the execution goes through the stages again."""

    admission = "waits for the lock"
    child = "waits for a primed child"
    running = "the case runs"
    closing = "the child closed its channel; its exit is awaited"
    looking = "the case has ended; leftover processes are being looked for"
    ending = "the child is being ended; then its output is added to the outcome"
    done = "the run has an outcome"


@dataclass(frozen=True)
class Closing:
    """The channel of a child was lost, and its exit is awaited until ``exit_by``. ``elapsed_s`` is the time of the case
    at the loss."""

    reason: str
    elapsed_s: float
    exit_by: float


@dataclass
class Execution:
    """One task on its way to its outcome. Times are monotonic seconds."""

    task: Task
    alone: bool
    """Whether no case of another slot may run at the same time."""
    cancelled: bool = False
    stage: Stage = Stage.admission
    child: ChildState | None = None
    """The child that runs it, or is being created for it."""
    clock: Clock | None = None
    """The clock of the case; None until the case has started."""
    earlier: int = 0
    """The number of cases that its child ran before it."""
    functions: int = 0
    """The number of functions of its child's cases, including its own."""
    is_last_try: bool = False
    """Whether a child was lost before the case began. If that happens again, no other child is made."""
    was_killed: bool = False
    """Whether its child ended by SIGKILL, which the kernel may have sent for lack of memory."""
    spent_s: float = 0.0
    """How many seconds of the deadline the first run used, if its outcome must be confirmed."""
    waited_s: float = 0.0
    """Seconds between the first run and the second, which count for no deadline."""
    failure: Outcome | None = None
    """The reported failure, while its process repeats the call to explain it."""
    explained_by: float = math.inf
    closing: Closing | None = None
    outcome: Outcome | None = None
    suspect: Outcome | None = None
    """The outcome that is being confirmed."""

    def running(self, now: float) -> Running | None:
        """Report how long the task has run; None before it has begun."""
        if self.clock is None:
            return None
        id, attempt = self.task.key
        elapsed_s, waited_s = self.spent_s + self.clock.elapsed_s(now), self.waited_s + self.clock.waited_s(now)
        return Running(id=id, attempt=attempt, elapsed_s=elapsed_s, waited_s=waited_s)

    @property
    def is_paper(self) -> bool:
        return self.task.job.timing is TimingPolicy.paper

    @property
    def left_s(self) -> float:
        """Seconds of the deadline that an earlier run has not used."""
        return self.task.job.timeout_s - self.spent_s

    def start_clock(self, limit_s: float, now: float) -> None:
        """Start the clock of the case, for its first or its second run."""
        if self.clock is not None:
            self.waited_s += self.clock.waited_s(now)
        self.clock = Clock(limit_s, now)

    def settle(self, outcome: Outcome) -> None:
        """Set the outcome of the case.

        If a failure has been reported and was being explained, the way in which the explanation ended does not count:
        the failure stays the outcome, unless another line of its example is to blame.
        """
        if self.failure is None or outcome.ending in (self.failure.ending, Ending.not_applicable, Ending.cancelled):
            self.outcome = outcome
        else:
            self.outcome = self.failure

    def begin_anew(self, suspect: Outcome, now: float) -> None:
        """Prepare a second run of the case in another child. The clock stands still until this run begins."""
        if self.clock is not None:
            # Without the time that it took to kill the child: for a fork bomb, it may be longer than the deadline.
            self.spent_s = min(suspect.duration_s, self.clock.elapsed_s(now))
            self.clock = Clock(self.left_s, now)
            self.clock.pause(now)
        self.child, self.outcome, self.closing = None, None, None
        self.failure, self.explained_by = None, math.inf
        self.was_killed = self.is_last_try = False


def order(task: Task, turn: int, left_s: float) -> Message:
    """Make the order to run a case.

    Only the first case of a child explains its failure (``explain``): a failure after other cases is confirmed alone,
    and explained there. A case that runs beside others may be stopped before its deadline. Then it runs again alone,
    for the remaining time (``left_s``).
    """
    message = {"type": "case", "suite": task.suite, "case": task.job.case, "timing": task.job.timing}
    return message | {"timeout_s": left_s, "explain": turn == 0}
