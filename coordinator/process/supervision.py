"""Restarts long-running tasks that end, and reports them as down until they run again.

asyncio logs nothing when a task ends with an exception. So each permanent task of the coordinator is run by a
``TaskSupervisor``. When the task ends, the supervisor logs and counts the end, and restarts the task after a pause that
grows with each failure. ``GET /readyz`` fails until the task runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.outage import DATABASE_AWAY
from coordinator.errors import reason_of
from coordinator.process import metrics
from coordinator.process.logs import get_logger

log = get_logger(__name__)

CANCEL_AGAIN_S = 3.0
END_WITHIN_S = 10.0


@dataclass(frozen=True)
class DownTask:
    """A long-running task that does not work."""

    task: str
    since: datetime
    reason: str


class Pulse:
    """The last sign of life of a task, with the time limit for the next sign of life."""

    def __init__(self) -> None:
        self._due: float | None = None
        self._beat_at = time.monotonic()

    def due_within(self, seconds: float) -> None:
        self._beat_at = time.monotonic()
        self._due = self._beat_at + seconds

    def rest(self) -> None:
        """Declare that the task has nothing to do. No sign of life is then due."""
        self._due = None

    @property
    def is_due(self) -> bool:
        return self._due is not None

    @property
    def overdue_since(self) -> float | None:
        """The time of the last sign of life on the monotonic clock, if the next one is overdue; otherwise None."""
        return self._beat_at if self._due is not None and time.monotonic() > self._due else None


@dataclass
class _Record:
    """The record of one task, over all of its starts."""

    kind: str
    pulse: Pulse = field(default_factory=Pulse)
    failures: int = 0
    reason: str = ""
    running: bool = False
    expected: bool = False
    """Whether the task should run and has not started yet."""
    started_at: float = 0.0
    down_since: float | None = None


@dataclass
class _Fault:
    since: float
    last: float
    reason: str


class TaskSupervisor:
    """Starts tasks by name with ``start``. ``down`` lists the tasks that do not work, and other faults."""

    def __init__(self, times: Times = DEFAULT_TIMES) -> None:
        self._times = times
        self._records: dict[str, _Record] = {}
        self._faults: dict[str, _Fault] = {}

    def note_fault(self, name: str, reason: str) -> None:
        """Record a failure of something that many tasks use. After the last failure, it counts as down for
        ``Times.fault_s``."""
        now = time.monotonic()
        earlier = self._faults.get(name)
        since = earlier.since if earlier is not None and now - earlier.last < self._times.fault_s else now
        self._faults[name] = _Fault(since, now, reason)

    def pulse(self, name: str) -> Pulse:
        return self._record(name, name).pulse

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Run ``work`` until the task is cancelled, and restart it whenever it ends."""
        return asyncio.create_task(self._keep(name, work), name=name)

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            self.began(name)
            try:
                await work()
                pause_s = self.note_end(name, None)
            except asyncio.CancelledError as error:
                if is_cancelled():
                    raise
                # The task itself was not cancelled; something for which it waited was.
                pause_s = self.note_end(name, error)
            except Exception as error:
                pause_s = self.note_end(name, error)
            await asyncio.sleep(pause_s)

    def began(self, name: str, kind: str | None = None) -> None:
        record = self._record(name, kind or name)
        record.running, record.expected, record.started_at = True, False, time.monotonic()
        record.pulse.rest()

    def expect(self, name: str, kind: str, within_s: float) -> None:
        """Record that this task should start. The task counts as down if it has not started within ``within_s``."""
        record = self._record(name, kind)
        record.running, record.expected = False, True
        if not record.pulse.is_due:
            record.pulse.due_within(within_s)

    def note_end(self, name: str, error: BaseException | None) -> float:
        """Log and count the end of a task that should not have ended. Returns the pause before its next start."""
        record, now = self._record(name, name), time.monotonic()
        if now - record.started_at > self._times.settled_s:
            record.failures, record.down_since = 0, None
        record.failures += 1
        record.running = False
        record.reason = "it returned" if error is None else reason_of(error)
        record.down_since = now if record.down_since is None else record.down_since
        record.pulse.rest()
        away = isinstance(error, DATABASE_AWAY)
        pause_s = (self._times.restart_away if away else self._times.restart).pause_s(record.failures)
        metrics.task_restarts.labels(record.kind).inc()
        fields = {"task": name, "again_in_s": round(pause_s, 1), "reason": record.reason}
        if away:
            log.warning("a task ended because the database is away", **fields)
        else:
            log.error("a task ended", **fields, exc_info=error)
        return pause_s

    def retain(self, kind: str, names: Container[str]) -> None:
        """Forget all tasks of this kind, except those with these names."""
        for name in [name for name, record in self._records.items() if record.kind == kind and name not in names]:
            del self._records[name]

    def down(self) -> list[DownTask]:
        """The tasks that do not work: tasks that ended and have not run long enough since, that give no sign of life,
        or that have not started."""
        now = time.monotonic()
        down_tasks = []
        for name, record in self._records.items():
            has_recovered = record.running and now - record.started_at > self._times.settled_s
            if record.down_since is not None and not has_recovered:
                down_tasks.append(DownTask(name, _moment(record.down_since), f"it ended: {record.reason}"))
            elif (since := record.pulse.overdue_since) is not None:
                did = "not begun" if record.expected else "given no sign of life"
                down_tasks.append(DownTask(name, _moment(since), f"it has {did} since then"))
        for name, fault in self._faults.items():
            if now - fault.last < self._times.fault_s:
                down_tasks.append(DownTask(name, _moment(fault.since), fault.reason))
        return down_tasks

    def _record(self, name: str, kind: str) -> _Record:
        return self._records.setdefault(name, _Record(kind))


def is_cancelled() -> bool:
    """Whether the current task itself is being cancelled. If not, something that it waits for was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def end(
    *tasks: asyncio.Task[None], within_s: float = END_WITHIN_S, again_s: float = CANCEL_AGAIN_S
) -> set[asyncio.Task[None]]:
    """Cancel tasks and wait for their ends. Returns the tasks that have not ended in time.

    A cancellation can be lost if another error is raised at the same moment. So it is repeated after ``again_s``, which
    is longer than any task takes to end.
    """
    running, give_up_at = {task for task in tasks if not task.done()}, time.monotonic() + within_s
    while running and (left_s := give_up_at - time.monotonic()) > 0:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=min(again_s, left_s))
    for task in set(tasks) - running:
        if not task.cancelled():
            # The exception is read, so that asyncio does not warn that it was never retrieved.
            task.exception()
    return running


def _moment(at: float) -> datetime:
    """Convert a time of the monotonic clock to a date and time."""
    return datetime.now(UTC) - timedelta(seconds=time.monotonic() - at)
