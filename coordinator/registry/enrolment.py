"""Enrollment: a runner with a token registers itself, under the name and for the target that the token names.

First, registrations with the same name or URL are read, and their runners are probed. Then everything is stored in one
transaction, if these registrations have not changed. Nothing is locked while a runner is probed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.database.connection import transact
from coordinator.errors import (
    ConflictError,
    ForbiddenError,
    RequestError,
    RunnerIdentityError,
    RunnerIncompatibleError,
    UnusableRunnerError,
)
from coordinator.registry import store
from coordinator.registry.client import RunnerClient, probe
from coordinator.registry.service import put
from coordinator.registry.store import Registration
from coordinator.text.plain_text import plain_text
from protocol.catalogue import Catalogue
from protocol.enrolment import Enrolment
from protocol.enrolment_tokens import EnrolmentToken
from protocol.runner import RunnerInfo

# If the registrations change while the runner is probed, the decision is made again from the new registrations.
TRIES = 3
SUPERSEDED = "another runner answers at its URL"


@dataclass(frozen=True)
class RegistryEntry:
    """The registration of an enrolled runner, with its new secret."""

    runner_id: int
    secret: str
    created: bool


@dataclass(frozen=True)
class Takeover:
    """The decision about existing registrations: the registration that the runner takes over (None for a new
    registration), and the registrations to remove."""

    keep: int | None
    superseded: tuple[int, ...]


def find_doubtful(request: Enrolment, registrations: frozenset[Registration]) -> list[Registration]:
    """Return the registrations that may belong to another runner, because they have only the name or only the URL of
    the request. A registration without a name is identified by its URL alone."""
    return [
        registration
        for registration in registrations
        if registration.name is not None and (registration.name == request.name) != (registration.url == request.url)
    ]


def decide_takeover(
    request: Enrolment,
    boot_id: str,
    registrations: frozenset[Registration],
    answering: Mapping[Registration, str | None],
) -> Takeover:
    """Decide which registrations the runner takes over. ``answering`` has, for each doubtful registration, the boot of
    the runner at its URL; None if no runner answers there.

    Raises ``ConflictError`` if another live runner has the name or the URL.
    """
    for registration in find_doubtful(request, registrations):
        if answering[registration] in (None, boot_id):
            continue
        if registration.name == request.name:
            raise ConflictError(
                f"the name {request.name} belongs to the runner at {registration.url}, which is alive: "
                "stop that runner, or start the new one with another --name"
            )
        raise ConflictError(
            f"the runner {registration.name} answers at {request.url} too: "
            "give each runner its own URL with --advertise"
        )
    # Prefer the registration of this name to one without a name.
    ids = {registration.name: registration.id for registration in registrations}
    keep = ids.get(request.name, ids.get(None))
    return Takeover(keep, tuple(sorted(registration.id for registration in registrations if registration.id != keep)))


def require_name(token: EnrolmentToken, name: str) -> None:
    """Raise ``ForbiddenError`` unless the token is for a runner of this name."""
    if not token.is_for(name):
        raise ForbiddenError(
            f"the enrolment token is for a runner named {token.name}, not {name}: "
            "use that --name, or create a token for this name (`portolan runner token NAME FRAMEWORK/DEVICE`)"
        )


def require_target(token: EnrolmentToken, info: RunnerInfo) -> None:
    """Raise ``ForbiddenError`` unless the token is for the framework and device of the runner."""
    if token.target != f"{info.framework}/{info.device}":
        raise ForbiddenError(
            f"the enrolment token is for {token.target}, and the runner serves "
            f"{plain_text(info.framework)}/{plain_text(info.device)}: create a token for that target"
        )


async def enrol(
    engine: AsyncEngine, request: Enrolment, token: EnrolmentToken, times: Times = DEFAULT_TIMES
) -> RegistryEntry:
    """Probe the runner and store it under its name, with a new secret.

    Raises an ``UnusableRunnerError`` if the runner cannot be probed, or if its suite differs from the stored one.
    Raises a ``ConflictError`` if another runner has its name or URL. In both cases nothing is stored.
    """
    require_name(token, request.name)
    try:
        return await _enrol(engine, request, token, times)
    except RunnerIncompatibleError as error:
        # Not an error to retry: a later attempt would reach the same runner.
        raise RequestError(str(error)) from error


async def _enrol(engine: AsyncEngine, request: Enrolment, token: EnrolmentToken, times: Times) -> RegistryEntry:
    registrations = await _look_up(engine, request)
    for _ in range(TRIES):
        info, catalogue = await probe(request.url, request.secret, times)
        require_target(token, info)
        doubtful = find_doubtful(request, registrations)
        answering = {registration: await _boot_at(registration, times) for registration in doubtful}
        takeover = decide_takeover(request, info.boot_id, registrations, answering)
        entry = await _store(engine, request, info, catalogue, registrations, takeover)
        if entry is not None:
            return entry
        before, registrations = registrations, await _look_up(engine, request)
        for registration in registrations - before:
            if (registration.name, registration.url) != (request.name, request.url):
                raise ConflictError(
                    f"the runner {registration.name or ''} at {registration.url} enrolled at the same moment "
                    f"as {request.name} at {request.url}: give each its own --name and URL"
                )
    raise ConflictError(
        f"{request.name} enrolls again before its last enrolment has ended: check whether it is started twice"
    )


async def _look_up(engine: AsyncEngine, request: Enrolment) -> frozenset[Registration]:
    async with engine.connect() as connection:
        return await store.find_registrations(connection, request.name, request.url)


async def _boot_at(registration: Registration, times: Times) -> str | None:
    """The boot of the runner that accepts the secret of this registration; None if there is no such runner."""
    try:
        async with RunnerClient(registration.url, registration.secret, times=times) as client:
            async with asyncio.timeout(times.answer_s):
                return (await client.info()).boot_id
    except (UnusableRunnerError, TimeoutError):
        return None


async def _store(
    engine: AsyncEngine,
    request: Enrolment,
    info: RunnerInfo,
    catalogue: Catalogue,
    registrations: frozenset[Registration],
    takeover: Takeover,
) -> RegistryEntry | None:
    """Store everything. If the registrations have changed since they were read, store nothing and return None."""

    async def work(connection: AsyncConnection) -> RegistryEntry | None:
        if await store.find_registrations(connection, request.name, request.url, for_update=True) != registrations:
            return None
        for superseded_id in takeover.superseded:
            await store.remove_runner(connection, superseded_id, SUPERSEDED)
        secret = secrets.token_urlsafe(32)
        address = {"name": request.name, "url": request.url, "secret": secret}
        runner_id = await put(connection, takeover.keep, info, catalogue, **address)
        return RegistryEntry(runner_id, secret, created=takeover.keep is None)

    try:
        return await transact(engine, work)
    except IntegrityError:
        # Another registration took the name or the URL since; there was no row to lock.
        return None
    except RunnerIdentityError:
        # The other registration of this boot may be new as well; then it has the name or the URL.
        if await _look_up(engine, request) == registrations:
            raise
        return None
