"""The beginning of a check: who answers, what it offers, where its events stand, whether it is free."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import httpx

from coordinator.conformance.history import History
from coordinator.conformance.stream import Seen
from coordinator.conformance.subject import ANSWER_S, Case, Subject
from coordinator.database.outage import reason_of
from coordinator.errors import BrokenError, RunnerIncompatibleError, RunnerRefusedError, RunnerUnreachableError
from protocol.limits import IDLE_CONNECTION_S

LOOK_S = 12.0
"""A heartbeat comes within 10 s."""


@contextlib.asynccontextmanager
async def clients(url: str, secret: str) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Two connections to the runner: one that has the secret, and a stranger's."""
    plain = {"Accept-Encoding": "identity"}
    client = partial(
        httpx.AsyncClient,
        base_url=url,
        timeout=ANSWER_S,
        limits=httpx.Limits(keepalive_expiry=IDLE_CONNECTION_S),
        trust_env=False,
    )
    try:
        stranger = client(headers=plain)
    except httpx.InvalidURL as error:
        raise RunnerUnreachableError(f"{url!r} is no URL of a runner ({error})") from error
    bearer = {"Authorization": f"Bearer {secret}"} if secret else {}
    async with stranger, client(headers=plain | bearer) as http:
        yield http, stranger


async def begin(http: httpx.AsyncClient, stranger: httpx.AsyncClient, secret: str) -> Subject:
    """The runner, ready to be checked. Raises a ``RunnerError``."""
    url = str(http.base_url).rstrip("/")
    try:
        info = await _read(http, "/v1/runner", url)
        if not isinstance(info.get("boot_id"), str):
            raise RunnerIncompatibleError(f"what answers at {url} is no runner: GET /v1/runner has no boot_id")
        catalogue = await _read(http, "/v1/catalogue", url)
        subject = Subject(http, stranger, info, tuple(cases(catalogue)), catalogue, secret)
        await _find_position(subject, url)
        subject.history = History()  # What an earlier check left there is no part of this one.
        return subject
    except httpx.TimeoutException as error:
        raise RunnerUnreachableError(f"the runner at {url} did not answer within {ANSWER_S:g} s") from error
    except (httpx.HTTPError, UnicodeError) as error:
        raise RunnerUnreachableError(
            f"the runner at {url} does not answer ({reason_of(error)}): is it running, and the URL right?"
        ) from error


def cases(catalogue: dict[str, Any]) -> Iterator[Case]:
    """Every case that can be understood; ``identity.catalogue`` judges the rest."""
    for suite in _dicts(catalogue.get("suites")):
        for case in _dicts(suite.get("cases")):
            tags = case.get("tags")
            yield Case(
                suite=str(suite.get("name")),
                revision=str(suite.get("revision")),
                id=str(case.get("id")),
                function=str(case.get("function")),
                host_only=case.get("host_only") is not None,
                tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
            )


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


async def _read(http: httpx.AsyncClient, path: str, url: str) -> dict[str, Any]:
    answer = await http.get(path)
    if answer.status_code in (401, 403):
        raise RunnerRefusedError(f"the runner at {url} refused the secret: give the one it was started with")
    try:
        told = answer.json() if answer.status_code == 200 else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise RunnerIncompatibleError(
            f"what answers at {url} is no runner: GET {path} gave {answer.status_code}, no JSON object; check the URL"
        )
    return told


async def _find_position(subject: Subject, url: str) -> None:
    """Up to where this boot's events were acknowledged; refuses a runner that somebody uses."""
    try:
        await subject.find_position()
    except BrokenError as error:
        raise RunnerIncompatibleError(f"the runner at {url} cannot be followed: {error}; restart it") from error
    if subject.acknowledged == 0 and not await _has_events(subject):
        return
    async with subject.stream() as stream:
        with contextlib.suppress(BrokenError):
            while (seen := await stream.next("a sign of life", LOOK_S)).type != "heartbeat":
                _must_be_ours(seen.key[0], url)
            _must_be_free(seen, url)
    with contextlib.suppress(BrokenError):
        await subject.acknowledge(subject.last)


async def _has_events(subject: Subject) -> bool:
    """Whether a boot of which nothing was acknowledged has been used all the same: then number 1 exists."""
    return await subject.events_status(1) == 200


def _must_be_ours(id: str, url: str) -> None:
    # What an earlier check was kept from clearing away bears its prefix.
    if not id.startswith(Subject.PREFIX):
        raise RunnerIncompatibleError(
            f"the runner at {url} has events of job {id}, which is somebody else's: "
            "check a runner before it is registered, or remove and restart it first"
        )


def _must_be_free(heartbeat: Seen, url: str) -> None:
    running = [str(each.get("id")) for each in _dicts(heartbeat.event.get("running"))]
    for id in running:
        _must_be_ours(id, url)
    if heartbeat.event.get("queued") and not running:
        raise RunnerIncompatibleError(
            f"the runner at {url} has jobs that are not the check's: check it when it is free"
        )
