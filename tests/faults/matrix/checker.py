"""Invariants that must hold after any number of faults, over database rows, runner logs and responses. Does no I/O.

Each invariant is a function that yields a sentence for every violation.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from coordinator.configuration.times import Times
from tests.faults.matrix.suite import LONG_S

Row = Mapping[str, Any]

TIMES = Times()

ENDS_WITHIN_S = LONG_S + 120.0
"""Seconds from the repair of the last fault to the end of all campaigns. The longest case may have been restarted by
this fault."""
MOST_LOST = 3
MOST_ATTEMPTS = 60
SLACK_S = 5.0
"""Seconds between an event and its storage, on a busy machine."""
RECOVERY_S = 2 * TIMES.grace_s + TIMES.silence_s
"""Seconds that a job may take beyond its time limit until the coordinator knows that its runner does not end it."""
COORDINATORS_RULES = frozenset(
    {
        "coordinator-deadline",
        "restarted-its-runner",
        "attempts-lost",
        "unstorable",
        "never-begun",
    }
)
"""The rules of outcomes that no runner reported."""


@dataclass(frozen=True)
class Window:
    """The period of a fault, by the database's clock."""

    name: str
    began: float
    ended: float
    excuses: bool = True
    """Whether the fault delays those who end jobs and store outcomes. Faults of a runner delay only this runner."""
    step_s: float = 0.0
    """The seconds by which the database's clock steps at the beginning. It steps back at the end."""


@dataclass(frozen=True)
class Answer:
    """The response of a page or a REST resource."""

    path: str
    status: int
    retry_after: str | None = None


@dataclass
class Observation:
    """The data that the checker examines."""

    campaigns: Sequence[Row] = ()
    targets: Sequence[Row] = ()
    jobs: Sequence[Row] = ()
    attempts: Sequence[Row] = ()
    outcomes: Sequence[Row] = ()
    reported: Mapping[str, set[str]] = field(default_factory=dict)
    """For each scripted runner, the nonces that it sent."""
    unreadable: Mapping[str, set[str]] = field(default_factory=dict)
    """Those of these nonces whose finish line was changed by a fault."""
    forgotten: Mapping[str, int] = field(default_factory=dict)
    """For each scripted runner, the last serial number whose report a restored database may have lost."""
    boots: Mapping[str, set[str]] = field(default_factory=dict)
    """For each scripted runner, its boots."""
    runner_names: Mapping[int, str] = field(default_factory=dict)
    """For each scripted runner, its id in ``runners``."""
    planned: Mapping[int, int] = field(default_factory=dict)
    """For each campaign, the number of jobs in the response to its submission."""
    held: Mapping[str, int] = field(default_factory=dict)
    """For each scripted runner, the number of jobs that it has at the end."""
    answers: Sequence[Answer] = ()
    windows: Sequence[Window] = ()
    ended_after_s: float | None = 0.0
    """Seconds from the repair of the last fault to the end of the last campaign; None if the campaigns did not end in
    time."""


@dataclass(frozen=True)
class Violation:
    invariant: str
    told: str


def no_job_lost(observation: Observation) -> Iterator[str]:
    """Every job of a campaign ends as done or as cancelled; none is missing."""
    by_campaign = Counter(job["campaign_id"] for job in observation.jobs)
    for campaign, count in observation.planned.items():
        if by_campaign[campaign] != count:
            yield f"campaign {campaign} was to have {count} jobs and has {by_campaign[campaign]}"
    for job in observation.jobs:
        if job["state"] not in ("done", "cancelled"):
            yield f"job {job['id']} of campaign {job['campaign_id']} is {job['state']} at the end"
        elif job["lease_until"] is not None:
            yield f"job {job['id']} is {job['state']} and still leased"


