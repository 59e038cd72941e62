"""Admission: decides whether a runner may be registered, from the report of its conformance check.

A registered runner is only probed, never checked. The coordinator that serves it reads and acknowledges its events, and
a check would take these events away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator import conformance
from coordinator.configuration.settings import runner_networks
from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.conformance import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.contract import CLAUSES
from coordinator.errors import UnusableRunnerError
from coordinator.registry import store
from coordinator.registry.client import probe
from coordinator.registry.models import RunnerRegistration

ESSENTIAL = frozenset(clause.id for clause in CLAUSES if clause.essential)


class Admission(StrEnum):
    """Whether a runner may be registered, according to its conformance check."""

    sound = "sound"
    faulty = "faulty"
    """The runner breaks only promises that are not essential. It may be registered if the person confirms this."""
    unusable = "unusable"


def judge(report: ConformanceReport) -> Admission:
    failing_ids = {finding.id for finding in report.findings if finding.result is Result.failed}
    # An essential promise that could not be checked counts as broken.
    broken = {finding.id for finding in report.findings if finding.result is not Result.passed} & ESSENTIAL
    if broken:
        return Admission.unusable
    return Admission.faulty if failing_ids else Admission.sound


async def find_registered(
    engine: AsyncEngine, registration: RunnerRegistration, times: Times = DEFAULT_TIMES
) -> int | None:
    """Probe the runner. Returns its id if it is already registered, at any address; otherwise None.

    Raises an ``UnusableRunnerError`` if the runner does not respond, refuses the secret, or is not a runner.
    """
    info, _ = await probe(registration.url, registration.secret, times)
    async with engine.connect() as connection:
        return await store.find_runner(connection, registration.url, info.boot_id)


async def check(registration: RunnerRegistration) -> AsyncIterator[ClauseFinding | ConformanceReport]:
    """Check the runner. Yields each finding immediately, and the report at the end. Closing the iterator ends the
    check.

    Raises an ``UnusableRunnerError`` if the check cannot begin.
    """
    # The check runs in a separate task: leaving the page cancels every await below, but the check must still stop
    # the jobs that it started on the runner.
    findings: asyncio.Queue[ClauseFinding | None] = asyncio.Queue()

    async def run() -> ConformanceReport:
        try:
            return await conformance.check(
                registration.url,
                registration.secret,
                level=Level.probe,
                on_finding=findings.put_nowait,
                networks=runner_networks(),
            )
        finally:
            findings.put_nowait(None)

    checking = asyncio.create_task(run())
    try:
        while (finding := await findings.get()) is not None:
            yield finding
        yield await checking
    finally:
        checking.cancel()
        with suppress(asyncio.CancelledError, UnusableRunnerError):
            await checking
