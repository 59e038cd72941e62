"""Keeps the attempts of a runner, and decides the answer to a posted job. Pure, no I/O.

An attempt is kept from its acceptance until its outcome is acknowledged. So if a coordinator does not get an answer and
posts the job again, the job is not executed twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from protocol.enums import TimingPolicy
from protocol.events import Running
from protocol.jobs import Job, JobStatus


@dataclass(frozen=True, slots=True)
class Task:
    """An accepted job, with its suite and the function of its case."""

    job: Job
    suite: str
    function: str
    uses_device_first: bool = False
    """Whether the case decides how its process first uses the device. Such a process runs no other case."""

    @property
    def group(self) -> tuple[str, str, int]:
        """The suite, function and run. Tasks of one group may share a process."""
        return self.suite, self.function, self.job.run

    @property
    def is_untimed(self) -> bool:
        return self.job.timing is TimingPolicy.off

    def is_shareable_with(self, other: Task) -> bool:
        """Whether a task of another function may run in the same process: both are untimed, of one suite and run."""
        return self.is_untimed and other.is_untimed and (self.suite, self.job.run) == (other.suite, other.job.run)

    @property
    def key(self) -> tuple[str, int]:
        return self.job.id, self.job.attempt

    @property
    def identity(self) -> tuple[str, str, int]:
        """The suite, case and run of the job, which are the same in all its attempts."""
        return self.suite, self.job.case, self.job.run


class Executor(Protocol):
    """Executes tasks in order and reports to the event log."""

    @property
    def queued(self) -> int:
        """The number of tasks that wait."""

    @property
    def starting(self) -> int:
        """The number of tasks that have left the queue but not begun, because their process is being made."""

    def running(self) -> list[Running]:
        """Return the attempts that run now, with the time for which they have run."""

    def submit(self, tasks: Iterable[Task]) -> None:
        """Accept tasks. Each task gets a finished event, whatever happens."""

    def cancel(self, id: str, attempt: int) -> None:
        """Stop a task that waits or runs. Does nothing for an unknown task."""

    async def close(self) -> None:
        """Stop at once and leave no process behind."""


class Attempts:
    """The newest attempt of every job that the runner has."""

    def __init__(self, queue_limit: int) -> None:
        self.queue_limit = queue_limit
        self._newest: dict[str, Task] = {}

    def answer(self, task: Task, queue_length: int) -> JobStatus:
        """Decide the answer to a posted attempt, while ``queue_length`` tasks wait."""
        newest = self._newest.get(task.job.id)
        if newest is not None:
            if newest.identity != task.identity:
                return JobStatus.other_case
            if task.job.attempt == newest.job.attempt:
                return JobStatus.known
            if task.job.attempt < newest.job.attempt:
                return JobStatus.stale_attempt
        return JobStatus.full if queue_length >= self.queue_limit else JobStatus.queued

    def add(self, task: Task) -> tuple[str, int] | None:
        """Add an accepted attempt. Returns the older attempt that it replaces, which the caller must stop."""
        older = self._newest.get(task.job.id)
        self._newest[task.job.id] = task
        return None if older is None else older.key

    def forget(self, attempts: Iterable[tuple[str, int]]) -> None:
        for id, attempt in attempts:
            newest = self._newest.get(id)
            if newest is not None and newest.job.attempt == attempt:
                del self._newest[id]

    def __len__(self) -> int:
        return len(self._newest)
