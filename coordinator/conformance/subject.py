"""The runner under test: its jobs, its events, its acknowledgements, as raw as they come.

Unlike ``registry/client.py`` it is tolerant, so that one broken promise is found by the check
that holds it and not by all. It remembers every job that it posted, and ``settle`` leaves the
runner as it was found.
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
"""Ends the runner's process and starts it anew; returns when the old one is gone."""


@dataclass
class Subject:
    """One boot of the runner, and what the check did with it so far."""

    PREFIX: ClassVar[str] = "check-"
    """The beginning of every job id that a check posts."""

    http: httpx.AsyncClient
    stranger: httpx.AsyncClient
    """A client without a secret."""
    info: dict[str, Any]
    cases: Sequence[CheckCase]
    catalogue: dict[str, Any]
    """As it was answered at the beginning."""
    secret: str
    level: Level = Level.full
    seed: int = 0
    """Decides which cases of the vendor's own are run."""
    times: CheckTimes = field(default_factory=CheckTimes)
    restart: Restart | None = None
    open: dict[Key, None] = field(default_factory=dict)
    """Attempts that were queued and have not been seen to finish, in order."""
    acknowledged: int = 0
    last: int = 0
    """The last number seen on any stream."""
    lines: list[bytes] = field(default_factory=list)
    """The lines of all streams, for the clauses about every line."""
    history: EventHistory = field(default_factory=EventHistory)
    taken: set[Key] = field(default_factory=set)
    """Every attempt that was answered queued."""
    _posted: dict[Key, tuple[CheckJob, float]] = field(default_factory=dict)
    """Every attempt that was posted, and when first."""
    _ended: set[Key] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _token: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def boot_id(self) -> str:
        return str(self.info["boot_id"])

    @property
    def any_case(self) -> CheckCase:
        """A case that ends soon: the tagged one, else the first of the catalogue."""
        if not self.cases:
            raise NotRunError("its catalogue has no case")
        return next((case for case in self.cases if ConformanceTag.passes in case.tags), self.cases[0])

    def case_with_tag(self, tag: ConformanceTag) -> CheckCase:
        case = next((case for case in self.cases if tag in case.tags), None)
        if case is None:
            raise NotRunError(f"no case of its catalogue has the tag {tag}")
        return case

    def require_one_slot(self, consequence: str = "") -> None:
        """Raise ``NotRunError`` for a runner that runs several cases at once."""
        if self.info.get("slots", 1) != 1:
            raise NotRunError(f"it runs several cases at once (slots){consequence}")

    def job(self, of: CheckCase | ConformanceTag | None = None, **fields: Any) -> CheckJob:
        """Make a new job: of the given case, of a case with this tag, or else of any case that ends soon."""
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
        """POST a batch of jobs of one suite; those that the receipts call queued are to be settled."""
        self._ended.difference_update(job.key for job in jobs)
        for job in jobs:
            self._posted.setdefault(job.key, (job, time.monotonic()))
        # httpx's own encoder refuses to write NaN.
        answer = await self.post_content(json.dumps(self.batch(*jobs, **fields)).encode())
        for job, status in zip(jobs, statuses(answer), strict=False):
            if status == "queued":
                self.taken.add(job.key)
                # Its events may be read before the answer is.
                if job.key not in self._ended:
                    self.open[job.key] = None
        return answer

    async def post_content(self, content: bytes) -> httpx.Response:
        return await self.http.post("/v1/jobs", content=content, headers={"Content-Type": "application/json"})

    async def post(self, *jobs: CheckJob) -> list[str]:
        """The statuses of the jobs. Raises ``BrokenError`` if they are not answered with statuses."""
        answer = await self.send(*jobs)
        answers = statuses(answer)
        if answer.status_code != 200 or len(answers) != len(jobs):
            raise BrokenError(f"POST /v1/jobs of {len(jobs)} jobs answered {answer.status_code} {answer.text[:200]}")
        return answers

    async def require_status(self, job: CheckJob, wanted_status: str, description: str) -> None:
        """Post a job; raise ``BrokenError`` with its description if it is answered another status."""
        (status,) = await self.post(job)
        if status != wanted_status:
            raise BrokenError(f"{description} was answered {status!r}, not {wanted_status!r}")

    async def queue(self, *jobs: CheckJob) -> list[Key]:
        """Post jobs of which each must be queued."""
        for job, status in zip(jobs, await self.post(*jobs), strict=True):
            if status != "queued":
                raise BrokenError(f"the new job {job.body['id']} was answered {status!r}, not 'queued'")
        return [job.key for job in jobs]

    async def hang(self, timeout_s: float | None = None, **fields: Any) -> Key:
        """Post a case that hangs."""
        timeout_s = self.times.hanging_s if timeout_s is None else timeout_s
        (key,) = await self.queue(self.job(ConformanceTag.hangs, timeout_s=timeout_s, **fields))
        return key

    async def finish(self, stream: Stream, *jobs: CheckJob) -> list[ReceivedEvent]:
        """Queue jobs, any one if none is given, and read their events from a stream up to the last finished."""
        return await stream.wait_finished(*await self.queue(*(jobs or (self.job(),))))

    async def run(self, *jobs: CheckJob) -> list[ReceivedEvent]:
        """Do the same on a stream of its own, which begins after what is acknowledged."""
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
        """The first thing that is wrong with the outcome of a finished event."""
        job, posted_at = self._posted.get(event.key, (None, -math.inf))
        return find_fault(event.body.get("outcome"), job, event.at - posted_at)

    def open_events(
        self, after: int, *, stranger: bool = False, boot_id: str | None = None, **options: Any
    ) -> contextlib.AbstractAsyncContextManager[httpx.Response]:
        """Ask for the stream after N, whatever the answer."""
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
        """The runner is another boot: whatever was open is lost, and events are numbered from 1."""
        self.info = info
        self.open.clear()
        self.acknowledged = self.last = 0
        self.history = EventHistory()

    async def find_position(self) -> None:
        """Find the number after which the stream can begin: it answers 410 for every N before that."""
        low, high = -1, 0
        while await self.events_status(high) == 410:
            low, high = high, max(1, high * 2)
            if high > MOST_EVENTS:
                raise BrokenError("GET /v1/events answers 410 for every N")
        while high - low > 1:
            middle = (low + high) // 2
            if await self.events_status(middle) == 410:
                low = middle
            else:
                high = middle
        self.acknowledged = self.last = high

    async def settle(self) -> bool:
        """Stop what a check left running, wait for its end and acknowledge everything; returns whether the runner is
        free.
        """
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
        """Stop what the check left running, whatever ended it early. What is finished, the next check clears."""
        with contextlib.suppress(httpx.HTTPError):
            await self._delete_open()

    async def _delete_open(self) -> list[Key]:
        left = list(self.open)
        for key in left:
            await self.delete(key)
        return left

    async def _is_free(self) -> bool:
        """Whether a new job still runs after an expected event did not come, which is a finding already."""
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
    """The statuses of the receipts, as far as there are some."""
    try:
        return [str(receipt["status"]) for receipt in answer.json()["jobs"]]
    except (ValueError, KeyError, TypeError):
        return []


def require(call: str, status: int, wanted_status: int) -> None:
    """Raise ``BrokenError`` if a call was answered another status than it must be."""
    if status != wanted_status:
        raise BrokenError(f"{call} answered {status}, not {wanted_status}")