def no_job_doubled(observation: Observation) -> Iterator[str]:
    """Each case, target and run has one job. A job that is done has one outcome; any other job has none."""
    places = Counter((job["campaign_id"], job["target_id"], job["case_id"], job["run"]) for job in observation.jobs)
    yield from (f"{count} jobs for {place}" for place, count in places.items() if count > 1)
    outcomes = Counter(outcome["job_id"] for outcome in observation.outcomes)
    for job in observation.jobs:
        expected_count = int(job["state"] == "done")
        if outcomes[job["id"]] != expected_count:
            yield f"job {job['id']} is {job['state']} and has {outcomes[job['id']]} outcomes"
    yield from (
        f"an outcome of job {job}, which is none" for job in outcomes.keys() - {job["id"] for job in observation.jobs}
    )


def outcomes_have_leases(observation: Observation) -> Iterator[str]:
    """Every outcome belongs to an attempt that was dispatched to the runner that reported the outcome."""
    attempts = {(attempt["job_id"], attempt["attempt"]): attempt for attempt in observation.attempts}
    for outcome in observation.outcomes:
        attempt = attempts.get((outcome["job_id"], outcome["attempt"]))
        if attempt is None:
            yield f"the outcome of job {outcome['job_id']} has attempt {outcome['attempt']}, which was never dispatched"
        elif attempt["runner_id"] != outcome["runner_id"]:
            yield (
                f"job {outcome['job_id']} was dispatched to runner {attempt['runner_id']}, "
                f"its outcome is of runner {outcome['runner_id']}"
            )


def outcomes_are_their_reporters_own(observation: Observation) -> Iterator[str]:
    """A scripted runner writes its name, boot, job, attempt, case and run into every outcome. They match the stored
    row."""
    jobs = {job["id"]: job for job in observation.jobs}
    attempts = {(attempt["job_id"], attempt["attempt"]): attempt for attempt in observation.attempts}
    for outcome in observation.outcomes:
        name = observation.runner_names.get(outcome["runner_id"])
        if name is None:
            continue
        subject = f"the outcome of job {outcome['job_id']}"
        if not outcome["log_tail"]:
            if outcome["rule"] not in COORDINATORS_RULES:
                yield f"{subject} bears no nonce, and rule {outcome['rule']} is none of the coordinator's"
            elif outcome["verdict"] == "passed":
                yield f"{subject} passed, and no runner reported it"
            continue
        nonce = json.loads(outcome["log_tail"])
        job = jobs.get(outcome["job_id"], {})
        attempt = attempts.get((outcome["job_id"], outcome["attempt"]), {})
        expected_fields = {
            "runner": name,
            "attempt": outcome["attempt"],
            "case": job.get("case"),
            "run": job.get("run"),
            "boot_id": attempt.get("boot_id"),
            "id": wire_id(job.get("id"), attempt),
        }
        for key, value in expected_fields.items():
            if nonce[key] != value:
                yield f"{subject} is of {key} {nonce[key]!r}, not {value!r}"
        if outcome["log_tail"] not in observation.reported.get(name, set()):
            yield f"{subject} was never sent by {name}"
        if attempt.get("boot_id") not in observation.boots.get(name, set()):
            yield f"{subject} is of boot {attempt.get('boot_id')!r}, which {name} never had"


def first_finish_counts(observation: Observation) -> Iterator[str]:
    """If an attempt finishes twice, the first finish is the outcome."""
    first: dict[tuple[str, int, str], int] = {}
    for name, nonces in observation.reported.items():
        # An attempt whose finish cannot be read is made again, and the next finish is the first.
        for nonce in map(json.loads, nonces - observation.unreadable.get(name, set())):
            if nonce["serial"] <= observation.forgotten.get(name, -1):
                continue
            key = (nonce["id"], nonce["attempt"], nonce["boot_id"])
            first[key] = min(first.get(key, nonce["serial"]), nonce["serial"])
    for outcome in observation.outcomes:
        if outcome["runner_id"] in observation.runner_names and outcome["log_tail"]:
            nonce = json.loads(outcome["log_tail"])
            earliest = first.get((nonce["id"], nonce["attempt"], nonce["boot_id"]), nonce["serial"])
            if nonce["serial"] > earliest:
                name = observation.runner_names[outcome["runner_id"]]
                forgetting = (
                    f"forgotten up to {observation.forgotten[name]}"
                    if observation.forgotten.get(name)
                    else "none forgotten"
                )
                yield (
                    f"the outcome of job {outcome['job_id']} is a second finish: {nonce['serial']} of {name}, attempt "
                    f"{nonce['attempt']}, after {earliest}; {forgetting}"
                )


