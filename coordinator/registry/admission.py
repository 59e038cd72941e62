"""Admission: whether a runner may join, by what the check of its contract found.

A runner that is registered already is never checked: the coordinator that serves it reads and
acknowledges its events, and a check would take them away. It is only probed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator import conformance
from coordinator.conformance import Finding, Level, Report, Result
from coordinator.errors import RunnerError
from coordinator.registry import store
from coordinator.registry.client import RunnerClient
from coordinator.registry.models import RunnerRegistration

ESSENTIAL = frozenset(
    {
        "identity.runner",
        "identity.catalogue",
        "identity.constant",
        "requests.boot",
        "requests.revision",
        "jobs.runs",
        "jobs.receipts",
        "jobs.known",
        "jobs.other_case",
        "events.numbered",
        "events.resume",
        "events.history",
        "acknowledging.keeps",
        "acknowledging.newer",
        "outcomes.lines",
        "outcomes.valid",
        "outcomes.own",
    }
)
"""Promises without which outcomes would be lost, taken twice, or another's. What else is broken
costs order, comfort or time, and whoever registers may decide to live with it."""


class Admission(StrEnum):
    """What the check says of joining."""

    sound = "sound"
    faulty = "faulty"
    """It breaks promises that one can live with: it joins if that is said."""
    unusable = "unusable"


def judge(report: Report) -> Admission:
    failed = {finding.id for finding in report.findings if finding.result is Result.failed}
    # What could not be checked of the essential is not known to hold.
    broken = {finding.id for finding in report.findings if finding.result is not Result.passed} & ESSENTIAL
    if broken:
        return Admission.unusable
    return Admission.faulty if failed else Admission.sound


async def known(engine: AsyncEngine, registration: RunnerRegistration) -> int | None:
    """Under which number this runner is registered already, at whatever address; it is asked who it is.

    Raises a ``RunnerError`` if it does not answer, refuses the secret or is no runner.
    """
    async with RunnerClient(registration.url, registration.secret) as client:
        info = await client.info()
        await client.catalogue()
    async with engine.connect() as connection:
        return await store.registered_as(connection, registration.url, info.boot_id)


async def check(registration: RunnerRegistration) -> AsyncIterator[Finding | Report]:
    """Each finding as it is made, and the report at the end. Whoever stops listening ends the check.

    Raises a ``RunnerError`` if the check cannot begin.
    """
    found: asyncio.Queue[Finding | None] = asyncio.Queue()

    async def hold() -> Report:
        try:
            return await conformance.check(
                registration.url, registration.secret, level=Level.probe, told=found.put_nowait
            )
        finally:
            found.put_nowait(None)

    checking = asyncio.create_task(hold())
    try:
        while (finding := await found.get()) is not None:
            yield finding
        yield await checking
    finally:
        checking.cancel()
        with suppress(asyncio.CancelledError, RunnerError):
            await checking
