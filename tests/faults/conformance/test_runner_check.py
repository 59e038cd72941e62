"""The conformance check detects each fault by its own clause and by no other clause.

All runners, one for each fault, run at the same time, because they mostly wait.
"""

from __future__ import annotations

import asyncio

import pytest

from coordinator.conformance import ConformanceReport, Result, check
from coordinator.conformance.contract import CLAUSES
from coordinator.conformance.times import CheckTimes
from tests.faults.conformance.mutants import MUTANTS
from tests.faults.conformance.toy import SECRET, Toy, toy_server
from tests.levels import drawn

AT_ONCE = 8
TIMES = CheckTimes(
    look_s=3.0,
    outcome_s=25.0,
    heartbeat_s=3.0,
    stop_s=5.0,
    hanging_s=6.0,
    running_s=10.0,
    lasting_s=6.0,
    sample_s=6.0,
)
"""The toy runner answers immediately and has a heartbeat every half second, so waits for missing events can be
short."""
LASTING = "events.lasting"
"""The correct runner is checked only once. The mutants show that the check detects faults."""

FAULTS: dict[str, set[str]] = {
    # These make the check wait longest, so they begin.
    "sends no heartbeat": {"events.idle", "events.running"},
    "leaves the older attempt running": {"jobs.newer"},
    "lets go on what runs": {"stopping.running"},
    "lets go on what waits": {"stopping.queued"},
    "does not kill at the deadline": {
        *("deadline.kills", "events.running", "jobs.newer", "jobs.slots", "outcomes.valid", "stopping.alone"),
    },
    # In the order of the contract.
    "keeps its health secret": {"access.healthz"},
    "wants no secret": {"access.secret"},
    "says more of itself than it may": {"identity.runner"},
    "offers two cases of one id": {"identity.catalogue"},
    "overlooks unknown fields": {"requests.strict"},
    "answers errors as plain JSON": {"requests.problem"},
    "takes jobs of any boot": {"requests.boot"},
    "takes jobs of any revision": {"requests.revision"},
    "says that what passes failed": {"jobs.runs"},
    "queues a case that it does not have": {"jobs.receipts"},
    "runs a known job again": {"events.history", "jobs.known", "jobs.other_case"},
    "takes an older attempt": {"acknowledging.newer", "jobs.stale"},
    "runs the last job first": {"jobs.order"},
    "takes more than its queue_limit": {"jobs.full"},
    "skips a number": {"events.history", "events.numbered"},
    "has one stream at a time": {"events.streams"},
    "answers for events that never were": {"events.bounds"},
    "gives a heartbeat a number": {"events.history", "events.idle"},
    "names nothing in its heartbeats": {"events.running"},
    "forgets what it has sent": {"events.resume", "events.streams", "events.kept", "acknowledging.keeps"},
    "answers for events that are gone": {"acknowledging.trims"},
    "forgets everything with any acknowledgement": {"acknowledging.keeps", "acknowledging.newer", "events.history"},
    "never forgets an id": {"acknowledging.forgets"},
    "takes any acknowledgement": {"acknowledging.bounds"},
    "answers 404 for a job that is not there": {"stopping.alone", "stopping.always"},
    "kills before a short deadline": {"deadline.kills", "outcomes.valid"},
    "charges the waiting in its queue": {"deadline.waiting", "outcomes.valid"},
    "counts only what it keeps": {"outcomes.output"},
    "keeps the beginning of the log": {"outcomes.output"},
    "puts two events on one line": {"outcomes.lines"},
    "has NaN in an outcome": {"outcomes.own", "outcomes.valid"},
    "has NUL in an outcome": {"outcomes.own", "outcomes.valid"},
    "leaves out duration_s": {"outcomes.own", "outcomes.valid"},
    "keeps its boot_id over a restart": {"restart.boot"},
    "goes on numbering over a restart": {"restart.boot"},
}

ALSO: dict[str, set[str]] = {
    # A check that a busy host makes last as long as a heartbeat meets it, too.
    "gives a heartbeat a number": {"acknowledging.again", "events.numbered", "restart.boot"},
}
"""Checks that detect a fault also if time passes differently."""


SAMPLE = drawn(FAULTS, 4, "faults of the toy")


async def _check_toy(fault: str | None, room: asyncio.Semaphore) -> ConformanceReport:
    toy = Toy(fault)
    async with room, toy_server(toy) as url:
        only = None if fault is None else {clause.id for clause in CLAUSES} - {LASTING}
        return await check(url, SECRET, restart=toy.restart, only=only, times=TIMES)


@pytest.fixture(scope="module")
def reports() -> dict[str | None, ConformanceReport]:
    async def all_of_them() -> list[ConformanceReport]:
        room = asyncio.Semaphore(AT_ONCE)
        return await asyncio.gather(*(_check_toy(fault, room) for fault in (None, *SAMPLE)))

    return dict(zip((None, *SAMPLE), asyncio.run(all_of_them()), strict=True))


def _of(report: ConformanceReport, result: Result) -> set[str]:
    return {finding.id for finding in report.findings if finding.result is result}


def test_a_runner_that_keeps_every_promise_passes_every_check(reports: dict[str | None, ConformanceReport]) -> None:
    assert {
        finding.id: finding.detail for finding in reports[None].findings if finding.result is not Result.passed
    } == {}
    assert [finding.id for finding in reports[None].findings] == [clause.id for clause in CLAUSES]


@pytest.mark.parametrize("fault", SAMPLE)
def test_a_fault_is_found_by_the_check_that_it_breaks_and_by_no_other(
    reports: dict[str | None, ConformanceReport], fault: str
) -> None:
    report = reports[fault]
    details = {finding.id: finding.detail for finding in report.findings if finding.result is not Result.passed}
    assert _of(report, Result.failed) - ALSO.get(fault, set()) == FAULTS[fault], details
    assert _of(report, Result.not_run) == set(), details
    assert all(details.values()), "each finding says what was seen"


def test_every_clause_is_broken_by_some_fault_or_mutant() -> None:
    broken_sets = [*FAULTS.values(), *(mutant.found_by for mutant in MUTANTS)]
    assert {clause.id for clause in CLAUSES} - set().union(*broken_sets) == set()
