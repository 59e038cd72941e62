"""Checks of the content of outcomes, and of the lines of all events: ``outcomes.*``."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Sequence
from itertools import cycle

from pydantic import ValidationError

from coordinator.conformance.cases import CheckCase
from coordinator.conformance.findings import Level
from coordinator.conformance.subject import Subject
from coordinator.conformance.validity import TAIL_BYTES
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag, Ending, TimingPolicy, Verdict
from protocol.events import EVENT
from protocol.model import first_fault
from protocol.outcomes import Outcome

PRINTED_BYTES = 1 << 20
LAST_LINE = "conformance: the end"

DRAWN = {Level.probe: 6, Level.full: 200}
"""The maximum number of the runner's own cases that are run."""
BATCH = 8
POLICIES = (TimingPolicy.steady, TimingPolicy.paper, TimingPolicy.off, TimingPolicy.quick)

_VALID = Outcome(verdict=Verdict.passed, ending=Ending.returned, duration_s=0.0).model_dump(mode="json")


async def output(subject: Subject) -> None:
    """log_bytes is the size of everything that a case printed. log_tail is the end of this text, at most 64 KiB."""
    end = (await subject.run(subject.job(ConformanceTag.prints)))[-1]
    end.require_ending("passed", "returned", "the case that prints")
    outcome = end.body["outcome"]
    size, tail = outcome.get("log_bytes"), str(outcome.get("log_tail"))
    if not isinstance(size, int) or size < PRINTED_BYTES:
        raise BrokenError(
            f"a case printed more than {PRINTED_BYTES} bytes, but its log_bytes is {size}: count all printed bytes"
        )
    if len(tail.encode(errors="replace")) > TAIL_BYTES:
        raise BrokenError(
            f"log_tail has {len(tail.encode(errors='replace'))} bytes: shorten it to its last {TAIL_BYTES} bytes"
        )
    if not tail.rstrip().endswith(LAST_LINE):
        raise BrokenError(f"log_tail ends with {tail[-40:]!r}: let it end with the last printed line, {LAST_LINE!r}")


async def lines(subject: Subject) -> None:
    """Each line of a stream is one event: a JSON object, followed by \\n."""
    # One more job is run first, so that the finished events of earlier jobs have been read.
    await subject.run()
    for line in subject.lines:
        excerpt = line[:120].decode("utf-8", "backslashreplace")
        try:
            event = json.loads(line)
            if isinstance(event, dict) and isinstance(event.get("outcome"), dict):
                event["outcome"] = _VALID
            EVENT.validate_python(event)
        except ValidationError as error:
            raise BrokenError(
                f"an event breaks the protocol ({first_fault(error)}): correct this member of the event {excerpt}"
            ) from error
        except ValueError as error:
            raise BrokenError(
                f"a line is not a JSON object ({error}): send one JSON object per line, instead of {excerpt}"
            ) from error


async def valid(subject: Subject) -> None:
    """An outcome has its defined members, valid values, the verdict that belongs to its ending, and the
    measured times that the job requested."""
    await subject.run()
    for event in subject.history.outcomes:
        if fault := subject.find_fault(event):
            raise BrokenError(fault)


async def own(subject: Subject) -> None:
    """The outcomes of a sample of the runner's own cases, with each timing policy, are valid."""
    cases = sample(subject.cases, subject.seed)[: DRAWN[subject.level]]
    if not cases:
        raise NotRunError("every case of the runner's catalogue hangs: add a case that ends")
    probing, times = subject.level is Level.probe, subject.times
    end = time.monotonic() + (times.probe_sample_s if probing else times.sample_s)
    limit = subject.info.get("queue_limit")
    size = min(BATCH, limit) if isinstance(limit, int) and limit > 0 else BATCH
    cases_with_timing = list(zip(cases, cycle(POLICIES), strict=False))
    for begin in range(0, len(cases_with_timing), size):
        if time.monotonic() > end:
            return
        await _require_valid(subject, cases_with_timing[begin : begin + size])


async def _require_valid(subject: Subject, cases_with_timing: Sequence[tuple[CheckCase, TimingPolicy]]) -> None:
    case_s = subject.times.case_s
    jobs = {
        job.key: job
        for job in (subject.job(case, timing=timing.value, timeout_s=case_s) for case, timing in cases_with_timing)
    }
    # Each is posted separately, because all jobs of a batch have the same suite.
    for job in jobs.values():
        await subject.queue(job)
    async with subject.stream() as stream:
        events = await stream.wait_finished(*jobs)
    for event in events:
        if event.type == "finished" and event.key in jobs and (fault := subject.find_fault(event)):
            body = jobs[event.key].body
            raise BrokenError(f"the case {body['case']}, with timing {body['timing']}: {fault}")


def sample(cases: Sequence[CheckCase], seed: int) -> list[CheckCase]:
    """Return the runner's cases in a random order that the seed determines. One case of each function comes first, then
    second cases; conformance cases come last."""
    candidates = [case for case in cases if ConformanceTag.hangs not in case.tags]
    random.Random(seed).shuffle(candidates)
    before: Counter[str] = Counter()
    ranking: list[tuple[bool, int, CheckCase]] = []
    for case in candidates:
        ranking.append((any(tag in case.tags for tag in ConformanceTag), before[case.function], case))
        before[case.function] += 1
    return [case for *_, case in sorted(ranking, key=lambda entry: entry[:2])]
