"""A runner whose every word a test may change: it keeps the contract but where it is told otherwise.

It shares nothing with the runners of the project. Its cases end at once, and every outcome says in its log
which case it is of, so that an outcome that landed elsewhere can be told.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import queue
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from runners.http.service import Listener, bind, url_of

SECRET = "the scripted runner's secret"
SUITE = "scripted"
CASES = 8
HEARTBEAT_S = 0.3

Job = dict[str, Any]
Event = dict[str, Any]


def tell(event: Event) -> bytes:
    return json.dumps(event).encode()


@dataclass
class Script:
    """What it does differently. Each is called in the runner's thread."""

    line: Callable[[Event], bytes | None] = tell
    """An event as it leaves; None: it never does, though it has its number."""
    take: Callable[[Job], str] = lambda job: "queued"
    runs: Callable[[Job], bool] = lambda job: True
    """Whether it ever begins the job."""
    ends: Callable[[Job], bool] = lambda job: True
    """Whether it ends a job that it has begun by itself."""
    stops: bool = True
    """Whether DELETE ends a job."""
    heartbeat: Callable[[Event], Event] = lambda beat: beat
    after_finish: Callable[[ScriptedRunner, Job], None] = lambda runner, job: None
    lines_per_stream: int | None = None
    cases: int = CASES


@dataclass
class ScriptedRunner:
    script: Script = field(default_factory=Script)
    framework: str = "scripted"
    device: str = "none"
    boot_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    posted: list[Job] = field(default_factory=list)
    stopped: list[tuple[str, int]] = field(default_factory=list)
    streams: int = 0
    silent: threading.Event = field(default_factory=threading.Event)
    """While set, it answers nothing and says nothing."""

    def __post_init__(self) -> None:
        self._events: list[bytes | None] = []
        self._acknowledged = 0
        self._queue: list[Job] = []
        self._current: Job | None = None
        self._known: dict[str, int] = {}
        self._cuts = 0

    @property
    def info(self) -> dict[str, Any]:
        return {
            "boot_id": self.boot_id,
            "protocol": 1,
            "framework": self.framework,
            "version": "1",
            "device": self.device,
            "device_class": "other",
            "device_count": 1,
            "queue_limit": 64,
            "fingerprint": dict.fromkeys(("hardware", "environment", "host", "system"), "scripted"),
        }

    @property
    def catalogue(self) -> dict[str, Any]:
        cases = [{"id": f"{SUITE}.f{n}/0", "function": f"{SUITE}.f{n}"} for n in range(self.script.cases)]
        return {"suites": [{"name": SUITE, "revision": "1", "cases": cases}]}

    @property
    def acknowledged(self) -> int:
        return self._acknowledged

    @property
    def last(self) -> int:
        return self._acknowledged + len(self._events)

    def say(self, type: str, id: str, attempt: int, **members: Any) -> None:
        event = {"type": type, "n": self.last + 1, "id": id, "attempt": attempt}
        self._events.append(self.script.line(event | members))

    def finish(self, job: Job, verdict: str = "passed", ending: str = "returned", **members: Any) -> None:
        told = {"verdict": verdict, "ending": ending, "duration_s": 0.01, "log_tail": job["case"], "log_bytes": 0}
        self.say("finished", job["id"], job["attempt"], outcome=told | members)

    def take(self, jobs: list[Job]) -> list[dict[str, Any]]:
        self.posted += jobs
        receipts = []
        for job in jobs:
            status = self.script.take(job)
            if status == "queued" and self._known.get(job["id"]) == job["attempt"]:
                status = "known"
            if status == "queued":
                self._known[job["id"]] = job["attempt"]
                self._queue.append(job)
            receipts.append({"id": job["id"], "attempt": job["attempt"], "status": status})
        self.work()
        return receipts

    def work(self) -> None:
        while self._current is None and (job := next(filter(self.script.runs, self._queue), None)) is not None:
            self._queue.remove(job)
            self.say("started", job["id"], job["attempt"])
            self._current = job
            if self.script.ends(job):
                self._end()

    def _end(self, verdict: str = "passed", ending: str = "returned") -> None:
        job, self._current = self._current, None
        assert job is not None
        self.finish(job, verdict, ending)
        self.script.after_finish(self, job)

    def stop(self, id: str, attempt: int) -> None:
        self.stopped.append((id, attempt))
        if not self.script.stops:
            return
        if self._current is not None and (self._current["id"], self._current["attempt"]) == (id, attempt):
            self._end("incomplete", "cancelled")
            self.work()
        for job in [job for job in self._queue if (job["id"], job["attempt"]) == (id, attempt)]:
            self._queue.remove(job)
            self.finish(job, "incomplete", "cancelled")

    def acknowledge(self, n: int) -> None:
        count = max(0, n - self._acknowledged)
        del self._events[:count]
        self._acknowledged += count

    def _heartbeat(self, after: int) -> Event:
        running = self._current and [{"id": self._current["id"], "attempt": self._current["attempt"], "elapsed_s": 0.0}]
        beat = {"type": "heartbeat", "n": after, "queued": len(self._queue), "running": running or []}
        return self.script.heartbeat(beat)

    def cut(self) -> None:
        """End the streams that are open."""
        self._cuts += 1

    async def until_heard(self) -> None:
        while self.silent.is_set():  # noqa: ASYNC110  a test sets it from another thread
            await asyncio.sleep(0.01)

    async def stream(self, after: int) -> AsyncIterator[bytes]:
        self.streams += 1
        left = itertools.count() if self.script.lines_per_stream is None else range(self.script.lines_per_stream)
        beaten, cuts = asyncio.get_running_loop().time(), self._cuts
        for _ in left:
            while not (new := self._events[after - self._acknowledged :]):
                await asyncio.sleep(0.01)
                if cuts != self._cuts:
                    return
                if asyncio.get_running_loop().time() - beaten > HEARTBEAT_S and not self.silent.is_set():
                    beaten = asyncio.get_running_loop().time()
                    yield tell(self._heartbeat(after)) + b"\n"
            await self.until_heard()
            after += 1
            if new[0] is not None:
                yield new[0] + b"\n"


