"""The contract: every promise of the runner API that can be checked from outside, once, as a sentence.

``docs/reference/conformance.md`` shows the same sentences; a test holds the two together.
The ``CHECKS`` of the modules beside this one say by what each is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much is checked."""

    probe = "probe"
    """Only what needs no long waiting: some seconds in all."""
    full = "full"


@dataclass(frozen=True)
class Clause:
    """One promise. ``id`` is what its check is called everywhere."""

    id: str
    sentence: str
    level: Level = Level.probe


CLAUSES = (
    Clause("access.healthz", "GET /healthz answers 200, without a secret too."),
    Clause("access.secret", "Every call under /v1 answers 401 without the secret, and with any other, however near."),
    Clause("identity.runner", "GET /v1/runner answers who it is: all its members, no others, and protocol 1."),
    Clause(
        "identity.catalogue", "GET /v1/catalogue answers suites with a revision; a case's id is unique in its suite."
    ),
    Clause("requests.strict", "An unknown field, a value out of bounds, or what is no JSON is refused with a 4xx."),
    Clause("requests.large", "A body over 4 MiB is answered 413, and nothing of it is taken."),
    Clause("requests.problem", "An error is a problem by RFC 9457: its content type, title, status and detail."),
    Clause("requests.boot", "A call for another boot answers 409 with the present boot_id, and takes nothing."),
    Clause("requests.revision", "Jobs for another revision answer 409 with the present boot_id; none is taken."),
    Clause("jobs.runs", "A job is answered queued; then come its started and its finished event, once each."),
    Clause(
        "jobs.receipts", "POST /v1/jobs answers one status a job, in order; a case that is not there: unknown_case."
    ),
    Clause(
        "jobs.known",
        "An attempt posted again before its acknowledgement, or twice in one POST, is known, and runs once.",
    ),
    Clause(
        "jobs.other_case",
        "An id that is here with another suite, case or run is answered other_case: nothing is taken.",
    ),
    Clause("jobs.stale", "An attempt older than one that is here is answered stale_attempt, and does not run."),
    Clause("jobs.newer", "A newer attempt replaces the older one, which is stopped."),
    Clause("jobs.order", "Jobs run in the order in which they came."),
    Clause("jobs.slots", "No more cases run at once than slots says."),
    Clause(
        "jobs.full", "Jobs beyond queue_limit are answered full; they do not run, and can be posted again.", Level.full
    ),
    Clause("events.numbered", "Events are numbered without gaps, and a job's started comes before its finished."),
    Clause("events.resume", "A stream begins after N; what is not acknowledged comes again, the same."),
    Clause("events.streams", "Several streams at once get the same events."),
    Clause("events.bounds", "The stream answers 422 for an N that has not been issued yet."),
    Clause("events.idle", "With nothing else to say, a heartbeat comes within 10 s; it takes no number.", Level.full),
    Clause(
        "events.running",
        "Heartbeats say how many jobs have not begun, and what runs since how many seconds, which go on.",
        Level.full,
    ),
    Clause(
        "events.lasting", "Heartbeats go on, at most 10 s apart, for as long as a case runs, a minute here.", Level.full
    ),
    Clause("acknowledging.trims", "What was acknowledged is gone: the stream answers 410 for an N before it."),
    Clause("acknowledging.keeps", "An acknowledgement up to n forgets nothing after n."),
    Clause(
        "acknowledging.forgets", "With an acknowledged finished event its job id is forgotten: posted again, it runs."
    ),
    Clause("acknowledging.again", "What was acknowledged before may be acknowledged again: 204, and nothing changes."),
    Clause(
        "acknowledging.newer",
        "An acknowledged older attempt takes a newer one of its job not with it: that stays known.",
    ),
    Clause("acknowledging.bounds", "An acknowledgement of a number that has not been issued yet is answered 422."),
    Clause(
        "stopping.running", "DELETE of a running job kills it; it ends incomplete, cancelled, and the next one runs."
    ),
    Clause(
        "stopping.queued", "DELETE of a waiting job takes it off the queue; it ends incomplete, cancelled, unstarted."
    ),
    Clause("stopping.always", "DELETE answers 204 always, also for what is not there."),
    Clause("stopping.alone", "DELETE stops the attempt that it names and no other."),
    Clause(
        "deadline.kills",
        "A case that hangs is killed at timeout_s, 5 s late at most; it ends failed, timed_out; the next one runs.",
    ),
    Clause("deadline.waiting", "Waiting in the queue is not charged to timeout_s.", Level.full),
    Clause("outcomes.output", "log_bytes counts all that a case printed; log_tail is the end of it, 64 KiB at most."),
    Clause("outcomes.lines", "An event is one JSON object that ends at \\n; nothing else is in a line."),
    Clause(
        "outcomes.valid",
        "An outcome has its members alone, sound numbers and text, its ending's verdict, and the times asked for.",
    ),
    Clause(
        "outcomes.own", "The runner's own cases, a sample of them in each timing, are queued and have valid outcomes."
    ),
    Clause(
        "events.history",
        "In the whole check no stream had a gap, no number was two events, and no attempt finished twice or unstarted.",
    ),
    Clause("identity.constant", "GET /v1/runner and GET /v1/catalogue answer the same for as long as the boot lives."),
    Clause(
        "restart.boot",
        "A restart makes a new boot_id, numbers events from 1 again, and loses every attempt.",
        Level.full,
    ),
)
