"""Checks of posting jobs, and of running each attempt once: ``jobs.*``."""

from __future__ import annotations

import itertools

from coordinator.conformance.cases import CheckJob, Key, job_name
from coordinator.conformance.event_stream import ReceivedEvent
from coordinator.conformance.subject import Subject
from coordinator.errors import BrokenError, NotRunError
from protocol.enums import ConformanceTag
from protocol.jobs import MAX_JOBS_PER_POST

NEWER_S = 1.0
"""The time limit in seconds of a hung case whose finished event the check waits for."""
BESIDE_S = 3.0
"""The time limit in seconds of a hung case. Even on a busy machine, the runner could start a second process in this
time."""
MOST_QUEUED = 2_000
"""The maximum queue_limit that the check tests. To fill a longer queue takes minutes and shows nothing more."""


async def runs(subject: Subject) -> None:
    """A new job gets the status queued. The runner then sends one started and one finished event for it."""
    job = subject.job()
    await subject.queue(job)
    events = await _require_one_run(subject, job)
    if ConformanceTag.passes in job.case.tags:
        end = next(event for event in events if event.is_of("finished", job.key))
        end.require_ending("passed", "returned", f"the case {job.case.id} that passes")


async def receipts(subject: Subject) -> None:
    """POST /v1/jobs returns one status per job, in order. A job with an unknown case gets unknown_case."""
    jobs = [subject.job(), subject.job(case=f"{subject.any_case.id}-that-nobody-has"), subject.job()]
    answer = await subject.send(*jobs)
    try:
        answers = [(receipt["id"], receipt["attempt"], receipt["status"]) for receipt in answer.json()["jobs"]]
    except (ValueError, KeyError, TypeError):
        raise BrokenError(
            f"the answer {answer.status_code} to POST /v1/jobs has no list of statuses: "
            "answer with a list that has one status for each job"
        ) from None
    statuses = ("queued", "unknown_case", "queued")
    if answers != [(*job.key, status) for job, status in zip(jobs, statuses, strict=True)]:
        raise BrokenError(
            f"the runner answered {answers} to three jobs, the second with an unknown case: answer {statuses}"
        )


async def check_repeat(subject: Subject) -> None:
    """An unacknowledged attempt that is posted again gets the status known and runs only once. The same holds for an
    attempt that is twice in one POST."""
    job = subject.job()
    twice = await subject.post(job, job)
    if twice != ["queued", "known"]:
        raise BrokenError(
            f"a POST contained one attempt twice, and the runner answered {twice}: it must answer ['queued', 'known']"
        )
    await subject.require_status(job, "known", "the same attempt, posted again immediately")
    await _require_one_run(subject, job, post_again=True)


async def stale(subject: Subject) -> None:
    """If the runner has a newer attempt of a job, an older attempt gets the status stale_attempt and does not run."""
    job = subject.job(attempt=2)
    older = job.replace(attempt=1)
    await subject.queue(job)
    await subject.require_status(older, "stale_attempt", "attempt 1, posted after attempt 2")
    events = await _require_one_run(subject, job)
    if any(event.key == older.key for event in events):
        raise BrokenError("the runner ran attempt 1 although it already had attempt 2: do not run an older attempt")


async def other_case(subject: Subject) -> None:
    """A job with the id of a known job, but a different suite, case or run, gets the status other_case. The runner does
    not accept it."""
    job = subject.job()
    newer = job.replace(run=2, attempt=2)
    others = {"run": job.replace(run=2), "run, as a newer attempt": newer}
    for case in subject.cases:
        if case.suite != job.case.suite:
            others.setdefault("suite", CheckJob(job.body | {"case": case.id}, case))
        elif case.id != job.case.id:
            others.setdefault("case", job.replace(case=case.id))
    await subject.queue(job)
    for difference, other in others.items():
        await subject.require_status(
            other, "other_case", f"a job with the id of an earlier job and another {difference}"
        )
    await subject.require_status(job, "known", "the earlier job, posted again after a job with its id was refused")
    events = await _require_one_run(subject, job)
    if any(event.key == newer.key for event in events):
        raise BrokenError(
            "the runner answered other_case to a job and then sent an event for it: do not run a refused job"
        )