def application(runner: ScriptedRunner) -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.middleware("http")
    async def silence(request: Request, go_on: Any) -> Any:
        await runner.until_heard()
        return await go_on(request)

    @app.get("/v1/runner")
    async def info() -> dict[str, Any]:
        return runner.info

    @app.get("/v1/catalogue")
    async def catalogue() -> dict[str, Any]:
        return runner.catalogue

    @app.post("/v1/jobs")
    async def jobs(request: Request) -> dict[str, Any]:
        return {"jobs": runner.take((await request.json())["jobs"])}

    @app.get("/v1/events")
    async def events(after: int) -> Response:
        if after < runner.acknowledged:
            return JSONResponse({"title": "Trimmed", "acknowledged": runner.acknowledged}, 410)
        if after > runner.last:
            return JSONResponse({"title": "Not issued yet"}, 422)
        return StreamingResponse(runner.stream(after), media_type="application/x-ndjson")

    @app.post("/v1/events/ack")
    async def acknowledge(request: Request) -> Response:
        runner.acknowledge((await request.json())["n"])
        return Response(status_code=204)

    @app.delete("/v1/jobs/{id:path}/{attempt}")
    async def delete(id: str, attempt: int) -> Response:
        runner.stop(id, attempt)
        return Response(status_code=204)

    return app


@contextlib.contextmanager
def served(runner: ScriptedRunner) -> Iterator[str]:
    """The runner over HTTP, in a thread; gives its URL."""
    urls: queue.Queue[str] = queue.Queue()
    over = threading.Event()

    async def serve() -> None:
        listening = bind("127.0.0.1", 0)
        async with Listener(application(runner), listening):
            urls.put(url_of(listening))
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield urls.get(timeout=120)
    finally:
        runner.silent.clear()
        over.set()
        thread.join()
