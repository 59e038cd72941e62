"""One runner, served: carries out what its machine says, and tells the machine what happens.

A link probes its runner, reads its events, claims and posts jobs, and acknowledges what is
stored. It ends when the runner is quarantined, removed or owned by somebody else; the
dispatcher starts another when there is reason to.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator import metrics
from coordinator.database.connection import transact
from coordinator.dispatch import machine as m
from coordinator.dispatch import queue
from coordinator.dispatch.finisher import Finisher, Report
from coordinator.dispatch.losses import lose
from coordinator.dispatch.machine import Key, Lease, RunnerMachine
from coordinator.dispatch.queue import Cursor, FinishedJob, HeldJob
from coordinator.errors import RunnerError, RunnerIncompatibleError
from coordinator.fleet import ownership
from coordinator.fleet.client import EventsTrimmedError, RunnerClient
from coordinator.fleet.ownership import OwnedRunner
from coordinator.fleet.service import refresh
from coordinator.outcomes.records import overdue, record, record_without_report
from protocol.events import Finished, Heartbeat, Started
from protocol.jobs import JobBatch, JobStatus
from protocol.words import Cause, Ending, Verdict

log = logging.getLogger(__name__)

Todo = TypeVar("Todo", bound=m.Instruction)

TICK_S = 1.0
ACKNOWLEDGE_EVERY = 2_000
"""Stored events after which the runner is told; sooner when things are quiet."""
FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 2.0


class _EndOfLinkError(Exception):
    """The runner is no longer ours to serve."""


class RunnerLink:
    def __init__(self, owned: OwnedRunner, engine: AsyncEngine, finisher: Finisher) -> None:
        self.runner = owned
        self.address = (owned.url, owned.secret)
        """Where this link speaks to it; what enrolled again elsewhere is for another link."""
        self._engine = engine
        # For a statement that is a transaction by itself: two round trips less.
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._finisher = finisher
        self._machine = RunnerMachine(owned.queue_limit, misbehaved=owned.misbehaved)
        self._jobs: dict[Key, HeldJob] = {}
        self._todo: asyncio.Queue[m.Instruction] = asyncio.Queue()
        self._claims: asyncio.Queue[m.Claim] = asyncio.Queue()
        self._stored = Cursor(owned.id, owned.boot_id, owned.cursor)
        self._acknowledged = owned.cursor
        self._heard = owned.cursor

    def wake(self) -> None:
        self._feed(m.Woken(_now()))

    async def stop_cancelled(self) -> None:
        """Stop what has been cancelled in the database."""
        keys = self._machine.in_flight
        if keys:
            async with self._engine.connect() as connection:
                cancelled = await queue.cancelled_here(connection, self.runner.id, list(keys))
            self._feed(m.Cancelled(_now(), tuple(cancelled)))

    async def run(self) -> None:
        """Serve the runner until it is quarantined; cancel to stop."""
        self._adopt(m.Adopted(_now(), self._leases(await self._held())))
        async with RunnerClient(*self.address) as client:
            ticker = asyncio.create_task(self._tick())
            try:
                await self._serve(client)
            except _EndOfLinkError:
                pass
            finally:
                ticker.cancel()

    async def _serve(self, client: RunnerClient) -> None:
        retry_s, unreachable_since, offline, skipped = FIRST_RETRY_S, _now(), False, False
        while True:
            try:
                await self._connect(client)
                retry_s, offline = FIRST_RETRY_S, False
                await self._converse(client)
                reason = "the runner closed the stream"
            except EventsTrimmedError as error:
                reason = str(error)
                await self._skip(error, client)
                if not skipped:
                    # It is there and answers: whoever looks meanwhile, after a check say, must not find it offline.
                    skipped = True
                    self._feed(m.Disconnected(_now(), reason))
                    await self._carry_out_pending(client)
                    continue
            except RunnerError as error:
                reason = str(error)
            skipped = False
            if self._machine.online:
                unreachable_since = _now()
            if not offline:
                offline = True
                async with self._engine.begin() as connection:
                    await ownership.set_state(connection, self.runner.id, "offline", reason)
                log.info("runner %s is offline: %s", self.runner.url, reason)
            self._feed(m.Disconnected(_now(), reason))
            # What the machine made of a silence comes first: the jobs must be back before the link ends.
            await self._carry_out_pending(client)
            if not self._machine.in_flight and _now() - unreachable_since > m.SILENCE_S:
                misbehaved = self._machine.misbehaved + 1
                await self._quarantine(m.quarantine_s(misbehaved), misbehaved, reason)
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LONGEST_RETRY_S)

    async def _connect(self, client: RunnerClient) -> None:
        """Find out whether it is the boot that we know, and what it holds."""
        info = await client.info()
        if info.boot_id != self.runner.boot_id:
            self.runner = await refresh(self._engine, self.runner, info, await client.catalogue())
            log.info("runner %s restarted", self.runner.url)
        async with self._engine.begin() as connection:
            owned = await ownership.read(connection, self.runner.id)
            self.runner = replace(self.runner, cursor=owned.cursor, suites=owned.suites)
            await ownership.set_state(connection, self.runner.id, "online", None)
            held = await queue.held(connection, self.runner.id)
        self._stored = Cursor(self.runner.id, info.boot_id, self.runner.cursor)
        self._acknowledged = self._heard = self.runner.cursor
        # Whatever the boot, an attempt made with another one is gone.
        lost = [job for job in held if job.boot_id != info.boot_id]
        if lost:
            self._adopt(m.Connected(_now(), False, self._leases(lost)))
            await self._carry_out_pending(client)
        kept = [job for job in held if job.boot_id == info.boot_id]
        self._adopt(m.Connected(_now(), True, self._leases(kept)))

    async def _converse(self, client: RunnerClient) -> None:
        ended: Exception | None = None
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(client))
                group.create_task(self._carry_out(client))
                group.create_task(self._keep_claiming())
        except* _EndOfLinkError:
            ended = _EndOfLinkError()
        except* RunnerError as errors:
            ended = ended or _first(errors)
        # Not raised above: some releases of Python 3.11 wrap what leaves an `except*` in a group again.
        if ended is not None:
            raise ended

    async def _skip(self, trimmed: EventsTrimmedError, client: RunnerClient) -> None:
        """What somebody else acknowledged is lost, and with it what our attempts told: go on after it."""
        if trimmed.acknowledged is None:
            return
        async with self._engine.begin() as connection:
            await ownership.skip_to(connection, self.runner.id, self.runner.boot_id, trimmed.acknowledged)
            held = await queue.held(connection, self.runner.id)
        self._adopt(m.Connected(_now(), False, self._leases(held)))
        await self._carry_out_pending(client)

    async def _listen(self, client: RunnerClient) -> None:
        after = Cursor(self.runner.id, self.runner.boot_id, self.runner.cursor)
        async for events in client.events(after.boot_id, after.n):
            await self._finisher.put(self._hear(events))
        raise RunnerError(f"the runner at {self.runner.url} closed its stream of events")

    def _hear(self, events: Sequence[Started | Finished | Heartbeat]) -> list[Report]:
        """Tell the machine; returns what is to be stored.

        A start that came together with its finish is not: the finish implies it, and of jobs
        that take microseconds that is half of all events.
        """
        finished = {(event.id, event.attempt) for event in events if event.type == "finished"}
        reports = []
        for event in events:
            if event.n != self._heard + (event.type != "heartbeat"):
                raise RunnerIncompatibleError(
                    f"the runner at {self.runner.url} numbered an event {event.n} after {self._heard}: "
                    "its numbers must have no gaps"
                )
            self._heard = event.n
            if event.type == "heartbeat":
                running = ((_key(each.id, each.attempt), each.elapsed_s) for each in event.running)
                self._feed(m.Beat(_now(), tuple(running)))
            elif event.type == "finished":
                reports.append(self._finish_heard(event))
            elif (event.id, event.attempt) not in finished:
                key = _key(event.id, event.attempt)
                self._feed(m.StartSeen(_now(), key))
                reports.append(Report(self._cursor(event.n), key, None, None, self._on_stored))
        return reports

    def _finish_heard(self, event: Finished) -> Report:
        key = _key(event.id, event.attempt)
        outcome = event.outcome
        if outcome.ending is Ending.cancelled and self._machine.overdue(key):
            outcome = overdue(outcome)
        row = record(key, outcome, framework=self.runner.framework, device=self.runner.device)
        self._feed(m.FinishSeen(_now(), key))
        self._jobs.pop(key, None)
        return Report(self._cursor(event.n), key, row, outcome, self._on_stored)

    def _cursor(self, n: int) -> Cursor:
        return Cursor(self.runner.id, self.runner.boot_id, n)

    def _on_stored(self, cursor: Cursor) -> None:
        if cursor.boot_id == self._stored.boot_id and cursor.n > self._stored.n:
            self._stored = cursor

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._feed(m.Tick(_now()))

    def _feed(self, event: m.Event) -> None:
        for instruction in self._machine.handle(event):
            if isinstance(instruction, m.Claim):
                self._claims.put_nowait(instruction)
            else:
                self._todo.put_nowait(instruction)

    def _adopt(self, event: m.Adopted | m.Connected) -> None:
        """A fresh view of what the runner holds: instructions from an older one are void, all but
        those that only the database hears of."""
        _drain(self._claims)
        kept = [each for each in _drain(self._todo) if isinstance(each, m.Lose | m.GiveBack | m.TimeOut | m.Quarantine)]
        for instruction in kept:
            self._todo.put_nowait(instruction)
        self._feed(event)

    async def _carry_out(self, client: RunnerClient) -> None:
        while True:
            try:
                async with asyncio.timeout(TICK_S):
                    instruction = await self._todo.get()
            except TimeoutError:
                await self._acknowledge(client)
                continue
            await self._perform(instruction, client)
            if self._stored.n - self._acknowledged >= ACKNOWLEDGE_EVERY:
                await self._acknowledge(client)

    async def _carry_out_pending(self, client: RunnerClient) -> None:
        """What can be done without the runner; the rest is void once it is connected again."""
        for instruction in _drain(self._todo):
            if isinstance(instruction, m.Lose | m.GiveBack | m.TimeOut | m.Quarantine):
                await self._perform(instruction, client)

    async def _acknowledge(self, client: RunnerClient) -> None:
        stored = self._stored
        if stored.boot_id == self.runner.boot_id and stored.n > self._acknowledged:
            await client.acknowledge(stored.boot_id, stored.n)
            self._acknowledged = stored.n

    async def _perform(self, instruction: m.Instruction, client: RunnerClient) -> None:
        match instruction:
            case m.Post(leases):
                await self._post(leases, client)
            case m.Stop(key):
                await client.stop(str(key.job), key.attempt)
            case m.GiveBack(keys, reason):
                await transact(self._engine, partial(queue.give_back, keys=keys, reason=reason, counted=False))
            case m.Lose(keys, reason):
                for key in keys:
                    if (row := await lose(self._engine, key, reason)) is not None:
                        await self._finish_ourselves(row)
            case m.TimeOut(key, elapsed_s):
                told = "past its deadline on the coordinator's clock, and its runner did not end it"
                timed_out = (Verdict.failed, Ending.timed_out, Cause.timeout, "coordinator-deadline")
                await self._finish_ourselves(record_without_report(key, *timed_out, told, elapsed_s))
            case m.Quarantine(seconds, reason):
                await self._quarantine(seconds, self._machine.misbehaved, reason)

    async def _keep_claiming(self) -> None:
        """Beside everything else: one batch is leased while the one before is posted."""
        while True:
            decided = await self._claims.get()
            # Since then more may have finished: one larger claim instead of two.
            await self._claim(max(decided.limit, self._machine.room))

    async def _claim(self, limit: int) -> None:
        async with self._single.connect() as connection:
            jobs = await queue.claim(
                connection,
                runner_id=self.runner.id,
                boot_id=self.runner.boot_id,
                target_id=self.runner.target_id,
                suites=list(self.runner.suites),
                limit=limit,
            )
        self._feed(m.Claimed(_now(), self._leases(jobs)))

    async def _post(self, leases: Iterable[Lease], client: RunnerClient) -> None:
        in_flight = self._machine.in_flight
        keys = [lease.key for lease in leases if lease.key in in_flight]
        by_suite: dict[int, list[Key]] = defaultdict(list)
        for key in keys:
            by_suite[self._jobs[key].suite_id].append(key)
        for suite_id, of_suite in by_suite.items():
            name, revision = self.runner.suites.get(suite_id, ("", ""))
            # All at once, because to make the messages one by one takes ten times as long.
            batch = JobBatch.model_validate(
                {
                    "boot_id": self.runner.boot_id,
                    "suite": name,
                    "revision": revision,
                    "jobs": [_job(self._jobs[key]) for key in of_suite],
                }
            )
            receipts = await client.post(batch)
            status = {_key(each.id, each.attempt): each.status for each in receipts.jobs}
            accepted = (JobStatus.queued, JobStatus.known)
            self._feed(
                m.Posted(
                    _now(),
                    accepted=tuple(key for key in of_suite if status.get(key) in accepted),
                    full=tuple(key for key in of_suite if status.get(key) is JobStatus.full),
                    refused=tuple(key for key in of_suite if status.get(key) not in (*accepted, JobStatus.full)),
                )
            )

    async def _finish_ourselves(self, row: FinishedJob) -> None:
        await self._finisher.put([Report(self._cursor(0), row.key, row, None, self._on_stored)])

    async def _quarantine(self, seconds: float, misbehaved: int, reason: str) -> None:
        metrics.quarantines.inc()
        log.warning("runner %s is quarantined for %.0f s: %s", self.runner.url, seconds, reason)
        async with self._engine.begin() as connection:
            await ownership.quarantine(connection, self.runner.id, seconds, misbehaved, reason)
        raise _EndOfLinkError

    async def _held(self) -> list[HeldJob]:
        async with self._engine.connect() as connection:
            return await queue.held(connection, self.runner.id)

    def _leases(self, jobs: Sequence[HeldJob]) -> tuple[Lease, ...]:
        self._jobs.update((job.key, job) for job in jobs)
        return tuple(Lease(job.key, job.timeout_s, job.running) for job in jobs)


def _job(job: HeldJob) -> dict[str, Any]:
    """The fields of ``protocol.jobs.Job``."""
    return {
        "id": str(job.key.job),
        "attempt": job.key.attempt,
        "case": job.case,
        "run": job.run,
        "timeout_s": job.timeout_s,
        "timing": job.timing,
    }


def _key(identifier: str, attempt: int) -> Key:
    """Ids go out as decimal numbers; anything else that comes back names no job of ours."""
    ours = len(identifier) < 19 and identifier.isascii() and identifier.isdecimal() and 0 < attempt < 2**15
    return Key(int(identifier), attempt) if ours else Key(0, 0)


def _drain(instructions: asyncio.Queue[Todo]) -> list[Todo]:
    drained = []
    while not instructions.empty():
        drained.append(instructions.get_nowait())
    return drained


def _first(errors: BaseExceptionGroup[RunnerError]) -> RunnerError:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, RunnerError)
    return error


def _now() -> float:
    return time.monotonic()
