"""The runner API, version 1, over HTTP. It works with any ``Executor``.

``Service`` has the state that the routes need. ``build`` makes the ASGI application. For the two most frequent requests
(posting jobs, reading events), a whole batch is validated and serialized at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.routing import Match

from protocol.catalogue import Catalogue
from protocol.events import EVENT, HEARTBEAT_S, Acknowledgement
from protocol.jobs import JobBatch, JobReceipts, JobStatus
from protocol.problems import PROBLEM_JSON, Problem, describe_problems, problem_responses
from protocol.recording import AcceptedRecording, Recording
from protocol.runner import RunnerInfo
from runners.errors import (
    AnotherBootError,
    AnotherRevisionError,
    BodyTooLargeError,
    ClosedDoorError,
    RefusedRequestError,
    TooSlowError,
    TrimmedError,
)
from runners.http.access import Access
from runners.http.recordings import MAX_RECORDING, RecordingInbox
from runners.isolation.attempts import Attempts, Executor, Task
from runners.isolation.events import EventLog
from runners.isolation.observations import printable
from runners.isolation.offer import Offer

MAX_BODY = 4 << 20
BODY_S = 30.0
"""Seconds for a request's whole body to arrive."""
GATHERED_S = 0.02
"""The seconds to wait for more events before events are sent. Fewer, larger messages wake the coordinator less
often."""
NDJSON = "application/x-ndjson"
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
LARGEST = 2**63 - 1
JobId = Annotated[str, Path(max_length=64)]
Attempt = Annotated[int, Path(ge=1, le=LARGEST)]
_Body = TypeVar("_Body", JobBatch, Acknowledgement, Recording)
Receipt = tuple[str, int, JobStatus]
"""A ``JobReceipt`` as a tuple, because tuples are faster for the most frequent request."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Service:
    """The state of one boot of a runner, and the functions behind the routes of its API."""

    def __init__(
        self,
        info: RunnerInfo,
        offer: Offer,
        log: EventLog,
        executor: Executor,
        access: Access,
        heartbeat_s: float = HEARTBEAT_S,
        inbox: RecordingInbox | None = None,
    ) -> None:
        """``inbox`` accepts recordings. It is None if the runner accepts no recordings."""
        self.info = info
        self.offer = offer
        self.log = log
        self.executor = executor
        self.access = access
        self.heartbeat_s = heartbeat_s
        self.attempts = Attempts(info.queue_limit)
        self._inbox = inbox

    def post(self, batch: JobBatch) -> list[Receipt]:
        """Accept the jobs of a batch. Returns a receipt for each job, which says whether the job was accepted, or why
        not."""
        self.require_boot(batch.boot_id)
        suite = self.offer.suites.get(batch.suite)
        if suite is not None and suite.revision != batch.revision:
            raise AnotherRevisionError(
                f"suite {batch.suite!r} is at revision {suite.revision} here, not {printable(batch.revision, 80)}; "
                "read the catalogue again",
                boot_id=self.info.boot_id,
                revision=suite.revision,
            )
        tasks: list[Task] = []
        receipts: list[Receipt] = []
        queue_length = self.executor.queued
        for job in batch.jobs:
            function = suite.functions.get(job.case) if suite is not None else None
            if function is None:
                status = JobStatus.unknown_case
            else:
                task = Task(job, batch.suite, function)
                # The tasks of this batch are submitted after the loop, so they are not in the queue yet.
                status = self.attempts.answer(task, queue_length + len(tasks))
                if status is JobStatus.queued:
                    older = self.attempts.add(task)
                    if older is not None:
                        self.executor.cancel(*older)
                    tasks.append(task)
            receipts.append((job.id, job.attempt, status))
        self.executor.submit(tasks)
        return receipts

    def acknowledge(self, acknowledgement: Acknowledgement) -> None:
        self.require_boot(acknowledgement.boot_id)
        self.attempts.forget(self.log.acknowledge(acknowledgement.n))

    def accept(self, recording: Recording) -> AcceptedRecording:
        """Accept a recording, which becomes a suite of the next boot."""
        if self._inbox is None:
            raise ClosedDoorError("this runner accepts no recordings: start it with --accept-recordings to allow them")
        executor = self.executor
        return self._inbox.take(recording, is_busy=bool(executor.queued or executor.starting or executor.running()))

    async def events(self, after: int) -> AsyncIterator[bytes]:
        """Yield batches of lines with the events after number ``after``. While there are no events, yield
        heartbeats."""
        while not self.log.closed:
            try:
                last, lines = self.log.after(after)
            except TrimmedError:
                # The reader of another stream has acknowledged these events in the meantime.
                return
            if lines:
                after = last
                yield lines
                # If more events wait, they are sent at once. Otherwise, new events are collected for a moment, so that
                # short cases need few writes.
                await asyncio.sleep(GATHERED_S if after == self.log.last else 0)
            elif not await self.log.wait_for_event(after, self.heartbeat_s) and not self.log.closed:
                waiting = self.executor.queued + self.executor.starting
                yield self.log.heartbeat(after, waiting, self.executor.running())

    def require_boot(self, boot_id: str) -> None:
        if boot_id != self.info.boot_id:
            raise AnotherBootError(
                f"this runner's boot_id is {self.info.boot_id}: read GET /v1/runner again; "
                "attempts of other boots are lost",
                boot_id=self.info.boot_id,
            )


def problem(status: int, title: str, detail: str, **members: Any) -> Response:
    body = Problem(title=title, status=status, detail=printable(detail), **members)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Response(body.model_dump_json(exclude_none=True), status, headers, PROBLEM_JSON)


def build(service: Service) -> FastAPI:
    """Build the application. Its OpenAPI document is at ``/openapi.json``."""
    app = FastAPI(
        title="Portolan runner API",
        version=f"{service.info.protocol}",
        docs_url=None,
        redoc_url=None,
    )
    info = service.info.model_dump_json().encode()

    @app.get("/healthz", tags=["health"], openapi_extra={"security": []})
    async def healthz() -> dict[str, str]:
        return {"status": "alive"}

    @app.get("/v1/runner", response_model=RunnerInfo, responses=problem_responses(401))
    async def runner() -> Response:
        return Response(info, media_type="application/json")

    @app.get("/v1/catalogue", response_model=Catalogue, responses=problem_responses(401))
    async def catalogue() -> Response:
        async def text() -> AsyncIterator[bytes]:
            for piece in service.offer.text():
                yield piece

        headers = {"Content-Length": str(service.offer.size)}
        return StreamingResponse(text(), media_type="application/json", headers=headers)

    @app.post(
        "/v1/jobs",
        response_model=JobReceipts,
        openapi_extra=_body(JobBatch),
        responses=problem_responses(401, 408, 409, 413, 422),
    )
    async def jobs(request: Request) -> Response:
        return Response(receipts_json(service.post(await _read(request, JobBatch))), media_type="application/json")

    @app.get(
        "/v1/events",
        response_class=StreamingResponse,
        responses={
            200: {"content": {NDJSON: {"schema": _referring("Event")}}, "description": "One event a line."},
            **problem_responses(401, 409, 410, 422),
        },
    )
    async def events(boot_id: str, after: Annotated[int, Query(ge=0, le=LARGEST)]) -> Response:
        service.require_boot(boot_id)
        # The request is checked before the response begins. Once the status is sent, an error could only end the
        # stream.
        service.log.after(after)
        return StreamingResponse(service.events(after), media_type=NDJSON)

    @app.post(
        "/v1/events/ack",
        status_code=204,
        openapi_extra=_body(Acknowledgement),
        responses=problem_responses(401, 408, 409, 413, 422),
    )
    async def acknowledge(request: Request) -> Response:
        service.acknowledge(await _read(request, Acknowledgement))
        return Response(status_code=204)

    @app.post(
        "/v1/recordings",
        status_code=202,
        response_model=AcceptedRecording,
        openapi_extra=_body(Recording),
        responses=problem_responses(401, 403, 408, 409, 413, 422),
    )
    async def recordings(request: Request) -> AcceptedRecording:
        return service.accept(await _read(request, Recording, MAX_RECORDING))

    @app.delete("/v1/jobs/{id}/{attempt}", status_code=204, responses=problem_responses(401, 422))
    async def cancel(id: JobId, attempt: Attempt) -> Response:
        service.executor.cancel(id, attempt)
        return Response(status_code=204)

    _describe_bodies(app)
    _answer_with_problems(app)
    app.add_middleware(BearerGate, access=service.access)
    return app


class BearerGate:
    """Middleware that requires the secret, except for ``/healthz`` and the description of the API."""

    OPEN = frozenset({"/healthz", "/openapi.json"})

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in self.OPEN:
            authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not self._access.opens(authorization):
                refusal = problem(
                    401,
                    "Not allowed",
                    "the runner's secret is missing or wrong; send 'Authorization: Bearer SECRET'",
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _read(request: Request, model: type[_Body], most: int = MAX_BODY) -> _Body:
    """Read the body as one message, and validate it in one step."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise BodyTooLargeError(f"the body is over {most} bytes; send less at once")
    except TimeoutError as error:
        raise TooSlowError(f"the body did not arrive within {BODY_S:.0f} s; send it again") from error
    try:
        return model.model_validate_json(bytes(body), strict=True)
    except ValidationError as error:
        raise RefusedRequestError(_summary(error.errors()), errors=_without_input(error.errors())) from error


