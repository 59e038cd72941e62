"""Identifies the caller of a request by its token or its session.

A lookup is cached for ``HELD_S`` seconds. The coordinator that revokes a token refuses it immediately; other
coordinators of the same database refuse it after ``HELD_S`` seconds at the latest.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.access import store
from coordinator.access.audit import USE_EVERY
from coordinator.access.caller import NOBODY, Caller, CallerKind
from coordinator.access.roles import Role
from coordinator.access.tokens import digest
from coordinator.errors import TokenEndedError, UnauthorizedError

HELD_S = 1.0
"""Seconds for which a lookup is cached."""
MOST_HELD = 1000
LOOKUPS_AT_ONCE = 2
"""The maximum number of database connections (of ten) that lookups use at the same time, so that requests with invented
tokens cannot occupy all of them."""
LONGEST_TOKEN = 500

ANOTHER = "ask an admin for a new one (`portolan token create`) and store it with `portolan login URL`"


@dataclass(frozen=True)
class AdminToken:
    """The admin token from the coordinator's file. It is not in the database, so it works even if the database is
    empty."""

    name: str
    sha256: bytes = field(repr=False)

    @property
    def caller(self) -> Caller:
        return Caller(self.name, Role.admin, "token", None, self.sha256)


class Identifier:
    """Identifies callers: ``await identifier.identify(headers, cookie)``."""

    def __init__(
        self,
        engine: AsyncEngine,
        admin: AdminToken | None,
        anonymous: Role | None,
        note_use: Callable[[int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._admin = admin
        self._anonymous = Caller(NOBODY.name, anonymous, "anonymous")
        self._note_use = note_use
        self._clock = clock
        self._held: OrderedDict[tuple[str, bytes], tuple[float, Row[Any] | None]] = OrderedDict()
        self._lookups = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def identify(self, headers: Iterable[tuple[bytes, bytes]], cookie: str) -> Caller:
        """Return the caller. Raises ``UnauthorizedError`` for an unknown token, and ``TokenEndedError`` for an expired
        or revoked token.

        A request with an ended session counts as a request without a session.
        """
        bearer, session = _credentials(headers, cookie)
        if bearer is not None:
            return await self.of_token(bearer)
        if session is not None and (caller := await self.of_session(session)) is not None:
            return caller
        return self._anonymous

    async def of_token(self, token: str) -> Caller:
        return await self.of_digest(digest(token))

    async def of_digest(self, token_sha256: bytes) -> Caller:
        """Return the caller of a token from the hash of the token. A login link, for example, has only the hash."""
        if self._admin is not None and token_sha256 == self._admin.sha256:
            return self._admin.caller
        row = await self._look_up("token", token_sha256, store.find_token)
        if row is None:
            raise UnauthorizedError(f"this coordinator does not know the token: {ANOTHER}")
        _require_valid(row)
        return self._caller(row, "token", token_sha256)

    async def of_session(self, secret: str) -> Caller | None:
        """Return the caller of a session; None if the session or its token has ended."""
        row = await self._look_up("session", digest(secret), store.find_session)
        if row is None or row.session_expires_at <= datetime.now(UTC):
            return None
        if self._admin is not None and row.token_sha256 == self._admin.sha256:
            return Caller(self._admin.name, Role.admin, "session", None, row.token_sha256, row.session_expires_at)
        if row.id is None or row.revoked_at is not None or row.expires_at <= datetime.now(UTC):
            return None
        return self._caller(row, "session", row.token_sha256)

    def forget(self) -> None:
        """Drop all cached lookups, because a token was revoked or a session ended."""
        self._held.clear()

    def _caller(self, row: Row[Any], kind: CallerKind, sha256: bytes) -> Caller:
        return Caller(row.name, Role(row.role), kind, row.id, sha256, row.expires_at)

    async def _look_up(
        self,
        kind: str,
        sha256: bytes,
        find: Callable[[AsyncConnection, bytes], Awaitable[Row[Any] | None]],
    ) -> Row[Any] | None:
        key, now = (kind, sha256), self._clock()
        entry = self._held.get(key)
        if entry is not None and now - entry[0] < HELD_S:
            return entry[1]
        async with self._lookups, self._engine.connect() as connection:
            row = await find(connection, sha256)
        # This is the time before the query, so that a result is never cached for longer than ``HELD_S``.
        self._held[key] = (now, row)
        self._held.move_to_end(key)
        while len(self._held) > MOST_HELD:
            self._held.popitem(last=False)
        if row is not None and row.id is not None and _is_due(row.last_used_at):
            self._note_use(row.id)
        return row


def _is_due(last_used_at: datetime | None) -> bool:
    return last_used_at is None or datetime.now(UTC) - last_used_at > USE_EVERY


def _require_valid(row: Row[Any]) -> None:
    if row.revoked_at is not None:
        fate = f"was revoked on {row.revoked_at:%Y-%m-%d}"
    elif row.expires_at <= datetime.now(UTC):
        fate = f"expired on {row.expires_at:%Y-%m-%d}"
    else:
        return
    raise TokenEndedError(f"the token {row.prefix} {fate}: {ANOTHER}", name=row.name, token_id=row.id)


def _credentials(headers: Iterable[tuple[bytes, bytes]], cookie: str) -> tuple[str | None, str | None]:
    """The bearer token and the session secret of a request; None for one that is absent."""
    bearer = session = None
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            bearer = value[7 : 7 + LONGEST_TOKEN].strip().decode("latin-1")
        elif name == b"cookie" and cookie.encode() in value:
            session = cookie_value(value.decode("latin-1"), cookie)
    return bearer, session


def cookie_value(header: str, name: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(name)
    except CookieError:
        return None
    return morsel.value if morsel is not None else None
