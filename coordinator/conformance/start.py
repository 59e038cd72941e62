"""Begins a check: connects to the runner, reads its description and catalogue, finds the position of its event stream,
and requires that the runner has no jobs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx

from coordinator.conformance.cases import dicts, read_cases
from coordinator.conformance.event_history import EventHistory
from coordinator.conformance.event_stream import ReceivedEvent
from coordinator.conformance.subject import Subject
from coordinator.conformance.times import CheckTimes
from coordinator.errors import BrokenError, RunnerIncompatibleError, RunnerUnreachableError
from coordinator.runner_requests.addresses import RunnerNetworks
from coordinator.runner_requests.answers import raise_for_status, unreachable
from coordinator.runner_requests.transport import RunnerTransport


@contextlib.asynccontextmanager
async def connect(
    url: str, secret: str, times: CheckTimes, networks: RunnerNetworks | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """Open two connections to the runner, one with the secret and one without."""
    client = partial(
        httpx.AsyncClient,
        base_url=url,
        timeout=times.answer_s,
        trust_env=False,
    )
    try:
        stranger = client(transport=RunnerTransport(networks, answer_s=times.whole_answer_s))
    except httpx.InvalidURL as error:
        raise RunnerUnreachableError(
            f"{url!r} is not a URL of a runner ({error}): write it like http://127.0.0.1:8001"
        ) from error
    bearer = {"Authorization": f"Bearer {secret}"} if secret else {}
    transport = RunnerTransport(networks, answer_s=times.whole_answer_s)
    async with stranger, client(headers=bearer, transport=transport) as http:
        yield http, stranger


async def begin(http: httpx.AsyncClient, stranger: httpx.AsyncClient, secret: str, times: CheckTimes) -> Subject:
    """Read the runner's description, catalogue and event position, and return the ``Subject``. Raises a
    ``UnusableRunnerError``."""
    url = str(http.base_url).rstrip("/")
    try:
        info = await _read(http, "/v1/runner", url)
        if not isinstance(info.get("boot_id"), str):
            raise RunnerIncompatibleError(
                f"the server at {url} is not a runner, because its GET /v1/runner has no boot_id: check the URL"
            )
        catalogue = await _read(http, "/v1/catalogue", url)
        subject = Subject(http, stranger, info, tuple(read_cases(catalogue)), catalogue, secret, times=times)
        await _find_position(subject, url)
        subject.history = EventHistory()  # Events that an earlier check left there are not a part of this check.
        return subject
    except (httpx.HTTPError, UnicodeError) as error:
        raise unreachable(url, error, times.answer_s) from error


async def _read(http: httpx.AsyncClient, path: str, url: str) -> dict[str, Any]:
    answer = await http.get(path)
    raise_for_status(answer, url)
    with contextlib.suppress(ValueError):
        if isinstance(body := answer.json(), dict):
            return body
    raise RunnerIncompatibleError(
        f"the server at {url} is not a runner, because its GET {path} did not return a JSON object: check the URL"
    )


async def _find_position(subject: Subject, url: str) -> None:
    """Find the number up to which this boot's events were acknowledged. Raises an error if another client uses the
    runner."""
    try:
        await subject.find_position()
    except BrokenError as error:
        raise RunnerIncompatibleError(f"{error}: restart the runner at {url}") from error
    # If event 1 exists, another client used this boot, even if it acknowledged no events.
    if subject.acknowledged == 0 and await subject.events_status(1) != 200:
        return
    async with subject.stream() as stream:
        with contextlib.suppress(BrokenError):
            while (event := await stream.next("a heartbeat", subject.times.look_s)).type != "heartbeat":
                _require_ours(event.key[0], url)
            _require_free(event, url)
    with contextlib.suppress(BrokenError):
        await subject.acknowledge(subject.last)


def _require_ours(id: str, url: str) -> None:
    # The jobs of every check have this prefix, also those that an interrupted check left behind.
    if not id.startswith(Subject.PREFIX):
        raise RunnerIncompatibleError(
            f"the runner at {url} has events of job {id}, which another client posted: "
            "check a runner before you register it, or remove and restart it first"
        )


def _require_free(heartbeat: ReceivedEvent, url: str) -> None:
    running = [str(entry.get("id")) for entry in dicts(heartbeat.body.get("running"))]
    for id in running:
        _require_ours(id, url)
    if heartbeat.body.get("queued") and not running:
        raise RunnerIncompatibleError(
            f"the runner at {url} has jobs of another client: check the runner when it is idle"
        )