def hazards_are_themselves(observation: Observation) -> Iterator[str]:
    """Every outcome of the real runner is a possible result of its case, and not the result of another case."""
    jobs = {job["id"]: job for job in observation.jobs}
    expected_endings = {
        "hazards.nap": {"returned"},
        "hazards.fail": {"raised"},
        "hazards.add": {"returned", "mismatched"},
    }
    for outcome in observation.outcomes:
        function = jobs.get(outcome["job_id"], {}).get("function")
        is_counted = outcome["verdict"] in ("passed", "failed") and outcome["rule"] not in COORDINATORS_RULES
        if (
            is_counted
            and function in expected_endings
            and outcome["ending"] not in expected_endings[function] | {"timed_out"}
        ):
            yield f"the outcome of job {outcome['job_id']}, of {function}, {outcome['ending']}"


def none_past_its_time(observation: Observation) -> Iterator[str]:
    """A case takes at most its limit and one grace period; if it timed out, its limit and two grace periods.

    The duration of a fault is not counted, nor the time that it takes after the fault to notice a dead peer.
    """
    limits = {campaign["id"]: campaign["timeout_s"] for campaign in observation.campaigns}
    attempts = {(attempt["job_id"], attempt["attempt"]): attempt for attempt in observation.attempts}
    for outcome in observation.outcomes:
        subject = f"the outcome of job {outcome['job_id']}, {outcome['ending']},"
        limit_s, took_s = limits[outcome["campaign_id"]], outcome["duration_s"]
        attempt = attempts.get((outcome["job_id"], outcome["attempt"]), {})
        began, ended_at = attempt.get("started_at"), attempt.get("ended_at")
        stored_s = _elapsed_s(observation.windows, began, ended_at) if began and ended_at else 0.0
        held_up_s = (
            _held_up_s(observation.windows, began.timestamp(), ended_at.timestamp()) if began and ended_at else 0.0
        )
        if outcome["ending"] != "timed_out" and took_s > limit_s + TIMES.grace_s:
            yield f"{subject} took {took_s:.1f} s of {limit_s:g} s"
        elif took_s > limit_s + 2 * TIMES.grace_s + SLACK_S + held_up_s:
            yield f"{subject} took {took_s:.1f} s of {limit_s:g} s, and nothing held its end up for so long"
        if stored_s > limit_s + RECOVERY_S + SLACK_S + held_up_s:
            yield f"{subject} was stored {stored_s:.0f} s after its start, held up for {held_up_s:.0f} s"


def numbers_are_numbers(observation: Observation) -> Iterator[str]:
    """Every stored number is finite and not negative."""
    names = ("duration_s", "init_ms", "cold_ms", "steady_ms", "iqr_ms", "lock_wait_ms", "position", "log_bytes")
    for outcome in observation.outcomes:
        values = [outcome[name] for name in names] + list(outcome["samples_ms"] or ())
        wrong = [value for value in values if value is not None and not (math.isfinite(value) and value >= 0)]
        if wrong:
            yield f"the outcome of job {outcome['job_id']} bears {wrong}"


def counters_equal_rows(observation: Observation) -> Iterator[str]:
    """The counters of every campaign and target equal the numbers of their rows."""
    counts_by_target: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for job in observation.jobs:
        counts_by_target[job["campaign_id"], job["target_id"]].update(["total", job["state"]])
    for outcome in observation.outcomes:
        counts_by_target[outcome["campaign_id"], outcome["target_id"]][outcome["verdict"]] += 1
    names = ("total", "done", "passed", "failed", "skipped", "incomplete", "cancelled")
    for row in observation.targets:
        counts = counts_by_target[row["campaign_id"], row["target_id"]]
        for name in names:
            if row[name] != counts[name]:
                yield f"campaign {row['campaign_id']} counts {row[name]} {name}, and has {counts[name]}"


