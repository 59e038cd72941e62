"""The contract: every promise of the runner API that can be checked from outside, each with its check.

The docstring of a check is the sentence of its promise. Reports and ``docs/reference/conformance.md`` show this
sentence, and a test compares them. The clauses are checked in the order of this file.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from coordinator.conformance import (
    access_checks,
    ending_checks,
    event_checks,
    job_checks,
    outcome_checks,
    request_checks,
    restart_check,
)
from coordinator.conformance.findings import Level
from coordinator.conformance.subject import Subject


@dataclass(frozen=True)
class Clause:
    """One promise. ``id`` is its name everywhere. The check raises ``BrokenError`` if the runner breaks it."""

    id: str
    check: Callable[[Subject], Awaitable[None]]
    level: Level = Level.probe
    essential: bool = False
    """Whether a runner that breaks the clause can lose outcomes, count them twice, or report them for the wrong job.
    The other clauses are about order, convenience or time, and a person can register a runner that breaks them."""

    @property
    def sentence(self) -> str:
        return " ".join((inspect.getdoc(self.check) or self.id).split())


CLAUSES = (
    Clause("access.healthz", access_checks.healthz),
    Clause("access.secret", access_checks.secret),
    Clause("identity.runner", access_checks.runner, essential=True),
    Clause("identity.catalogue", access_checks.catalogue, essential=True),
    Clause("requests.strict", request_checks.strict),
    Clause("requests.large", request_checks.large),
    Clause("requests.problem", request_checks.problem),
    Clause("requests.boot", request_checks.boot, essential=True),
    Clause("requests.revision", request_checks.revision, essential=True),
    Clause("jobs.runs", job_checks.runs, essential=True),
    Clause("jobs.receipts", job_checks.receipts, essential=True),
    Clause("jobs.known", job_checks.check_repeat, essential=True),
    Clause("jobs.other_case", job_checks.other_case, essential=True),
    Clause("jobs.stale", job_checks.stale),
    Clause("jobs.newer", job_checks.newer),
    Clause("jobs.order", job_checks.order),
    Clause("jobs.slots", job_checks.slots),
    Clause("jobs.full", job_checks.full, Level.full),
    Clause("events.numbered", event_checks.check_numbers, essential=True),
    Clause("events.resume", event_checks.resume, essential=True),
    Clause("events.streams", event_checks.streams),
    Clause("events.open", event_checks.stay_open),
    Clause("events.kept", event_checks.check_nothing_dropped, essential=True),
    Clause("events.bounds", event_checks.bounds),
    Clause("events.idle", event_checks.idle, Level.full),
    Clause("events.running", event_checks.running, Level.full),
    Clause("events.lasting", event_checks.lasting, Level.full),
    Clause("acknowledging.trims", event_checks.trims),
    Clause("acknowledging.keeps", event_checks.keeps, essential=True),
    Clause("acknowledging.forgets", event_checks.forgets),
    Clause("acknowledging.again", event_checks.again),
    Clause("acknowledging.newer", event_checks.newer, essential=True),
    Clause("acknowledging.bounds", event_checks.not_issued),
    Clause("stopping.running", ending_checks.running),
    Clause("stopping.queued", ending_checks.stop_queued),
    Clause("stopping.always", ending_checks.always),
    Clause("stopping.alone", ending_checks.alone),
    Clause("deadline.kills", ending_checks.kills),
    Clause("deadline.waiting", ending_checks.waiting, Level.full),
    Clause("outcomes.output", outcome_checks.output),
    Clause("outcomes.lines", outcome_checks.lines, essential=True),
    Clause("outcomes.valid", outcome_checks.valid, essential=True),
    Clause("outcomes.own", outcome_checks.own, essential=True),
    Clause("events.history", event_checks.history, essential=True),
    Clause("identity.constant", access_checks.constant, essential=True),
    Clause("restart.boot", restart_check.boot, Level.full),
)
