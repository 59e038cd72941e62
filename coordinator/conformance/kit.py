"""The kit: begins with a runner, goes through the contract clause by clause, leaves it as it was.

    report = await check("http://gpu-box:8790", secret)

A runner that a coordinator serves must not be checked: both would acknowledge its events.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import httpx

from coordinator.conformance import access, endings, events, jobs, outcomes, own, requests, restart
from coordinator.conformance.contract import CLAUSES, Clause, Level
from coordinator.conformance.report import Finding, Report, Result
from coordinator.conformance.restart import Restart
from coordinator.conformance.start import begin, clients
from coordinator.conformance.stream import OUTCOME_S
from coordinator.conformance.subject import Subject
from coordinator.database.outage import reason_of
from coordinator.errors import BrokenError, NotRunError

Check = Callable[[Subject], Awaitable[None]]
Told = Callable[[Finding], None]


async def check(
    url: str,
    secret: str,
    *,
    level: Level = Level.full,
    restart: Restart | None = None,
    told: Told = lambda finding: None,
    only: Collection[str] | None = None,
    seed: int = 0,
    outcome_s: float = OUTCOME_S,
) -> Report:
    """Hold the runner to its contract; ``told`` hears each finding as it is made.

    ``only`` names the clauses to check. ``seed`` decides which of the runner's own cases are
    run, and an outcome that must come is waited for ``outcome_s``.

    Raises a ``RunnerError`` if the check cannot begin: nobody answers, the secret is refused,
    or the runner is at work for somebody else.
    """
    async with clients(url, secret) as (http, stranger):
        subject = await begin(http, stranger, secret)
        subject.level, subject.seed, subject.outcome_s = level, seed, outcome_s
        run = checks(restart)
        findings: list[Finding] = []
        lost: str | None = None
        try:
            for clause in CLAUSES:
                if (level == Level.probe and clause.level is Level.full) or (only and clause.id not in only):
                    continue
                finding, lost = await _find(clause, run[clause.id], subject, lost)
                findings.append(finding)
                told(finding)
        finally:
            await subject.abandon()
    return Report(url=url, level=level, runner=_called(subject.info), findings=findings)


def checks(restarting: Restart | None) -> Mapping[str, Check]:
    """The check of every clause, by its id."""
    return {
        **access.CHECKS,
        **requests.CHECKS,
        **jobs.CHECKS,
        **events.CHECKS,
        **endings.CHECKS,
        **outcomes.CHECKS,
        **own.CHECKS,
        **restart.checks(restarting),
    }


async def _find(clause: Clause, run: Check, subject: Subject, lost: str | None) -> tuple[Finding, str | None]:
    """One finding, and why nothing more can be found after it, if so."""
    began = time.monotonic()
    result, detail = (Result.not_run, lost) if lost else (Result.passed, None)
    if lost is None:
        try:
            await run(subject)
        except NotRunError as error:
            result, detail = Result.not_run, str(error)
        except BrokenError as error:
            result, detail = Result.failed, str(error)
        except httpx.HTTPError as error:
            result, detail = Result.failed, f"a call was not answered: {reason_of(error)}"
        lost = await _settled(clause, subject)
    seconds = round(time.monotonic() - began, 2)
    return Finding(id=clause.id, sentence=clause.sentence, result=result, detail=detail, seconds=seconds), lost


async def _settled(clause: Clause, subject: Subject) -> str | None:
    try:
        free = await subject.settle()
    except httpx.HTTPError as error:
        return f"it no longer answers since {clause.id} ({reason_of(error)})"
    return None if free else f"it runs no job any more since {clause.id}"


def _called(info: Mapping[str, Any]) -> str:
    fingerprint = info.get("fingerprint")
    hardware = fingerprint.get("hardware", "?") if isinstance(fingerprint, dict) else "?"
    return f"{info.get('framework', '?')}@{info.get('version', '?')}/{info.get('device', '?')} on {hardware}"
