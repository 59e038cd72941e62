"""Checks of the stream of events and of its acknowledgement: ``events.*`` and ``acknowledging.*``."""

from __future__ import annotations

import time
from collections.abc import Sequence

from coordinator.conformance.stream import Key, Seen, Stream, named
from coordinator.conformance.subject import Subject
from coordinator.conformance.validity import LATE_S
from coordinator.errors import BrokenError
from protocol.enums import ConformanceTag

HEARTBEAT_S = 10.0
RUNNING_S = 40.0
"""The deadline of the case that is watched: longer than the heartbeats that are waited for."""
LASTING_S = 60.0
"""Longer than a coordinator waits for a silent stream."""
DRIFT_S = 3.0
DRIFT = 0.2
"""By how much a case's time may differ from that of the heartbeats: they may be read late."""
SLACK_S = 1.0
"""For the way of a heartbeat that leaves in time."""


async def numbered(subject: Subject) -> None:
    keys = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        seen = await _lasting(stream, keys[-1])
    expected = list(range(subject.acknowledged + 1, subject.acknowledged + 1 + len(seen)))
    if [each.n for each in seen] != expected:
        raise BrokenError(f"after {subject.acknowledged} came the numbers {[each.n for each in seen]}")
    for key in keys:
        types = [each.type for each in seen if each.key == key]
        if types != ["started", "finished"]:
            raise BrokenError(f"{named(key)} has the events {types}")


async def resume(subject: Subject) -> None:
    keys = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        first = await _lasting(stream, keys[-1])
    for skipped in (0, 1, len(first) - 1):
        after = first[skipped - 1].n if skipped else subject.acknowledged
        async with subject.stream(after) as stream:
            again = await _lasting(stream, keys[-1])
        _must_be_same(f"a stream after {after}", again, first[skipped:])


async def streams(subject: Subject) -> None:
    async with subject.stream() as one, subject.stream() as other:
        keys = await subject.queue(subject.job(), subject.job())
        _must_be_same("the second stream", await _lasting(other, keys[-1]), await _lasting(one, keys[-1]))


async def bounds(subject: Subject) -> None:
    ahead = subject.last + 1_000_000
    status = await subject.events_status(ahead)
    if status != 422:
        raise BrokenError(f"GET /v1/events after {ahead}, which was never issued, answered {status}, not 422")


