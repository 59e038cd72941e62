"""Signing in and out, and the pages of tokens and of the audit log."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Form, Query, Request, Response, status
from fastapi.responses import RedirectResponse

from coordinator.access import service
from coordinator.access.caller import CurrentCaller, bearer_of, caller_of, needs
from coordinator.access.identifier import Identifier
from coordinator.access.middleware import session_cookie, session_secret
from coordinator.access.requests import is_foreign
from coordinator.access.roles import Role
from coordinator.access.tokens import local_path
from coordinator.errors import ForeignSiteError, UnauthorizedError
from coordinator.http.context import Context
from coordinator.http.routers import PageRouter
from coordinator.http.storable import LARGEST_BIGINT, Text
from coordinator.web.pages import page

router = PageRouter()
open_router = PageRouter()
"""The routes for callers without a role."""

ROWS = 100
Once = Annotated[Text | None, Query(max_length=200)]
Next = Annotated[Text | None, Query(max_length=2000)]


@open_router.get("/login")
async def login(request: Request, context: Context, once: Once = None, next: Next = None) -> Response:
    """The sign-in form. A person who comes with a login link does not have to fill it in."""
    if once is None:
        return _form(request, next)
    # Another site must not be able to sign its readers in as a user of its choice (login CSRF), also by a link.
    if is_foreign(request.headers.get("host", ""), request.headers):
        raise ForeignSiteError
    try:
        return await _sign_in(request, context, await service.take_link(context.engine, once), next)
    except UnauthorizedError as error:
        return _form(request, next, str(error))


@open_router.post("/login")
async def send(
    request: Request,
    context: Context,
    token: Annotated[str, Form(max_length=500)] = "",
    next: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    identifier: Identifier = request.app.state.identifier
    try:
        caller = await identifier.of_token(token.strip())
        assert caller.token_sha256 is not None
        return await _sign_in(request, context, caller.token_sha256, next)
    except UnauthorizedError as error:
        request.state.caller = bearer_of(error)
        return _form(request, next, str(error))


@open_router.get("/logout")
async def confirm_logout(request: Request, context: Context) -> Response:
    identifier: Identifier = request.app.state.identifier
    secret = session_secret(request)
    caller = await identifier.of_session(secret) if secret else None
    sessions = await service.list_sessions(context.engine, None if caller is None else caller.token_sha256)
    return page(request, "logout.html", {"name": caller_of(request).name, "sessions": sessions})


@open_router.post("/logout")
async def logout(
    request: Request, context: Context, everywhere: Annotated[Literal["", "yes"], Form()] = ""
) -> Response:
    identifier: Identifier = request.app.state.identifier
    if secret := session_secret(request):
        if everywhere and (caller := await identifier.of_session(secret)) is not None:
            await service.end_sessions(context.engine, caller.token_sha256)
        await service.end_session(context.engine, secret)
        identifier.forget()
    answer = RedirectResponse("/login", status.HTTP_303_SEE_OTHER)
    cookie = session_cookie(request.scope)
    answer.delete_cookie(cookie, httponly=True, samesite="strict", secure=request.url.scheme == "https")
    return answer


@router.get("/tokens", dependencies=[needs(Role.admin)])
async def tokens(request: Request, context: Context) -> Response:
    tokens_list = await service.list_tokens(context.engine)
    return page(request, "tokens.html", tokens_list, rows=[token.model_dump(mode="json") for token in tokens_list])


@router.post("/tokens/{token_id}/revoke", dependencies=[needs(Role.admin)])
async def revoke(token_id: int, request: Request, context: Context, caller: CurrentCaller) -> Response:
    await service.revoke_token(context.engine, token_id, caller)
    request.app.state.identifier.forget()
    return RedirectResponse("/tokens", status.HTTP_303_SEE_OTHER)


@router.get("/audit", dependencies=[needs(Role.admin)])
async def audit(
    request: Request, context: Context, before: Annotated[int | None, Query(ge=1, le=LARGEST_BIGINT)] = None
) -> Response:
    entries = await service.audit(context.engine, before=before, limit=ROWS)
    rows: list[dict[str, Any]] = [entry.model_dump(mode="json") for entry in entries.entries]
    return page(request, "audit.html", entries, rows=rows)


async def _sign_in(request: Request, context: Context, token_sha256: bytes, next: str | None) -> Response:
    identifier: Identifier = request.app.state.identifier
    request.state.caller = await identifier.of_digest(token_sha256)
    session = await service.start_session(context.engine, token_sha256)
    answer = RedirectResponse(local_path(next), status.HTTP_303_SEE_OTHER)
    answer.headers["Cache-Control"] = "no-store"
    answer.set_cookie(
        session_cookie(request.scope),
        session.secret.text,
        expires=session.expires_at,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


def _form(request: Request, next: str | None, problem: str | None = None) -> Response:
    code = status.HTTP_200_OK if problem is None else status.HTTP_401_UNAUTHORIZED
    data = {"next": local_path(next), "problem": problem, "name": caller_of(request).name}
    return page(request, "login.html", data, status=code)
