"""The runner that is checked. Sends jobs and acknowledgements, and reads events, without judging them.

Unlike ``registry/client.py``, this module tolerates faults, so that only the check of a broken promise reports it. A
``Subject`` remembers every job that it posted, and its ``settle`` leaves the runner without jobs.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import httpx

from coordinator.conformance.cases import CheckCase, CheckJob, Key
from coordinator.conformance.event_history import EventHistory
from coordinator.conformance.event_stream import ReceivedEvent, Stream
from coordinator.conformance.findings import Level
from coordinator.conformance.times import CheckTimes
from coordinator.conformance.validity import find_fault
from coordinator.errors import BrokenError, NotRunError
from coordinator.runner_requests.transport import ENDLESS
from protocol.enums import ConformanceTag

MOST_EVENTS = 1 << 62

Restart = Callable[[], Awaitable[None]]
"""A function that ends the runner's process and starts a new one. It returns when the old process has ended."""


@dataclass
class Subject:
    """One boot of the runner, with the jobs, events and acknowledgements of the check so far."""

    PREFIX: ClassVar[str] = "check-"
    """The beginning of every job id that a check posts."""

    http: httpx.AsyncClient
    stranger: httpx.AsyncClient
    """An HTTP client without a secret."""
    info: dict[str, Any]
    cases: Sequence[CheckCase]
    catalogue: dict[str, Any]
    """The catalogue as received at the beginning."""
    secret: str
    level: Level = Level.full
    seed: int = 0
    """The seed that chooses which of the runner's own cases are run."""
    times: CheckTimes = field(default_factory=CheckTimes)
    restart: Restart | None = None
    open: dict[Key, None] = field(default_factory=dict)
    """Attempts that were queued and whose finished event has not been read, in order."""
    acknowledged: int = 0
    last: int = 0
    """The highest event number that was read on any stream."""
    lines: list[bytes] = field(default_factory=list)
    """The lines of all streams, for the clauses that hold for every line."""
    history: EventHistory = field(default_factory=EventHistory)
    taken: set[Key] = field(default_factory=set)
    """Every attempt to which the runner answered queued."""
    _posted: dict[Key, tuple[CheckJob, float]] = field(default_factory=dict)
    """Every posted attempt, with its job and the time at which it was first posted."""
    _ended: set[Key] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _token: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def boot_id(self) -> str:
        return str(self.info["boot_id"])

    @property
    def any_case(self) -> CheckCase:
        """A case that ends quickly: the case tagged as passing if there is one, otherwise the first case of the
        catalogue."""
        if not self.cases:
            raise NotRunError("the runner's catalogue has no case: add one")
        return next((case for case in self.cases if ConformanceTag.passes in case.tags), self.cases[0])

    def case_with_tag(self, tag: ConformanceTag) -> CheckCase:
        case = next((case for case in self.cases if tag in case.tags), None)
        if case is None:
            raise NotRunError(f"no case of the runner's catalogue has the tag {tag}: add a case with this tag")
        return case

    def require_one_slot(self, consequence: str = "") -> None:
        """Raise ``NotRunError`` if the runner runs several cases at the same time."""
        if self.info.get("slots", 1) != 1:
            raise NotRunError(
                f"the runner runs several cases at the same time (slots){consequence}: check it with one slot"
            )

    def job(self, of: CheckCase | ConformanceTag | None = None, **fields: Any) -> CheckJob:
        """Make a new job. ``of`` is its case, or the tag that its case must have. Without ``of``, the case ends
        quickly."""
        case = self.case_with_tag(of) if isinstance(of, ConformanceTag) else of or self.any_case
        body = {
            "id": f"{self.PREFIX}{self._token}-{next(self._numbers)}",
            "attempt": 1,
            "case": case.id,
            "run": 1,
            "timeout_s": self.times.outcome_s,
            "timing": "off",
        }
        return CheckJob(body | fields, case)

    def batch(self, *jobs: CheckJob, **fields: Any) -> dict[str, Any]:
        case = jobs[0].case if jobs else self.any_case
        bodies = [job.body for job in jobs]
        return {"boot_id": self.boot_id, "suite": case.suite, "revision": case.revision, "jobs": bodies} | fields

    async def send(self, *jobs: CheckJob, **fields: Any) -> httpx.Response:
        """POST a batch of jobs of one suite, and remember the queued ones for ``settle``."""
        self._ended.difference_update(job.key for job in jobs)
        for job in jobs:
            self._posted.setdefault(job.key, (job, time.monotonic()))
        # httpx's own encoder refuses to write NaN.
        answer = await self.post_content(json.dumps(self.batch(*jobs, **fields)).encode())
        for job, status in zip(jobs, statuses(answer), strict=False):
            if status == "queued":
                self.taken.add(job.key)
                # Another task may have read the job's events before this answer.
                if job.key not in self._ended:
                    self.open[job.key] = None
        return answer

    async def post_content(self, content: bytes) -> httpx.Response:
        return await self.http.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})

    async def post(self, *jobs: CheckJob) -> list[str]:
        """Post the jobs and return their statuses. Raises ``BrokenError`` if the response has no valid statuses."""
        answer = await self.send(*jobs)
        answers = statuses(answer)
        if answer.status_code != 200 or len(answers) != len(jobs):
            raise BrokenError(
                f"answer 200 with one status for each job to POST /v1/jobs: the runner answered {answer.status_code} "
                f"to {len(jobs)} jobs: {answer.text[:200]}"
            )
        return answers

    async def require_status(self, job: CheckJob, wanted_status: str, description: str) -> None:
        """Post a job. Raises ``BrokenError``, with a ``description`` of the job, if the runner answers another
        status."""
        (status,) = await self.post(job)
        if status != wanted_status:
            raise BrokenError(f"the runner answered {status!r} to {description}: answer {wanted_status!r}")

    async def queue(self, *jobs: CheckJob) -> list[Key]:
        """Post jobs. Raises ``BrokenError`` unless all of them are queued."""
        for job, status in zip(jobs, await self.post(*jobs), strict=True):
            if status != "queued":
                raise BrokenError(f"the runner answered {status!r} to the new job {job.body['id']}: answer 'queued'")
        return [job.key for job in jobs]

    async def hang(self, timeout_s: float | None = None, **fields: Any) -> Key:
        """Post a case that hangs."""
        timeout_s = self.times.hanging_s if timeout_s is None else timeout_s
        (key,) = await self.queue(self.job(ConformanceTag.hangs, timeout_s=timeout_s, **fields))
        return key

    async def finish(self, stream: Stream, *jobs: CheckJob) -> list[ReceivedEvent]:
        """Queue the given jobs, or one new job, and read events from a stream until all of them have finished."""
        return await stream.wait_finished(*await self.queue(*(jobs or (self.job(),))))

    async def run(self, *jobs: CheckJob) -> list[ReceivedEvent]:
        """Queue jobs and read their events, as ``finish`` does, on a new stream that begins after the acknowledged
        events."""
        async with self.stream() as stream:
            return await self.finish(stream, *jobs)

    async def delete(self, key: Key) -> int:
        return (await self.http.delete(f"/v1/jobs/{key[0]}/{key[1]}")).status_code

    async def send_acknowledgement(self, n: int, **fields: Any) -> httpx.Response:
        return await self.http.post("/v1/events/ack", json={"boot_id": self.boot_id, "n": n} | fields)

    async def acknowledge(self, n: int) -> None:
        require(f"POST /v1/events/ack up to {n}", (await self.send_acknowledgement(n)).status_code, 204)
        self.acknowledged = max(self.acknowledged, n)
        self.history.acknowledge(n)

    def find_fault(self, event: ReceivedEvent) -> str | None:
        """Return the first fault of the outcome in a finished event; None if it has none."""
        job, posted_at = self._posted.get(event.key, (None, -math.inf))
        return find_fault(event.body.get("outcome"), job, event.at - posted_at)

    def open_events(
        self, after: int, *, stranger: bool = False, boot_id: str | None = None, **options: Any
    ) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        """Request the events after a number, and return the response with any status."""
        parameters: dict[str, Any] = {"boot_id": boot_id or self.boot_id, "after": after}
        client = self.stranger if stranger else self.http
        return client.stream("GET", "/v1/events", params=parameters, extensions=ENDLESS, **options)

    async def events_status(self, after: int) -> int:
        async with self.open_events(after) as answer:
            return answer.status_code

    @contextlib.asynccontextmanager
    async def stream(self, after: int | None = None) -> AsyncIterator[Stream]:
        after = self.acknowledged if after is None else after
        async with self.open_events(after, timeout=httpx.Timeout(self.times.answer_s, read=None)) as answer:
            require(f"GET /v1/events after {after}", answer.status_code, 200)
            stream = Stream(answer, after, self._note, self.lines, self.times)
            try:
                yield stream
            finally:
                await stream.close()

    def begin_anew(self, info: dict[str, Any]) -> None:
        """Record that the runner has a new boot: forget the open attempts, and expect event numbers from 1."""
        self.info = info
        self.open.clear()
        self.acknowledged = self.last = 0
        self.history = EventHistory()

    async def find_position(self) -> None:
        """Find the smallest number after which the stream can begin. The runner answers 410 for every smaller
        number."""
        low, high = -1, 0
        while await self.events_status(high) == 410:
            low, high = high, max(1, high * 2)
            if high > MOST_EVENTS:
                raise BrokenError(
                    "the runner answers 410 to GET /v1/events?after=N for every number N: answer 410 only if events "
                    "after N were acknowledged"
                )
        while high - low > 1:
            middle = (low + high) // 2
            if await self.events_status(middle) == 410:
                low = middle
            else:
                high = middle
        self.acknowledged = self.last = high

    async def settle(self) -> bool:
        """Stop the jobs that a check has left, wait until they have finished, and acknowledge all events. Returns
        whether the runner has no jobs."""
        try:
            if left := await self._delete_open():
                async with self.stream(self.last) as stream:
                    await stream.wait_finished(*left, limit_s=self.times.settle_s)
        except BrokenError:
            return await self._is_free()
        with contextlib.suppress(BrokenError):
            await self.acknowledge(self.last)
        return True

    async def abandon(self) -> None:
        """Stop the jobs that the check has left, even if the check was interrupted. The next check acknowledges their
        events."""
        with contextlib.suppress(httpx.HTTPError):
            await self._delete_open()

    async def _delete_open(self) -> list[Key]:
        left = list(self.open)
        for key in left:
            await self.delete(key)
        return left

    async def _is_free(self) -> bool:
        """Whether the runner runs a new job. Called when an expected event did not come."""
        self.open.clear()
        try:
            await self.find_position()
            async with self.stream(self.last) as stream:
                await self.finish(stream)
            await self.acknowledge(self.last)
        except BrokenError:
            return False
        return True

    def _note(self, event: ReceivedEvent, position: int) -> None:
        self.history.note(event, position)
        self.last = max(self.last, event.n)
        if event.type == "finished":
            self._ended.add(event.key)
            self.open.pop(event.key, None)


def statuses(answer: httpx.Response) -> list[str]:
    """Return the statuses in a response to POST /v1/jobs; empty if they cannot be read."""
    try:
        return [str(receipt["status"]) for receipt in answer.json()["jobs"]]
    except (ValueError, KeyError, TypeError):
        return []


def require(call: str, status: int, wanted_status: int) -> None:
    """Raise ``BrokenError`` if the response to a request (``call``) has another status than ``wanted_status``."""
    if status != wanted_status:
        raise BrokenError(f"the runner answered {status} to {call}: answer {wanted_status}")
