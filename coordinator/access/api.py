"""Tokens, the caller and the audit log over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Request, Response, status

from coordinator.access import service
from coordinator.access.caller import CurrentCaller, needs
from coordinator.access.models import AuditPage, LoginLink, NewToken, SessionList, TokenList, TokenRequest, WhoAmI
from coordinator.access.roles import Role
from coordinator.http.context import Context
from coordinator.http.routers import RestRouter
from coordinator.http.storable import LARGEST_BIGINT, LARGEST_INTEGER, Text
from protocol.problems import problem_responses

router = RestRouter(tags=["access"])

TokenId = Annotated[int, Path(ge=1, le=LARGEST_INTEGER)]


@router.get("/whoami", dependencies=[needs(Role.viewer)])
async def whoami(caller: CurrentCaller) -> WhoAmI:
    """Return the caller's name and role, and the time at which its access ends."""
    return WhoAmI(
        name=caller.name,
        role=caller.role,
        kind=caller.kind,
        token_id=caller.token_id,
        expires_at=caller.expires_at,
    )


@router.post("/login-links", status_code=status.HTTP_201_CREATED, dependencies=[needs(Role.viewer)])
async def create_link(caller: CurrentCaller, context: Context, response: Response) -> LoginLink:
    """Create a link that signs in a browser as the caller. It works once, and only for a few minutes."""
    response.headers["Cache-Control"] = "no-store"
    return await service.create_link(context.engine, caller)


@router.get("/sessions", dependencies=[needs(Role.viewer)])
async def own_sessions(caller: CurrentCaller, context: Context) -> SessionList:
    """The browsers that are signed in with the caller's token."""
    return SessionList(sessions=await service.list_sessions(context.engine, caller.token_sha256))


@router.delete("/sessions", status_code=status.HTTP_204_NO_CONTENT, dependencies=[needs(Role.viewer)])
async def end_own_sessions(request: Request, caller: CurrentCaller, context: Context) -> None:
    """Sign out every browser that is signed in with the caller's token. The token stays valid."""
    await service.end_sessions(context.engine, caller.token_sha256)
    request.app.state.identifier.forget()


@router.get("/tokens", dependencies=[needs(Role.admin)])
async def list_tokens(context: Context) -> TokenList:
    """All tokens, newest first, without their secrets. Expired and revoked tokens are included."""
    return TokenList(tokens=await service.list_tokens(context.engine))


@router.post(
    "/tokens",
    status_code=status.HTTP_201_CREATED,
    dependencies=[needs(Role.admin)],
)
async def create(request: TokenRequest, caller: CurrentCaller, context: Context, response: Response) -> NewToken:
    """Create a token. Only this response contains its secret."""
    new_token = await service.create_token(context.engine, request, caller)
    response.headers["Location"] = f"/api/v1/tokens/{new_token.id}"
    response.headers["Cache-Control"] = "no-store"
    return new_token


@router.delete(
    "/tokens/{token_id}",
    status_code=status.HTTP_204_NO_CONTENT,
    dependencies=[needs(Role.admin)],
    responses=problem_responses(404),
)
async def revoke(token_id: TokenId, request: Request, caller: CurrentCaller, context: Context) -> None:
    """Revoke a token. The token and its sessions are refused from now on."""
    await service.revoke_token(context.engine, token_id, caller)
    request.app.state.identifier.forget()


@router.get("/audit", dependencies=[needs(Role.admin)])
async def audit(
    context: Context,
    who: Annotated[Text | None, Query(max_length=200, description="only entries of this name")] = None,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_BIGINT)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> AuditPage:
    """Changes and refused requests, newest first: the caller, the action, the time and the address."""
    return await service.audit(context.engine, before=before, limit=limit, who=who)