def receipts_json(receipts: Sequence[Receipt]) -> str:
    """``JobReceipts`` as JSON. Ids need no escaping (see ``protocol.jobs.Job``)."""
    parts = [f'{{"id":"{id}","attempt":{attempt},"status":"{status}"}}' for id, attempt, status in receipts]
    return f'{{"jobs":[{",".join(parts)}]}}'


def _answer_with_problems(app: FastAPI) -> None:
    @app.exception_handler(RefusedRequestError)
    async def answer_known(request: Request, error: RefusedRequestError) -> Response:
        return problem(error.status, error.title, str(error), **error.members)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return problem(422, "Not valid", _summary(error.errors()), errors=_without_input(error.errors()))

    @app.exception_handler(StarletteHTTPException)
    async def answer_refused(request: Request, error: StarletteHTTPException) -> Response:
        where = f"{request.method} {printable(request.url.path, 200)}"
        answer = problem(error.status_code, str(error.detail), f"{where}: {error.detail}; see /openapi.json")
        answer.headers.update({"Allow": _allowed_methods(request)} if error.status_code == 405 else error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> Response:
        return problem(500, "Runner error", f"the runner failed: {type(error).__name__}: {error}")


def _allowed_methods(request: Request) -> str:
    """Return all methods of a path. FastAPI itself names only the methods of the first route with this path."""
    routes, scope = request.app.routes, request.scope
    return ", ".join(m for m in METHODS if any(r.matches({**scope, "method": m})[0] is Match.FULL for r in routes))


def _summary(errors: Any) -> str:
    first = errors[0]
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}{more}"


