"""Checks of the event stream and of acknowledgements: ``events.*`` and ``acknowledging.*``."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence

from coordinator.conformance.cases import Key, job_name
from coordinator.conformance.event_stream import ReceivedEvent
from coordinator.conformance.subject import Subject, require
from coordinator.conformance.validity import LATE_S
from coordinator.errors import BrokenError, NotRunError

DRIFT_S = 3.0
DRIFT = 0.2
"""The maximum difference between a case's run time and the time that heartbeats report. Heartbeats may be read late."""
QUEUED_S = 5.0
"""The time limit in seconds of a hung case that runs before another job. The other job's wait must not count towards
its own time."""
KEPT_EVENTS = 600
KEPT_AT_ONCE = 100
"""The number of attempts of one job in each POST of the check that produces many events. All attempts except the last
end immediately, without a process."""
OPEN_S = 2.0
AHEAD = 1_000_000
"""The distance from the last event's number to a number that the runner has not issued."""


async def check_numbers(subject: Subject) -> None:
    """Events are numbered without gaps, and a job's started event comes before its finished event."""
    jobs = [subject.job(), subject.job()]
    events = await subject.run(*jobs)
    numbers = [event.n for event in events]
    if numbers != list(range(subject.acknowledged + 1, subject.acknowledged + 1 + len(events))):
        raise BrokenError(f"the events after number {subject.acknowledged} have the numbers {numbers}: leave no gaps")
    for job in jobs:
        types = [event.type for event in events if event.key == job.key]
        if types != ["started", "finished"]:
            raise BrokenError(
                f"{job_name(job.key)} has the events {types}: send one 'started' and one 'finished' for each job"
            )


async def resume(subject: Subject) -> None:
    """A stream that is requested with after=N begins with event N+1, and repeats unacknowledged events unchanged."""
    first = await subject.run(subject.job(), subject.job())
    for offset in (0, 1, len(first) - 1):
        after = first[offset - 1].n if offset else subject.acknowledged
        async with subject.stream(after) as stream:
            again = await stream.wait_finished(first[-1].key)
        _require_same(f"a stream after {after}", again, first[offset:])


async def streams(subject: Subject) -> None:
    """Several streams that are open at the same time get the same events."""
    async with subject.stream() as one, subject.stream() as other:
        keys = await subject.queue(subject.job(), subject.job())
        _require_same("the second stream", await other.wait_finished(*keys), await one.wait_finished(*keys))


async def check_nothing_dropped(subject: Subject) -> None:
    """The runner drops no unacknowledged event (checked with 600 events). If the runner has no space for more events,
    new jobs get the status full."""
    events: list[ReceivedEvent] = []
    with contextlib.suppress(NotRunError):
        # This case makes the other jobs wait. Otherwise some of them would run.
        await subject.hang()
    job, attempts = subject.job(), itertools.count(1)
    async with subject.stream() as stream:
        while len(events) < KEPT_EVENTS:
            jobs = [job.replace(attempt=next(attempts)) for _ in range(KEPT_AT_ONCE)]
            statuses = await subject.post(*jobs)
            queued_keys = [job.key for job, status in zip(jobs, statuses, strict=True) if status == "queued"]
            if len(queued_keys) < 2:
                break
            # Each newer attempt ends the previous one.
            events += await stream.wait_finished(*queued_keys[:-1])
    if not events:
        raise NotRunError("the runner queued no job: answer queued to new jobs")
    async with subject.stream() as stream:
        again = await stream.wait_finished(events[-1].key)
    _require_same(f"with {len(events)} events unacknowledged, a new stream", again, events)


async def stay_open(subject: Subject) -> None:
    """A stream stays open while there are no events (checked for two seconds)."""
    async with subject.stream() as stream:
        await subject.finish(stream)
        await stream.stays_open(OPEN_S)


async def bounds(subject: Subject) -> None:
    """If the parameter after is larger than the number of the last event, GET /v1/events is answered with 422."""
    ahead = subject.last + AHEAD
    require(f"GET /v1/events after {ahead}, which was never issued", await subject.events_status(ahead), 422)


