"""The session of one runner executes the instructions of the state machine, and passes events to it.

A session probes its runner, reads its events, claims and posts jobs, and acknowledges stored events. It ends when the
runner is quarantined, removed or owned by another coordinator. The dispatcher starts a new session when the runner can
be served again.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.contextvars import bind_contextvars

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.dispatch import lost_attempts, queue
from coordinator.dispatch.concurrency import run_until_one_fails
from coordinator.dispatch.events import (
    AdoptedEvent,
    ClaimedEvent,
    ConnectedEvent,
    DisconnectedEvent,
    Event,
    FinishedEvent,
    PostedEvent,
    PostingEvent,
    RevokedEvent,
    StopAnsweredEvent,
    StoppedEvent,
    StrayLeasesEvent,
    TickEvent,
    WakeEvent,
)
from coordinator.dispatch.finishes import FinishedJob
from coordinator.dispatch.instructions import (
    SERVES_ANOTHER,
    Claim,
    GiveBack,
    Instruction,
    Lose,
    Post,
    Quarantine,
    Stop,
    TimeOut,
)
from coordinator.dispatch.leases import Key, Lease
from coordinator.dispatch.outcome_writer import OutcomeWriter, RunnerReport
from coordinator.dispatch.queue import Cursor, HeldJob
from coordinator.dispatch.records import record_without_report
from coordinator.dispatch.runner_state_machine import RunnerState
from coordinator.dispatch.stop_queue import StopQueue
from coordinator.dispatch.stream_reader import StreamReader
from coordinator.dispatch.waiting_work import RunnerOffer
from coordinator.errors import (
    EventsAheadError,
    EventsTrimmedError,
    RunnerChangedError,
    RunnerIdentityError,
    RunnerIncompatibleError,
    StreamClosedError,
    SuiteChangedError,
    UnusableRunnerError,
)
from coordinator.process import metrics
from coordinator.process.logs import get_logger
from coordinator.registry import ownership
from coordinator.registry.client import RunnerClient
from coordinator.registry.ownership import OwnedRunner
from coordinator.registry.service import refresh
from protocol.enums import Cause, Ending, Verdict
from protocol.jobs import JobBatch

log = get_logger(__name__)

InstructionT = TypeVar("InstructionT", bound=Instruction)


class _EndOfSessionError(Exception):
    """Raised when this coordinator no longer serves the runner."""


FRUITLESS = (
    *(RunnerIncompatibleError, RunnerChangedError, RunnerIdentityError),
    *(SuiteChangedError, EventsAheadError, StreamClosedError),
)
"""Errors of a runner that answers but cannot be served. If they repeat, the runner is quarantined."""
FOR_THE_DATABASE = (Lose, GiveBack, TimeOut, Quarantine)
"""Instructions that do not need the runner. The others are dropped when the stream breaks."""
ACKNOWLEDGE_EVERY = 2_000
"""The number of stored events per acknowledgement. A quiet stream is acknowledged sooner."""
STOPS_AT_ONCE = 8
"""The maximum number of concurrent DELETEs. A cancellation may stop hundreds of jobs on a distant runner."""
UNTOLD = "another client acknowledged the runner's events, and its end may be among them"
TOKEN_BYTES = 8
IDLE_SWEEPS = 4
"""The leases of an idle runner are compared with the database this many times less often, because only a late commit
can give an idle runner a lease."""


class RunnerSession:
    def __init__(
        self,
        runner: OwnedRunner,
        engine: AsyncEngine,
        writer: OutcomeWriter,
        mark: str,
        times: Times = DEFAULT_TIMES,
    ) -> None:
        self.runner = runner
        self.address = (runner.url, runner.secret)
        """The runner's URL and secret. If the runner enrolls again with another URL or secret, it gets a new
        session."""
        self._engine = engine
        # Autocommit for single statements saves two round trips.
        self._single = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._writer = writer
        self._times = times
        self._state = RunnerState(
            runner.queue_limit,
            strikes=runner.strikes,
            times=times,
            mark=mark,
            cautious=runner.reason == SERVES_ANOTHER,
        )
        self._jobs: dict[Key, HeldJob] = {}
        """The jobs that are leased and not yet posted."""
        self._instructions: asyncio.Queue[Instruction] = asyncio.Queue()
        self._claims: asyncio.Queue[Claim] = asyncio.Queue()
        self._stops = StopQueue()
        self._stored = Cursor(runner.id, runner.boot_id, runner.cursor)
        self._acknowledged = runner.cursor
        self._reader = StreamReader(runner, self._state, self._feed, self._on_stored)

    @property
    def is_idle(self) -> bool:
        return self._state.is_idle

    @property
    def offers(self) -> list[RunnerOffer]:
        """The targets and suites that the session's runner serves."""
        return [RunnerOffer(self.runner.target_id, suite_id) for suite_id in self.runner.suites]

    def wake(self) -> None:
        """Tell the session to look for jobs to claim."""
        self._feed(WakeEvent(time.monotonic()))

    async def stop_revoked(self) -> None:
        """Stop the jobs that have no lease in the database any more, because they were cancelled or have ended."""
        keys = self._state.in_flight
        if keys:
            async with self._engine.connect() as connection:
                revoked_keys = await queue.find_revoked(connection, self.runner.id, list(keys))
            self._feed(RevokedEvent(time.monotonic(), tuple(revoked_keys)))

    async def run(self) -> None:
        """Serve the runner until it is quarantined. The session is stopped by cancelling this coroutine."""
        bind_contextvars(runner=self.runner.id, url=self.runner.url, boot=self.runner.boot_id)
        self._adopt(AdoptedEvent(time.monotonic(), self._leases(await self._leased_jobs())))
        async with RunnerClient(*self.address, times=self._times) as client:
            with suppress(_EndOfSessionError):
                await run_until_one_fails(self._serve(client), self._tick())

    async def _serve(self, client: RunnerClient) -> None:
        failures, unreachable_since, has_skipped = 0, time.monotonic(), False
        last_reason: str | None = None
        while True:
            fruitless = False
            try:
                await self._connect(client)
                failures, last_reason = 0, None
                await self._hold_session(client)
            except EventsTrimmedError as error:
                reason = str(error)
                await self._skip(error)
                if not has_skipped:
                    # The runner answers, so it must not appear as offline in between, for example after a check.
                    has_skipped = True
                    self._feed(DisconnectedEvent(time.monotonic(), reason))
                    await self._flush_pending(client)
                    continue
            except UnusableRunnerError as error:
                reason = str(error)
                fruitless = isinstance(error, FRUITLESS)
                if isinstance(error, EventsAheadError):
                    async with self._engine.begin() as connection:
                        await ownership.rewind(connection, self.runner.id, self.runner.boot_id)
            has_skipped = False
            if self._state.online:
                unreachable_since = time.monotonic()
            if reason != last_reason:
                # The end of the stream gives the first reason. A failed reconnection may give another one.
                last_reason = reason
                async with self._engine.begin() as connection:
                    await ownership.set_state(connection, self.runner.id, "offline", reason)
                log.info("the runner is offline", reason=reason)
            self._feed(DisconnectedEvent(time.monotonic(), reason, fruitless))
            # Flush pending Lose and GiveBack instructions before the session ends, so that the jobs are requeued.
            await self._flush_pending(client)
            if not self._state.in_flight and time.monotonic() - unreachable_since > self._times.silence_s:
                strikes = self._state.strikes + 1
                await self._quarantine(self._times.quarantine.pause_s(strikes), strikes, reason)
            failures += 1
            await asyncio.sleep(self._times.reconnect.pause_s(failures))

    async def _connect(self, client: RunnerClient) -> None:
        """Probe the runner, and compare its boot with its leases in the database."""
        info = await client.info()
        if info.boot_id != self.runner.boot_id:
            self.runner = await refresh(self._engine, self.runner, info, await client.catalogue())
            bind_contextvars(boot=info.boot_id)
            log.info("the runner restarted")
        async with self._engine.begin() as connection:
            await queue.welcome_back(connection, self.runner.id, info.boot_id, self._times)
            stored_runner = await ownership.read(connection, self.runner.id)
            self.runner = replace(self.runner, cursor=stored_runner.cursor, suites=stored_runner.suites)
            await ownership.set_state(connection, self.runner.id, "online", None)
            leased_jobs = await queue.leased_jobs(connection, self.runner.id)
        self._stored = Cursor(self.runner.id, info.boot_id, self.runner.cursor)
        self._acknowledged = self.runner.cursor
        self._reader.restart(self.runner)
        self._jobs.clear()
        self._writer.resume(self._stored)
        # Attempts of another boot are lost.
        lost_jobs = [job for job in leased_jobs if job.boot_id != info.boot_id]
        if lost_jobs:
            self._adopt(ConnectedEvent(time.monotonic(), False, self._leases(lost_jobs)))
            await self._flush_pending(client)
        live_jobs = [job for job in leased_jobs if job.boot_id == info.boot_id]
        self._adopt(ConnectedEvent(time.monotonic(), True, self._leases(live_jobs)))

    async def _hold_session(self, client: RunnerClient) -> None:
        await run_until_one_fails(
            self._read_events(client),
            self._follow_instructions(client),
            self._keep_claiming(),
            self._send_stops(client),
            self._compare_leases(),
        )

    async def _skip(self, error: EventsTrimmedError) -> None:
        """Skip events that another client acknowledged. Any attempt may have ended in them, and none of them is
        counted."""
        if error.acknowledged is None:
            return
        async with self._engine.begin() as connection:
            await ownership.skip_to(connection, self.runner.id, self.runner.boot_id, error.acknowledged)
            leased_jobs = await queue.leased_jobs(connection, self.runner.id)
            await queue.give_back(connection, [job.key for job in leased_jobs], UNTOLD, is_loss=False)
        self._adopt(AdoptedEvent(time.monotonic(), ()))

    async def _read_events(self, client: RunnerClient) -> None:
        after = Cursor(self.runner.id, self.runner.boot_id, self.runner.cursor)
        async for lines in client.event_lines(after.boot_id, after.n):
            reports = await self._reader.read(lines)
            await self._writer.write(reports, can_wait=self._state.has_plenty)
        raise StreamClosedError(
            f"the runner at {self.runner.url} closed its stream of events: check whether it was stopped"
        )

    def _on_stored(self, cursor: Cursor) -> None:
        if cursor.boot_id == self._stored.boot_id and cursor.n > self._stored.n:
            self._stored = cursor

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(self._times.tick_s)
            self._feed(TickEvent(time.monotonic()))

    def _feed(self, event: Event) -> None:
        if isinstance(event, FinishedEvent | StoppedEvent):
            self._stops.remove(event.key)
        for instruction in self._state.handle(event):
            if isinstance(instruction, Claim):
                self._claims.put_nowait(instruction)
            elif isinstance(instruction, Stop):
                self._stops.put(instruction.key)
            else:
                self._instructions.put_nowait(instruction)

    def _adopt(self, event: AdoptedEvent | ConnectedEvent) -> None:
        """Start over with the leases of this event. Pending instructions are dropped, except those for the database."""
        _drain(self._claims)
        self._stops.clear()
        for instruction in _drain(self._instructions):
            if isinstance(instruction, FOR_THE_DATABASE):
                self._instructions.put_nowait(instruction)
        self._feed(event)

    async def _follow_instructions(self, client: RunnerClient) -> None:
        while True:
            try:
                async with asyncio.timeout(self._times.tick_s):
                    instruction = await self._instructions.get()
            except TimeoutError:
                await self._acknowledge(client)
                continue
            if isinstance(instruction, Quarantine):
                await self._let_stops_be_answered(instruction)
            await self._perform(instruction, client)
            if self._stored.n - self._acknowledged >= ACKNOWLEDGE_EVERY:
                await self._acknowledge(client)

    async def _let_stops_be_answered(self, before: Quarantine) -> None:
        """Wait for the responses to the DELETEs. The end of the session would cancel them, and the runner would keep
        running useless jobs."""
        try:
            async with asyncio.timeout(self._times.answer_s):
                await self._stops.all_answered()
        except TimeoutError:
            return
        except asyncio.CancelledError:
            # The stream broke in between; instructions that need no runner are carried out afterwards.
            self._instructions.put_nowait(before)
            raise

    async def _flush_pending(self, client: RunnerClient) -> None:
        """Execute the pending instructions that do not need the runner, and drop the others."""
        for instruction in _drain(self._instructions):
            if isinstance(instruction, FOR_THE_DATABASE):
                await self._perform(instruction, client)

    async def _acknowledge(self, client: RunnerClient) -> None:
        """Acknowledge stored events, but only those that the present stream has delivered.

        After a break, the new stream may begin before events that are already stored. Acknowledging these events would
        remove them from the stream, and their attempts would be lost. While the runner also serves another coordinator,
        nothing is acknowledged, because the other coordinator may not have read its own events yet.
        """
        if self._state.serves_another or self._state.cautious:
            return
        n = min(self._stored.n, self._reader.position)
        if self._stored.boot_id == self.runner.boot_id and n > self._acknowledged:
            await client.acknowledge(self._stored.boot_id, n)
            self._acknowledged = n

    async def _perform(self, instruction: Instruction, client: RunnerClient) -> None:
        match instruction:
            case Post(leases):
                await self._post(leases, client)
            case GiveBack(keys, reason, refused):
                for given_up in await lost_attempts.give_back(
                    self._engine, keys, reason, self.runner.id, is_refusal=refused
                ):
                    await self._record_own_outcome(given_up, keys)
            case Lose(keys, reason):
                for key in keys:
                    if (row := await lost_attempts.lose(self._engine, key, reason, self.runner.id)) is not None:
                        await self._record_own_outcome(row, keys)
            case TimeOut(key, elapsed_s):
                reason = "past its deadline on the coordinator's clock, and its runner did not end it"
                timed_out = (Verdict.failed, Ending.timed_out, Cause.timeout, "coordinator-deadline")
                await self._record_own_outcome(record_without_report(key, *timed_out, reason, elapsed_s), [key])
            case Quarantine(seconds, reason):
                await self._quarantine(seconds, self._state.strikes, reason)

    async def _send_stops(self, client: RunnerClient) -> None:
        """Send DELETEs concurrently with other instructions, so that no POST waits for them."""
        while True:
            keys = await self._stops.take(STOPS_AT_ONCE)
            # Wait for all answers before an error ends the session, so that no DELETE goes on without it.
            answers = await asyncio.gather(*(self._stop(key, client) for key in keys), return_exceptions=True)
            for answer in answers:
                if isinstance(answer, BaseException):
                    raise answer

    async def _stop(self, key: Key, client: RunnerClient) -> None:
        await client.stop(key.wire_id, key.attempt)
        self._stops.remove(key)
        self._feed(StopAnsweredEvent(time.monotonic(), key))

    async def _keep_claiming(self) -> None:
        """Lease a batch while the previous one is being posted."""
        while True:
            claim = await self._claims.get()
            # More jobs may have finished since the decision: make one larger claim instead of two.
            await self._claim(max(claim.limit, self._state.room))

    async def _compare_leases(self) -> None:
        """Compare the jobs in flight here with the leases in the database, every few seconds.

        If a lease is unknown here, it was committed after the connection of its claim was given up. If an attempt has
        no lease, it was revoked while the session did not run, or the database was restored to an earlier state.
        """
        unknown: set[Key] = set()
        for sweep in itertools.count(1):
            await asyncio.sleep(self._times.sweep_s)
            if not self._state.in_flight and not unknown and sweep % IDLE_SWEEPS:
                continue
            await self.stop_revoked()
            leases = {job.key: job for job in await self._leased_jobs()}
            # A finished job is held until its outcome is stored, so a stray is one that is unknown twice in a row.
            now_unknown = leases.keys() - self._state.in_flight
            strays = [leases[key] for key in sorted(unknown & now_unknown)]
            unknown = now_unknown
            if strays:
                log.warning("leases were committed without this session knowing", jobs=[job.key.job for job in strays])
                self._feed(StrayLeasesEvent(time.monotonic(), self._leases(strays)))

    async def _claim(self, limit: int) -> None:
        async with self._single.connect() as connection:
            jobs = await queue.claim(
                connection,
                runner_id=self.runner.id,
                boot_id=self.runner.boot_id,
                # A new token for each claim: after a restore, the database hands out the same jobs again.
                token=self._state.mark + token_hex(TOKEN_BYTES),
                target_id=self.runner.target_id,
                suites=list(self.runner.suites),
                limit=limit,
                held_count=len(self._state.in_flight),
                times=self._times,
            )
        self._feed(ClaimedEvent(time.monotonic(), self._leases(jobs)))

    async def _post(self, leases: Iterable[Lease], client: RunnerClient) -> None:
        in_flight = self._state.in_flight
        by_suite: dict[int, list[HeldJob]] = defaultdict(list)
        for lease in leases:
            job = self._jobs.pop(lease.key, None)
            if job is not None and job.key in in_flight:
                by_suite[job.suite_id].append(job)
        self._feed(PostingEvent(time.monotonic(), tuple(job.key for jobs in by_suite.values() for job in jobs)))
        for suite_id, jobs in by_suite.items():
            # The runner may have stopped serving the suite: it answers a suite without a name with unknown_case.
            name, revision = self.runner.suites.get(suite_id, ("", ""))
            # Encode all at once: validating the messages one by one takes ten times as long.
            batch = JobBatch.model_validate(
                {
                    "boot_id": self.runner.boot_id,
                    "suite": name,
                    "revision": revision,
                    "jobs": [_job(job) for job in jobs],
                }
            )
            receipts = await client.post(batch)
            status = {Key.of_wire(receipt.id, receipt.attempt): receipt.status for receipt in receipts.jobs}
            self._feed(PostedEvent.from_receipts(time.monotonic(), [job.key for job in jobs], status))

    async def _record_own_outcome(self, row: FinishedJob, keys: Sequence[Key]) -> None:
        """Store an outcome that the coordinator made for one of these attempts."""
        (key,) = [key for key in keys if (key.job, key.attempt) == (row.job_id, row.attempt)]
        # Number 0 moves no cursor, because no event of the runner is behind this outcome.
        cursor = Cursor(self.runner.id, self.runner.boot_id, 0)
        await self._writer.write([RunnerReport(cursor, key, row, None, self._on_stored)])

    async def _quarantine(self, seconds: float, strikes: int, reason: str) -> None:
        metrics.quarantines.inc()
        log.warning("the runner is quarantined", seconds=round(seconds), reason=reason)
        async with self._engine.begin() as connection:
            await ownership.quarantine(connection, self.runner.id, seconds, strikes, reason)
        raise _EndOfSessionError

    async def _leased_jobs(self) -> list[HeldJob]:
        async with self._engine.connect() as connection:
            return await queue.leased_jobs(connection, self.runner.id)

    def _leases(self, jobs: Sequence[HeldJob]) -> tuple[Lease, ...]:
        self._jobs.update((job.key, job) for job in jobs)
        return tuple(Lease(job.key, job.timeout_s, job.running, job.ran_s) for job in jobs)


def _job(job: HeldJob) -> dict[str, Any]:
    """The fields of ``protocol.jobs.Job`` for a job."""
    return {
        "id": job.key.wire_id,
        "attempt": job.key.attempt,
        "case": job.case,
        "run": job.run,
        "timeout_s": job.timeout_s,
        "timing": job.timing,
    }


def _drain(instructions: asyncio.Queue[InstructionT]) -> list[InstructionT]:
    items = []
    while not instructions.empty():
        items.append(instructions.get_nowait())
    return items
