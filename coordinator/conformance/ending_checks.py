"""Checks of jobs that are stopped or killed: ``stopping.*`` and ``deadline.*``."""

from __future__ import annotations

import time

from coordinator.conformance.cases import job_name
from coordinator.conformance.event_stream import ReceivedEvent, Stream
from coordinator.conformance.subject import Subject, require
from coordinator.conformance.validity import EARLY, LATE_S
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag

DEADLINE_S = 2.0
SHORT_S = 1.5
"""The time limit in seconds of a job that waits behind a slow job. The slow job takes longer than this."""
TRIES = 3
"""How often a check of delays is repeated. A busy host may delay a case in one repetition, but a runner that counts
waiting towards timeout_s does so in all of them."""


async def running(subject: Subject) -> None:
    """DELETE kills a running job. The job ends as incomplete (cancelled), and the next job runs."""
    key = await subject.hang()
    async with subject.stream() as stream:
        await stream.wait_started(key)
        await subject.delete(key)
        (await stream.wait_finished(key, limit_s=subject.times.stop_s))[-1].require_ending("incomplete", "cancelled")
        await _require_next_job_runs(subject, stream)


async def stop_queued(subject: Subject) -> None:
    """DELETE removes a waiting job from the queue. The job ends as incomplete (cancelled), without a started event."""
    subject.require_one_slot(", so no job has to wait")
    hung = await subject.hang()
    async with subject.stream() as stream:
        await stream.wait_started(hung)
        (waiting,) = await subject.queue(subject.job())
        await subject.delete(waiting)
        events = await stream.wait_finished(waiting, limit_s=subject.times.stop_s)
    events[-1].require_ending("incomplete", "cancelled")
    if any(event.is_of("started", waiting) for event in events):
        raise BrokenError("the runner started a job after it had answered its DELETE: remove the job from the queue")
    if any(event.is_of("finished", hung) for event in events):
        raise BrokenError("DELETE of a waiting job also stopped the running job: stop only the named attempt")


async def always(subject: Subject) -> None:
    """The runner always answers 204 to DELETE, also for unknown attempts."""
    finished_key = (await subject.run())[-1].key
    never = subject.job().key
    for description, key in (
        ("a job that is finished", finished_key),
        ("a job that was never posted", never),
        ("the same attempt again", never),
    ):
        require(f"DELETE of {description}", await subject.delete(key), 204)


async def alone(subject: Subject) -> None:
    """DELETE stops only the attempt that it names."""
    key = await subject.hang(SHORT_S)
    async with subject.stream() as stream:
        await stream.wait_started(key)
        for other in ((key[0], 2), (f"{key[0]}0", 1), (key[0][:-1], 1)):
            require(f"DELETE of {job_name(other)}, which was never posted", await subject.delete(other), 204)
        end = (await stream.wait_finished(key))[-1]
    end.require_ending("failed", "timed_out", f"after the DELETE of other attempts, {job_name(key)}")


async def kills(subject: Subject) -> None:
    """The runner kills a hung case at most 5 s after timeout_s. The case ends as failed (timed_out), and the next job
    runs."""
    for _ in range(TRIES):
        late_s = await _seconds_past_deadline(subject)
        if late_s <= LATE_S:
            return
    raise BrokenError(
        f"the runner killed a hung case {late_s:.1f} s after its deadline, and was late in each of {TRIES} "
        f"repetitions: kill it at most {LATE_S:g} s after the deadline"
    )


async def _seconds_past_deadline(subject: Subject) -> float:
    """Run a hung case past its deadline. Returns the seconds from the deadline to the kill.

    If an event is read late, the measured time is wrong. So the runner's own ``duration_s`` is also considered, and the
    longer time counts.
    """
    posted_at = time.monotonic()
    key = await subject.hang(DEADLINE_S)
    async with subject.stream() as stream:
        start = await stream.wait_started(key)
        end = (await stream.wait_finished(key, limit_s=DEADLINE_S + subject.times.stop_s))[-1]
        end.require_ending("failed", "timed_out")
        lived_s = [end.at - posted_at]
        reported_s = end.body["outcome"].get("duration_s")
        if isinstance(reported_s, int | float):
            lived_s.append(reported_s)
        if min(lived_s) < DEADLINE_S * EARLY:
            raise BrokenError(
                f"the runner killed a case after {min(lived_s):.1f} s, too early: let it run for its timeout_s, "
                f"{DEADLINE_S:g}"
            )
        await _require_next_job_runs(subject, stream)
    return max(end.at - start.at, *lived_s[1:]) - DEADLINE_S


async def waiting(subject: Subject) -> None:
    """The time that a job waits in the queue does not count towards timeout_s."""
    subject.require_one_slot(", so no job has to wait")
    charged_s: float | None = None
    for _ in range(TRIES):
        waited_s, end = await _run_behind_a_slow_one(subject)
        if end.ending[1] == "timed_out":
            charged_s = waited_s
        elif waited_s >= SHORT_S:
            return
    if charged_s is None:
        raise NotRunError(
            f"the runner's slow case took only {waited_s:.1f} s, so no job waited as long as its timeout_s: "
            "tag a slower case"
        )
    raise BrokenError(
        f"a short case with timeout_s {SHORT_S:g} timed out after it had waited {charged_s:.1f} s in the queue: "
        "do not count the wait"
    )


async def _run_behind_a_slow_one(subject: Subject) -> tuple[float, ReceivedEvent]:
    """Queue a job behind a slow job. Returns the seconds that the job waited, and its finished event.

    If the slow job's start is read late, the seconds are too few.
    """
    async with subject.stream() as stream:
        (slow,) = await subject.queue(subject.job(ConformanceTag.slow))
        (key,) = await subject.queue(subject.job(timeout_s=SHORT_S))
        start = await stream.wait_started(slow)
        events = await stream.wait_finished(key)
    end = next((event.at for event in events if event.is_of("finished", slow)), start.at)
    return end - start.at, events[-1]


async def _require_next_job_runs(subject: Subject, stream: Stream) -> None:
    verdict, ending = (await subject.finish(stream))[-1].ending
    if verdict == "incomplete":
        raise BrokenError(f"the next job ended {verdict}, {ending}: after a kill, run the next job normally")
