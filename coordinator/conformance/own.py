"""The check that runs the vendor's own cases: ``outcomes.own``. They may fail; their outcomes are to be valid."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from itertools import cycle

from coordinator.conformance.contract import Level
from coordinator.conformance.subject import Case, Subject
from coordinator.conformance.validity import fault
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag, TimingPolicy

DRAWN = {Level.probe: 6, Level.full: 200}
"""How many cases are run, if there are so many."""
BUDGET_S = {Level.probe: 20.0, Level.full: 45.0}
"""Past it no further case is posted."""
CASE_S = 5.0
"""The deadline of each: one that takes longer is timed_out, which is as good an outcome to look at."""
BATCH = 8
POLICIES = (TimingPolicy.steady, TimingPolicy.paper, TimingPolicy.off)


async def own(subject: Subject) -> None:
    cases = drawn(subject.cases, subject.seed)[: DRAWN[subject.level]]
    if not cases:
        raise NotRunError("its catalogue has no case that ends by itself")
    end = time.monotonic() + BUDGET_S[subject.level]
    at_once = subject.info.get("queue_limit")
    size = min(BATCH, at_once) if isinstance(at_once, int) and at_once > 0 else BATCH
    asked = list(zip(cases, cycle(POLICIES), strict=False))
    for begin in range(0, len(asked), size):
        if time.monotonic() > end:
            return
        await _must_be_valid(subject, asked[begin : begin + size])


async def _must_be_valid(subject: Subject, some: Sequence[tuple[Case, TimingPolicy]]) -> None:
    posted = {}
    for case, timing in some:
        job = subject.job(case, timing=timing.value, timeout_s=CASE_S)
        (key,) = await subject.queue(job, case=case)
        posted[key] = case, timing
    async with subject.stream() as stream:
        seen = await stream.all_finished(posted, f"the end of {len(posted)} cases of its own")
    for event in seen:
        if event.type == "finished" and event.key in posted:
            case, timing = posted[event.key]
            if found := fault(event.event.get("outcome"), subject.asked(event.key), subject.since_post(event)):
                raise BrokenError(f"the case {case.id}, with timing {timing}: {found}")


def drawn(cases: Sequence[Case], seed: int) -> list[Case]:
    """Its cases in an order that the seed decides: one of each function before a second, the conformance cases last."""
    shuffled = [case for case in cases if ConformanceTag.hangs not in case.tags]
    random.Random(seed).shuffle(shuffled)
    before: Counter[str] = Counter()
    ranked: list[tuple[bool, int, Case]] = []
    for case in shuffled:
        ranked.append((any(tag in case.tags for tag in ConformanceTag), before[case.function], case))
        before[case.function] += 1
    return [case for *_, case in sorted(ranked, key=lambda entry: entry[:2])]


CHECKS = {"outcomes.own": own}
