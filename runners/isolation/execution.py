"""The task that a slot executes, from start to outcome: its clock, and the evidence of a failure. Pure.

A task may run twice, to confirm a failure. Both runs then share one deadline.
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
    """The phase of an execution. A confirmation goes through all phases but ``done`` once more."""

    admission = "waits for the lock"
    child = "waits for a primed child"
    running = "the case runs"
    closing = "the child closed its channel; its exit is awaited"
    looking = "the case has ended; whether it left processes is being looked up"
    ending = "the child is being ended, which gives the outcome its log"
    done = "the run has an outcome"


@dataclass(frozen=True)
class Closing:
    """The lost channel of a child whose exit is awaited for a while: the reason, and ``elapsed_s`` at the loss."""

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
    """The clock of the case; None until it has started."""
    earlier: int = 0
    """The cases that its child ran before it."""
    functions: int = 0
    """The functions of its child's cases, its own among them."""
    is_last_try: bool = False
    """Whether a child was lost before the case began. If that happens again, no other child is made."""
    was_killed: bool = False
    """Whether its child ended by SIGKILL, which the kernel may have sent for lack of memory."""
    spent_s: float = 0.0
    """Seconds of the deadline that the run which had to be confirmed took."""
    waited_s: float = 0.0
    """Seconds between that run and the next, which no clock counts."""
    failure: Outcome | None = None
    """The reported failure, while its process repeats the call to explain it."""
    explained_by: float = math.inf
    closing: Closing | None = None
    outcome: Outcome | None = None
    suspect: Outcome | None = None
    """The outcome that is being confirmed."""

    def running(self, now: float) -> Running | None:
        """How long it has run; null before it has begun."""
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
        """Seconds of the deadline that earlier runs left."""
        return self.task.job.timeout_s - self.spent_s

    def start_clock(self, limit_s: float, now: float) -> None:
        """The case has started, for the first time or to be confirmed."""
        if self.clock is not None:
            self.waited_s += self.clock.waited_s(now)
        self.clock = Clock(limit_s, now)

    def settle(self, outcome: Outcome) -> None:
        """The case has ended with this outcome.

        If the failure was being explained, the end of the explanation does not count: the failure stays the outcome,
        unless another line of its example is to blame.
        """
        if self.failure is None or outcome.ending in (self.failure.ending, Ending.not_applicable, Ending.cancelled):
            self.outcome = outcome
        else:
            self.outcome = self.failure

    def begin_anew(self, suspect: Outcome, now: float) -> None:
        """Run the case once more, in another child. No clock runs until that begins."""
        if self.clock is not None:
            # Not what it took to kill it since: of a fork bomb that may be longer than the deadline.
            self.spent_s = min(suspect.duration_s, self.clock.elapsed_s(now))
            self.clock = Clock(self.left_s, now)
            self.clock.pause(now)
        self.child, self.outcome, self.closing = None, None, None
        self.failure, self.explained_by = None, math.inf
        self.was_killed = self.is_last_try = False


def order(task: Task, turn: int, left_s: float) -> Message:
    """The order to run a case.

    A failure after other cases is confirmed alone, and explained there. A case that runs beside others may be stopped
    before its deadline; it then starts again, alone, with the remaining time.
    """
    message = {"type": "case", "suite": task.suite, "case": task.job.case, "timing": task.job.timing}
    return message | {"timeout_s": left_s, "explain": turn == 0}
