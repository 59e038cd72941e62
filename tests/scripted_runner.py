"""A runner that keeps the contract except where its script says otherwise, with a log of all received jobs and sent
events.

It implements HTTP itself, because no web framework would send most of its faults. Every outcome has a *nonce*, which
names the runner, the boot, the job's id, attempt, case and run. So the test detects an outcome that was stored for
another job.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from protocol.jobs import JobStatus

LOOKS_EVERY_S = 0.02
QUEUE_LIMIT = 1_000
TIMED_OUT = {"verdict": "failed", "ending": "timed_out"}
CANCELLED = {"verdict": "incomplete", "ending": "cancelled"}

Event = dict[str, Any]


def encode(event: Event) -> bytes:
    return json.dumps(event).encode()


def _number_in(line: bytes) -> int:
    """The event number in a line; 0 if it is unreadable."""
    with contextlib.suppress(ValueError):
        return int(json.loads(line)["n"])
    return 0


def case_of(log_tail: str) -> str:
    """The case in an outcome's nonce; empty if a test has replaced the nonce."""
    with contextlib.suppress(ValueError):
        return str(json.loads(log_tail)["case"])
    return ""


@dataclass(frozen=True)
class Case:
    """One case of the runner: its duration and its ending."""

    name: str
    function: str
    takes_s: float = 0.0
    verdict: str = "passed"


@dataclass
class Job:
    id: str
    attempt: int
    case: str
    run: int
    timeout_s: float
    began: float | None = None
    stopped: bool = False
    finished: int | None = None
    """The number of its finish event. After this number is acknowledged, the job is forgotten."""


@dataclass
class Script:
    """The current faults of a runner. Without faults it keeps the contract. Functions are called in the thread of its
    event loop."""

    answer_after_s: float = 0.0
    answer_status: int | None = None
    """The status with which every request is answered; None for normal responses."""
    silent: bool = False
    """Whether the runner neither responds nor sends events."""
    receipt: JobStatus | None = None
    """The receipt for every posted job, none of which is accepted."""
    starts: bool = True
    """False: jobs are accepted and never begun."""
    begins: Callable[[Job], bool] = lambda job: True
    """Whether the runner ever begins this job."""
    ends: Callable[[Job], bool] = lambda job: True
    """Whether a job that has begun ends. A job that does not end is not killed at its deadline either."""
    heartbeats: bool = True
    speaks: bool = True
    """False: streams stay open and carry nothing."""
    closes_after_events: int | None = None
    """Every stream ends after this many lines."""
    elapsed: Callable[[float], float] = lambda elapsed_s: elapsed_s
    """A function that changes the elapsed time of a job in heartbeats."""
    kills: bool = True
    """False: a job continues after its deadline, whoever stops it."""
    acknowledges: bool = True
    """False: acknowledgements are refused."""
    claims_boot: str | None = None
    """The boot that the runner reports instead of its own."""
    loses_finishes: int = 0
    """The number of next jobs that end and are never reported."""
    doubles_finishes: int = 0
    """The number of next finish events that are followed by another finish event of the same attempt."""
    spoils: list[Callable[[Event], bytes]] = field(default_factory=list)
    """The functions that change the lines of the next finish events, one each."""
    line: Callable[[Event], bytes | None] = encode
    """A function that changes the line of any other event. None as its result means that the event is never sent,
    although it has a number."""


@dataclass(frozen=True)
class Entry:
    """A line of the runner's log."""

    at: float
    what: str
    """``posted``, ``started``, ``finished``, ``stopped``, ``boot``."""
    id: str = ""
    attempt: int = 0
    case: str = ""
    run: int = 0
    boot_id: str = ""
    verdict: str = ""


@dataclass
class _Stream:
    """A stream. Acknowledged numbers are checked against its last number, not against that of the boot."""

    after: int
    lines: int = 0


class _Closed(Exception):
    """Raised to end the connection."""


