"""The caller behind a token, a session or a link, with a real PostgreSQL: valid until it ends, and not afterwards."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access import service
from coordinator.access.caller import NOBODY, Caller
from coordinator.access.identifier import HELD_S, AdminToken, Identifier
from coordinator.access.models import NewToken, TokenRequest
from coordinator.access.roles import Role
from coordinator.access.tokens import digest
from coordinator.errors import NotFoundError, TokenEndedError, UnauthorizedError

COOKIE = "portolan_session_8642"
ADMIN_SECRET = "the secret of the file"
ADMIN = AdminToken("file", digest(ADMIN_SECRET))


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def make_identifier(engine: AsyncEngine, clock: Clock | None = None) -> Identifier:
    return Identifier(engine, ADMIN, Role.viewer, lambda token_id: None, clock or Clock())


async def make_token(engine: AsyncEngine, role: Role = Role.operator) -> NewToken:
    return await service.create_token(engine, TokenRequest(name="ada", role=role), ADMIN.caller)


async def expire(owner: AsyncEngine, table: str) -> None:
    async with owner.begin() as connection:
        # A token cannot end before it was made.
        await connection.execute(text(f"UPDATE {table} SET expires_at = now()"))


def with_token(secret: str) -> list[tuple[bytes, bytes]]:
    return [(b"accept", b"*/*"), (b"authorization", f"Bearer {secret}".encode())]


def with_session(secret: str) -> list[tuple[bytes, bytes]]:
    return [(b"cookie", f"a=1; {COOKIE}={secret}".encode())]


async def test_a_token_is_its_bearer_until_it_is_revoked_or_expires(engine: AsyncEngine, owner: AsyncEngine) -> None:
    revoked_token, expired_token = await make_token(engine), await make_token(engine, Role.submitter)
    for token, role in ((revoked_token, Role.operator), (expired_token, Role.submitter)):
        caller = await make_identifier(engine).identify(with_token(token.secret), COOKIE)
        assert (caller.name, caller.role, caller.kind, caller.token_id) == ("ada", role, "token", token.id)
    await service.revoke_token(engine, revoked_token.id, ADMIN.caller)
    with pytest.raises(TokenEndedError, match="was revoked"):
        await make_identifier(engine).identify(with_token(revoked_token.secret), COOKIE)
    await expire(owner, "tokens")
    with pytest.raises(TokenEndedError, match="expired"):
        await make_identifier(engine).identify(with_token(expired_token.secret), COOKIE)
    with pytest.raises(NotFoundError):
        await service.revoke_token(engine, expired_token.id + 1, ADMIN.caller)


async def test_a_token_that_nobody_made_is_refused_and_no_token_is_nobody(engine: AsyncEngine) -> None:
    identifier = make_identifier(engine)
    with pytest.raises(UnauthorizedError, match="does not know the token"):
        await identifier.identify(with_token("portolan_made_up"), COOKIE)
    nobody = await identifier.identify([], COOKIE)
    assert (nobody.name, nobody.role, nobody.is_known) == (NOBODY.name, Role.viewer, False)
    assert (await identifier.identify(with_token(ADMIN_SECRET), COOKIE)).role is Role.admin


async def test_a_token_that_was_revoked_elsewhere_is_relied_on_for_a_second_at_most(engine: AsyncEngine) -> None:
    clock = Clock()
    identifier = make_identifier(engine, clock)
    token = await make_token(engine)
    await identifier.of_token(token.secret)
    await service.revoke_token(engine, token.id, ADMIN.caller)
    clock.now = HELD_S - 0.1
    await identifier.of_token(token.secret)
    clock.now = HELD_S
    with pytest.raises(TokenEndedError):
        await identifier.of_token(token.secret)


async def test_a_token_that_was_revoked_here_is_refused_at_once(engine: AsyncEngine) -> None:
    identifier = make_identifier(engine)
    token = await make_token(engine)
    await identifier.of_token(token.secret)
    await service.revoke_token(engine, token.id, ADMIN.caller)
    identifier.forget()
    with pytest.raises(TokenEndedError):
        await identifier.of_token(token.secret)


async def test_a_session_is_its_tokens_bearer_and_ends_with_it(engine: AsyncEngine) -> None:
    token = await make_token(engine)
    session = await service.start_session(engine, digest(token.secret))
    caller = await make_identifier(engine).identify(with_session(session.secret.text), COOKIE)
    assert (caller.name, caller.role, caller.kind, caller.token_id) == ("ada", Role.operator, "session", token.id)
    await service.revoke_token(engine, token.id, ADMIN.caller)
    caller = await make_identifier(engine).identify(with_session(session.secret.text), COOKIE)
    assert not caller.is_known


async def test_a_session_of_the_files_token_is_an_admins_while_that_is_the_file(engine: AsyncEngine) -> None:
    session = await service.start_session(engine, ADMIN.sha256)
    caller = await make_identifier(engine).identify(with_session(session.secret.text), COOKIE)
    assert (caller.name, caller.role, caller.kind) == ("file", Role.admin, "session")
    other = Identifier(engine, AdminToken("file", digest("another")), None, lambda token_id: None, Clock())
    assert not (await other.identify(with_session(session.secret.text), COOKIE)).is_known


async def test_a_session_that_is_over_is_nobodys(engine: AsyncEngine, owner: AsyncEngine) -> None:
    token = await make_token(engine)
    ended_session, over, running = [await service.start_session(engine, digest(token.secret)) for _ in range(3)]
    await service.end_session(engine, ended_session.secret.text)
    identifier = make_identifier(engine)
    assert not (await identifier.identify(with_session(ended_session.secret.text), COOKIE)).is_known
    assert (await identifier.identify(with_session(running.secret.text), COOKIE)).is_known
    await expire(owner, "sessions")
    assert not (await make_identifier(engine).identify(with_session(over.secret.text), COOKIE)).is_known


async def test_a_link_stands_for_its_token_once_and_not_for_long(engine: AsyncEngine, owner: AsyncEngine) -> None:
    links = [await service.create_link(engine, ADMIN.caller) for _ in range(2)]
    secrets = [link.path.partition("=")[2] for link in links]
    assert await service.take_link(engine, secrets[0]) == ADMIN.sha256
    with pytest.raises(UnauthorizedError, match="already used"):
        await service.take_link(engine, secrets[0])
    await expire(owner, "login_links")
    with pytest.raises(UnauthorizedError, match="has expired"):
        await service.take_link(engine, secrets[1])


async def test_who_has_no_token_gets_no_link(engine: AsyncEngine) -> None:
    with pytest.raises(UnauthorizedError, match="portolan login"):
        await service.create_link(engine, Caller("anonymous", Role.admin, "anonymous"))
