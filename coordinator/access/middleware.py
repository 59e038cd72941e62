"""Access control for every request: identifies the caller, refuses changes without a token, and records audit entries.

This layer handles a request before its body is read. The route then requires a role (``needs``). Changes without a
token are already refused here, so that even a route without a declared role is protected.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.access.audit import AuditWriter, make_entry
from coordinator.access.caller import NOBODY, SIGN_IN, Caller, bearer_of, caller_of
from coordinator.access.identifier import Identifier, cookie_value
from coordinator.access.requests import SAFE
from coordinator.database.outage import is_outage
from coordinator.errors import UnauthorizedError, reason_of
from coordinator.http.problems import DATABASE_PROBLEM, problem
from coordinator.process.logs import get_logger
from protocol.enrolment import PATH as ENROLMENT

log = get_logger(__name__)

READING = SAFE | {"OPTIONS"}
OPEN = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json", "/login", "/logout", ENROLMENT})
"""Paths that need no token: health, metrics, the description of the API, signing in and out, and enrollment, for which
runners have their own secrets."""
OPEN_FOLDER = "/static/"
LOGIN = "/login"


class AccessMiddleware:
    """Stores the caller of each request in ``request.state.caller``, and records changes and refusals."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, is_change = scope["path"], scope["method"] not in READING
        is_open = path in OPEN or path.startswith(OPEN_FOLDER)
        state: dict[str, Any] = scope.setdefault("state", {})
        state["caller"] = NOBODY
        status, detail = 0, None

        async def noting(message: Message) -> None:
            nonlocal status, detail
            if message["type"] == "http.response.start":
                status = message["status"]
                detail = next((value for name, value in message["headers"] if name == b"location"), None)
                if state["caller"].is_known:
                    _forbid_storing(message)
            await send(message)

        try:
            if not is_open:
                refusal = await _admit(scope, is_change)
                if refusal is not None:
                    await refusal(scope, receive, noting)
                    return
            await self._app(scope, receive, noting if is_change or path == LOGIN or not is_open else send)
        finally:
            if is_change or status in (401, 403) or (path == LOGIN and status == 303):
                _record(scope, status or 499, detail)


async def _admit(scope: Scope, is_change: bool) -> ASGIApp | None:
    """Identify the caller. Returns a response if the request is refused here."""
    request = Request(scope)
    identifier: Identifier = scope["app"].state.identifier
    try:
        caller = await identifier.identify(scope["headers"], session_cookie(scope))
        scope["state"]["caller"] = caller
        if is_change and not caller.may_change:
            raise UnauthorizedError(SIGN_IN)
    except UnauthorizedError as error:
        # A revoked token may have been stolen, so the audit log records whose token it was.
        scope["state"]["caller"] = bearer_of(error)
        return problem(request, error.status, error.title, str(error))
    except Exception as error:
        if not is_outage(error):
            raise
        log.warning("the database is away", method=scope["method"], path=scope["path"], reason=reason_of(error))
        return problem(request, DATABASE_PROBLEM.status, DATABASE_PROBLEM.title, DATABASE_PROBLEM.detail)
    return None


def _forbid_storing(start: Message) -> None:
    """Forbid caches to store responses to signed-in callers, so that the next user of the browser cannot go back to
    them."""
    if not any(name == b"cache-control" for name, _ in start["headers"]):
        start["headers"] = [*start["headers"], (b"cache-control", b"no-store")]


def session_cookie(scope: Scope) -> str:
    """The name of the session cookie. Browsers share cookies between ports, so the name contains the port, to separate
    two coordinators on one host."""
    server = scope.get("server")
    return f"portolan_session_{server[1] if server else 0}"


def session_secret(request: Request) -> str | None:
    """The session secret from the request's cookie."""
    return cookie_value(request.headers.get("cookie", ""), session_cookie(request.scope))


def _record(scope: Scope, status: int, location: bytes | None) -> None:
    writer: AuditWriter = scope["app"].state.audit
    caller: Caller = caller_of(Request(scope))
    client = scope.get("client")
    route = getattr(scope.get("route"), "path", None)
    writer.record(
        make_entry(
            caller,
            client[0] if client else "unknown",
            scope["method"],
            route,
            scope["path"],
            status,
            None if location is None else location.decode("latin-1"),
        )
    )
