"""Checks of how the runner rejects invalid requests: ``requests.*``."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx

from coordinator.conformance.cases import CheckJob
from coordinator.conformance.subject import Subject, require
from coordinator.errors import BrokenError, NotRunError
from protocol.problems import PROBLEM_JSON

ANOTHER = "another-than-this"
TOO_LARGE = 5 << 20

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
    {"timeout_s": math.nan},
    {"timeout_s": math.inf},
    {"timing": "sometimes"},
    {"id": "no spaces"},
    {"id": "x" * 65},
    {"id": ""},
    {"id": "a line's end\n"},
    {"id": "caf\u00e9"},
    {"case": "x" * 501},
    {"case": "nul\0"},
    {"case": None},
)
_BAD_NAMES: tuple[dict[str, Any], ...] = (
    {"suite": "x" * 129},
    {"suite": "nul\0"},
    {"suite": None},
    {"revision": "x" * 129},
    {"boot_id": "x" * 129},
)
_NO_BATCHES = (b"", b"{", b"[]", b"\xff\xfe", b'{"jobs": []}')


async def strict(subject: Subject) -> None:
    """The runner answers 4xx to a body with an unknown field, an out-of-range value or invalid JSON."""
    good = subject.job()
    for fields in _BAD_FIELDS:
        answer = await subject.send(good, subject.job(**fields))
        _require_refusal(answer, f"POST /v1/jobs with one job that has {json.dumps(fields)}")
    for fields in ({"colour": "red"}, *_BAD_NAMES):
        _require_refusal(await subject.send(good, **fields), f"POST /v1/jobs with a batch with {json.dumps(fields)}")
    _require_refusal(await subject.send(), "POST /v1/jobs with a batch of no job")
    for content in _NO_BATCHES:
        _require_refusal(await subject.post_content(content), f"POST /v1/jobs with the body {content!r}")
    answer = await subject.send_acknowledgement(subject.acknowledged, colour="red")
    _require_refusal(answer, "POST /v1/events/ack with an unknown field")
    await _require_new(subject, good)


async def large(subject: Subject) -> None:
    """The runner answers 413 to a body over 4 MiB, and accepts no job of the body."""
    good = subject.job()
    content = json.dumps(subject.batch(good, suite="x" * TOO_LARGE)).encode()
    answer = await subject.post_content(content)
    require(f"POST /v1/jobs of {len(content)} bytes", answer.status_code, 413)
    await _require_new(subject, good)


async def problem(subject: Subject) -> None:
    """The body of an error is an RFC 9457 problem, with content type, title, status and detail."""
    answers = [
        await subject.post_content(b"{"),
        await subject.send(subject.job(), boot_id=ANOTHER),
        await subject.stranger.get("/v1/runner"),
    ]
    errors = [answer for answer in answers if answer.is_error]
    if not errors:
        raise NotRunError("the runner answered no request with an error; other checks report this")
    for answer in errors:
        call = f"the {answer.status_code} to {answer.request.method} {answer.request.url.path}"
        kind = answer.headers.get("content-type", "none").partition(";")[0].strip()
        if kind != PROBLEM_JSON:
            raise BrokenError(f"{call} has the content type {kind}: send errors as {PROBLEM_JSON}")
        members = _members(answer)
        missing = [name for name in ("title", "detail") if not (isinstance(members.get(name), str) and members[name])]
        if missing:
            raise BrokenError(f"{call} lacks {' and '.join(missing)}: add them as texts")
        if members.get("status") != answer.status_code:
            raise BrokenError(
                f"{call} has the status {members.get('status')!r} in its body: repeat the status of the response"
            )


async def boot(subject: Subject) -> None:
    """The runner answers 409 with its current boot_id to a request with another boot_id, and changes nothing."""
    job = subject.job()
    _require_conflict(subject, await subject.send(job, boot_id=ANOTHER))
    _require_conflict(subject, await subject.send_acknowledgement(subject.acknowledged, boot_id=ANOTHER))
    async with subject.open_events(subject.acknowledged, boot_id=ANOTHER) as response:
        if response.is_error:
            await response.aread()
        _require_conflict(subject, response)
    await _require_new(subject, job)


async def revision(subject: Subject) -> None:
    """The runner answers 409 with its current boot_id to jobs for another revision, and accepts none of them."""
    job = subject.job()
    _require_conflict(subject, await subject.send(job, revision=ANOTHER))
    await _require_new(subject, job)


def _require_refusal(answer: httpx.Response, call: str) -> None:
    if not answer.is_client_error:
        raise BrokenError(
            f"the runner answered {answer.status_code} to {call}: refuse this invalid request with a status of 4xx"
        )


def _require_conflict(subject: Subject, answer: httpx.Response) -> None:
    call = f"{answer.request.method} {answer.request.url.path}"
    require(call, answer.status_code, 409)
    if _members(answer).get("boot_id") != subject.boot_id:
        raise BrokenError(f"the 409 to {call} does not contain the current boot_id: add {subject.boot_id}")


async def _require_new(subject: Subject, job: CheckJob) -> None:
    await subject.require_status(job, "queued", "a job of a refused request, posted again correctly")


def _members(answer: httpx.Response) -> dict[str, Any]:
    try:
        members = answer.json()
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}
