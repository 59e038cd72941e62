"""Turns a runner's failed responses into errors, for the dispatcher and for the conformance check."""

from __future__ import annotations

from typing import Annotated

import httpx
from pydantic import BaseModel, Field, ValidationError

from coordinator.errors import (
    EventsTrimmedError,
    RunnerChangedError,
    RunnerIncompatibleError,
    RunnerRefusedError,
    RunnerUnreachableError,
    reason_of,
)
from coordinator.text.plain_text import plain_text
from protocol.problems import Problem

_NO_CONNECTION = "All connection attempts failed"
"""The HTTP library's message if none of the addresses of a name responded."""


def unreachable(url: str, error: Exception, answer_s: float) -> RunnerUnreachableError:
    slow = isinstance(error, httpx.TimeoutException)
    reason = f"did not answer within {answer_s:g} s" if slow else f"does not answer ({_reason_of(error)})"
    return RunnerUnreachableError(f"the runner at {url} {reason}: check that it is running and that the URL is right")


def _reason_of(error: Exception) -> str:
    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return "this is not a URL: write it like http://127.0.0.1:8001"
    reason = reason_of(error)
    return "nothing listens there" if reason == _NO_CONNECTION else reason


def raise_for_status(response: httpx.Response, url: str) -> None:
    """Raise the ``UnusableRunnerError`` that fits a response which is not a success."""
    if response.is_success:
        return
    if response.status_code in (401, 403):
        raise RunnerRefusedError(
            f"the runner at {url} refused the secret: give the secret with which the runner was started"
        )
    if response.status_code == 409:
        raise RunnerChangedError(
            f"the runner at {url} has restarted, or serves another suite revision than before; a coordinator reads "
            f"the runner again by itself (the runner's answer: {excerpt(response)})"
        )
    if response.status_code == 410:
        raise EventsTrimmedError(
            f"another client acknowledged events of the runner at {url}, so their outcomes are lost: "
            "stop the other client, because a runner can serve only one coordinator's database at a time",
            AnswerNumbers.read(response.content).acknowledged,
        )
    call = f"{response.request.method} {response.request.url.path}"
    raise RunnerIncompatibleError(
        f"the server at {url} is not a runner: {call} answered {response.status_code}; check the URL"
    )


def problem_detail(response: httpx.Response) -> str:
    """Return the detail of a problem document. For another response, its beginning."""
    try:
        return plain_text(Problem.model_validate_json(response.content).detail[:500])
    except ValidationError:
        return excerpt(response)


def excerpt(response: httpx.Response) -> str:
    return plain_text(response.text[:200])


class AnswerNumbers(BaseModel):
    """The numbers of a problem document. They are read even if the rest of the document cannot be parsed."""

    protocol: int | None = None
    acknowledged: Annotated[int, Field(ge=0, lt=2**63)] | None = None

    @classmethod
    def read(cls, body: bytes) -> AnswerNumbers:
        try:
            return cls.model_validate_json(body)
        except ValidationError:
            return cls()