def _without_input(errors: Any) -> list[dict[str, Any]]:
    """Return the location and reason of each error, without the rejected input.

    The input may contain secrets or long texts.
    """
    return [
        {"loc": [part if isinstance(part, int) else printable(str(part), 200) for part in error["loc"]],
         "msg": printable(str(error["msg"]), 500), "type": error["type"]}
        for error in errors[:20]
    ]  # fmt: skip


_SCHEMA = "#/components/schemas/{model}"


def _body(model: type[BaseModel]) -> dict[str, Any]:
    """Make the OpenAPI description of a request body. FastAPI cannot do it, because the route reads bytes."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": _referring(model.__name__)}}}}


def _referring(name: str) -> dict[str, str]:
    return {"$ref": _SCHEMA.format(model=name)}


def _describe_bodies(app: FastAPI) -> None:
    """Add the bearer secret, and the schemas of bodies that are read and written as bytes, to the OpenAPI document."""
    _, definitions = models_json_schema(
        [(JobBatch, "validation"), (Acknowledgement, "validation"), (Recording, "validation")], ref_template=_SCHEMA
    )
    event = EVENT.json_schema(ref_template=_SCHEMA, mode="serialization")
    schemas = {**definitions["$defs"], **event.pop("$defs"), "Event": event}
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        document["components"]["schemas"].update(schemas)
        document["components"]["securitySchemes"] = {"secret": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"secret": []}]
        describe_problems(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
