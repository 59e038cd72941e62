"""Reads a runner's stream: each line becomes an event for the state machine and a report for the outcome writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from coordinator.dispatch.events import (
    Event,
    FinishedEvent,
    HeartbeatEvent,
    StartedEvent,
    StoppedEvent,
    UnreadableLineEvent,
)
from coordinator.dispatch.leases import Key, log_fields
from coordinator.dispatch.outcome_writer import RunnerReport
from coordinator.dispatch.queue import Cursor
from coordinator.dispatch.records import overdue, record_off_loop, unstorable
from coordinator.dispatch.runner_state_machine import RunnerState
from coordinator.dispatch.stream import EventNumbers, UnreadableEvent, read_event
from coordinator.process.logs import get_logger
from coordinator.registry.ownership import OwnedRunner
from protocol.enums import Ending
from protocol.events import Finished

log = get_logger(__name__)


class StreamReader:
    """Turns lines into reports with ``read``, and passes events to the state machine.

    ``on_stored`` is called with a report's cursor after the report is committed.
    """

    def __init__(
        self,
        runner: OwnedRunner,
        state: RunnerState,
        feed: Callable[[Event], None],
        on_stored: Callable[[Cursor], None],
    ) -> None:
        self._runner = runner
        self._state = state
        self._feed = feed
        self._stored = on_stored
        self._numbers = EventNumbers(runner.cursor)
        self._stopped: set[Key] = set()
        """Ended attempts that were reported as stopped by another client, or were stopped after this coordinator gave
        them up."""

    @property
    def position(self) -> int:
        """The number of the last event that the current stream has delivered. Before the first event, the number after
        which the stream begins."""
        return self._numbers.last

    def restart(self, runner: OwnedRunner) -> None:
        """Prepare to read the stream after ``runner.cursor``, possibly from another boot."""
        self._runner = runner
        self._numbers.restart(runner.cursor)
        self._stopped.clear()

    async def read(self, lines: Sequence[bytes]) -> list[RunnerReport]:
        """Return the reports for these lines. Raises ``GapError`` before any line is handled if an event is missing.

        If a job starts and finishes within these lines, its start has no report, because the finish implies it. With
        jobs that take microseconds, this saves half of all reports.
        """
        events = list(self._numbers.admit(map(read_event, lines)))
        finished_ids = {(event.id, event.attempt) for event in events if isinstance(event, Finished)}
        reports = []
        for event in events:
            if isinstance(event, UnreadableEvent):
                reports += self._report_unreadable(event)
            elif event.type == "heartbeat":
                running = ((Key.of_wire(job.id, job.attempt), job.elapsed_s, job.waited_s) for job in event.running)
                self._feed(HeartbeatEvent(time.monotonic(), tuple(running), event.queued))
            elif event.type == "finished":
                reports.append(await self._report_finish(event))
            elif (event.id, event.attempt) not in finished_ids:
                key = Key.of_wire(event.id, event.attempt)
                self._feed(StartedEvent(time.monotonic(), key))
                reports.append(RunnerReport(self._cursor(event.n), key, None, None, self._stored))
        return reports

    async def _report_finish(self, event: Finished) -> RunnerReport:
        key = Key.of_wire(event.id, event.attempt)
        outcome = event.outcome
        late = RunnerReport(self._cursor(event.n), key, None, outcome, self._stored, late=True)
        if self._state.is_foreign(key):
            self._feed(FinishedEvent(time.monotonic(), key))
            return RunnerReport(self._cursor(event.n), None, None, None, self._stored)
        if key in self._stopped:
            return late
        if outcome.ending is Ending.cancelled:
            if self._state.ran_too_long(key, outcome.duration_s):
                outcome = overdue(outcome)
            elif self._state.wants(key):
                log.warning("a job was stopped before its deadline", **log_fields(key))
                self._feed(StoppedEvent(time.monotonic(), key))
                self._stopped.add(key)
                return late
            elif key not in self._state.in_flight:
                # Its stop was requested (it runs elsewhere or was given up), so its end changes nothing.
                self._feed(FinishedEvent(time.monotonic(), key))
                self._stopped.add(key)
                return late
        row = await record_off_loop(key, outcome, framework=self._runner.framework, device=self._runner.device)
        self._feed(FinishedEvent(time.monotonic(), key))
        return RunnerReport(self._cursor(event.n), key, row, outcome, self._stored)

    def _report_unreadable(self, event: UnreadableEvent) -> list[RunnerReport]:
        """End the job that the line concerns, if it can be recognized. The stream continues."""
        log.warning("an event cannot be read", reason=event.reason, **log_fields(event.key))
        key = event.key if event.key in self._state.in_flight and not event.is_heartbeat else None
        self._feed(UnreadableLineEvent(time.monotonic(), key, event.reason))
        if event.is_heartbeat:
            return []
        row = unstorable(key, f"an event of the runner cannot be read: {event.reason}") if key else None
        return [RunnerReport(self._cursor(event.n or 0), key, row, None, self._stored)]

    def _cursor(self, n: int) -> Cursor:
        return Cursor(self._runner.id, self._runner.boot_id, n)
