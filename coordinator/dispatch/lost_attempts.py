"""Lost attempts: a job whose attempt ends without an outcome is queued again, up to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.database.connection import transact
from coordinator.dispatch import queue
from coordinator.dispatch.finishes import FinishedJob
from coordinator.dispatch.leases import Key
from coordinator.dispatch.records import record_without_report
from protocol.enums import Cause, Ending, Verdict

MOST = 3
"""A job ends after this number of lost attempts that had started."""
MOST_REFUSALS = 3
"""A job ends after runners have refused it, or not started it, this number of times."""
MOST_ATTEMPTS = 1_000
"""The maximum number of attempts of a job for any reason. It stops loops that no other limit ends."""

Consequence = Literal["retry", "crash", "infrastructure"]

_OUTCOMES = {
    "crash": (Verdict.failed, Ending.exited, Cause.crash, "restarted-its-runner"),
    "infrastructure": (Verdict.incomplete, Ending.harness_failed, Cause.infrastructure, "attempts-lost"),
}


def consequence(reasons: Iterable[str]) -> Consequence:
    """The outcome of a job whose attempts were lost for these reasons.

    Three losses by restarts of runners are a crash of the case, if the runners finished other jobs since (``lose``
    checks this). Losses by silence say nothing about the case, because a network outage looks the same.
    """
    reasons = list(reasons)
    if len(reasons) < MOST:
        return "retry"
    if all(reason == "restarted" for reason in reasons):
        return "crash"
    return "infrastructure"


async def lose(engine: AsyncEngine, key: Key, reason: str, runner_id: int) -> FinishedJob | None:
    """Count the attempt as lost. If the job is not queued again, return its outcome, which the caller stores."""

    async def work(connection: AsyncConnection) -> FinishedJob | None:
        requeued_jobs = await queue.give_back(connection, [key], reason, is_loss=True)
        if not requeued_jobs:
            return None
        losses = await queue.lost_attempts(connection, key.job)
        reasons = [why for why, _, _ in losses]
        # An attempt that fell silent and came back several times after its time limit has one row.
        reasons += ["silent"] * (requeued_jobs[0].lost - len(reasons))
        ends_as = consequence(reasons)
        if ends_as == "crash" and not await queue.did_well_since(connection, losses):
            ends_as = "infrastructure"
        if ends_as == "retry":
            return None
        await queue.lease_again(connection, key, runner_id)
        return record_without_report(key, *_OUTCOMES[ends_as], f"its attempts were lost: {', '.join(reasons)}")

    return await transact(engine, work)


async def give_back(
    engine: AsyncEngine, keys: Sequence[Key], reason: str, runner_id: int, *, is_refusal: bool
) -> list[FinishedJob]:
    """Requeue attempts that had not started. Returns outcomes for the jobs that were requeued too often."""

    async def work(connection: AsyncConnection) -> list[FinishedJob]:
        requeued_jobs = await queue.give_back(connection, keys, reason, is_loss=False, is_refusal=is_refusal)
        outcomes = []
        for job in requeued_jobs:
            if job.refused < MOST_REFUSALS and job.key.attempt < MOST_ATTEMPTS:
                continue
            await queue.lease_again(connection, job.key, runner_id)
            outcomes.append(record_without_report(job.key, *_GIVEN_UP, _too_often(job, reason)))
        return outcomes

    return await transact(engine, work)


_GIVEN_UP = (Verdict.incomplete, Ending.harness_failed, Cause.infrastructure, "never-begun")


def _too_often(job: queue.ReturnedJob, reason: str) -> str:
    tries = f"{job.refused} times" if job.refused >= MOST_REFUSALS else f"after {job.key.attempt} attempts"
    return f"no runner ran the job, {tries}; the last reason was: {reason}"
