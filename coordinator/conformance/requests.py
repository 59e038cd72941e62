"""Checks of how requests are refused that cannot be carried out: ``requests.*``."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx

from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.problems import PROBLEM_JSON

ANOTHER = "another-than-this"

_BAD_FIELDS: tuple[dict[str, Any], ...] = (
    {"colour": "red"},
    {"attempt": 0},
    {"attempt": 1.5},
    {"attempt": 32_768},
    {"attempt": None},
    {"run": 0},
    {"run": 32_768},
    {"timeout_s": 0},
    {"timeout_s": -1},
    {"timeout_s": 14_401},
    {"timeout_s": None},
    {"timing": "sometimes"},
    {"id": "no spaces"},
    {"id": "x" * 65},
)
TOO_LARGE = 5 << 20
_NO_BATCHES = (b"", b"{", b"[]", b"\xff\xfe", b'{"jobs": []}')


async def strict(subject: Subject) -> None:
    good = subject.job()
    refused = [
        (await subject.send(good, subject.job(**fields)), f"jobs of which one has {json.dumps(fields)}")
        for fields in _BAD_FIELDS
    ]
    for number in (math.nan, math.inf):
        body = json.dumps(subject.batch(good, subject.job(timeout_s=number))).encode()
        answer = await subject.http.post("/v1/jobs", content=body, headers=_JSON)
        refused.append((answer, f"jobs of which one has timeout_s {json.dumps(number)}"))
    refused.append((await subject.send(good, colour="red"), 'a batch with an unknown field "colour"'))
    refused.append((await subject.send(), "a batch of no job"))
    refused += [
        (await subject.http.post("/v1/jobs", content=body, headers=_JSON), f"the body {body!r}") for body in _NO_BATCHES
    ]
    for answer, what in refused:
        if not 400 <= answer.status_code < 500:
            raise BrokenError(f"POST /v1/jobs with {what} answered {answer.status_code}")
    acknowledgement = {"boot_id": subject.boot_id, "n": subject.acknowledged, "colour": "red"}
    answer = await subject.http.post("/v1/events/ack", json=acknowledgement)
    if not 400 <= answer.status_code < 500:
        raise BrokenError(f"POST /v1/events/ack with an unknown field answered {answer.status_code}")
    (status,) = await subject.post(good)
    if status != "queued":
        raise BrokenError(f"a job of a batch that was refused is {status!r} afterwards: something of it was taken")


async def large(subject: Subject) -> None:
    good = subject.job()
    body = json.dumps(subject.batch(good, suite="x" * TOO_LARGE)).encode()
    answer = await subject.http.post("/v1/jobs", content=body, headers=_JSON)
    if answer.status_code != 413:
        raise BrokenError(f"POST /v1/jobs of {len(body)} bytes answered {answer.status_code}, not 413")
    await _must_be_new(subject, good)


async def problem(subject: Subject) -> None:
    answers = [
        await subject.http.post("/v1/jobs", content=b"{", headers=_JSON),
        await subject.send(subject.job(), boot_id=ANOTHER),
        await subject.stranger.get("/v1/runner"),
    ]
    errors = [each for each in answers if each.is_error]
    if not errors:
        raise NotRunError("it answers none of the errors asked for; other checks say so")
    for answer in errors:
        call = f"the {answer.status_code} of {answer.request.method} {answer.request.url.path}"
        kind = answer.headers.get("content-type", "none").partition(";")[0].strip()
        if kind != PROBLEM_JSON:
            raise BrokenError(f"{call} has the content type {kind}, not {PROBLEM_JSON}")
        told = _object(answer)
        missing = [name for name in ("title", "detail") if not (isinstance(told.get(name), str) and told[name])]
        if missing:
            raise BrokenError(f"{call} has no {' and no '.join(missing)}")
        if told.get("status") != answer.status_code:
            raise BrokenError(f"{call} has the status {told.get('status')!r} in its body")


async def boot(subject: Subject) -> None:
    job = subject.job()
    await _must_conflict(subject, await subject.send(job, boot_id=ANOTHER), "POST /v1/jobs")
    acknowledgement = {"boot_id": ANOTHER, "n": subject.acknowledged}
    await _must_conflict(
        subject, await subject.http.post("/v1/events/ack", json=acknowledgement), "POST /v1/events/ack"
    )
    query: dict[str, Any] = {"boot_id": ANOTHER, "after": subject.acknowledged}
    async with subject.http.stream("GET", "/v1/events", params=query) as streamed:
        if streamed.is_error:
            await streamed.aread()
        await _must_conflict(subject, streamed, "GET /v1/events")
    await _must_be_new(subject, job)


async def revision(subject: Subject) -> None:
    job = subject.job()
    await _must_conflict(subject, await subject.send(job, revision=ANOTHER), "POST /v1/jobs")
    await _must_be_new(subject, job)


async def _must_conflict(subject: Subject, answer: httpx.Response, call: str) -> None:
    if answer.status_code != 409:
        raise BrokenError(f"{call} answered {answer.status_code}, not 409")
    if _object(answer).get("boot_id") != subject.boot_id:
        raise BrokenError(f"the 409 of {call} does not hold the present boot_id {subject.boot_id}")


async def _must_be_new(subject: Subject, job: dict[str, Any]) -> None:
    (status,) = await subject.post(job)
    if status != "queued":
        raise BrokenError(f"the job that was refused is {status!r} afterwards: it was taken")


def _object(answer: httpx.Response) -> dict[str, Any]:
    try:
        told = answer.json()
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


_JSON = {"Content-Type": "application/json"}

CHECKS = {
    "requests.strict": strict,
    "requests.large": large,
    "requests.problem": problem,
    "requests.boot": boot,
    "requests.revision": revision,
}
