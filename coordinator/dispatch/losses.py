"""Losses: what becomes of a job whose started attempt was lost. It is queued again, and the third loss ends it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.database.connection import transact
from coordinator.dispatch import queue
from coordinator.dispatch.machine import Key
from coordinator.dispatch.queue import FinishedJob
from coordinator.outcomes.records import record_without_report
from protocol.words import Cause, Ending, Verdict

MOST = 3
"""Started attempts that a job may lose; with this one it ends."""

Consequence = Literal["retry", "timeout", "crash", "infrastructure"]

_SAID = {
    "timeout": (Verdict.failed, Ending.timed_out, Cause.timeout, "silenced-its-runner"),
    "crash": (Verdict.failed, Ending.exited, Cause.crash, "restarted-its-runner"),
    "infrastructure": (Verdict.incomplete, Ending.harness_failed, Cause.infrastructure, "attempts-lost"),
}


def consequence(reasons: Iterable[str]) -> Consequence:
    """What losses for these reasons amount to.

    Three times silent is a timeout, three times a restart a crash (that the runners did well on
    other jobs since is for ``lose`` to see); a mixture is nobody's fault but ours.
    """
    told = list(reasons)
    if len(told) < MOST:
        return "retry"
    if all(reason == "silent" for reason in told):
        return "timeout"
    if all(reason == "restarted" for reason in told):
        return "crash"
    return "infrastructure"


async def lose(engine: AsyncEngine, key: Key, reason: str) -> FinishedJob | None:
    """Count the attempt as lost; returns the job's outcome, to be stored, if that ends the job."""

    async def work(connection: AsyncConnection) -> FinishedJob | None:
        if not await queue.give_back(connection, [key], reason, counted=True):
            return None
        losses = await queue.lost_attempts(connection, key.job)
        amounts_to = consequence(each for each, _, _ in losses)
        if amounts_to == "crash" and not await queue.did_well_since(connection, losses):
            amounts_to = "infrastructure"
        if amounts_to == "retry":
            return None
        await queue.lease_again(connection, key)
        reasons = ", ".join(each for each, _, _ in losses)
        return record_without_report(key, *_SAID[amounts_to], f"its attempts were lost: {reasons}")

    return await transact(engine, work)
