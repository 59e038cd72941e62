"""Runs the cases of one command in the foreground, with a supervisor but without an HTTP service.

Isolation, deadlines and memory limits are the same as for posted jobs.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

from protocol.events import EVENT, Finished
from protocol.jobs import Job
from protocol.outcomes import Outcome
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.offer import Offer
from runners.isolation.supervisor import Supervisor


@contextlib.asynccontextmanager
async def open_supervisor(
    framework: str, device: str, memory_limit: int | None, interpreter: Interpreter, slots: int = 1
) -> AsyncIterator[tuple[Supervisor, EventLog, Offer]]:
    """Yield a supervisor that has imported the framework, its event log and its catalogue."""
    log = EventLog()
    supervisor = Supervisor(framework, device, log, memory_limit, interpreter, slots)
    try:
        yield supervisor, log, await supervisor.open()
    finally:
        await supervisor.close()


def read_finishes(lines: bytes) -> Iterator[Finished]:
    """Yield the finished events among the lines of a log."""
    events = map(EVENT.validate_json, lines.splitlines())
    return (event for event in events if isinstance(event, Finished))


async def run_one(supervisor: Supervisor, log: EventLog, job: Job, suite: str, function: str) -> Outcome:
    """Run one job and return its outcome. Raises ``FrameworkBrokenError`` if the device is not available."""
    await supervisor.look()
    supervisor.submit([Task(job, suite, function)])
    last_seen = 0
    while await log.wait_for_event(last_seen, job.timeout_s + 3_600):
        last_seen, lines = log.after(last_seen)
        for event in read_finishes(lines):
            return event.outcome
    raise RuntimeError("the supervisor stopped before the case was finished")