async def idle(subject: Subject) -> None:
    """If the runner sends nothing else, it sends a heartbeat within 10 s. A heartbeat has no number of its own."""
    async with subject.stream() as stream:
        last = (await subject.finish(stream))[-1].n
        beat = await stream.heartbeat()
        if beat.n != last:
            raise BrokenError(f"the heartbeat has n {beat.n}: give it the number of the last event, {last}")
        following = await subject.finish(stream)
    if following[0].n != last + 1:
        raise BrokenError(f"the event after number {last} has number {following[0].n}: give it the number {last + 1}")


async def running(subject: Subject) -> None:
    """Heartbeats give the number of jobs that have not started, and the increasing elapsed_s of each running job."""
    subject.require_one_slot(", so no job has to wait")
    slack_s = 2 * subject.times.slack_s
    async with subject.stream() as stream:
        await subject.hang(QUEUED_S)
        hung = await subject.hang(subject.times.running_s)
        await subject.queue(subject.job())
        begun_at = (await stream.wait_started(hung)).at
        # A heartbeat that was sent before the case began may still arrive.
        beat = await stream.heartbeat()
        if _misreport(beat, hung, begun_at, slack_s):
            beat = await stream.heartbeat()
        if fault := _misreport(beat, hung, begun_at, slack_s):
            raise BrokenError(fault)
        later = await stream.heartbeat()
    if fault := _misreport(later, hung, begun_at, slack_s) or _standstill(beat, later, hung):
        raise BrokenError(fault)


async def lasting(subject: Subject) -> None:
    """While a case runs, the runner sends heartbeats at most 10 s apart (checked for a minute)."""
    times = subject.times
    key = await subject.hang(times.lasting_s)
    beats: list[ReceivedEvent] = []
    async with subject.stream() as stream:
        begun_at = (await stream.wait_started(key)).at
        while True:
            what = f"a heartbeat, {time.monotonic() - begun_at:.0f} s into a case,"
            event = await stream.next(what, times.heartbeat_s + times.slack_s)
            if event.is_of("finished", key):
                break
            beats.append(event)
    event.require_ending("failed", "timed_out", f"with timeout_s {times.lasting_s:g}, a case that hangs")
    if event.at - begun_at > times.lasting_s + LATE_S:
        raise BrokenError(
            f"the runner killed a case too late, {event.at - begun_at:.1f} s after its start: kill it after its "
            f"timeout_s, {times.lasting_s:g}"
        )
    naming = [beat for beat in beats if _seconds_spent(beat, key) > 0]
    if len(naming) < 2:
        raise BrokenError(f"{len(naming)} of {len(beats)} heartbeats named the running job: name it in each")
    if fault := _standstill(naming[0], naming[-1], key):
        raise BrokenError(fault)


def _misreport(beat: ReceivedEvent, hung: Key, begun_at: float, slack_s: float) -> str | None:
    """Return the fault of a heartbeat while one case hangs and one job waits; None if it is correct."""
    running, since_s = beat.body.get("running"), beat.at - begun_at
    try:
        (entry,) = running  # type: ignore[misc]
        right = (entry["id"], entry["attempt"]) == hung and 0 <= entry["elapsed_s"] <= since_s + slack_s
    except (TypeError, ValueError, KeyError):
        right = False
    if not right:
        return f"a heartbeat had running: {running}; only {job_name(hung)} was running, for {since_s:.1f} s"
    if beat.body.get("queued") != 1:
        return f"one job waited, but a heartbeat had queued: {beat.body.get('queued')}, not 1"
    return None


def _standstill(beat: ReceivedEvent, later: ReceivedEvent, key: Key) -> str | None:
    """Return the fault of a running case's time in two heartbeats; None if the time advances correctly."""
    before, after, apart = _seconds_spent(beat, key), _seconds_spent(later, key), later.at - beat.at
    if after <= before or abs(after - before - apart) > max(DRIFT_S, DRIFT * apart):
        return f"heartbeats {apart:.1f} s apart gave the times {before:g} s and {after:g} s of one running case"
    return None


