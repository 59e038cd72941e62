"""Checks of access control and of the runner's description: ``access.*`` and ``identity.*``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coordinator.conformance.subject import Subject, require
from coordinator.errors import BrokenError
from protocol import PROTOCOL_VERSION
from protocol.catalogue import Catalogue, ambiguity
from protocol.model import first_fault
from protocol.runner import RunnerInfo

M = TypeVar("M", bound=BaseModel)


async def healthz(subject: Subject) -> None:
    """The runner answers GET /healthz with 200, with or without the secret."""
    answer = await subject.stranger.get("/healthz")
    require("GET /healthz without a secret", answer.status_code, 200)


async def secret(subject: Subject) -> None:
    """The runner answers 401 to every /v1 request without its secret or with a wrong secret, even a similar one."""
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/runner", {}),
        ("GET", "/v1/catalogue", {}),
        ("POST", "/v1/jobs", {"json": {}}),
        ("POST", "/v1/events/ack", {"json": {}}),
        ("DELETE", "/v1/jobs/nobody/1", {}),
    ]
    for description, headers in _wrong_headers(subject.secret):
        for method, path, content in calls:
            answer = await subject.stranger.request(method, path, headers=headers, **content)
            require(f"{method} {path} {description}", answer.status_code, 401)
        async with subject.open_events(subject.acknowledged, stranger=True, headers=headers) as response:
            require(f"GET /v1/events {description}", response.status_code, 401)


def _wrong_headers(secret: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield headers that must be rejected, each with a description."""
    yield "without a secret", {}
    near = {
        "with a wrong secret": "not-the-secret",
        "with the first half of the secret": secret[: len(secret) // 2].rstrip(),
        "with the secret without its last character": secret[:-1].rstrip(),
        "with the secret and one more character": f"{secret}x",
        "with the secret in swapped upper and lower case": secret.swapcase(),
        "with an empty secret": "",
    }
    for description, wrong in near.items():
        if wrong != secret:
            yield description, {"Authorization": f"Bearer {wrong}".rstrip()}


async def runner(subject: Subject) -> None:
    """GET /v1/runner returns the runner's description with protocol 1, all required members and no unknown ones."""
    info = await _read(subject, "/v1/runner", RunnerInfo)
    if info.protocol != PROTOCOL_VERSION:
        raise BrokenError(
            f"protocol is {info.protocol}, not {PROTOCOL_VERSION}: implement the version that this Portolan speaks"
        )
    if info.boot_id != subject.boot_id:
        raise BrokenError("boot_id changed between two answers: change it only when the runner starts")


async def catalogue(subject: Subject) -> None:
    """GET /v1/catalogue returns suites with their revisions. No two cases of a suite have the same id."""
    runner_catalogue = await _read(subject, "/v1/catalogue", Catalogue)
    if not runner_catalogue.suites:
        raise BrokenError("the runner's catalogue has no suite: add at least one")
    for suite in runner_catalogue.suites:
        if not (suite.name and suite.revision):
            raise BrokenError(f"the suite {suite.name!r} has no name or no revision: give it both")
    if (reason := ambiguity(runner_catalogue)) is not None:
        raise BrokenError(reason)


async def constant(subject: Subject) -> None:
    """The answers to GET /v1/runner and GET /v1/catalogue do not change until the runner restarts."""
    for path, before in (("/v1/runner", subject.info), ("/v1/catalogue", subject.catalogue)):
        for _ in range(2):
            try:
                now = (await subject.http.get(path)).json()
            except ValueError as error:
                raise BrokenError(
                    f"the answer to GET {path} is no longer a JSON object ({error}): repeat the first answer"
                ) from error
            if now != before:
                change = _difference(before, now)
                raise BrokenError(f"the answer to GET {path} changed {change}: change it only when the runner starts")


def _difference(before: Any, now: Any, where: str = "") -> str:
    """Return the first place at which two responses differ, and how."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        members = ((name, before[name], now[name]) for name in before)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        members = ((str(number), *pair) for number, pair in enumerate(zip(before, now, strict=True)))
    else:
        return f"at {where.lstrip('.') or 'its top'} from {str(before)[:80]} to {str(now)[:80]}"
    return next(_difference(old, new, f"{where}.{name}") for name, old, new in members if old != new)


async def _read(subject: Subject, path: str, model: type[M]) -> M:
    answer = await subject.http.get(path)
    require(f"GET {path}", answer.status_code, 200)
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as error:
        raise BrokenError(f"the answer to GET {path} is not valid ({first_fault(error)}): correct it") from error
