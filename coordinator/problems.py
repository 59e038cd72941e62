"""Errors over HTTP: RFC 9457 problem details, for our own errors and for everybody else's."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException

from coordinator.errors import PortolanError
from coordinator.web.pages import problem_page, wants_page
from protocol.problems import PROBLEM_JSON, Problem

log = logging.getLogger(__name__)


def install(app: FastAPI) -> None:
    """Let every error of the application leave as a problem: as json, or as a page for a browser on a page."""

    @app.exception_handler(PortolanError)
    async def _ours(request: Request, error: PortolanError) -> Response:
        return _problem(request, error.status, error.title, str(error))

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        errors = [
            {"field": ".".join(str(part) for part in each["loc"]), "problem": each["msg"]} for each in error.errors()
        ]
        first = errors[0]
        return _problem(
            request, 422, "The request is not valid", f"{first['field']}: {first['problem']}", errors=errors
        )

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        detail = f"{request.method} {request.url.path}: {error.detail}; see /docs for what there is"
        return _problem(request, error.status_code, str(error.detail), detail)

    @app.exception_handler(DBAPIError)
    @app.exception_handler(ConnectionError)
    async def _database(request: Request, error: Exception) -> Response:
        log.warning("%s %s: %s", request.method, request.url.path, error)
        return _problem(
            request, 503, "The database cannot be used", "the database did not do its part; try again in a moment"
        )

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> Response:
        log.exception("%s %s", request.method, request.url.path, exc_info=error)
        return _problem(
            request, 500, "Internal error", "something unexpected happened; the coordinator's log says more"
        )


def _problem(request: Request, status: int, title: str, detail: str, **more: Any) -> Response:
    problem = Problem(title=title, status=status, detail=detail, **more)
    if wants_page(request):
        return problem_page(request, problem)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse(problem.model_dump(exclude_none=True), status, headers, PROBLEM_JSON)