async def idle(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        last = (await _lasting(stream, key))[-1].n
        beat = await _heartbeat(stream)
        if beat.n != last:
            raise BrokenError(f"the last number issued is {last}; the heartbeat has n {beat.n}")
        (key,) = await subject.queue(subject.job())
        following = await _lasting(stream, key)
    if following[0].n != last + 1:
        raise BrokenError(f"the event after number {last} and a heartbeat has number {following[0].n}")


async def running(subject: Subject) -> None:
    case = subject.tagged(ConformanceTag.hangs)
    posted = time.monotonic()
    async with subject.stream() as stream:
        (hung,) = await subject.queue(subject.job(case, timeout_s=RUNNING_S), case=case)
        await subject.queue(subject.job())
        await stream.started(hung)
        # One may still be on its way that left before both jobs were there.
        beat = await _heartbeat(stream)
        if _untrue(beat, hung, posted):
            beat = await _heartbeat(stream)
        if told := _untrue(beat, hung, posted):
            raise BrokenError(told)
        later = await _heartbeat(stream)
    if told := _untrue(later, hung, posted) or _standing(beat, later, hung):
        raise BrokenError(told)


def _standing(beat: Seen, later: Seen, key: Key) -> str | None:
    """What is wrong with how a case's time went on between two heartbeats."""
    before, after = _spent(beat, key), _spent(later, key)
    apart = later.at - beat.at
    if after <= before or abs(after - before - apart) > max(DRIFT_S, DRIFT * apart):
        return f"{apart:.1f} s apart, two heartbeats had {before:g} s and {after:g} s for a case that ran all the time"
    return None


def _spent(beat: Seen, key: Key) -> float:
    """Seconds of a case that runs, its waits for the timing lock among them; 0 if the heartbeat does not name it."""
    told = beat.event.get("running")
    for entry in told if isinstance(told, list) else []:
        if (entry.get("id"), entry.get("attempt")) == key:
            return float(entry.get("elapsed_s", 0)) + float(entry.get("waited_s", 0))
    return 0.0


async def lasting(subject: Subject) -> None:
    case = subject.tagged(ConformanceTag.hangs)
    (key,) = await subject.queue(subject.job(case, timeout_s=LASTING_S), case=case)
    beats: list[Seen] = []
    async with subject.stream() as stream:
        begun = (await stream.started(key))[-1].at
        while True:
            seen = await stream.next(
                f"a heartbeat, {time.monotonic() - begun:.0f} s into a case,", HEARTBEAT_S + SLACK_S
            )
            if seen.is_of("finished", key):
                break
            beats.append(seen)
    if seen.ending != ("failed", "timed_out"):
        raise BrokenError(f"a case that hangs ended {seen.ending[0]}, {seen.ending[1]} at timeout_s {LASTING_S:g}")
    if seen.at - begun > LASTING_S + LATE_S:
        raise BrokenError(f"with timeout_s {LASTING_S:g}, it was killed {seen.at - begun:.1f} s after its start")
    named_it = [beat for beat in beats if _spent(beat, key) > 0]
    if len(named_it) < 2:
        raise BrokenError(f"of {len(beats)} heartbeats in {LASTING_S:g} s, {len(named_it)} named what ran")
    if told := _standing(named_it[0], named_it[-1], key):
        raise BrokenError(told)


async def history(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        await stream.finished(key)
    record = subject.history
    if record.contradiction is not None:
        raise BrokenError(record.contradiction)
    if strange := sorted(record.keys - subject.taken):
        raise BrokenError(f"{named(strange[0])} has events, and was never answered queued")


def _untrue(beat: Seen, hung: Key, posted: float) -> str | None:
    """What is wrong with a heartbeat that is to tell of one case that hangs and one job that waits."""
    told = beat.event.get("running")
    try:
        (entry,) = told  # type: ignore[misc]
        true = (entry["id"], entry["attempt"]) == hung and 0 <= entry["elapsed_s"] <= beat.at - posted + SLACK_S
    except (TypeError, ValueError, KeyError):
        true = False
    if not true:
        return f"while {named(hung)} ran since {beat.at - posted:.1f} s, a heartbeat had running: {told}"
    if beat.event.get("queued") != 1:
        return f"while one job waited, a heartbeat had queued: {beat.event.get('queued')}"
    return None


async def trims(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        n = (await stream.finished(key))[-1].n
    await subject.acknowledge(n)
    status = await subject.events_status(n - 1)
    if status != 410:
        raise BrokenError(f"events up to {n} are acknowledged; GET /v1/events after {n - 1} answered {status}, not 410")


async def keeps(subject: Subject) -> None:
    first, second = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        before = await stream.finished(first)
        rest = await _lasting(stream, second)
        await subject.acknowledge(before[-1].n)
    async with subject.stream(before[-1].n) as stream:
        again = await _lasting(stream, second)
    _must_be_same(f"after an acknowledgement up to {before[-1].n}, the stream", again, rest)


async def forgets(subject: Subject) -> None:
    job = subject.job()
    (key,) = await subject.queue(job)
    async with subject.stream() as stream:
        await subject.acknowledge((await stream.finished(key))[-1].n)
    (status,) = await subject.post(job)
    if status != "queued":
        raise BrokenError(f"its finished event was acknowledged; posted again, the job was answered {status!r}")
    async with subject.stream() as stream:
        await stream.finished(key)


async def again(subject: Subject) -> None:
    keys = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        seen = await _lasting(stream, keys[-1])
    end = seen[-1].n
    for n in (end, end, seen[0].n, end):
        await subject.acknowledge(n)
    status = await subject.events_status(end)
    if status != 200:
        raise BrokenError(f"after acknowledgements up to {end}, {seen[0].n} and {end}, the stream answered {status}")
    (key,) = await subject.queue(subject.job())
    async with subject.stream(end) as stream:
        following = await _lasting(stream, key)
    if following[0].n != end + 1:
        raise BrokenError(f"the event after number {end}, acknowledged twice, has number {following[0].n}")


async def newer(subject: Subject) -> None:
    older = subject.job()
    newer = older | {"attempt": 2}
    async with subject.stream() as stream:
        n = (await stream.finished((await subject.queue(older))[0]))[-1].n
        (key,) = await subject.queue(newer)
        await subject.acknowledge(n)
        await stream.finished(key)
        for job, expected in ((newer, "known"), (older, "stale_attempt")):
            (status,) = await subject.post(job)
            if status != expected:
                raise BrokenError(
                    f"attempt 1 was acknowledged, attempt 2 was not: attempt {job['attempt']} posted again "
                    f"was answered {status!r}, not {expected!r}"
                )


async def never_issued(subject: Subject) -> None:
    ahead = subject.last + 1_000_000
    body = {"boot_id": subject.boot_id, "n": ahead}
    answer = await subject.http.post("/v1/events/ack", json=body)
    if answer.status_code != 422:
        raise BrokenError(f"an acknowledgement up to {ahead} was answered {answer.status_code}, not 422")


async def _lasting(stream: Stream, key: Key) -> list[Seen]:
    """The numbered events up to the finished of this attempt."""
    return [each for each in await stream.finished(key) if each.type != "heartbeat"]


async def _heartbeat(stream: Stream) -> Seen:
    return (await stream.until(lambda seen: seen.type == "heartbeat", "a heartbeat", HEARTBEAT_S + SLACK_S))[-1]


def _must_be_same(what: str, got: Sequence[Seen], expected: Sequence[Seen]) -> None:
    if [each.text for each in got] != [each.text for each in expected]:
        numbers = [each.n for each in got], [each.n for each in expected]
        raise BrokenError(f"{what} gave the numbers {numbers[0]}, not the events {numbers[1]} as before")


CHECKS = {
    "events.numbered": numbered,
    "events.resume": resume,
    "events.streams": streams,
    "events.bounds": bounds,
    "events.idle": idle,
    "events.running": running,
    "events.lasting": lasting,
    "events.history": history,
    "acknowledging.trims": trims,
    "acknowledging.keeps": keeps,
    "acknowledging.forgets": forgets,
    "acknowledging.again": again,
    "acknowledging.newer": newer,
    "acknowledging.bounds": never_issued,
}
