"""Attempts: which ones are here, and what a posted job is answered. Pure, no I/O.

An attempt is here from its acceptance until the acknowledgement of its outcome, so a
coordinator that posts again after a lost answer never has a job executed twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from protocol.events import Running
from protocol.jobs import Job, JobStatus


@dataclass(frozen=True, slots=True)
class Task:
    """An accepted job, with what the catalogue knows of its case."""

    job: Job
    suite: str
    function: str

    @property
    def group(self) -> tuple[str, str, int]:
        """Tasks of one group may share a process: one function, one run."""
        return self.suite, self.function, self.job.run

    @property
    def key(self) -> tuple[str, int]:
        return self.job.id, self.job.attempt


class Executor(Protocol):
    """Executes tasks in order and reports to the event log. The service needs no more of it."""

    @property
    def queued(self) -> int:
        """How many tasks wait."""

    def running(self) -> list[Running]:
        """What runs now, and for how long."""

    def submit(self, tasks: Iterable[Task]) -> None:
        """Take tasks on. Every one of them gets a finished event, whatever happens."""

    def cancel(self, id: str, attempt: int) -> None:
        """Stop a task, waiting or running; nothing happens if it is not here."""

    async def close(self) -> None:
        """Stop at once and leave nothing behind."""


class Attempts:
    """The newest attempt of every job that is here."""

    def __init__(self, queue_limit: int) -> None:
        self.queue_limit = queue_limit
        self._newest: dict[str, int] = {}

    def answer(self, id: str, attempt: int, queued: int) -> JobStatus:
        """What to do with a posted attempt when ``queued`` tasks wait already."""
        newest = self._newest.get(id, 0)
        if attempt == newest:
            return JobStatus.known
        if attempt < newest:
            return JobStatus.stale_attempt
        if queued >= self.queue_limit:
            return JobStatus.full
        return JobStatus.queued

    def add(self, id: str, attempt: int) -> int | None:
        """Note an accepted attempt; returns the older one that it replaces, to be stopped."""
        older = self._newest.get(id)
        self._newest[id] = attempt
        return older

    def forget(self, finished: Iterable[tuple[str, int]]) -> None:
        for id, attempt in finished:
            if self._newest.get(id) == attempt:
                del self._newest[id]

    def __len__(self) -> int:
        return len(self._newest)