async def newer(subject: Subject) -> None:
    """If the runner gets a newer attempt of a job, it stops the older attempt."""
    older = await subject.hang()
    async with subject.stream() as stream:
        await stream.wait_started(older)
        newer = await subject.hang(NEWER_S, id=older[0], attempt=2)
        end = (await stream.wait_finished(older, limit_s=subject.times.stop_s))[-1]
        end.require_ending("incomplete", "cancelled", "the older attempt")
        end = (await stream.wait_finished(newer))[-1]
        end.require_ending("failed", "timed_out", "the newer attempt, which hangs,")


async def slots(subject: Subject) -> None:
    """The runner runs at most as many cases at the same time as it has slots."""
    slots = subject.info.get("slots", 1)
    if not isinstance(slots, int):
        raise NotRunError(f"the runner's slots are {slots}: give a whole number in GET /v1/runner")
    # All jobs are sent in one request. Jobs posted later could arrive after the hung case has ended, and would prove
    # nothing.
    hanging = subject.job(ConformanceTag.hangs, timeout_s=BESIDE_S)
    at_work: set[Key] = set()
    for event in await subject.run(hanging, subject.job(), subject.job()):
        if event.type == "started":
            at_work.add(event.key)
        elif event.type == "finished":
            at_work.discard(event.key)
        if len(at_work) > slots:
            raise BrokenError(
                f"{' and '.join(map(job_name, sorted(at_work)))} ran at the same time: run only as many as slots, "
                f"{slots}, says"
            )


async def order(subject: Subject) -> None:
    """Jobs run in the order in which they were posted."""
    subject.require_one_slot(", so they may end in any order")
    jobs = [subject.job() for _ in range(4)]
    posted_keys = [job.key for job in jobs]
    started_keys = [
        event.key for event in await subject.run(*jobs) if event.type == "started" and event.key in posted_keys
    ]
    if started_keys != posted_keys:
        raise BrokenError(
            f"the runner started jobs in the order {[id for id, _ in started_keys]}: "
            f"start them in the order of the request, {[id for id, _ in posted_keys]}"
        )


async def full(subject: Subject) -> None:
    """Jobs beyond queue_limit get the status full. The runner does not run them, and they can be posted again."""
    limit = subject.info.get("queue_limit")
    if not isinstance(limit, int) or not 1 <= limit <= MOST_QUEUED:
        raise NotRunError(
            f"the runner's queue_limit is {limit}: set it to a number from 1 to {MOST_QUEUED} to run this check"
        )
    subject.require_one_slot(", so its queue does not stay full")
    async with subject.stream() as stream:
        await stream.wait_started(await subject.hang())
        jobs = [subject.job() for _ in range(limit + 2)]
        statuses: list[str] = []
        for begin in range(0, len(jobs), MAX_JOBS_PER_POST):
            statuses += await subject.post(*jobs[begin : begin + MAX_JOBS_PER_POST])
        if statuses != ["queued"] * limit + ["full"] * 2:
            counts = ", ".join(f"{len(list(same))} {status}" for status, same in itertools.groupby(statuses))
            raise BrokenError(
                f"with queue_limit {limit} and one case running, the runner answered {counts} to {len(jobs)} jobs: "
                f"answer {limit} queued, 2 full"
            )
        refused_keys = {job.key for job in jobs[limit:]}
        open_keys = list(subject.open)
        for key in reversed(open_keys):
            await subject.delete(key)
        if any(event.key in refused_keys for event in await stream.wait_finished(*open_keys)):
            raise BrokenError(
                "the runner answered 'full' to a job and then sent an event for it: do not run a refused job"
            )
        await subject.finish(stream, jobs[-1])


async def _require_one_run(subject: Subject, job: CheckJob, *, post_again: bool = False) -> list[ReceivedEvent]:
    """Wait for a job that was already posted, and raise ``BrokenError`` unless it has exactly one started and one
    finished event.

    To make sure that all events of the job have arrived, one more job is run. Returns the events of both jobs. With
    ``post_again``, the first job is posted once more after its finished event.
    """
    async with subject.stream() as stream:
        events = await stream.wait_finished(job.key)
        if post_again:
            when = "after its finished event, before its acknowledgement"
            await subject.require_status(job, "known", f"the same attempt, posted again {when}")
        # When the next job is finished, all events of earlier jobs have arrived.
        events += await subject.finish(stream)
    for type in ("started", "finished"):
        count = sum(event.is_of(type, job.key) for event in events)
        if count != 1:
            raise BrokenError(f"{job_name(job.key)} has {count} {type} events: send exactly one")
    return events
