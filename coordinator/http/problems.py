"""Errors over HTTP: RFC 9457 problem details, for Portolan's own errors and for errors of libraries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.database.outage import DATABASE_AWAY, is_outage, is_refused
from coordinator.errors import PortolanError, reason_of
from coordinator.process.logs import get_logger
from coordinator.text.plain_text import plain_text
from protocol.fault_words import words_of
from protocol.problems import PROBLEM_JSON, Problem, describe_problems

log = get_logger(__name__)

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
DATABASE_PROBLEM = Problem(
    title="The database cannot be used",
    status=503,
    detail="the database is not available; try again in a moment",
)
REALM = 'Bearer realm="portolan"'
"""The header that is sent with 401. The header of a runner has no realm, so clients can distinguish a runner from a
coordinator."""
RETRY_AFTER_S = 5
"""The usual length of a short outage, such as a recovery of PostgreSQL or a held lock."""


ProblemPage = Callable[[Request, Problem], Response | None]
"""A function that renders a problem as a page; it returns None unless a browser on a page sent the request."""


def install(app: FastAPI, page: ProblemPage) -> None:
    """Turn every error of the application into a problem. A browser that requested a page gets a page; other clients
    get JSON."""
    app.state.problem_page = page

    @app.exception_handler(PortolanError)
    async def _ours(request: Request, error: PortolanError) -> Response:
        return problem(request, error.status, error.title, str(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        faults = error.errors()
        errors = [{"field": _location_text(fault["loc"]), "problem": plain_text(words_of(fault))} for fault in faults]
        # The message omits whether a name is in the path, the query or the body, because the sender does not need this.
        place, *names = faults[0]["loc"]
        name = _location_text(names) if names and isinstance(names[0], str) else place
        return problem(request, 422, "The request is not valid", f"{name}: {errors[0]['problem']}", errors=errors)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        advice = "send it as UTF-8" if error.status_code == 400 else "see /docs for the existing paths"
        detail = f"{request.method} {request.url.path}: {error.detail}; {advice}"
        headers = {"Allow": _allowed_methods(request)} if error.status_code == 405 else error.headers
        return problem(request, error.status_code, str(error.detail), detail, headers=headers)

    async def _database(request: Request, error: Exception) -> Response:
        if is_refused(error):
            detail = "the request holds a value that the database cannot store; check its ids and texts"
            return problem(request, 422, "The request is not valid", detail)
        if not is_outage(error):
            return await _answer_unexpected(request, error)
        log.warning("the database is away", method=request.method, path=request.url.path, reason=reason_of(error))
        return problem(request, DATABASE_PROBLEM.status, DATABASE_PROBLEM.title, DATABASE_PROBLEM.detail)

    # Not every OSError: a disk error is the coordinator's own fault.
    for kind in (*(kind for kind in DATABASE_AWAY if kind is not OSError), ConnectionError, TimeoutError):
        app.exception_handler(kind)(_database)

    @app.exception_handler(Exception)
    async def _answer_unexpected(request: Request, error: Exception) -> Response:
        log.error("a request failed", method=request.method, path=request.url.path, exc_info=error)
        return problem(request, 500, "Internal error", "an unexpected error occurred; see the coordinator's log")

    _describe_problems(app)


def _location_text(location: Sequence[str | int]) -> str:
    return plain_text(".".join(map(str, location)))


def problem(
    request: Request, status: int, title: str, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return a problem as a page or as JSON, depending on the client. A temporary problem has Retry-After."""
    body = Problem(title=title, status=status, detail=plain_text(detail), **more)
    page: ProblemPage = request.app.state.problem_page
    response = page(request, body) or JSONResponse(body.model_dump(exclude_none=True), status, media_type=PROBLEM_JSON)
    response.headers.update(headers or {})
    if status == 401:
        response.headers["WWW-Authenticate"] = REALM
    if status in (429, 503):
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


class CancelledRequests:
    """Responds to requests that the server cancels at shutdown because they take too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_answered = False

        async def sending(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            if scope["type"] != "http" or is_answered:
                raise
            answer = problem(
                Request(scope), 503, "The coordinator ends", "the coordinator is being stopped; try again in a moment"
            )
            await answer(scope, receive, send)


def _allowed_methods(request: Request) -> str:
    """Return every method of the path. The framework itself names only the methods of the first matching route."""
    routes, scope = request.app.routes, request.scope
    return ", ".join(m for m in METHODS if any(r.matches({**scope, "method": m})[0] is Match.FULL for r in routes))


def _describe_problems(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        describe_problems(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]
