"""Enrolling: a runner that knows the enrolment secret puts itself on the chart, under a name of its own.

The registrations with the name or the URL are looked up, their runners are asked, and everything is stored in
one transaction if the registrations are still the same. Nothing is locked while a runner is asked.
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
class Takeover:
    """The registration that becomes the runner's, or none for a new one, and the registrations to remove."""

    keep: int | None
    superseded: tuple[int, ...]


def doubtful(request: Enrolment, known: frozenset[Registered]) -> list[Registered]:
    """The registrations that may be another runner's: they have the name or the URL of the one that enrols, not both.

    A registration without a name is known by its URL alone.
    """
    return [
        registration
        for registration in known
        if registration.name is not None and (registration.name == request.name) != (registration.url == request.url)
    ]


def judge(
    request: Enrolment, boot_id: str, known: frozenset[Registered], answering: Mapping[Registered, str | None]
) -> Takeover:
    """The takeover that an enrolment amounts to; ``answering`` has the boot at each doubtful URL, or None.

    Raises ``ConflictError`` if another runner that is alive has the name or the URL.
    """
    for registration in doubtful(request, known):
        if answering[registration] in (None, boot_id):
            continue
        if registration.name == request.name:
            raise ConflictError(
                f"the name {request.name} belongs to the runner at {registration.url}, which is alive: "
                "stop that one, or give this one a --name of its own"
            )
        raise ConflictError(
            f"the runner {registration.name} answers at {request.url} too: "
            "give each runner a URL of its own, with --advertise"
        )
    named = next((registration.id for registration in known if registration.name == request.name), None)
    unnamed = next((registration.id for registration in known if registration.name is None), None)
    keep = named if named is not None else unnamed
    return Takeover(keep, tuple(sorted(registration.id for registration in known if registration.id != keep)))


async def enrol(engine: AsyncEngine, request: Enrolment) -> Stored:
    """Probe the runner and store it under its name, with a new secret of its own.

    Raises a ``RunnerError`` if it cannot be probed or its suite is another one than is stored, and
    a ``ConflictError`` if another runner stands in its way; then nothing is stored.
    """
    try:
        return await _enrol(engine, request)
    except RunnerIncompatibleError as error:
        # Not for a retry, as the others are: it will be no other runner tomorrow.
        raise RequestError(str(error)) from error


async def _enrol(engine: AsyncEngine, request: Enrolment) -> Stored:
    known = await _look_up(engine, request)
    for _ in range(TRIES):
        info, catalogue = await _probe(request)
        answering = {registration: await _boot_at(registration) for registration in doubtful(request, known)}
        takeover = judge(request, info.boot_id, known, answering)
        stored = await _store(engine, request, info, catalogue, known, takeover)
        if stored is not None:
            return stored
        before, known = known, await _look_up(engine, request)
        for registration in known - before:
            if (registration.name, registration.url) != (request.name, request.url):
                raise ConflictError(
                    f"the runner {registration.name or ''} at {registration.url} came at the same moment "
                    f"as {request.name} at {request.url}: give each a --name and a URL of its own"
                )
    raise ConflictError(f"{request.name} enrols more often than it is answered: is it started twice?")


async def _look_up(engine: AsyncEngine, request: Enrolment) -> frozenset[Registered]:
    async with engine.connect() as connection:
        return await store.registered(connection, request.name, request.url)


async def _probe(request: Enrolment) -> tuple[RunnerInfo, Catalogue]:
    async with RunnerClient(request.url, request.secret) as client:
        info, catalogue = await client.info(), await client.catalogue()
    require_unambiguous(request.url, catalogue)
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
    request: Enrolment,
    info: RunnerInfo,
    catalogue: Catalogue,
    known: frozenset[Registered],
    takeover: Takeover,
) -> Stored | None:
    """All of it, or nothing and None if the registrations are no longer the known ones."""

    async def work(connection: AsyncConnection) -> Stored | None:
        if await store.registered(connection, request.name, request.url, locked=True) != known:
            return None
        return await _carry_out(connection, request, info, catalogue, takeover)

    try:
        return await transact(engine, work)
    except IntegrityError:
        # Somebody took the name or the URL since, in a registration that there was none of to lock.
        return None


async def _carry_out(
    connection: AsyncConnection, request: Enrolment, info: RunnerInfo, catalogue: Catalogue, takeover: Takeover
) -> Stored:
    for superseded_id in takeover.superseded:
        await store.remove_runner(connection, superseded_id, SUPERSEDED)
    secret = secrets.token_urlsafe(32)
    address = {"name": request.name, "url": request.url, "secret": secret}
    runner_id = await put(connection, takeover.keep, info, catalogue, **address)
    return Stored(runner_id, secret, created=takeover.keep is None)