def tries_are_bounded(observation: Observation) -> Iterator[str]:
    """A job is lost at most 3 times and has at most 60 attempts."""
    for job in observation.jobs:
        if job["lost"] > MOST_LOST:
            yield f"job {job['id']} was lost {job['lost']} times"
        if job["attempt"] > MOST_ATTEMPTS:
            yield f"job {job['id']} had {job['attempt']} attempts"


def campaigns_end(observation: Observation) -> Iterator[str]:
    """Every campaign ends at most 220 s after the last fault."""
    if observation.ended_after_s is None or observation.ended_after_s > ENDS_WITHIN_S:
        going = [campaign["id"] for campaign in observation.campaigns if campaign["state"] == "running"]
        yield f"campaigns {going} had not ended {ENDS_WITHIN_S:.0f} s after the last fault"
    for campaign in observation.campaigns:
        if campaign["state"] != "running" and campaign["finished_at"] is None:
            yield f"campaign {campaign['id']} is {campaign['state']} without a time"


def nothing_left_behind(observation: Observation) -> Iterator[str]:
    """When all campaigns have ended, no runner has a job."""
    yield from (f"{name} still holds {count} jobs" for name, count in observation.held.items() if count)


def pages_answer(observation: Observation) -> Iterator[str]:
    """No page or REST resource answers with a status of 500 or above, except 503 with `Retry-After`."""
    for answer, count in Counter(observation.answers).items():
        if answer.status == 503 and answer.retry_after is not None:
            continue
        if answer.status >= 500:
            after = " without Retry-After" if answer.status == 503 else ""
            yield f"{answer.path} answered {answer.status}{after}, {count} times"


INVARIANTS: tuple[Callable[[Observation], Iterator[str]], ...] = (
    no_job_lost,
    no_job_doubled,
    outcomes_have_leases,
    outcomes_are_their_reporters_own,
    first_finish_counts,
    hazards_are_themselves,
    none_past_its_time,
    numbers_are_numbers,
    counters_equal_rows,
    tries_are_bounded,
    campaigns_end,
    nothing_left_behind,
    pages_answer,
)


def check(observation: Observation) -> list[Violation]:
    """Every violation of an invariant."""
    return [Violation(invariant.__name__, sentence) for invariant in INVARIANTS for sentence in invariant(observation)]


def wire_id(job_id: int | None, attempt: Row) -> str:
    """The id of the job in requests to runners: the token of its lease, then its number."""
    token = attempt.get("token")
    return f"{token}.{job_id}" if token else str(job_id)


def _elapsed_s(windows: Sequence[Window], began: datetime, ended_at: datetime) -> float:
    """The seconds between two times of the database's clock. Steps of the clock may add time, so the smallest possible
    number is returned, at least 0."""
    spans = [end - begin for begin in _moments(windows, began) for end in _moments(windows, ended_at)]
    return min((span for span in spans if span >= 0), default=0.0)


def _moments(windows: Sequence[Window], moment: datetime) -> set[float]:
    """The real times at which the database's clock may have shown this time: without a step, or with the step of a
    period that contains it."""
    stepped_times = [(window, moment.timestamp() - window.step_s) for window in windows if window.step_s]
    within = {at for window, at in stepped_times if window.began - SLACK_S <= at <= window.ended + SLACK_S}
    return within | {moment.timestamp()}


def _held_up_s(windows: Sequence[Window], began: float, ended_at: float) -> float:
    """The seconds in this period in which a fault delayed everybody, or had just ended."""
    spans = sorted(
        (max(window.began, began), min(window.ended + TIMES.silence_s, ended_at))
        for window in windows
        if window.excuses and window.began < ended_at and window.ended + TIMES.silence_s > began
    )
    total, covered_until = 0.0, began
    for begin, end in spans:
        total += max(0.0, end - max(begin, covered_until))
        covered_until = max(covered_until, end)
    return total
