"""Checks of what an outcome holds, and of the lines that all events came in: ``outcomes.*``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from coordinator.conformance.subject import BrokenError, Subject, lenient
from protocol.events import EVENT
from protocol.outcomes import Outcome
from protocol.words import ConformanceTag, Ending, Verdict

PRINTED_BYTES = 1 << 20
TAIL_BYTES = 64 << 10
LAST_LINE = "conformance: the end"

_SOUND = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=0.0).model_dump(mode="json")


async def output(subject: Subject) -> None:
    case = subject.tagged(ConformanceTag.prints)
    (key,) = await subject.queue(subject.job(case), case=case)
    async with subject.stream() as stream:
        ended = (await stream.finished(key))[-1]
    outcome = ended.event.get("outcome")
    told = outcome if isinstance(outcome, dict) else {}
    if ended.ending != ("passed", "returned"):
        raise BrokenError(f"the case that prints ended {ended.ending[0]}, {ended.ending[1]}")
    size, tail = told.get("log_bytes"), str(told.get("log_tail"))
    if not isinstance(size, int) or size < PRINTED_BYTES:
        raise BrokenError(f"it printed more than {PRINTED_BYTES} bytes; log_bytes is {size}")
    if len(tail.encode(errors="replace")) > TAIL_BYTES:
        raise BrokenError(f"log_tail holds {len(tail.encode(errors='replace'))} bytes")
    if not tail.rstrip().endswith(LAST_LINE):
        raise BrokenError(f"its last line was {LAST_LINE!r}; log_tail ends with {tail[-40:]!r}")


async def lines(subject: Subject) -> None:
    """Of everything that came so far, so that no ending goes unread."""
    await _one_more(subject)
    for line in subject.lines:
        try:
            event = json.loads(line)
        except ValueError as error:
            raise BrokenError(f"a line is no JSON object ({error}): {_shown(line)}") from error
        if isinstance(event, dict) and isinstance(event.get("outcome"), dict):
            event["outcome"] = _SOUND
        try:
            EVENT.validate_python(event)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise BrokenError(f"an event is not as promised ({where}: {first['msg']}): {_shown(line)}") from error


async def valid(subject: Subject) -> None:
    await _one_more(subject)
    for event in (event for line in subject.lines for event in lenient(line) if event.get("type") == "finished"):
        told = event.get("outcome")
        for where, value in _leaves(told, "outcome"):
            if isinstance(value, float) and not math.isfinite(value):
                raise BrokenError(f"{where} is {value}")
            if isinstance(value, str) and any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value):
                raise BrokenError(f"{where} holds NUL or a lone surrogate")
        try:
            Outcome.model_validate(told)
        except ValidationError as error:
            first = error.errors()[0]
            raise BrokenError(f"outcome.{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


async def _one_more(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        await stream.finished(key)


def _leaves(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield where, name
            yield from _leaves(each, f"{where}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{where}.{number}")
    else:
        yield where, value


def _shown(line: bytes) -> str:
    return line[:120].decode("utf-8", "backslashreplace")


CHECKS = {"outcomes.output": output, "outcomes.lines": lines, "outcomes.valid": valid}
