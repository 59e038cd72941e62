"""Checks a runner, one clause of the contract after the other, and leaves the runner without jobs.

    report = await check("http://gpu-box:8790", secret)

Do not check a runner that a coordinator uses, because the check and the coordinator would acknowledge each other's
events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import httpx

from coordinator.conformance.contract import CLAUSES, Clause
from coordinator.conformance.findings import ClauseFinding, ConformanceReport, Level, Result
from coordinator.conformance.start import begin, connect
from coordinator.conformance.subject import Restart, Subject
from coordinator.conformance.times import DEFAULT_CHECK_TIMES, CheckTimes
from coordinator.errors import BrokenError, NotRunError, reason_of
from coordinator.runner_requests.addresses import RunnerNetworks


async def check(
    url: str,
    secret: str,
    *,
    level: Level = Level.full,
    restart: Restart | None = None,
    on_finding: Callable[[ClauseFinding], None] = lambda finding: None,
    only: Collection[str] | None = None,
    seed: int = 0,
    times: CheckTimes = DEFAULT_CHECK_TIMES,
    networks: RunnerNetworks | None = None,
) -> ConformanceReport:
    """Check whether the runner keeps its contract. ``on_finding`` is called with each finding immediately.

    ``only`` names the clauses to check. ``seed`` chooses which of the runner's own cases are run. Without ``networks``,
    the runner may have any address. Raises an ``UnusableRunnerError`` if the check cannot begin: nothing answers at the
    URL, the runner refuses the secret, or another client uses the runner.
    """
    async with connect(url, secret, times, networks) as (http, stranger):
        subject = await begin(http, stranger, secret, times)
        subject.level, subject.seed, subject.restart = level, seed, restart
        findings: list[ClauseFinding] = []
        obstacle: str | None = None
        try:
            for clause in CLAUSES:
                if (level == Level.probe and clause.level is Level.full) or (only and clause.id not in only):
                    continue
                finding, obstacle = await _find(clause, subject, obstacle)
                findings.append(finding)
                on_finding(finding)
        finally:
            await subject.abandon()
    return ConformanceReport(url=url, level=level, runner=_describe(subject.info), findings=findings)


async def _find(clause: Clause, subject: Subject, obstacle: str | None) -> tuple[ClauseFinding, str | None]:
    """Check one clause. Returns its finding and, if no further clause can be checked, the reason (otherwise None)."""
    began = time.monotonic()
    result, detail = (Result.not_run, obstacle) if obstacle else (Result.passed, None)
    if obstacle is None:
        try:
            await clause.check(subject)
        except NotRunError as error:
            result, detail = Result.not_run, str(error)
        except BrokenError as error:
            result, detail = Result.failed, str(error)
        except httpx.HTTPError as error:
            result, detail = Result.failed, f"the runner did not answer a request: {reason_of(error)}"
        obstacle = await _settle(clause, subject)
    seconds = round(time.monotonic() - began, 2)
    return ClauseFinding(
        id=clause.id, sentence=clause.sentence, result=result, detail=detail, seconds=seconds
    ), obstacle


async def _settle(clause: Clause, subject: Subject) -> str | None:
    """Clean up after the check of a clause. If no further clause can be checked, return the reason, otherwise None."""
    try:
        free = await subject.settle()
    except httpx.HTTPError as error:
        return f"the runner stopped answering at {clause.id} ({reason_of(error)})"
    return None if free else f"the runner stopped running jobs at {clause.id}"


def _describe(info: Mapping[str, Any]) -> str:
    fingerprint = info.get("fingerprint")
    hardware = fingerprint.get("hardware", "?") if isinstance(fingerprint, dict) else "?"
    return f"{info.get('framework', '?')}@{info.get('version', '?')}/{info.get('device', '?')} on {hardware}"
