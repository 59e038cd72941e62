"""The supervisor: the queue of a runner's tasks and the slots that run them, each in processes of its own.

It holds the memory limit and hears what is to be stopped. It never imports a framework; ``slot.py`` runs the cases,
and the HTTP server serves the outcomes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from protocol.catalogue import Catalogue
from protocol.events import Running
from runners.isolation import memory, processes
from runners.isolation.attempts import Task
from runners.isolation.company import Company
from runners.isolation.events import EventLog
from runners.isolation.fork_server import Interpreter
from runners.isolation.forks import Forks
from runners.isolation.outcomes import cancelled
from runners.isolation.secrecy import Redaction
from runners.isolation.slot import Slot
from runners.isolation.task_queue import TaskQueue

MEMORY_POLL_S = 0.25

THREADS = 4
"""The threads of the loop: memory is measured in one while another kills; name look-ups may take the rest."""


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
        self._log = log
        self._memory_limit = memory_limit or memory.default_limit()
        self._queue = TaskQueue()
        self._forks = Forks(framework, device, interpreter)
        self.redaction = Redaction()
        self.broken = asyncio.Event()
        """Set when no child can be forked any more: the service should stop."""
        self._most_slots = slots
        self._slots: list[Slot] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> Catalogue:
        """Import the framework; returns its catalogue. The device is not touched."""
        await _start_threads()
        return await self._forks.start()

    async def look(self) -> dict[str, Any]:
        """Look at the device and begin to execute; returns the device's description."""
        description = await self._forks.describe()
        self._slots = self._new_slots(self._most_slots if self._forks.overlap else 1)
        self._tasks = [asyncio.create_task(slot.work()) for slot in self._slots]
        self._tasks.append(asyncio.create_task(self._watch_memory()))
        for task in self._tasks:
            task.add_done_callback(self._break)
        return description

    @property
    def failure(self) -> str:
        """Why nothing can be executed any more, once ``broken`` is set."""
        return self._forks.failure or "a slot or the memory watch failed"

    @property
    def slots(self) -> int:
        """The untimed cases that run at once; known when the device has been looked at."""
        return len(self._slots)

    @property
    def queued(self) -> int:
        return len(self._queue) + sum(len(slot.stretch) for slot in self._slots)

    @property
    def starting(self) -> int:
        return sum(slot.current is not None and slot.current.clock is None for slot in self._slots)

    def running(self) -> list[Running]:
        found = (slot.current.running for slot in self._slots if slot.current is not None)
        return [running for running in found if running is not None]

    def submit(self, tasks: Iterable[Task]) -> None:
        self._queue.extend(tasks)

    def cancel(self, id: str, attempt: int) -> None:
        if any(slot.cancel(id, attempt) for slot in self._slots):
            return
        for task in self._queue:
            if task.key == (id, attempt):
                self._queue.remove(task)
                self._log.finished(id, attempt, cancelled())
                return

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        for slot in self._slots:
            slot.children.stop_spare()
        await self._forks.close()
        for slot in self._slots:
            await slot.children.close()

    def _break(self, task: asyncio.Task[None]) -> None:
        """Stop the service if a slot or the memory watch fails: jobs would wait for ever, or memory have no limit."""
        if not task.cancelled():
            self.broken.set()

    def _new_slots(self, count: int) -> list[Slot]:
        threads = None if count == 1 else max(1, (os.cpu_count() or 1) // count)
        company = Company(count)
        return [
            Slot(
                self._queue,
                self._log,
                self._forks,
                company,
                self.redaction,
                self.broken,
                takes_timed=number == 0,
                threads=threads,
                quiet=self._quiet,
            )
            for number in range(count)
        ]

    async def _quiet(self) -> None:
        for slot in self._slots:
            await slot.children.quiet()

    async def _watch_memory(self) -> None:
        while True:
            await asyncio.sleep(MEMORY_POLL_S)
            for slot in self._slots:
                current = slot.current
                if current is None or current.child is None or current.clock is None:
                    continue
                child, turn = current.child, current.child.turn
                limit = self._memory_limit if current.alone else self._memory_limit // len(self._slots)
                if await asyncio.to_thread(processes.hold_more_than, limit, child.pid) and child.turn == turn:
                    child.interrupt("out_of_memory", f"its processes held more than {limit / (1 << 20):.0f} MiB")


async def _start_threads() -> None:
    """Every thread that the loop will need: a case that forks without end leaves room for none, and must be killed."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(THREADS, "loop"))
    together = threading.Barrier(THREADS)
    await asyncio.gather(*(loop.run_in_executor(None, together.wait) for _ in range(THREADS)))
