"""The supervisor: runs a runner's tasks in slots. Each slot has child processes of its own.

The supervisor never imports a framework. ``supervisor_state.py`` decides, ``slot_driver.py`` carries out the decisions,
and the HTTP server serves the outcomes.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from protocol.events import Running
from runners.isolation import memory, processes
from runners.isolation.attempts import Task
from runners.isolation.background_tasks import BackgroundTasks
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.offer import Offer
from runners.isolation.renewable_fork_server import RenewableForkServer
from runners.isolation.secrecy import Redaction
from runners.isolation.slot_driver import SlotDriver
from runners.isolation.slot_events import CancelledEvent, MemoryEvent, OpenedEvent, SubmittedEvent
from runners.isolation.supervisor_state import SupervisorState

MEMORY_POLL_S = 0.25

THREADS = 4
"""The number of threads for blocking work of the event loop: measuring memory, killing processes, resolving names."""


class Supervisor:
    """An ``Executor`` that runs cases in forked children, as many at once as it has slots."""

    def __init__(
        self,
        framework: str,
        device: str,
        log: EventLog,
        memory_limit: int | None = None,
        interpreter: Interpreter | None = None,
        slots: int = 1,
    ) -> None:
        self._memory_limit = memory_limit or memory.default_limit()
        self._fork_server = RenewableForkServer(framework, device, interpreter)
        self._most_slots = slots
        self.redaction = Redaction()
        self.broken = asyncio.Event()
        """Set when nothing can be executed any more: the service should stop."""
        self._state = SupervisorState()
        self._driver = SlotDriver(self._state, log, self._fork_server, self.redaction, self.broken)
        self._memory_watch = BackgroundTasks(self.broken)
        self._offer: Offer | None = None

    async def open(self) -> Offer:
        """Import the framework and return the catalogue. Does not touch the device. Raises ``FrameworkError``."""
        await _start_threads()
        self._offer = await self._fork_server.start()
        return self._offer

    async def look(self) -> dict[str, Any]:
        """Look at the device, begin to execute tasks, and return the device's description."""
        description = await self._fork_server.describe()
        slots = self._most_slots if self._fork_server.overlap else 1
        threads = None if slots == 1 else max(1, (os.cpu_count() or 1) // slots)
        self._driver.handle(OpenedEvent(time.monotonic(), slots, threads, self._fork_server.overlap))
        self._memory_watch.begin(self._watch_memory())
        return description

    @property
    def failure(self) -> str:
        """Why nothing can be executed any more, once ``broken`` is set."""
        return self._fork_server.failure or "a slot or the memory watch failed"

    @property
    def slots(self) -> int:
        """The number of untimed cases that run at once; 0 before ``look``."""
        return len(self._state.slots)

    @property
    def queued(self) -> int:
        return self._state.queued

    @property
    def starting(self) -> int:
        return self._state.starting

    def running(self) -> list[Running]:
        return self._state.running(time.monotonic())

    def submit(self, tasks: Iterable[Task]) -> None:
        self._driver.handle(SubmittedEvent(time.monotonic(), tuple(map(self._with_first_use, tasks))))

    def _with_first_use(self, task: Task) -> Task:
        """Return the task, marked if its case decides how its process first uses the device."""
        suite = None if self._offer is None else self._offer.suites.get(task.suite)
        decides_first_use = suite is not None and task.job.case in suite.first_use_cases
        return replace(task, uses_device_first=True) if decides_first_use else task

    def cancel(self, id: str, attempt: int) -> None:
        self._driver.handle(CancelledEvent(time.monotonic(), id, attempt))

    async def close(self) -> None:
        await self._memory_watch.cancel()
        await self._driver.close()

    async def _watch_memory(self) -> None:
        while True:
            await asyncio.sleep(MEMORY_POLL_S)
            cases = [(case, self._driver.pid(case.number)) for case in self._state.cases()]
            for (number, turn, alone), pid in cases:
                limit = self._memory_limit if alone else self._memory_limit // self.slots
                if await asyncio.to_thread(processes.hold_more_than, limit, pid):
                    reason = f"its processes held more than {limit / (1 << 20):.0f} MiB"
                    self._driver.handle(MemoryEvent(time.monotonic(), number, turn, reason))


async def _start_threads() -> None:
    """Start all threads that the event loop will need.

    While a case forks endlessly, no new thread can be started, but killing the case needs a thread.
    """
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "loop"))
    together = threading.Barrier(THREADS)
    await asyncio.gather(*(loop.run_in_executor(None, together.wait) for _ in range(THREADS)))
