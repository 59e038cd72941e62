"""Enrolling: a runner that knows the enrolment secret puts itself on the chart, under a name of its own.

Who has the name or the URL already is looked up, then everybody is asked, then all is stored
in one transaction, if what was looked up is still so. Nothing is locked while a runner is asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.database.connection import transact
from coordinator.errors import ConflictError, RequestError, RunnerError, RunnerIncompatibleError
from coordinator.registry import store
from coordinator.registry.client import RunnerClient
from coordinator.registry.service import put
from coordinator.registry.store import Registered
from coordinator.registry.suites import require_unambiguous
from protocol.catalogue import Catalogue
from protocol.enrolment import Enrolment
from protocol.runner import RunnerInfo

TRIES = 3
SUPERSEDED = "another runner answers at its URL"


@dataclass(frozen=True)
class Stored:
    runner_id: int
    secret: str
    created: bool


@dataclass(frozen=True)
class Change:
    """Which registration becomes the runner's, or none for a new one; and which are of nobody any more."""

    keep: int | None
    superseded: tuple[int, ...]


def doubtful(asked: Enrolment, known: frozenset[Registered]) -> list[Registered]:
    """Those who may be another runner than the one that asks: they have its name or its URL, not both.

    Without a name, the URL alone says who it is.
    """
    return [each for each in known if each.name is not None and (each.name == asked.name) != (each.url == asked.url)]


def judge(
    asked: Enrolment, boot_id: str, known: frozenset[Registered], answering: Mapping[Registered, str | None]
) -> Change:
    """What enrolling changes; ``answering`` has the boot that answers for each doubtful one, or None.

    Raises ``ConflictError`` if another runner that is alive has the name or the URL.
    """
    for each in doubtful(asked, known):
        if answering[each] in (None, boot_id):
            continue
        if each.name == asked.name:
            raise ConflictError(
                f"the name {asked.name} belongs to the runner at {each.url}, which is alive: "
                "stop that one, or give this one a --name of its own"
            )
        raise ConflictError(
            f"the runner {each.name} answers at {asked.url} too: give each runner a URL of its own, with --advertise"
        )
    named = next((each.id for each in known if each.name == asked.name), None)
    unnamed = next((each.id for each in known if each.name is None), None)
    keep = named if named is not None else unnamed
    return Change(keep, tuple(sorted(each.id for each in known if each.id != keep)))


async def enrol(engine: AsyncEngine, asked: Enrolment) -> Stored:
    """Probe the runner and store it under its name, with a new secret of its own.

    Raises a ``RunnerError`` if it cannot be probed or its suite is another one than is stored, and
    a ``ConflictError`` if another runner stands in its way; then nothing is stored.
    """
    try:
        return await _enrol(engine, asked)
    except RunnerIncompatibleError as error:
        # Not for a retry, as the others are: it will be no other runner tomorrow.
        raise RequestError(str(error)) from error


async def _enrol(engine: AsyncEngine, asked: Enrolment) -> Stored:
    known = await _look_up(engine, asked)
    for _ in range(TRIES):
        info, catalogue = await _probe(asked)
        answering = {each: await _boot_at(each) for each in doubtful(asked, known)}
        change = judge(asked, info.boot_id, known, answering)
        stored = await _store(engine, asked, info, catalogue, known, change)
        if stored is not None:
            return stored
        before, known = known, await _look_up(engine, asked)
        for each in known - before:
            if (each.name, each.url) != (asked.name, asked.url):
                raise ConflictError(
                    f"the runner {each.name or ''} at {each.url} came at the same moment as {asked.name} "
                    f"at {asked.url}: give each a --name and a URL of its own"
                )
    raise ConflictError(f"{asked.name} enrols more often than it is answered: is it started twice?")


async def _look_up(engine: AsyncEngine, asked: Enrolment) -> frozenset[Registered]:
    async with engine.connect() as connection:
        return await store.registered(connection, asked.name, asked.url)


async def _probe(asked: Enrolment) -> tuple[RunnerInfo, Catalogue]:
    async with RunnerClient(asked.url, asked.secret) as client:
        info, catalogue = await client.info(), await client.catalogue()
    require_unambiguous(asked.url, catalogue)
    return info, catalogue


async def _boot_at(registered: Registered) -> str | None:
    """The boot that answers to the secret that only this registration's runner knows."""
    try:
        async with RunnerClient(registered.url, registered.secret) as client:
            return (await client.info()).boot_id
    except RunnerError:
        return None


async def _store(
    engine: AsyncEngine,
    asked: Enrolment,
    info: RunnerInfo,
    catalogue: Catalogue,
    known: frozenset[Registered],
    change: Change,
) -> Stored | None:
    """All of it, or nothing and None if the registrations are no longer the known ones."""

    async def work(connection: AsyncConnection) -> Stored | None:
        if await store.registered(connection, asked.name, asked.url, locked=True) != known:
            return None
        return await _carry_out(connection, asked, info, catalogue, change)

    try:
        return await transact(engine, work)
    except IntegrityError:
        # Somebody took the name or the URL since, in a registration that there was none of to lock.
        return None


async def _carry_out(
    connection: AsyncConnection, asked: Enrolment, info: RunnerInfo, catalogue: Catalogue, change: Change
) -> Stored:
    for each in change.superseded:
        await store.remove_runner(connection, each, SUPERSEDED)
    secret = secrets.token_urlsafe(32)
    address = {"name": asked.name, "url": asked.url, "secret": secret}
    runner_id = await put(connection, change.keep, info, catalogue, **address)
    return Stored(runner_id, secret, created=change.keep is None)
