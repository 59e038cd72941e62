"""Checks of taking jobs and running each attempt once: ``jobs.*``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from coordinator.conformance.subject import STOP_S, BrokenError, Key, NotRunError, Seen, Stream, Subject, named
from protocol.jobs import MAX_JOBS_PER_POST
from protocol.words import ConformanceTag

MOST_QUEUED = 2_000
"""A longer queue is not filled: it would take minutes, and say nothing more."""


async def runs(subject: Subject) -> None:
    (key,) = await subject.queue(subject.job())
    async with subject.stream() as stream:
        seen = await stream.finished(key)
        seen += await _fence(subject, stream)
    _must_run_once(seen, key)
    case = subject.any_case
    ending = next(each.ending for each in seen if each.is_of("finished", key))
    if ConformanceTag.passes in case.tags and ending != ("passed", "returned"):
        raise BrokenError(f"the case {case.id} that passes ended {ending[0]}, {ending[1]}")


async def receipts(subject: Subject) -> None:
    jobs = [subject.job(), subject.job(case=f"{subject.any_case.id}-that-nobody-has"), subject.job()]
    answer = await subject.send(*jobs)
    try:
        told = [(each["id"], each["attempt"], each["status"]) for each in answer.json()["jobs"]]
    except (ValueError, KeyError, TypeError):
        raise BrokenError(f"POST /v1/jobs answered {answer.status_code} without receipts") from None
    expected = ["queued", "unknown_case", "queued"]
    if told != [(job["id"], 1, status) for job, status in zip(jobs, expected, strict=True)]:
        raise BrokenError(f"three jobs, of which the second names an unknown case, were answered {told}")


async def known(subject: Subject) -> None:
    job = subject.job()
    (key,) = await subject.queue(job)
    (while_here,) = await subject.post(job)
    async with subject.stream() as stream:
        seen = await stream.finished(key)
        (when_finished,) = await subject.post(job)
        seen += await _fence(subject, stream)
    for status, when in ((while_here, "at once"), (when_finished, "after its finished event, before its ack")):
        if status != "known":
            raise BrokenError(f"the same attempt posted again {when} was answered {status!r}, not 'known'")
    _must_run_once(seen, key)


async def stale(subject: Subject) -> None:
    job = subject.job(attempt=2)
    (key,) = await subject.queue(job)
    (status,) = await subject.post(job | {"attempt": 1})
    async with subject.stream() as stream:
        seen = await stream.finished(key)
        seen += await _fence(subject, stream)
    if status != "stale_attempt":
        raise BrokenError(f"attempt 1 after attempt 2 was answered {status!r}, not 'stale_attempt'")
    if any(each.key == (key[0], 1) for each in seen):
        raise BrokenError("attempt 1 ran although attempt 2 was here")


async def newer(subject: Subject) -> None:
    older = await subject.hang()
    newer = (older[0], 2)
    async with subject.stream() as stream:
        await stream.started(older)
        await subject.queue(subject.job(id=older[0], attempt=2))
        await _must_be_cancelled(stream, older)
        if newer in subject.open:
            await stream.finished(newer)


async def order(subject: Subject) -> None:
    if subject.info.get("slots", 1) != 1:
        raise NotRunError("it runs several cases at once (slots), so they may end in any order")
    keys = await subject.queue(*(subject.job() for _ in range(4)))
    async with subject.stream() as stream:
        seen = await stream.all_finished(keys, "the end of four jobs")
    begun = [each.key for each in seen if each.type == "started" and each.key in keys]
    if begun != keys:
        raise BrokenError(f"jobs posted as {[key[0] for key in keys]} were started as {[key[0] for key in begun]}")


async def full(subject: Subject) -> None:
    limit = _fillable(subject)
    async with subject.stream() as stream:
        await stream.started(await subject.hang())
        jobs = [subject.job() for _ in range(limit + 2)]
        told: list[str] = []
        for begin in range(0, len(jobs), MAX_JOBS_PER_POST):
            told += await subject.post(*jobs[begin : begin + MAX_JOBS_PER_POST])
        if told != ["queued"] * limit + ["full"] * 2:
            counted = ", ".join(f"{len(list(same))} {status}" for status, same in itertools.groupby(told))
            raise BrokenError(
                f"with queue_limit {limit} and one case running, {len(jobs)} jobs were answered: {counted}"
            )
        refused = [(job["id"], 1) for job in jobs[limit:]]
        accepted = list(subject.open)
        for key in reversed(accepted):
            await subject.delete(key)
        seen = await stream.all_finished(accepted, "the end of every job of the queue")
        if any(each.key in refused for each in seen):
            raise BrokenError("a job that was answered 'full' has an event")
        await stream.finished((await subject.queue(jobs[-1]))[0])


def _fillable(subject: Subject) -> int:
    limit = subject.info.get("queue_limit")
    if not isinstance(limit, int) or not 1 <= limit <= MOST_QUEUED:
        raise NotRunError(f"its queue_limit is {limit}; up to {MOST_QUEUED} is tried")
    if subject.info.get("slots", 1) != 1:
        raise NotRunError("it runs several cases at once (slots), so its queue does not stay full")
    return limit


async def _fence(subject: Subject, stream: Stream) -> list[Seen]:
    """What was to come of the jobs before this one has come when it is finished."""
    (key,) = await subject.queue(subject.job())
    return await stream.finished(key)


def _must_run_once(seen: Sequence[Seen], key: Key) -> None:
    for type in ("started", "finished"):
        count = sum(each.is_of(type, key) for each in seen)
        if count != 1:
            raise BrokenError(f"{named(key)} has {count} {type} events")


async def _must_be_cancelled(stream: Stream, key: Key) -> None:
    ended = (await stream.finished(key, STOP_S))[-1]
    if ended.ending != ("incomplete", "cancelled"):
        raise BrokenError(f"the older attempt ended {ended.ending[0]}, {ended.ending[1]}, not incomplete, cancelled")


CHECKS = {
    "jobs.runs": runs,
    "jobs.receipts": receipts,
    "jobs.known": known,
    "jobs.stale": stale,
    "jobs.newer": newer,
    "jobs.order": order,
    "jobs.full": full,
}