def _seconds_spent(beat: ReceivedEvent, key: Key) -> float:
    """Return the seconds that a case has run, including its waits for the timing lock; 0 if the heartbeat does not name
    it."""
    running = beat.body.get("running")
    for entry in running if isinstance(running, list) else []:
        if (entry.get("id"), entry.get("attempt")) == key:
            return float(entry.get("elapsed_s", 0)) + float(entry.get("waited_s", 0))
    return 0.0


async def history(subject: Subject) -> None:
    """The streams of the whole check have no gap, and no two events have the same number. No attempt finished twice,
    or ran without a started event."""
    await subject.run()
    if subject.history.contradiction is not None:
        raise BrokenError(subject.history.contradiction)
    if strange := sorted(subject.history.keys - subject.taken):
        raise BrokenError(
            f"the runner sent events of {job_name(strange[0])}, which it had not queued: send events only of jobs "
            "with the answer queued"
        )


async def trims(subject: Subject) -> None:
    """The runner discards acknowledged events. If a requested stream would begin with such an event, the runner answers
    410."""
    n = (await subject.run())[-1].n
    await subject.acknowledge(n)
    call = f"GET /v1/events after {n - 1}, with events up to {n} acknowledged"
    require(call, await subject.events_status(n - 1), 410)


async def keeps(subject: Subject) -> None:
    """When events up to n are acknowledged, the runner discards no event after n."""
    first, second = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        n = (await stream.wait_finished(first))[-1].n
        rest = await stream.wait_finished(second)
        await subject.acknowledge(n)
    async with subject.stream(n) as stream:
        _require_same(f"after an acknowledgement up to {n}, the stream", await stream.wait_finished(second), rest)


async def forgets(subject: Subject) -> None:
    """When a finished event is acknowledged, the runner forgets the job. If the job is posted again, it runs again."""
    job = subject.job()
    await subject.acknowledge((await subject.run(job))[-1].n)
    await subject.require_status(job, "queued", "a job whose finished event was acknowledged, posted again")
    async with subject.stream() as stream:
        await stream.wait_finished(job.key)


async def again(subject: Subject) -> None:
    """If events are acknowledged a second time, the runner answers 204, and nothing changes."""
    events = await subject.run(subject.job(), subject.job())
    begin, end = events[0].n, events[-1].n
    for n in (end, end, begin, end):
        await subject.acknowledge(n)
    call = f"GET /v1/events after {end}, with acknowledgements up to {end}, {begin} and {end}"
    require(call, await subject.events_status(end), 200)
    following = await subject.run()
    if following[0].n != end + 1:
        raise BrokenError(
            f"the event after number {end}, acknowledged twice, has number {following[0].n}: give it the number "
            f"{end + 1}"
        )


async def newer(subject: Subject) -> None:
    """If an older attempt of a job is acknowledged, the runner keeps the newer attempt. The newer attempt gets the
    status known if it is posted again."""
    older = subject.job()
    newer = older.replace(attempt=2)
    async with subject.stream() as stream:
        n = (await subject.finish(stream, older))[-1].n
        await subject.queue(newer)
        await subject.acknowledge(n)
        await stream.wait_finished(newer.key)
    for job, status in ((newer, "known"), (older, "stale_attempt")):
        again = f"attempt {job.body['attempt']}, posted again"
        await subject.require_status(job, status, f"{again} when only attempt 1 was acknowledged")


async def not_issued(subject: Subject) -> None:
    """The runner answers 422 to an acknowledgement of events that it has not sent yet."""
    ahead = subject.last + AHEAD
    answer = await subject.send_acknowledgement(ahead)
    require(f"POST /v1/events/ack up to {ahead}, which was never issued", answer.status_code, 422)


def _require_same(name: str, events: Sequence[ReceivedEvent], earlier: Sequence[ReceivedEvent]) -> None:
    if [event.text for event in events] != [event.text for event in earlier]:
        numbers, before = [event.n for event in events], [event.n for event in earlier]
        if numbers != before:
            raise BrokenError(f"{name} sent events {numbers}, not {before}: send the unacknowledged events again")
        n = next(event.n for event, first in zip(events, earlier, strict=True) if event.text != first.text)
        raise BrokenError(f"{name} sent event {n} with other content than the first time: repeat events unchanged")
