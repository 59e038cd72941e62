"""Tokens, sessions and login links: the layer between HTTP and the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access import store
from coordinator.access.caller import SIGN_IN, Caller
from coordinator.access.models import AuditPage, AuditRow, BrowserSession, LoginLink, NewToken, Token, TokenRequest
from coordinator.access.tokens import LINK_LASTS, SESSION_LASTS, Secret, digest, new_secret, new_token
from coordinator.errors import NotFoundError, UnauthorizedError


@dataclass(frozen=True)
class NewSession:
    secret: Secret
    expires_at: datetime


async def create_token(engine: AsyncEngine, request: TokenRequest, by: Caller) -> NewToken:
    secret = new_token()
    async with engine.begin() as connection:
        row = await store.create_token(
            connection,
            name=request.name,
            role=str(request.role),
            prefix=secret.prefix,
            sha256=secret.sha256,
            created_by=by.name,
            expires_at=datetime.now(UTC) + timedelta(days=request.expires_in_days),
        )
    return NewToken.model_validate({**row._mapping, "secret": secret.text})


async def list_tokens(engine: AsyncEngine) -> list[Token]:
    async with engine.connect() as connection:
        return [Token.model_validate(row._mapping) for row in await store.list_tokens(connection)]


async def revoke_token(engine: AsyncEngine, token_id: int, by: Caller) -> Token:
    async with engine.begin() as connection:
        row = await store.revoke_token(connection, token_id, by.name)
    if row is None:
        raise NotFoundError(f"there is no token {token_id}: `portolan token list` shows the existing tokens")
    return Token.model_validate(row._mapping)


async def start_session(engine: AsyncEngine, token_sha256: bytes) -> NewSession:
    """Start a session. It has the role of its token, and ends at the latest when the token ends."""
    secret = new_secret()
    async with engine.begin() as connection:
        expires_at = await store.create_session(connection, secret.sha256, token_sha256, SESSION_LASTS)
    return NewSession(secret, expires_at)


async def end_session(engine: AsyncEngine, secret: str) -> None:
    async with engine.begin() as connection:
        await store.end_session(connection, digest(secret))


async def list_sessions(engine: AsyncEngine, token_sha256: bytes | None) -> list[BrowserSession]:
    """Return the sessions of this token; empty for callers without a token."""
    if token_sha256 is None:
        return []
    async with engine.connect() as connection:
        rows = await store.list_sessions(connection, token_sha256)
    return [BrowserSession.model_validate(row) for row in rows]


async def end_sessions(engine: AsyncEngine, token_sha256: bytes | None) -> None:
    """End all sessions of this token."""
    if token_sha256 is not None:
        async with engine.begin() as connection:
            await store.end_sessions(connection, token_sha256)


async def create_link(engine: AsyncEngine, caller: Caller) -> LoginLink:
    if caller.token_sha256 is None:
        raise UnauthorizedError(SIGN_IN)
    secret = new_secret()
    async with engine.begin() as connection:
        expires_at = await store.create_link(connection, secret.sha256, caller.token_sha256, LINK_LASTS)
    return LoginLink(path=f"/login?once={secret.text}", expires_at=expires_at)


async def take_link(engine: AsyncEngine, secret: str) -> bytes:
    """Use up the link and return the hash of its token."""
    async with engine.begin() as connection:
        token_sha256 = await store.take_link(connection, digest(secret))
    if token_sha256 is None:
        raise UnauthorizedError(
            "this link was already used or has expired: create a new one with `portolan login --link`, "
            "or sign in with a token"
        )
    return token_sha256


async def audit(engine: AsyncEngine, *, before: int | None, limit: int, who: str | None = None) -> AuditPage:
    async with engine.connect() as connection:
        rows = await store.list_entries(connection, before=before, limit=limit, who=who)
    entries = [AuditRow.model_validate(row._mapping) for row in rows]
    return AuditPage(entries=entries, next=entries[-1].id if len(entries) == limit else None)