class ScriptedRunner:
    """A runner that keeps its port over all restarts. ``hardware``, ``device`` and ``suite`` decide which target it
    serves."""

    def __init__(
        self,
        name: str,
        suite: str,
        cases: Iterable[Case],
        *,
        run: Callable[[Coroutine[Any, Any, Any]], Any],
        script: Script | None = None,
        hardware: str = "scripted",
        device: str = "cpu",
        heartbeat_s: float = 2.0,
    ) -> None:
        self.name = name
        self.hardware = hardware
        self.device = device
        self.suite = suite
        self.heartbeat_s = heartbeat_s
        self.secret = f"the-secret-of-{name}"
        self.script = script or Script()
        self.log: list[Entry] = []
        self.posted: list[Job] = []
        """All jobs of all POST requests, whatever their receipts."""
        self.deleted: list[tuple[str, int]] = []
        self.nonces: list[str] = []
        """The nonces of all outcomes that it has reported."""
        self.unreadable: list[str] = []
        """The nonces of outcomes whose line was changed by a fault, or whose number an earlier line had. Nobody may be
        able to tell to which attempt they belong."""
        self.boots: list[str] = []
        self.port = 0
        self.revision = "1"
        self.serial = 0
        self.forgotten = 0
        """The last serial number whose report a restored database may have lost."""
        self._run = run
        self._cases = {case.name: case for case in cases}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._begin_boot()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._run(self._start())

    def stop(self) -> None:
        self._run(self._stop())

    def restart(self, revision: str = "1") -> None:
        """Start a new process under the same URL: a new boot, which does not know the old boot's jobs."""
        self._run(self._restart(revision))

    def say(self, *events: Event) -> None:
        """Add events to the stream, with its own numbers, whatever jobs they name."""
        self._run(self._say(events))

    def finish(self, job: Job, **fields: Any) -> None:
        """Report an outcome of a job, whichever runner has it."""
        self.say(self.finish_of(job.id, job.attempt, job.case, job.run, **fields))

    def cancel(self, job: Job) -> None:
        """Stop a job, like a DELETE of another client."""
        self._run(self._stop_job(job.id, job.attempt))

    def cut(self) -> None:
        """Close every connection, including open streams."""
        self._run(self._cut())

    @property
    def holds(self) -> int:
        """The number of jobs that it has accepted and not ended."""
        return len(self._queue) + (self._current is not None)

    def last_started(self) -> Entry | None:
        started = [entry for entry in self.log if entry.what == "started"]
        return started[-1] if started else None

    def finish_of(self, id: str, attempt: int, case: str, run: int, **fields: Any) -> Event:
        """An event with an outcome that has this runner's nonce."""
        self.serial += 1
        nonce = {
            "runner": self.name,
            "boot_id": self.boot_id,
            "id": id,
            "attempt": attempt,
            "case": case,
            "run": run,
            "serial": self.serial,
        }
        self.nonces.append(json.dumps(nonce))
        outcome = {"verdict": "passed", "ending": "returned", "duration_s": 0.1, "log_tail": self.nonces[-1]}
        return {"type": "finished", "id": id, "attempt": attempt, "outcome": outcome | fields}

    def _begin_boot(self) -> None:
        self.boot_id = f"{self.name}-{token_hex(4)}"
        self.boots.append(self.boot_id)
        self._queue: list[Job] = []
        self._known: dict[str, Job] = {}
        self._current: Job | None = None
        self._lines: dict[int, bytes] = {}
        self._n = 0
        self._said = 0
        """The highest number of a line so far. A fault can make it greater than ``_n``."""
        self._acknowledged = 0
        self._changed = asyncio.Condition()
        self._write("boot")

    def _write(self, what: str, job: Job | None = None, verdict: str = "") -> None:
        told = {} if job is None else {"id": job.id, "attempt": job.attempt, "case": job.case, "run": job.run}
        self.log.append(Entry(time.time(), what, boot_id=self.boot_id, verdict=verdict, **told))

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 24)
        self.port = self._server.sockets[0].getsockname()[1]
        self._worker = asyncio.create_task(self._work())

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._worker.cancel()
        await asyncio.gather(self._worker, self._cut(), return_exceptions=True)

    async def _cut(self) -> None:
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _restart(self, revision: str) -> None:
        await self._stop()
        self.revision = revision
        self._begin_boot()
        await self._start()

    async def _say(self, events: tuple[Event, ...]) -> None:
        for event in events:
            await self._emit(event)

    # Work

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            job = next(filter(self.script.begins, self._queue), None) if self.script.starts else None
            if job is not None:
                self._queue.remove(job)
                self._current = job
                await self._execute(job)
                self._current = None

    async def _execute(self, job: Job) -> None:
        job.began = time.monotonic()
        self._write("started", job)
        await self._emit({"type": "started", "id": job.id, "attempt": job.attempt})
        case = self._cases[job.case]
        ends = self.script.ends(job)
        takes_s = case.takes_s if ends else math.inf
        took_s = await self._wait(job, takes_s, job.timeout_s if ends else math.inf)
        fields: dict[str, Any] = {"duration_s": took_s}
        if took_s < takes_s:
            fields |= CANCELLED if job.stopped else TIMED_OUT
        elif case.verdict == "failed":
            fields |= {"verdict": "failed", "ending": "raised"}
        if self.script.loses_finishes:
            self.script.loses_finishes -= 1
            return
        await self._report(job, fields)

    async def _wait(self, job: Job, takes_s: float, timeout_s: float) -> float:
        """Wait until the case has ended, was stopped or has used up its time. Returns how long it ran."""
        assert job.began is not None
        while (elapsed_s := time.monotonic() - job.began) < takes_s:
            if self.script.kills and (job.stopped or elapsed_s >= timeout_s):
                return elapsed_s
            await asyncio.sleep(min(LOOKS_EVERY_S, takes_s - elapsed_s))
        return elapsed_s

    async def _report(self, job: Job, fields: dict[str, Any]) -> None:
        event = self.finish_of(job.id, job.attempt, job.case, job.run, **fields)
        self._write("finished", job, verdict=event["outcome"]["verdict"])
        spoil = self._next_spoil()
        job.finished = await self._emit(event, spoil)
        if self.script.doubles_finishes:
            self.script.doubles_finishes -= 1
            other = {"verdict": "failed", "ending": "mismatched"}
            await self._emit(self.finish_of(job.id, job.attempt, job.case, job.run, **other))

    def _next_spoil(self) -> Callable[[Event], bytes] | None:
        """Take the next fault once, because another thread adds and removes faults, and changed lines must be
        recorded."""
        try:
            return self.script.spoils.pop(0)
        except IndexError:
            return None

    async def _emit(self, event: Event, spoil: Callable[[Event], bytes] | None = None) -> int:
        async with self._changed:
            self._n += 1
            numbered = {"n": self._n} | event
            if event["type"] == "finished" and (spoil is not None or self._n <= self._said):
                self.unreadable.append(event["outcome"]["log_tail"])
            if (line := (spoil or self.script.line)(numbered)) is not None:
                self._lines[self._n] = line
                self._said = max(self._said, _number_in(line))
            self._changed.notify_all()
            return self._n

    # HTTP

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while True:
                await self._serve(reader, writer)
        except asyncio.CancelledError:
            # Closing would wait until the other end has read all written data.
            writer.transport.abort()
        except (_Closed, OSError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.split("\r\n")
        method, target, _ = request.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        while self.script.silent:  # noqa: ASYNC110  a test sets it from another thread
            await asyncio.sleep(LOOKS_EVERY_S)
        if self.script.answer_after_s:
            await asyncio.sleep(self.script.answer_after_s)
        url = urlsplit(target)
        if self.script.answer_status is not None:
            await _answer(writer, self.script.answer_status, {"detail": "as scripted"})
        elif headers.get("authorization") != f"Bearer {self.secret}":
            await _answer(writer, 401, {"detail": "another secret"})
        elif (method, url.path) == ("GET", "/v1/events"):
            query = parse_qs(url.query)
            await self._stream(writer, query["boot_id"][0], int(query["after"][0]))
        else:
            status, answer = await self._handle(method, url.path, body)
            await _answer(writer, status, answer)

    async def _handle(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        match method, path:
            case "GET", "/v1/runner":
                return 200, self._identity()
            case "GET", "/v1/catalogue":
                return 200, {"suites": [self._suite()]}
            case "POST", "/v1/jobs":
                return await self._take(json.loads(body))
            case "POST", "/v1/events/ack":
                return self._forget(json.loads(body))
            case "DELETE", _:
                *_, id, attempt = path.split("/")
                self.deleted.append((unquote(id), int(attempt)))
                await self._stop_job(*self.deleted[-1])
                return 204, None
            case _:
                return 404, {"detail": "no such path"}

    def _identity(self) -> dict[str, Any]:
        return {
            "boot_id": self.script.claims_boot or self.boot_id,
            "protocol": 1,
            "framework": "scripted",
            "version": "1.0",
            "device": self.device,
            "device_class": "cpu",
            "device_count": 1,
            "queue_limit": QUEUE_LIMIT,
            "fingerprint": {
                "hardware": self.hardware,
                "environment": "scripted",
                "host": self.name,
                "system": "scripted",
            },
        }

    def _suite(self) -> dict[str, Any]:
        known = [{"id": case.name, "function": case.function} for case in self._cases.values()]
        return {"name": self.suite, "revision": self.revision, "cases": known[: len(known) + 1 - int(self.revision)]}

    async def _take(self, batch: dict[str, Any]) -> tuple[int, Any]:
        if batch["boot_id"] != self.boot_id or batch["revision"] != self.revision:
            return 409, {"boot_id": self.boot_id, "detail": "another boot or revision"}
        async with self._changed:
            receipts = [
                {"id": job["id"], "attempt": job["attempt"], "status": self._receipt(job)} for job in batch["jobs"]
            ]
            self._changed.notify_all()
        return 200, {"jobs": receipts}

    def _receipt(self, body: dict[str, Any]) -> JobStatus:
        job = Job(*(body[member] for member in ("id", "attempt", "case", "run", "timeout_s")))
        self.posted.append(job)
        if self.script.receipt is not None:
            return self.script.receipt
        known = self._known.get(job.id)
        if known is not None and (known.case, known.run) != (job.case, job.run):
            return JobStatus.other_case
        if known is not None and known.attempt >= job.attempt:
            return JobStatus.known if known.attempt == job.attempt else JobStatus.stale_attempt
        if job.case not in self._cases:
            return JobStatus.unknown_case
        if len(self._queue) >= QUEUE_LIMIT:
            return JobStatus.full
        self._known[job.id] = job
        self._queue.append(job)
        self._write("posted", job)
        return JobStatus.queued

    def _forget(self, acknowledgement: dict[str, Any]) -> tuple[int, Any]:
        if acknowledgement["boot_id"] != self.boot_id:
            return 409, {"boot_id": self.boot_id, "detail": "another boot"}
        if not self.script.acknowledges:
            return 503, {"detail": "as scripted"}
        self._acknowledged = max(self._acknowledged, min(acknowledgement["n"], self._n))
        self._lines = {n: line for n, line in self._lines.items() if n > self._acknowledged}
        self._known = {
            id: job for id, job in self._known.items() if job.finished is None or job.finished > self._acknowledged
        }
        return 204, None

    async def _stop_job(self, id: str, attempt: int) -> None:
        job = self._known.get(id)
        if job is None or job.attempt != attempt:
            return
        self._write("stopped", job)
        job.stopped = True
        if job in self._queue:
            self._queue.remove(job)
            await self._report(job, CANCELLED | {"duration_s": 0.0})

    async def _stream(self, writer: asyncio.StreamWriter, boot_id: str, after: int) -> None:
        if boot_id != self.boot_id:
            return await _answer(writer, 409, {"boot_id": self.boot_id, "detail": "another boot"})
        if after < self._acknowledged:
            return await _answer(writer, 410, {"acknowledged": self._acknowledged, "detail": "acknowledged"})
        if after > self._n:
            return await _answer(writer, 422, {"detail": "not issued yet"})
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
        stream = _Stream(after)
        while True:
            lines = await self._next_lines(stream)
            for line in lines:
                await _chunk(writer, line + b"\n")
                stream.lines += 1
                limit = self.script.closes_after_events
                if limit is not None and stream.lines >= limit:
                    writer.write(b"0\r\n\r\n")
                    await writer.drain()
                    raise _Closed

    async def _next_lines(self, stream: _Stream) -> list[bytes]:
        """The lines that this stream has not carried yet; a heartbeat if there are none."""

        async with self._changed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.heartbeat_s):
                    await self._changed.wait_for(lambda: self._n > stream.after and self._is_heard)
            if not self._is_heard:
                return []
            if self._n > stream.after:
                lines = [self._lines[n] for n in range(stream.after + 1, self._n + 1) if n in self._lines]
                stream.after = self._n
                return lines
            return [self._heartbeat(stream.after)] if self.script.heartbeats else []

    @property
    def _is_heard(self) -> bool:
        return self.script.speaks and not self.script.silent

    def _heartbeat(self, n: int) -> bytes:
        running = []
        if (job := self._current) is not None and job.began is not None:
            elapsed_s = self.script.elapsed(time.monotonic() - job.began)
            running.append({"id": job.id, "attempt": job.attempt, "elapsed_s": elapsed_s})
        beat = {"type": "heartbeat", "n": n, "queued": len(self._queue), "running": running}
        return encode(beat)


async def _answer(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write((head if status != 204 else "HTTP/1.1 204 No Content\r\n\r\n").encode() + content)
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()
