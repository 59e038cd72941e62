"""The task that a slot runs now, from its start to its outcome: its child, its clocks and what is known of its failure.

It may be run twice, to confirm a failure: then both runs share one deadline.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from protocol.enums import Ending
from protocol.events import Running
from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.child import Child
from runners.isolation.deadline import Clock


@dataclass
class Current:
    """The task that runs now."""

    task: Task
    alone: bool
    """Whether no case of another slot runs beside it."""
    child: Child | None = None
    clock: Clock | None = None
    cancelled: bool = False
    spent_s: float = 0.0
    """Seconds of the deadline that the run which had to be confirmed took."""
    waited_s: float = 0.0
    """Seconds between that run and the next, which are on nobody's clock."""
    failure: Outcome | None = None
    """The failure as it was reported, while its process repeats it to explain it."""
    explained_by: float = math.inf

    @property
    def running(self) -> Running | None:
        """How long it has run; null before it has begun."""
        if self.clock is None:
            return None
        now, (id, attempt) = time.monotonic(), self.task.key
        elapsed_s, waited_s = self.spent_s + self.clock.elapsed(now), self.waited_s + self.clock.waited(now)
        return Running(id=id, attempt=attempt, elapsed_s=elapsed_s, waited_s=waited_s)

    def left(self, clock: Clock, now: float) -> float:
        """Seconds until the deadline of the case, or of its explanation."""
        return min(clock.left(now), self.explained_by - now)

    def settled(self, outcome: Outcome) -> Outcome:
        """The outcome of the task. How an explanation ended is none: what it was to explain has happened."""
        if self.failure is None or outcome.ending in (self.failure.ending, Ending.cancelled):
            return outcome
        return self.failure

    def begin_anew(self, suspect: Outcome) -> None:
        """Be run once more; from now until then no clock runs."""
        assert self.clock is not None
        now = time.monotonic()
        # Not what it took to kill it since: of a fork bomb that may be longer than the deadline.
        self.spent_s = min(suspect.duration_s, self.clock.elapsed(now))
        self.clock = Clock(self.task.job.timeout_s - self.spent_s, now)
        self.clock.pause(now)
        self.failure, self.explained_by = None, math.inf
