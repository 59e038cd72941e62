"""Checks of taking jobs and running each attempt once: ``jobs.*``."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from coordinator.conformance.stream import Key, Seen, Stream, named
from coordinator.conformance.subject import STOP_S, Case, Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag
from protocol.jobs import MAX_JOBS_PER_POST

NEWER_S = 1.0
"""The deadline of a hung case that is waited for."""
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
    twice = await subject.post(job, job)
    if twice != ["queued", "known"]:
        raise BrokenError(f"one attempt twice in a POST was answered {twice}, not queued and known")
    key = (job["id"], job["attempt"])
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


async def other_case(subject: Subject) -> None:
    here = subject.any_case
    job = subject.job()
    (key,) = await subject.queue(job)
    others: list[tuple[str, dict[str, Any], Case]] = [("run", job | {"run": 2}, here)]
    others.append(("run, as a newer attempt", job | {"run": 2, "attempt": 2}, here))
    for case in subject.cases:
        if case.suite != here.suite or case.id != here.id:
            what = "case" if case.suite == here.suite else "suite"
            if not any(what == other for other, *_ in others):
                others.append((what, job | {"case": case.id}, case))
    async with subject.stream() as stream:
        for what, other, case in others:
            (status,) = await subject.post(other, case=case)
            if status != "other_case":
                raise BrokenError(f"the id of a job that is here, with another {what}, was answered {status!r}")
        (again,) = await subject.post(job)
        seen = await stream.finished(key)
        seen += await _fence(subject, stream)
    if again != "known":
        raise BrokenError(f"after a refusal of its id with another case, the job that is here was answered {again!r}")
    _must_run_once(seen, key)
    if any(event.key == (key[0], 2) for event in seen):
        raise BrokenError("what was answered other_case has an event")


async def newer(subject: Subject) -> None:
    older = await subject.hang()
    case = subject.tagged(ConformanceTag.hangs)
    async with subject.stream() as stream:
        await stream.started(older)
        (newer,) = await subject.queue(subject.job(case, id=older[0], attempt=2, timeout_s=NEWER_S), case=case)
        await _must_be_cancelled(stream, older)
        ended = (await stream.finished(newer))[-1]
    if ended.ending != ("failed", "timed_out"):
        raise BrokenError(f"the newer attempt, which hangs, ended {ended.ending[0]}, {ended.ending[1]}")


async def slots(subject: Subject) -> None:
    if subject.info.get("slots", 1) != 1:
        raise NotRunError("it runs several cases at once (slots)")
    case = subject.tagged(ConformanceTag.hangs)
    (hung,) = await subject.queue(subject.job(case, timeout_s=NEWER_S), case=case)
    waiting = await subject.queue(subject.job(), subject.job())
    async with subject.stream() as stream:
        seen = await stream.all_finished([hung, *waiting], "the end of three jobs")
    at_work: set[Key] = set()
    for event in seen:
        if event.type == "started":
            at_work.add(event.key)
        elif event.type == "finished":
            at_work.discard(event.key)
        if len(at_work) > 1:
            raise BrokenError(f"with slots 1, {' and '.join(map(named, sorted(at_work)))} ran at once")


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
    "jobs.other_case": other_case,
    "jobs.stale": stale,
    "jobs.newer": newer,
    "jobs.order": order,
    "jobs.slots": slots,
    "jobs.full": full,
}
