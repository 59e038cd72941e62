"""A small independent runner that keeps the contract except for one chosen fault.

It shares no code with the project's runners, like a runner of another author. Its cases are coroutines, and nothing is
isolated.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import queue
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from protocol.events import Acknowledgement
from protocol.jobs import JobBatch
from runners.http.service import HttpServer, bind, url_of

SECRET = "the toy's secret"
REVISION = "1"
QUEUE_LIMIT = 6
MOST_BYTES = 4 << 20
HEARTBEAT_S = 0.5
SLOW_S = 2.2
PRINTED = 2 << 20
TAIL = 1_000
CASES = ("passes", "slow", "hangs", "prints")

Key = tuple[str, int]


class Toy:
    """One runner. ``fault`` is a phrase for which the code below searches; None means no fault. Without ``has_tags``,
    the check cannot know what the runner's cases do."""

    def __init__(self, fault: str | None = None, *, has_tags: bool = True) -> None:
        self.fault = fault
        self.tagged = has_tags
        self._boots = itertools.count(1)
        self._worker: asyncio.Task[None] | None = None
        self._begin()

    def _begin(self) -> None:
        number = next(self._boots)
        if number == 1 or self.fault != "keeps its boot_id over a restart":
            self.boot_id = f"boot-{uuid4().hex}"
        self.events: list[tuple[int, dict[str, Any]]] = []
        self.last = 100 if number > 1 and self.fault == "goes on numbering over a restart" else 0
        self.acknowledged = self.last
        self.sent = 0
        self.queue: list[dict[str, Any]] = []
        self.newest: dict[str, int] = {}
        self.asked: dict[str, tuple[str, int]] = {}
        self.current: dict[str, Any] | None = None
        self.stop = asyncio.Event()
        self.changed = asyncio.Event()
        self.streams = 0

    async def __aenter__(self) -> Toy:
        self._worker = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._worker is not None
        self._worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._worker

    async def restart(self) -> None:
        await self.__aexit__()
        self._begin()
        await self.__aenter__()

    # What runs.

    async def _work(self) -> None:
        while True:
            while not self.queue:
                await self._change()
            last_first = self.fault == "runs the last job first" and len(self.queue) > 2
            self.current = job = self.queue.pop(-1 if last_first else 0)
            self.stop.clear()
            self._say("started", job)
            if self.fault == "skips a number":
                self.last += 1
            self._say("finished", job, outcome=await self._run(job))
            self.current = None

    async def _run(self, job: Mapping[str, Any]) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        job["clock"].append(began_at := loop.time())
        limit = job["timeout_s"]
        if self.fault == "charges the waiting in its queue":
            limit -= began_at - job["clock"][0]
        if self.fault == "kills before a short deadline" and limit <= 2:
            limit = 0.1
        if self.fault == "does not kill at the deadline":
            limit = 3_600
        seconds = {"hangs": 3_600.0, "slow": SLOW_S}.get(job["case"], 0.0)
        try:
            async with asyncio.timeout(min(seconds, max(limit, 0.0))):
                await self.stop.wait()
            return outcome("incomplete", "cancelled", loop.time() - began_at)
        except TimeoutError:
            if limit < seconds or limit <= 0:
                return outcome("failed", "timed_out", loop.time() - began_at)
        return self._outcome_of(job, loop.time() - began_at)

    def _outcome_of(self, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        case = job["case"]
        answer = outcome("passed", "returned", seconds)
        if job["timing"] != "off":
            answer["timing"] = {
                "cold_ms": 0.5,
                "samples_ms": [0.25, 0.25] if job["timing"] in ("steady", "quick") else [],
            }
        if case == "prints":
            end = "." * TAIL + "\nconformance: the end\n"
            answer |= {"log_tail": end, "log_bytes": PRINTED}
        match self.fault:
            case "says that what passes failed" if case == "passes":
                answer |= {"verdict": "failed", "ending": "raised"}
            case "counts only what it keeps":
                answer["log_bytes"] = len(answer["log_tail"])
            case "keeps the beginning of the log":
                answer["log_tail"] = answer["log_tail"][:100]
            case "has NaN in an outcome":
                answer["timing"] = {"cold_ms": float("nan")}
            case "has NUL in an outcome":
                answer["evidence"] = {"message": "a\0b"}
            case "leaves out duration_s":
                del answer["duration_s"]
        return answer

    def _say(self, type: str, job: Mapping[str, Any], **members: Any) -> None:
        self.last += 1
        event = {"type": type, "n": self.last, "id": job["id"], "attempt": job["attempt"], **members}
        self.events.append((self.last, event))
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def _change(self) -> None:
        await self.changed.wait()

    # What is asked.

    def post(self, batch: JobBatch) -> Response:
        if batch.boot_id != self.boot_id and self.fault != "takes jobs of any boot":
            return self.conflict("another boot")
        if batch.revision != REVISION and self.fault != "takes jobs of any revision":
            return self.conflict("another revision")
        receipts = [
            {"id": job["id"], "attempt": job["attempt"], "status": self._take(job)}
            for job in (job.model_dump(mode="json") for job in batch.jobs)
        ]
        self._notify()
        return Response(json.dumps({"jobs": receipts}), media_type="application/json")

    def _take(self, job: dict[str, Any]) -> str:
        newest = self.newest.get(job["id"], 0)
        queue_entry = {**job, "clock": [asyncio.get_running_loop().time()]}
        if job["case"] not in CASES and self.fault != "queues a case that it does not have":
            return "unknown_case"
        case_and_run = (job["case"], job["run"])
        if newest and self.asked[job["id"]] != case_and_run:
            return "other_case"
        if job["attempt"] == newest:
            if self.fault == "runs a known job again":
                self.queue.append(queue_entry)
            return "known"
        if job["attempt"] < newest and self.fault != "takes an older attempt":
            return "stale_attempt"
        if len(self.queue) >= QUEUE_LIMIT and self.fault != "takes more than its queue_limit":
            return "full"
        if newest and self.fault != "leaves the older attempt running":
            self.cancel((job["id"], newest), running=True, waiting=True)
        self.newest[job["id"]] = job["attempt"]
        self.asked[job["id"]] = case_and_run
        self.queue.append(queue_entry)
        return "queued"

    def cancel(self, key: Key, *, running: bool, waiting: bool) -> bool:
        """Stop this attempt. Returns whether the attempt existed."""
        if self.current is not None and (self.current["id"], self.current["attempt"]) == key:
            if running:
                self.stop.set()
            return True
        for job in self.queue:
            if (job["id"], job["attempt"]) == key:
                if waiting:
                    self.queue.remove(job)
                    self._say("finished", job, outcome=outcome("incomplete", "cancelled", 0.0))
                return True
        return False

    def acknowledge(self, n: int) -> None:
        if self.fault == "forgets everything with any acknowledgement":
            n = self.last
        forgotten_events = [event for number, event in self.events if number <= n]
        self.events = [(number, event) for number, event in self.events if number > n]
        self.acknowledged = max(self.acknowledged, n)
        if self.fault != "never forgets an id":
            for event in forgotten_events:
                if event["type"] == "finished" and self.newest.get(event["id"]) == event["attempt"]:
                    del self.newest[event["id"]]

    async def stream(self, after: int) -> AsyncIterator[bytes]:
        self.streams = mine = self.streams + 1
        while self.fault != "has one stream at a time" or mine == self.streams:
            if after < self.sent:
                return
            waiting = [(number, event) for number, event in self.events if number > after]
            if waiting:
                after = waiting[-1][0]
                between = b"" if self.fault == "puts two events on one line" else b"\n"
                if self.fault == "forgets what it has sent":
                    self.sent = after
                yield between.join(json.dumps(event).encode() for _, event in waiting) + b"\n"
                continue
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._change()
            except TimeoutError:
                if self.fault != "sends no heartbeat":
                    yield self.heartbeat(after)

    def heartbeat(self, after: int) -> bytes:
        """A heartbeat for a stream whose last event has the number ``after``."""
        running = []
        if self.current is not None and self.fault != "names nothing in its heartbeats":
            elapsed_s = asyncio.get_running_loop().time() - self.current["clock"][-1]
            running = [{"id": self.current["id"], "attempt": self.current["attempt"], "elapsed_s": elapsed_s}]
        if self.fault == "gives a heartbeat a number":
            self.last = after = self.last + 1
        beat = {"type": "heartbeat", "n": after, "queued": len(self.queue), "running": running}
        return json.dumps(beat).encode() + b"\n"

    def problem(self, status: int, detail: str, **members: Any) -> Response:
        kind = "application/json" if self.fault == "answers errors as plain JSON" else "application/problem+json"
        document = {"title": "Refused", "status": status, "detail": detail, **members}
        return Response(json.dumps(document), status, media_type=kind)

    def conflict(self, detail: str) -> Response:
        return self.problem(409, detail, boot_id=self.boot_id)

    @property
    def info(self) -> dict[str, Any]:
        more = {"colour": "red"} if self.fault == "says more of itself than it may" else {}
        return {
            "boot_id": self.boot_id,
            "protocol": 1,
            "framework": "toy",
            "version": "1",
            "device": "none",
            "device_class": "other",
            "device_count": 1,
            "queue_limit": QUEUE_LIMIT,
            "simulated": True,
            "fingerprint": dict.fromkeys(("hardware", "environment", "host", "system", "python"), "toy"),
            **more,
        }

    @property
    def catalogue(self) -> dict[str, Any]:
        names = [*CASES, "passes"] if self.fault == "offers two cases of one id" else CASES
        cases = [
            {"id": name, "function": f"toy.{name}", "tags": [f"conformance:{name}"] if self.tagged else []}
            for name in names
        ]
        return {"suites": [{"name": "toy", "revision": REVISION, "cases": cases}]}


def outcome(verdict: str, ending: str, seconds: float) -> dict[str, Any]:
    return {"verdict": verdict, "ending": ending, "duration_s": seconds, "log_tail": "", "log_bytes": 0}


def application(toy: Toy) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.middleware("http")
    async def gate(request: Request, go_on: Any) -> Response:
        is_open = request.url.path == "/healthz" and toy.fault != "keeps its health secret"
        if is_open or toy.fault == "wants no secret" or request.headers.get("authorization") == f"Bearer {SECRET}":
            answer: Response = await go_on(request)
            return answer
        return toy.problem(401, "the secret is missing or wrong")

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/v1/runner")
    async def runner() -> dict[str, Any]:
        return toy.info

    @app.get("/v1/catalogue")
    async def catalogue() -> dict[str, Any]:
        return toy.catalogue

    @app.post("/v1/jobs")
    async def jobs(request: Request) -> Response:
        body = await request.body()
        if len(body) > MOST_BYTES:
            return toy.problem(413, "too large")
        try:
            if toy.fault == "overlooks unknown fields":
                body = _without_unknown(body)
            return toy.post(JobBatch.model_validate_json(body))
        except ValueError as error:
            return toy.problem(422, str(error))

    @app.get("/v1/events")
    async def events(boot_id: str, after: int) -> Response:
        if boot_id != toy.boot_id:
            return toy.conflict("another boot")
        if after < max(toy.acknowledged, toy.sent) and toy.fault != "answers for events that are gone":
            return toy.problem(410, "gone")
        if after > toy.last and toy.fault != "answers for events that never were":
            return toy.problem(422, "not issued yet")
        return StreamingResponse(toy.stream(after), media_type="application/x-ndjson")

    @app.post("/v1/events/ack")
    async def acknowledge(request: Request) -> Response:
        try:
            acknowledgement = Acknowledgement.model_validate_json(await request.body())
        except ValidationError as error:
            return toy.problem(422, str(error))
        if acknowledgement.boot_id != toy.boot_id:
            return toy.conflict("another boot")
        if acknowledgement.n > toy.last and toy.fault != "takes any acknowledgement":
            return toy.problem(422, "not issued yet")
        toy.acknowledge(min(acknowledgement.n, toy.last))
        return Response(status_code=204)

    @app.delete("/v1/jobs/{id}/{attempt}")
    async def delete(id: str, attempt: int) -> Response:
        was_here = toy.cancel(
            (id, attempt),
            running=toy.fault != "lets go on what runs",
            waiting=toy.fault != "lets go on what waits",
        )
        is_missing = not was_here and toy.fault == "answers 404 for a job that is not there"
        return toy.problem(404, "no such job") if is_missing else Response(status_code=204)

    return app


def _without_unknown(body: bytes) -> bytes:
    batch = json.loads(body)
    if isinstance(batch, dict):
        batch.pop("colour", None)
        for job in batch.get("jobs", []):
            job.pop("colour", None)
    return json.dumps(batch).encode()


@contextlib.asynccontextmanager
async def toy_server(toy: Toy) -> AsyncIterator[str]:
    """Serve the toy over HTTP in the current event loop, and yield its URL."""
    listening = bind("127.0.0.1", 0)
    async with toy, HttpServer(application(toy), listening):
        yield url_of(listening)


@contextlib.contextmanager
def served_beside(toy: Toy) -> Iterator[str]:
    """Serve the toy in a thread, for a client that blocks."""
    urls: queue.Queue[str] = queue.Queue()
    over = threading.Event()

    async def serve() -> None:
        async with toy_server(toy) as url:
            urls.put(url)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        yield urls.get(timeout=120)
    finally:
        over.set()
        thread.join()
