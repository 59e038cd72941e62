"""The runner under test: its jobs, its events, its acknowledgements, as raw as they come.

Unlike ``fleet/client.py`` it is tolerant, so that one broken promise is found by the check
that holds it and not by all. It remembers every job that it posted, and ``settle`` leaves the
runner as it was found.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import httpx

from coordinator.conformance.contract import Level
from coordinator.conformance.history import History
from coordinator.conformance.stream import OUTCOME_S, Key, Seen, Stream
from coordinator.conformance.validity import Asked
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag, TimingPolicy
from protocol.events import Acknowledgement

ANSWER_S = 30.0
"""For a plain answer; longer than a coordinator waits, because no clause is about speed."""
STOP_S = 10.0
"""From a DELETE, or past a deadline, to the finished event."""
HANGING_S = 15.0
"""The deadline of a hung case whose check is about something else; past it the runner is rid of it anyway."""
SETTLE_S = HANGING_S + STOP_S
MOST_EVENTS = 1 << 62


@dataclass(frozen=True)
class Case:
    """One case of the runner's catalogue."""

    suite: str
    revision: str
    id: str
    function: str
    host_only: bool
    tags: tuple[str, ...]


@dataclass
class Subject:
    """One boot of the runner, and what the kit did with it so far."""

    PREFIX: ClassVar[str] = "check-"
    """Of the ids of all jobs that a check posts."""

    http: httpx.AsyncClient
    stranger: httpx.AsyncClient
    """A client without a secret."""
    info: dict[str, Any]
    cases: Sequence[Case]
    catalogue: dict[str, Any]
    """As it was answered at the beginning."""
    secret: str
    level: Level = Level.full
    seed: int = 0
    """Decides which cases of the vendor's own are run."""
    outcome_s: float = OUTCOME_S
    """For how long an outcome that must come is waited for."""
    open: dict[Key, None] = field(default_factory=dict)
    """Attempts that were queued and have not been seen to finish, in order."""
    acknowledged: int = 0
    last: int = 0
    """The last number seen on any stream."""
    lines: list[bytes] = field(default_factory=list)
    """What the streams carried, for the clauses about every line."""
    history: History = field(default_factory=History)
    taken: set[Key] = field(default_factory=set)
    """Every attempt that was answered queued."""
    _posted: dict[Key, tuple[dict[str, Any], Case, float]] = field(default_factory=dict)
    """Every attempt that was posted: the job, its case, and when."""
    _ended: set[Key] = field(default_factory=set)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _token: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def boot_id(self) -> str:
        return str(self.info["boot_id"])

    @property
    def any_case(self) -> Case:
        """One that ends soon: the tagged one, else the first of the catalogue."""
        tagged = [case for case in self.cases if ConformanceTag.passes in case.tags]
        if not (tagged or self.cases):
            raise NotRunError("its catalogue has no case")
        return (tagged or list(self.cases))[0]

    def tagged(self, tag: ConformanceTag) -> Case:
        found = next((case for case in self.cases if tag in case.tags), None)
        if found is None:
            raise NotRunError(f"no case of its catalogue bears the tag {tag}")
        return found

    def job(self, of: Case | None = None, **fields: Any) -> dict[str, Any]:
        """A job that no other check has."""
        return {
            "id": f"{self.PREFIX}{self._token}-{next(self._numbers)}",
            "attempt": 1,
            "case": (of or self.any_case).id,
            "run": 1,
            "timeout_s": OUTCOME_S,
            "timing": "off",
        } | fields

    def batch(self, *jobs: dict[str, Any], case: Case | None = None, **fields: Any) -> dict[str, Any]:
        case = case or self.any_case
        return {"boot_id": self.boot_id, "suite": case.suite, "revision": case.revision, "jobs": list(jobs)} | fields

    async def send(self, *jobs: dict[str, Any], case: Case | None = None, **fields: Any) -> httpx.Response:
        """POST a batch; what its receipts call queued is to be settled. ``case`` gives the suite."""
        keys = [(job["id"], job["attempt"]) for job in jobs]
        self._ended.difference_update(keys)
        for key, job in zip(keys, jobs, strict=True):
            self._posted.setdefault(key, (job, case or self.any_case, time.monotonic()))
        answer = await self.http.post("/v1/jobs", json=self.batch(*jobs, case=case, **fields))
        for key, status in zip(keys, statuses(answer), strict=False):
            if status == "queued":
                self.taken.add(key)
                # Its events may be read before the answer is.
                if key not in self._ended:
                    self.open[key] = None
        return answer

    async def post(self, *jobs: dict[str, Any], case: Case | None = None) -> list[str]:
        """The statuses of the jobs. Raises ``BrokenError`` if they are not answered with statuses."""
        answer = await self.send(*jobs, case=case)
        told = statuses(answer)
        if answer.status_code != 200 or len(told) != len(jobs):
            raise BrokenError(f"POST /v1/jobs of {len(jobs)} jobs answered {answer.status_code} {answer.text[:200]}")
        return told

    async def queue(self, *jobs: dict[str, Any], case: Case | None = None) -> list[Key]:
        """Post jobs of which each must be queued."""
        for job, status in zip(jobs, await self.post(*jobs, case=case), strict=True):
            if status != "queued":
                raise BrokenError(f"the new job {job['id']} was answered {status!r}, not 'queued'")
        return [(job["id"], job["attempt"]) for job in jobs]

    async def hang(self) -> Key:
        """Post a case that hangs."""
        case = self.tagged(ConformanceTag.hangs)
        (key,) = await self.queue(self.job(case, timeout_s=HANGING_S), case=case)
        return key

    async def delete(self, key: Key) -> int:
        return (await self.http.delete(f"/v1/jobs/{key[0]}/{key[1]}")).status_code

    async def acknowledge(self, n: int) -> None:
        body = Acknowledgement(boot_id=self.boot_id, n=n).model_dump()
        answer = await self.http.post("/v1/events/ack", json=body)
        if answer.status_code != 204:
            raise BrokenError(f"POST /v1/events/ack up to {n} answered {answer.status_code}, not 204")
        self.acknowledged = max(self.acknowledged, n)
        self.history.acknowledge(n)

    def asked(self, key: Key) -> Asked | None:
        """What the outcome of an attempt answers; None if it was never posted."""
        if key not in self._posted:
            return None
        job, case, _ = self._posted[key]
        return Asked(TimingPolicy(job["timing"]), job["timeout_s"], case.host_only)

    def since_post(self, seen: Seen) -> float:
        """Seconds from the first POST of an attempt to its event; without end if it was never posted."""
        return seen.at - self._posted[seen.key][2] if seen.key in self._posted else math.inf

    async def events_status(self, after: int, **query: Any) -> int:
        """What the stream after N is answered; the stream itself is left again."""
        parameters: dict[str, Any] = {"boot_id": self.boot_id, "after": after} | query
        async with self.http.stream("GET", "/v1/events", params=parameters) as answer:
            return answer.status_code

    @contextlib.asynccontextmanager
    async def stream(self, after: int | None = None) -> AsyncIterator[Stream]:
        after = self.acknowledged if after is None else after
        parameters: dict[str, Any] = {"boot_id": self.boot_id, "after": after}
        timeout = httpx.Timeout(ANSWER_S, read=None)
        async with self.http.stream("GET", "/v1/events", params=parameters, timeout=timeout) as answer:
            if answer.status_code != 200:
                raise BrokenError(f"GET /v1/events after {after} answered {answer.status_code}, not 200")
            stream = Stream(answer, after, self._note, self.lines, self.outcome_s)
            try:
                yield stream
            finally:
                await stream.close()

    def begin_anew(self, info: dict[str, Any]) -> None:
        """The runner is another boot: whatever was open is lost, and events are numbered from 1."""
        self.info = info
        self.open.clear()
        self.acknowledged = self.last = 0
        self.history = History()

    async def find_position(self) -> None:
        """Where the stream can begin: it answers 410 for every N before that."""
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
        """Stop what a check left, wait for its end, acknowledge all; whether the runner is free again."""
        for key in list(self.open):
            await self.delete(key)
        try:
            if self.open:
                left = list(self.open)
                async with self.stream(self.last) as stream:
                    await stream.all_finished(left, "the end of every job", SETTLE_S)
        except BrokenError:
            return await self._is_free()
        with contextlib.suppress(BrokenError):
            await self.acknowledge(self.last)
        return True

    async def abandon(self) -> None:
        """Whatever ends the check early: nothing of it is to go on running. What is finished, the next one clears."""
        with contextlib.suppress(httpx.HTTPError):
            for key in list(self.open):
                await self.delete(key)

    async def _is_free(self) -> bool:
        """Something never came. That is found already; what matters is whether a new job still runs."""
        self.open.clear()
        try:
            await self.find_position()
            (key,) = await self.queue(self.job())
            async with self.stream(self.last) as stream:
                await stream.finished(key)
            await self.acknowledge(self.last)
        except BrokenError:
            return False
        return True

    def _note(self, seen: Seen, position: int) -> None:
        self.history.note(seen, position)
        self.last = max(self.last, seen.n)
        if seen.type == "finished":
            self._ended.add(seen.key)
            self.open.pop(seen.key, None)


def statuses(answer: httpx.Response) -> list[str]:
    """Of the receipts, as far as there are some."""
    try:
        return [str(each["status"]) for each in answer.json()["jobs"]]
    except (ValueError, KeyError, TypeError):
        return []
