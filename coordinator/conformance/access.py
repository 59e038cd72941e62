"""Checks of who may call, and of what the runner says of itself: ``access.*`` and ``identity.*``."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from coordinator.conformance.subject import BrokenError, Subject
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
    for header in ({}, {"Authorization": "Bearer not-the-secret"}):
        how = "with a wrong secret" if header else "without a secret"
        for method, path, content in calls:
            answer = await subject.stranger.request(method, path, headers=header, **content)
            _must_refuse(f"{method} {path} {how}", answer.status_code)
        query: dict[str, Any] = {"boot_id": subject.boot_id, "after": subject.acknowledged}
        async with subject.stranger.stream("GET", "/v1/events", params=query, headers=header) as streamed:
            _must_refuse(f"GET /v1/events {how}", streamed.status_code)


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
}
