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
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator import metrics
from coordinator.dispatch import losses, queue
from coordinator.dispatch import messages as m
from coordinator.dispatch.finisher import Finisher, Report
from coordinator.dispatch.finishes import FinishedJob
from coordinator.dispatch.machine import SILENCE_S, RunnerMachine, quarantine_s
from coordinator.dispatch.messages import Key, Lease
from coordinator.dispatch.queue import Cursor, HeldJob
from coordinator.dispatch.records import overdue, record_off_loop, record_without_report, unstorable
from coordinator.dispatch.stream import EventNumbers, StreamEvent, UnreadableEvent, read_event
from coordinator.errors import RunnerError, RunnerIncompatibleError, SuiteChangedError
from coordinator.registry import ownership
from coordinator.registry.client import EventsAheadError, EventsTrimmedError, RunnerChangedError, RunnerClient
from coordinator.registry.ownership import OwnedRunner
from coordinator.registry.service import refresh
from protocol.events import Finished
from protocol.jobs import JobBatch
from protocol.words import Cause, Ending, Verdict

log = logging.getLogger(__name__)

Todo = TypeVar("Todo", bound=m.Instruction)


class _EndOfLinkError(Exception):
    """The runner is no longer ours to serve."""


class _StreamClosedError(RunnerError):
    """The runner closed its stream of events, which has no end while it is up."""


