"""Checks of what an outcome holds, and of the lines that all events came in: ``outcomes.*``."""

from __future__ import annotations

import json

from pydantic import ValidationError

from coordinator.conformance.subject import Subject
from coordinator.conformance.validity import TAIL_BYTES, fault
from coordinator.errors import BrokenError
from protocol.enums import ConformanceTag, Ending, Verdict
from protocol.events import EVENT
from protocol.outcomes import Outcome

PRINTED_BYTES = 1 << 20
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
    """Of every outcome that came so far."""
    await _one_more(subject)
    for seen in subject.history.outcomes:
        found = fault(seen.event.get("outcome"), subject.asked(seen.key), subject.since_post(seen))
        if found is not None:
            raise BrokenError(found)


async def _one_more(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        await stream.finished(key)


def _shown(line: bytes) -> str:
    return line[:120].decode("utf-8", "backslashreplace")


CHECKS = {"outcomes.output": output, "outcomes.lines": lines, "outcomes.valid": valid}
