"""Checks of how a job ends that does not end by itself: ``stopping.*`` and ``deadline.*``."""

from __future__ import annotations

import time

from coordinator.conformance.stream import Key, Seen, Stream, named
from coordinator.conformance.subject import STOP_S, Subject
from coordinator.conformance.validity import LATE_S
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag

DEADLINE_S = 2.0
SHORT_S = 1.5
"""Less than a slow case takes."""
TRIES = 3
"""Once, a busy host may take so long over any case; a runner that charges for waiting does so every time."""


async def running(subject: Subject) -> None:
    key = await subject.hang()
    async with subject.stream() as stream:
        await stream.started(key)
        await subject.delete(key)
        _must_end((await stream.finished(key, STOP_S))[-1], "incomplete", "cancelled")
        await _must_go_on(subject, stream)


async def queued(subject: Subject) -> None:
    hung = await subject.hang()
    async with subject.stream() as stream:
        await stream.started(hung)
        (waiting,) = await subject.queue(subject.job())
        await subject.delete(waiting)
        seen = await stream.finished(waiting, STOP_S)
    _must_end(seen[-1], "incomplete", "cancelled")
    if any(each.is_of("started", waiting) for each in seen):
        raise BrokenError("the job was started although it had been taken off the queue")
    if any(each.is_of("finished", hung) for each in seen):
        raise BrokenError("the job that ran was stopped too")


async def always(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        await stream.finished(key)
    never: Key = (subject.job()["id"], 1)
    for what, each in (("a job that is finished", key), ("a job that never was", never), ("the same again", never)):
        status = await subject.delete(each)
        if status != 204:
            raise BrokenError(f"DELETE of {what} answered {status}, not 204")


async def alone(subject: Subject) -> None:
    case = subject.tagged(ConformanceTag.hangs)
    (key,) = await subject.queue(subject.job(case, timeout_s=SHORT_S), case=case)
    async with subject.stream() as stream:
        await stream.started(key)
        for other in ((key[0], 2), (f"{key[0]}0", 1), (key[0][:-1], 1)):
            status = await subject.delete(other)
            if status != 204:
                raise BrokenError(f"DELETE of {named(other)}, which is not here, answered {status}, not 204")
        ended = (await stream.finished(key))[-1]
    if ended.ending != ("failed", "timed_out"):
        raise BrokenError(
            f"after the DELETE of other attempts, {named(key)} ended {ended.ending[0]}, {ended.ending[1]}"
        )


async def kills(subject: Subject) -> None:
    for _ in range(TRIES):
        late = await _killed_late(subject)
        if late <= LATE_S:
            return
    raise BrokenError(f"a case that hangs was killed {late:.1f} s past its deadline, the last of {TRIES} times")


async def _killed_late(subject: Subject) -> float:
    """How long past its deadline a case was killed, in s (less than it was, if the start is read late)."""
    case = subject.tagged(ConformanceTag.hangs)
    # From before the POST, so that an event that is read late makes no case seem shorter than it was.
    posted = time.monotonic()
    (key,) = await subject.queue(subject.job(case, timeout_s=DEADLINE_S), case=case)
    async with subject.stream() as stream:
        started = (await stream.started(key))[-1]
        ended = (await stream.finished(key, DEADLINE_S + STOP_S))[-1]
        _must_end(ended, "failed", "timed_out")
        if ended.at - posted < DEADLINE_S:
            raise BrokenError(f"with timeout_s {DEADLINE_S:g} it was killed after {ended.at - posted:.1f} s")
        await _must_go_on(subject, stream)
    return ended.at - started.at - DEADLINE_S


async def waiting(subject: Subject) -> None:
    charged: float | None = None
    for _ in range(TRIES):
        waited, ended = await _behind_a_slow_one(subject)
        if ended.ending[1] == "timed_out":
            charged = waited
        elif waited >= SHORT_S:
            return
    if charged is None:
        raise NotRunError(f"its slow case took {waited:.1f} s only, so nothing waited as long as its timeout_s")
    raise BrokenError(f"with timeout_s {SHORT_S:g}, a case that ends at once timed out behind one of {charged:.1f} s")


async def _behind_a_slow_one(subject: Subject) -> tuple[float, Seen]:
    """For how long a job is seen to wait, in s (less than it was, if the start is read late), and its end."""
    case = subject.tagged(ConformanceTag.slow)
    async with subject.stream() as stream:
        (slow,) = await subject.queue(subject.job(case), case=case)
        (key,) = await subject.queue(subject.job(timeout_s=SHORT_S))
        started = (await stream.started(slow))[-1]
        seen = await stream.finished(key)
    waited = next((each.at for each in seen if each.is_of("finished", slow)), started.at) - started.at
    return waited, seen[-1]


async def _must_go_on(subject: Subject, stream: Stream) -> None:
    (key,) = await subject.queue(subject.job())
    verdict, ending = (await stream.finished(key))[-1].ending
    if verdict == "incomplete":
        raise BrokenError(f"the next job ended {verdict}, {ending}")


def _must_end(seen: Seen, verdict: str, ending: str) -> None:
    if seen.ending != (verdict, ending):
        raise BrokenError(f"it ended {seen.ending[0]}, {seen.ending[1]}, not {verdict}, {ending}")


CHECKS = {
    "stopping.running": running,
    "stopping.queued": queued,
    "stopping.always": always,
    "stopping.alone": alone,
    "deadline.kills": kills,
    "deadline.waiting": waiting,
}
