"""The foreground: a supervisor without a service, for one case on the command line.

The case goes the same way as a posted job, so isolation, deadline and memory limit hold.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator

from protocol.events import EVENT, Finished
from protocol.jobs import Job
from protocol.outcomes import Outcome
from runners.http.server import SuiteIndex
from runners.http.service import index
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.supervisor import Supervisor


@contextlib.asynccontextmanager
async def catalogue_of(
    framework: str, device: str, memory_limit: int | None, interpreter: Interpreter
) -> AsyncIterator[tuple[Supervisor, EventLog, dict[str, SuiteIndex]]]:
    """A supervisor that has imported the framework, its event log and its suites."""
    log = EventLog()
    supervisor = Supervisor(framework, device, log, memory_limit, interpreter)
    try:
        catalogue = await supervisor.open()
        yield supervisor, log, index(catalogue)
    finally:
        await supervisor.close()


async def run_one(supervisor: Supervisor, log: EventLog, job: Job, suite: str, function: str) -> Outcome:
    """Run one job to its outcome. Raises ``FrameworkBrokenError`` if the device is not there."""
    await supervisor.look()
    supervisor.submit([Task(job, suite, function)])
    seen = 0
    while await log.wait_for_event(seen, job.timeout_s + 3_600):
        seen, lines = log.after(seen)
        for line in lines.splitlines():
            event = EVENT.validate_python(json.loads(line))
            if isinstance(event, Finished):
                return event.outcome
    raise RuntimeError("the supervisor stopped before the case was finished")
