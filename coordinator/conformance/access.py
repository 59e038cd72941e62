"""Checks of who may call, and of what the runner says of itself: ``access.*`` and ``identity.*``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError
from protocol import PROTOCOL_VERSION
from protocol.catalogue import Catalogue
from protocol.runner import RunnerInfo

M = TypeVar("M", bound=BaseModel)


async def healthz(subject: Subject) -> None:
    answer = await subject.stranger.get("/healthz")
    if answer.status_code != 200:
        raise BrokenError(f"GET /healthz without a secret answered {answer.status_code}")


async def secret(subject: Subject) -> None:
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/runner", {}),
        ("GET", "/v1/catalogue", {}),
        ("POST", "/v1/jobs", {"json": {}}),
        ("POST", "/v1/events/ack", {"json": {}}),
        ("DELETE", "/v1/jobs/nobody/1", {}),
    ]
    for how, header in _refused(subject.secret):
        for method, path, content in calls:
            answer = await subject.stranger.request(method, path, headers=header, **content)
            _must_refuse(f"{method} {path} {how}", answer.status_code)
        query: dict[str, Any] = {"boot_id": subject.boot_id, "after": subject.acknowledged}
        async with subject.stranger.stream("GET", "/v1/events", params=query, headers=header) as streamed:
            _must_refuse(f"GET /v1/events {how}", streamed.status_code)


def _refused(secret: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Headers that must open nothing, and how each is called."""
    yield "without a secret", {}
    near = {
        "with a wrong secret": "not-the-secret",
        "with the first half of the secret": secret[: len(secret) // 2].rstrip(),
        "with the secret but for its last letter": secret[:-1].rstrip(),
        "with the secret and a letter more": f"{secret}x",
        "with the secret's letters in the other case": secret.swapcase(),
        "with an empty secret": "",
    }
    for how, wrong in near.items():
        if wrong != secret:
            yield how, {"Authorization": f"Bearer {wrong}".rstrip()}


def _must_refuse(call: str, status: int) -> None:
    if status != 401:
        raise BrokenError(f"{call} answered {status}, not 401")


async def runner(subject: Subject) -> None:
    info = await _read(subject, "/v1/runner", RunnerInfo)
    if info.protocol != PROTOCOL_VERSION:
        raise BrokenError(f"protocol is {info.protocol}, not {PROTOCOL_VERSION}")
    if info.boot_id != subject.boot_id:
        raise BrokenError("boot_id changes from one answer to the next; it is to change at a start only")


async def catalogue(subject: Subject) -> None:
    offered = await _read(subject, "/v1/catalogue", Catalogue)
    if not offered.suites:
        raise BrokenError("it offers no suite, so there is nothing to run")
    for suite in offered.suites:
        if not (suite.name and suite.revision):
            raise BrokenError(f"the suite {suite.name!r} has no name or no revision")
        ids = [case.id for case in suite.cases]
        twice = next((each for each in ids if ids.count(each) > 1), None) if len(set(ids)) < len(ids) else None
        if twice is not None:
            raise BrokenError(f"the suite {suite.name!r} has two cases {twice!r}")


async def constant(subject: Subject) -> None:
    for path, before in (("/v1/runner", subject.info), ("/v1/catalogue", subject.catalogue)):
        for _ in range(2):
            try:
                now = (await subject.http.get(path)).json()
            except ValueError as error:
                raise BrokenError(f"GET {path} is no JSON object any more: {error}") from error
            if now != before:
                raise BrokenError(f"GET {path} {_difference(before, now)}; it may change at a start only")


def _difference(before: Any, now: Any, where: str = "") -> str:
    """The first place at which two answers differ."""
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() == now.keys():
        name = next(name for name in before if before[name] != now[name])
        return _difference(before[name], now[name], f"{where}.{name}")
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        number = next(number for number, pair in enumerate(zip(before, now, strict=True)) if pair[0] != pair[1])
        return _difference(before[number], now[number], f"{where}.{number}")
    return f"had at {where.lstrip('.') or 'its top'} {str(before)[:80]}, and now {str(now)[:80]}"


async def _read(subject: Subject, path: str, model: type[M]) -> M:
    answer = await subject.http.get(path)
    if answer.status_code != 200:
        raise BrokenError(f"GET {path} answered {answer.status_code}")
    try:
        return model.model_validate_json(answer.content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise BrokenError(f"GET {path}: {where}: {first['msg']}") from error


CHECKS = {
    "access.healthz": healthz,
    "access.secret": secret,
    "identity.runner": runner,
    "identity.catalogue": catalogue,
    "identity.constant": constant,
}
