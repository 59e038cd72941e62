"""Tokens, sessions, login links and the audit log in the database. This module contains all of their SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from sqlalchemy import Row, RowMapping, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import audit_entries, login_links, sessions, tokens

_PUBLIC = [column for column in tokens.c if column.name != "sha256"]


async def find_token(connection: AsyncConnection, sha256: bytes) -> Row[Any] | None:
    return (await connection.execute(select(*_PUBLIC).where(tokens.c.sha256 == sha256))).one_or_none()


async def find_session(connection: AsyncConnection, sha256: bytes) -> Row[Any] | None:
    """The session with its token. The token's columns are null if the token is not in the database."""
    result = await connection.execute(
        select(
            sessions.c.token_sha256,
            sessions.c.expires_at.label("session_expires_at"),
            *_PUBLIC,
        )
        .outerjoin_from(sessions, tokens, sessions.c.token_sha256 == tokens.c.sha256)
        .where(sessions.c.sha256 == sha256)
    )
    return result.one_or_none()


async def create_token(connection: AsyncConnection, **values: Any) -> Row[Any]:
    return (await connection.execute(insert(tokens).values(values).returning(*_PUBLIC))).one()


async def list_tokens(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """All tokens, newest first."""
    return (await connection.execute(select(*_PUBLIC).order_by(tokens.c.id.desc()))).all()


async def revoke_token(connection: AsyncConnection, token_id: int, by: str) -> Row[Any] | None:
    """Revoke the token and return it, even if it was already revoked; None if there is no such token."""
    await connection.execute(
        update(tokens)
        .where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        .values(revoked_at=func.now(), revoked_by=by)
    )
    return (await connection.execute(select(*_PUBLIC).where(tokens.c.id == token_id))).one_or_none()


async def create_session(connection: AsyncConnection, sha256: bytes, token_sha256: bytes, lasts: timedelta) -> datetime:
    """Store a session and delete ended sessions. Returns the time at which the new session ends."""
    await connection.execute(delete(sessions).where(sessions.c.expires_at < func.now()))
    result = await connection.execute(
        insert(sessions)
        .values(sha256=sha256, token_sha256=token_sha256, expires_at=func.now() + lasts)
        .returning(sessions.c.expires_at)
    )
    return cast(datetime, result.scalar_one())


async def end_session(connection: AsyncConnection, sha256: bytes) -> None:
    await connection.execute(delete(sessions).where(sessions.c.sha256 == sha256))


async def list_sessions(connection: AsyncConnection, token_sha256: bytes) -> Sequence[RowMapping]:
    """The sessions of one token that have not ended, newest first."""
    result = await connection.execute(
        select(sessions.c.created_at, sessions.c.expires_at)
        .where(sessions.c.token_sha256 == token_sha256, sessions.c.expires_at > func.now())
        .order_by(sessions.c.created_at.desc())
    )
    return result.mappings().all()


async def end_sessions(connection: AsyncConnection, token_sha256: bytes) -> None:
    await connection.execute(delete(sessions).where(sessions.c.token_sha256 == token_sha256))


async def create_link(connection: AsyncConnection, sha256: bytes, token_sha256: bytes, lasts: timedelta) -> datetime:
    """Store a login link and delete ended links. Returns the time at which the new link ends."""
    await connection.execute(delete(login_links).where(login_links.c.expires_at < func.now()))
    result = await connection.execute(
        insert(login_links)
        .values(sha256=sha256, token_sha256=token_sha256, expires_at=func.now() + lasts)
        .returning(login_links.c.expires_at)
    )
    return cast(datetime, result.scalar_one())


async def take_link(connection: AsyncConnection, sha256: bytes) -> bytes | None:
    """Use up the link and return the hash of its token. If two requests use the link at the same time, only one gets
    the hash."""
    result = await connection.execute(
        delete(login_links)
        .where(login_links.c.sha256 == sha256)
        .returning(login_links.c.token_sha256, login_links.c.expires_at > func.now())
    )
    row = result.one_or_none()
    return cast(bytes, row[0]) if row is not None and row[1] else None


async def note_use(connection: AsyncConnection, token_ids: Iterable[int], every: timedelta) -> None:
    """Record that these tokens were used, except those whose last recorded use is more recent than ``every``."""
    await connection.execute(
        update(tokens)
        .where(
            tokens.c.id.in_(sorted(token_ids)),
            (tokens.c.last_used_at.is_(None)) | (tokens.c.last_used_at < func.now() - every),
        )
        .values(last_used_at=func.now())
    )


async def add_entries(connection: AsyncConnection, entries: Sequence[dict[str, Any]]) -> None:
    await connection.execute(insert(audit_entries), entries)


async def list_entries(
    connection: AsyncConnection, *, before: int | None, limit: int, who: str | None = None
) -> Sequence[Row[Any]]:
    """Entries of the audit log, newest first."""
    query = select(audit_entries).order_by(audit_entries.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(audit_entries.c.id < before)
    if who is not None:
        query = query.where(audit_entries.c.who == who)
    return (await connection.execute(query)).all()