FRUITLESS = (RunnerIncompatibleError, RunnerChangedError, SuiteChangedError, EventsAheadError, _StreamClosedError)
"""The runner answers, and it comes to nothing: again and again, it is quarantined."""
TICK_S = 1.0
STRAYS_EVERY_S = 15.0
ACKNOWLEDGE_EVERY = 2_000
"""Stored events after which the runner is told; sooner when things are quiet."""
TOKEN_BYTES = 8
FIRST_RETRY_S = 0.1
LONGEST_RETRY_S = 2.0


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
        self._numbers = EventNumbers(owned.cursor)
        self._token = token_hex(TOKEN_BYTES)

    def wake(self) -> None:
        self._feed(m.Woken(_now()))

    async def stop_cancelled(self) -> None:
        """Stop what has been cancelled in the database, or has ended there without this runner."""
        keys = self._machine.in_flight
        if keys:
            async with self._engine.connect() as connection:
                revoked = await queue.revoked(connection, self.runner.id, list(keys))
            self._feed(m.Revoked(_now(), tuple(revoked)))

    async def run(self) -> None:
        """Serve the runner until it is quarantined; cancel to stop."""
        self._adopt(m.Adopted(_now(), self._leases(await self._held())))
        async with RunnerClient(*self.address) as client:
            with suppress(_EndOfLinkError):
                await until_one_fails(self._serve(client), self._tick())

    async def _serve(self, client: RunnerClient) -> None:
        retry_s, unreachable_since, skipped = FIRST_RETRY_S, _now(), False
        shown: str | None = None
        while True:
            fruitless = False
            try:
                await self._connect(client)
                retry_s, shown = FIRST_RETRY_S, None
                await self._converse(client)
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
                fruitless = isinstance(error, FRUITLESS)
                if isinstance(error, EventsAheadError):
                    async with self._engine.begin() as connection:
                        await ownership.rewind(connection, self.runner.id, self.runner.boot_id)
            skipped = False
            if self._machine.online:
                unreachable_since = _now()
            if reason != shown:
                # A stream that ended is the first reason; why the runner is not taken back may be another.
                shown = reason
                async with self._engine.begin() as connection:
                    await ownership.set_state(connection, self.runner.id, "offline", reason)
                log.info("runner %s is offline: %s", self.runner.url, reason)
            self._feed(m.Disconnected(_now(), reason, fruitless))
            # What the machine made of a silence comes first: the jobs must be back before the link ends.
            await self._carry_out_pending(client)
            if not self._machine.in_flight and _now() - unreachable_since > SILENCE_S:
                misbehaved = self._machine.misbehaved + 1
                await self._quarantine(quarantine_s(misbehaved), misbehaved, reason)
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LONGEST_RETRY_S)

    async def _connect(self, client: RunnerClient) -> None:
        """Find out whether it is the boot that we know, and what it holds."""
        info = await client.info()
        if info.boot_id != self.runner.boot_id:
            self.runner = await refresh(self._engine, self.runner, info, await client.catalogue())
            self._token = token_hex(TOKEN_BYTES)
            log.info("runner %s restarted", self.runner.url)
        async with self._engine.begin() as connection:
            await queue.welcome_back(connection, self.runner.id, info.boot_id)
            owned = await ownership.read(connection, self.runner.id)
            self.runner = replace(self.runner, cursor=owned.cursor, suites=owned.suites)
            await ownership.set_state(connection, self.runner.id, "online", None)
            held = await queue.held(connection, self.runner.id)
        self._stored = Cursor(self.runner.id, info.boot_id, self.runner.cursor)
        self._acknowledged = self.runner.cursor
        self._numbers.restart(self.runner.cursor)
        self._finisher.resume(self._stored)
        # Whatever the boot, an attempt made with another one is gone.
        lost = [job for job in held if job.boot_id != info.boot_id]
        if lost:
            self._adopt(m.Connected(_now(), False, self._leases(lost)))
            await self._carry_out_pending(client)
        kept = [job for job in held if job.boot_id == info.boot_id]
        self._adopt(m.Connected(_now(), True, self._leases(kept)))

    async def _converse(self, client: RunnerClient) -> None:
        await until_one_fails(
            self._listen(client), self._carry_out(client), self._keep_claiming(), self._look_for_strays()
        )

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
        async for lines in client.event_lines(after.boot_id, after.n):
            # All of them first: if one is missing, those before it come again.
            await self._finisher.put(await self._hear(list(self._numbers.admit(map(read_event, lines)))))
        raise _StreamClosedError(f"the runner at {self.runner.url} closed its stream of events")

    async def _hear(self, events: Sequence[StreamEvent]) -> list[Report]:
        """Tell the machine; returns what is to be stored.

        A start that came together with its finish is not: the finish implies it, and of jobs
        that take microseconds that is half of all events.
        """
        finished = {(event.id, event.attempt) for event in events if isinstance(event, Finished)}
        reports = []
        for event in events:
            if isinstance(event, UnreadableEvent):
                reports += self._unreadable_heard(event)
            elif event.type == "heartbeat":
                running = ((Key.of_wire(job.id, job.attempt), job.elapsed_s, job.waited_s) for job in event.running)
                self._feed(m.Beat(_now(), tuple(running), event.queued))
            elif event.type == "finished":
                reports.append(await self._finish_heard(event))
            elif (event.id, event.attempt) not in finished:
                key = Key.of_wire(event.id, event.attempt)
                self._feed(m.StartSeen(_now(), key))
                reports.append(Report(self._cursor(event.n), key, None, None, self._on_stored))
        return reports

    async def _finish_heard(self, event: Finished) -> Report:
        key = Key.of_wire(event.id, event.attempt)
        outcome = event.outcome
        if not key.job:
            return Report(self._cursor(event.n), None, None, None, self._on_stored)
        if outcome.ending is Ending.cancelled:
            if self._machine.overdue(key):
                outcome = overdue(outcome)
            elif self._machine.wants(key):
                log.warning("runner %s: somebody else had job %s stopped", self.runner.url, event.id)
                self._feed(m.StopSeen(_now(), key))
                return Report(self._cursor(event.n), None, None, None, self._on_stored)
            elif key not in self._machine.in_flight:
                # It was stopped because it is made elsewhere, or given up: that it ended is no news.
                return Report(self._cursor(event.n), None, None, None, self._on_stored)
        row = await record_off_loop(key, outcome, framework=self.runner.framework, device=self.runner.device)
        self._feed(m.FinishSeen(_now(), key))
        self._jobs.pop(key, None)
        return Report(self._cursor(event.n), key, row, outcome, self._on_stored)

    def _unreadable_heard(self, event: UnreadableEvent) -> list[Report]:
        """The job that it is about ends with it; of whichever job it was, the stream goes on."""
        log.warning("runner %s: an event cannot be read: %s", self.runner.url, event.reason)
        held = event.key if event.key in self._machine.in_flight and not event.is_heartbeat else None
        self._feed(m.UnreadableSeen(_now(), held, event.reason))
        if event.is_heartbeat:
            return []
        row = unstorable(held, f"an event of the runner cannot be read: {event.reason}") if held else None
        return [Report(self._cursor(event.n or 0), held, row, None, self._on_stored)]

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
                await client.stop(key.wire_id, key.attempt)
            case m.GiveBack(keys, reason, refused):
                for given_up in await losses.give_back(self._engine, keys, reason, self.runner.id, refused=refused):
                    await self._finish_ourselves(given_up, keys)
            case m.Lose(keys, reason):
                for key in keys:
                    if (row := await losses.lose(self._engine, key, reason, self.runner.id)) is not None:
                        await self._finish_ourselves(row, keys)
            case m.TimeOut(key, elapsed_s):
                told = "past its deadline on the coordinator's clock, and its runner did not end it"
                timed_out = (Verdict.failed, Ending.timed_out, Cause.timeout, "coordinator-deadline")
                await self._finish_ourselves(record_without_report(key, *timed_out, told, elapsed_s), [key])
            case m.Quarantine(seconds, reason):
                await self._quarantine(seconds, self._machine.misbehaved, reason)

    async def _keep_claiming(self) -> None:
        """Beside everything else: one batch is leased while the one before is posted."""
        while True:
            decided = await self._claims.get()
            # Since then more may have finished: one larger claim instead of two.
            await self._claim(max(decided.limit, self._machine.room))

    async def _look_for_strays(self) -> None:
        """A claim can be committed after its connection was given up: nobody here knows what it leased."""
        unknown: set[Key] = set()
        while True:
            await asyncio.sleep(STRAYS_EVERY_S)
            held = {job.key: job for job in await self._held()}
            # What has just finished is held until that is stored: only what is unknown the second time is a stray.
            now_unknown = held.keys() - self._machine.in_flight
            strays = [held[key] for key in sorted(unknown & now_unknown)]
            unknown = now_unknown
            if strays:
                log.warning("runner %s: %d leases were known to nobody", self.runner.url, len(strays))
                self._feed(m.Strayed(_now(), self._leases(strays)))

    async def _claim(self, limit: int) -> None:
        async with self._single.connect() as connection:
            jobs = await queue.claim(
                connection,
                runner_id=self.runner.id,
                boot_id=self.runner.boot_id,
                token=self._token,
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
            status = {Key.of_wire(receipt.id, receipt.attempt): receipt.status for receipt in receipts.jobs}
            self._feed(m.Posted.answered(_now(), of_suite, status))

    async def _finish_ourselves(self, row: FinishedJob, keys: Sequence[Key]) -> None:
        """Store what the coordinator says of one of these attempts."""
        (key,) = [key for key in keys if (key.job, key.attempt) == (row.job_id, row.attempt)]
        await self._finisher.put([Report(self._cursor(0), key, row, None, self._on_stored)])

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
        return tuple(Lease(job.key, job.timeout_s, job.running, job.ran_s) for job in jobs)


def _job(job: HeldJob) -> dict[str, Any]:
    """The fields of ``protocol.jobs.Job``."""
    return {
        "id": job.key.wire_id,
        "attempt": job.key.attempt,
        "case": job.case,
        "run": job.run,
        "timeout_s": job.timeout_s,
        "timing": job.timing,
    }


async def until_one_fails(*work: Coroutine[Any, Any, None]) -> None:
    """Do all of these, none of which ends by itself; raises what ends one of them, and ends the others.

    Of several errors one that is not the runner's goes first. Not a ``TaskGroup``: one that fails while it
    is cancelled forgets that it was, and then a link that somebody waits for would go on for ever.
    """
    tasks = [asyncio.create_task(each) for each in work]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    errors = [end for end in ends if isinstance(end, Exception)]
    raise next((error for error in errors if not isinstance(error, RunnerError)), errors[0])


def _drain(instructions: asyncio.Queue[Todo]) -> list[Todo]:
    drained = []
    while not instructions.empty():
        drained.append(instructions.get_nowait())
    return drained


def _now() -> float:
    return time.monotonic()
