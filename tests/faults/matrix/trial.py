"""A trial: a schedule of faults is executed on a working system, and afterwards all invariants are checked."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import httpx

from tests.admin import AS_ADMIN
from tests.faults.matrix.checker import COORDINATORS_RULES, ENDS_WITHIN_S, Answer, Observation, Violation, Window, check
from tests.faults.matrix.fault import REAL, Component
from tests.faults.matrix.plan import LANES, Planned
from tests.faults.matrix.suite import CAMPAIGN
from tests.faults.matrix.world import World

PATIENCE_S = 20.0
"""Seconds after which a reader gives up. This is no violation, because the coordinator or its database may be
unavailable."""
READS_EVERY_S = 0.4
SUBMITS_EVERY_S = 2.0
RUNNING_AT_ONCE = 3
LOOKS_EVERY_S = 0.5
HOLDING_UP = frozenset({Component.coordinator, Component.postgresql, Component.network, Component.disk})
"""Parts whose faults keep the coordinator from ending jobs and storing outcomes."""
SHOWN = 10
"""The maximum number of violations of one invariant that are listed."""
CAMPAIGNS: list[dict[str, Any]] = [
    CAMPAIGN,
    {
        "suite": "hazards",
        "targets": ["hazards/*"],
        "functions": ["hazards.add", "hazards.nap", "hazards.fail"],
        "runs": 3,
        "timing": "off",
        "timeout_s": 20.0,
    },
]


@dataclass
class Verdict:
    """The result of a trial: its violations, and the counts for the report."""

    seed: int
    seconds: float
    faults: Counter[str]
    campaigns: int
    jobs: int
    outcomes: Counter[str]
    """By verdict."""
    rules: Counter[str]
    """Outcomes that no runner reported, by rule."""
    attempts: Counter[str]
    """Attempts by ending."""
    answers: Counter[int]
    """Responses by status."""
    ended_after_s: float | None
    violations: list[Violation]


@dataclass
class Client:
    """A user: submits and cancels campaigns and reads pages, whether or not the requests succeed."""

    world: World
    planned: dict[int, int] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)
    works: bool = True

    def begin(self) -> None:
        """Submit campaigns before the first fault, because during some schedules no submission succeeds."""
        for body in CAMPAIGNS:
            self._submit(body)
        assert len(self.planned) == len(CAMPAIGNS), self.answers

    def start(self) -> None:
        for work in (self._submit_on, self._read_on):
            self._threads.append(threading.Thread(target=work, name=work.__name__))
            self._threads[-1].start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def cancel_what_nobody_can_run(self) -> None:
        """Cancel campaigns that no runner can serve any more, as their page advises: no runner has the suite's revision
        for which they were planned."""
        for campaign in self.world.rows("SELECT id FROM campaigns WHERE state = 'running'"):
            address = f"/api/v1/campaigns/{campaign['id']}"
            answer = self._ask("GET", address)
            if (
                answer is not None
                and answer.status_code == 200
                and any(map(_is_left_alone, answer.json()["by_target"]))
            ):
                self._ask("POST", f"{address}/cancel")

    def forget(self) -> None:
        """Forget campaigns that a restored database does not have. Nothing is expected of them."""
        stored_ids = {row["id"] for row in self.world.rows("SELECT id FROM campaigns")}
        self.planned = {campaign: jobs for campaign, jobs in self.planned.items() if campaign in stored_ids}

    def _submit_on(self) -> None:
        suites = cycle(CAMPAIGNS)
        while not self._stopped.wait(SUBMITS_EVERY_S):
            if self.works and self._running() < RUNNING_AT_ONCE:
                self._submit(next(suites))

    def _running(self) -> int:
        """The number of running campaigns; a large number if it cannot be read."""
        answer = self._ask("GET", "/api/v1/campaigns")
        if answer is None or answer.status_code != 200:
            return RUNNING_AT_ONCE
        return sum(campaign["state"] == "running" for campaign in answer.json()["campaigns"])

    def _submit(self, body: dict[str, Any]) -> None:
        answer = self._ask("POST", "/api/v1/campaigns", json=body)
        if answer is not None and answer.status_code == 201:
            campaign = answer.json()
            self.planned[campaign["id"]] = campaign["counters"]["total"]

    def _read_on(self) -> None:
        for path in cycle(self._paths()):
            if self._stopped.wait(READS_EVERY_S):
                return
            campaign = max(self.planned, default=0)
            self._ask("GET", path.format(campaign=campaign))

    def _paths(self) -> list[str]:
        return [
            "/healthz",
            "/campaigns",
            "/campaigns/{campaign}",
            "/campaigns/{campaign}/matrix",
            "/campaigns/{campaign}/outcomes",
            "/runners",
            "/api/v1/runners",
            "/api/v1/campaigns",
            "/api/v1/campaigns/{campaign}",
            "/api/v1/campaigns/{campaign}/matrix",
            "/api/v1/campaigns/{campaign}/outcomes",
            "/api/v1/campaigns/{campaign}/report",
        ]

    def _ask(self, method: str, path: str, **fields: Any) -> httpx.Response | None:
        address = f"http://127.0.0.1:{self.world.coordinator.port}"
        with contextlib.suppress(httpx.HTTPError):
            answer = httpx.request(method, address + path, headers=AS_ADMIN, timeout=PATIENCE_S, **fields)
            self.answers.append(Answer(path, answer.status_code, answer.headers.get("retry-after")))
            return answer
        return None


def _is_left_alone(target: dict[str, Any]) -> bool:
    """Whether the campaign still has jobs, all runners are available, and each serves something else."""
    counters = target["counters"]
    left = counters["total"] - counters["done"] - counters["cancelled"]
    return bool(left and not target["live_runners"] and not target["held_up_by"])


class Trial:
    """A trial. ``hold`` executes the schedule and checks the invariants. Several trials can use one world."""

    def __init__(self, world: World, seed: int, faults: Sequence[Planned]) -> None:
        self.world = world
        self.seed = seed
        self.planned = list(faults)
        self.windows: list[Window] = []
        self.client = Client(world)

    def hold(self, limit_s: float | None = None) -> Verdict:
        """Execute the schedule and check the invariants. If there is a limit, no fault begins after it; faults that
        have begun are repaired."""
        began = time.time()
        first = self._newest_campaign()
        self.world.at_restore.append(self.client.forget)
        self.client.begin()
        self.client.start()
        try:
            self._befall(limit_s)
            mended_at = time.time()
            self.client.works = False
            ended_after_s = self._wait_ended(mended_at)
            held_jobs = self.world.quiet()
        finally:
            self.client.stop()
            self.world.at_restore.remove(self.client.forget)
        return self._judge(first, began, ended_after_s, held_jobs)

    def _befall(self, limit_s: float | None) -> None:
        """Begin a fault. If it cannot begin at its time, it begins later and has the same duration."""
        beginning = time.time()
        waiting = [planned_fault for planned_fault in self.planned if planned_fault.kind.possible(self.world)]
        present: dict[Future[Window], Planned] = {}
        while waiting or present:
            elapsed_s = time.time() - beginning
            if limit_s is not None and elapsed_s > limit_s:
                waiting.clear()
            if waiting and self._may_begin(waiting[0], list(present.values()), elapsed_s):
                planned_fault = waiting.pop(0)
                present[self.world.threads.submit(self._endure, planned_fault)] = planned_fault
            over, _ = wait(present, 0.05, FIRST_COMPLETED)
            for future in over:
                del present[future]
                self.windows.append(future.result())
            if not present:
                time.sleep(0.05)

    def _may_begin(self, planned_fault: Planned, present: Sequence[Planned], elapsed_s: float) -> bool:
        held_resources = frozenset[str]().union(*(other.holds for other in present))
        return elapsed_s >= planned_fault.begins_s and len(present) < LANES and not planned_fault.holds & held_resources

    def _endure(self, planned_fault: Planned) -> Window:
        """Execute one fault from its beginning to its repair."""
        fault = planned_fault.kind(planned_fault.target)
        began = time.time()
        try:
            fault.inject(self.world)
            time.sleep(fault.lasts_s)
        finally:
            fault.heal(self.world)
        return Window(fault.name, began, time.time(), fault.place in HOLDING_UP, fault.step_s)

    def _wait_ended(self, mended_at: float) -> float | None:
        while time.time() < mended_at + ENDS_WITHIN_S:
            if not self.world.rows("SELECT id FROM campaigns WHERE state = 'running'"):
                return time.time() - mended_at
            self.client.cancel_what_nobody_can_run()
            time.sleep(LOOKS_EVERY_S)
        return None

    def _newest_campaign(self) -> int:
        return int(self.world.rows("SELECT coalesce(max(id), 0) AS id FROM campaigns")[0]["id"])

    def _judge(self, first: int, began: float, ended_after_s: float | None, held_jobs: dict[str, int]) -> Verdict:
        observation = self._observe(first)
        observation.planned, observation.answers = self.client.planned, self.client.answers
        observation.windows, observation.ended_after_s, observation.held = self.windows, ended_after_s, held_jobs
        ours = [outcome for outcome in observation.outcomes if outcome["rule"] in COORDINATORS_RULES]
        return Verdict(
            seed=self.seed,
            seconds=time.time() - began,
            faults=Counter(window.name for window in self.windows),
            campaigns=len(observation.campaigns),
            jobs=len(observation.jobs),
            outcomes=Counter(outcome["verdict"] for outcome in observation.outcomes),
            rules=Counter(outcome["rule"] for outcome in ours),
            attempts=Counter(attempt["end"] or "never" for attempt in observation.attempts),
            answers=Counter(answer.status for answer in observation.answers),
            ended_after_s=ended_after_s,
            violations=check(observation),
        )

    def _observe(self, first: int) -> Observation:
        """Read the rows of this trial's campaigns, and the runners' logs."""
        ours = f"campaign_id > {first}"
        address = {f"http://127.0.0.1:{leg.port}": name for name, leg in self.world.legs.items() if name != REAL}
        runners = self.world.rows("SELECT id, url FROM runners")
        return Observation(
            campaigns=self.world.rows(f"SELECT * FROM campaigns WHERE id > {first}"),
            targets=self.world.rows(f"SELECT * FROM campaign_targets WHERE {ours}"),
            jobs=self.world.rows(
                'SELECT jobs.*, cases.name AS "case", cases.function FROM jobs JOIN cases ON cases.id = case_id '
                f"WHERE {ours}"
            ),
            attempts=self.world.rows(f"SELECT attempts.* FROM attempts JOIN jobs ON jobs.id = job_id WHERE {ours}"),
            outcomes=self.world.rows(f"SELECT * FROM outcomes WHERE {ours}"),
            reported={name: set(runner.nonces) for name, runner in self.world.runners.items()},
            unreadable={name: set(runner.unreadable) for name, runner in self.world.runners.items()},
            forgotten={name: runner.forgotten for name, runner in self.world.runners.items()},
            boots={name: set(runner.boots) for name, runner in self.world.runners.items()},
            runner_names={row["id"]: address[row["url"]] for row in runners if row["url"] in address},
        )


def progress(verdict: Verdict) -> Iterator[str]:
    """A trial in a few lines of text."""
    after = "not in time" if verdict.ended_after_s is None else f"{verdict.ended_after_s:.0f} s after the last fault"
    yield (
        f"seed {verdict.seed}: {verdict.faults.total()} faults of {len(verdict.faults)} kinds in "
        f"{verdict.seconds:.0f} s; {verdict.campaigns} campaigns, {verdict.jobs} jobs; ended {after}"
    )
    for invariant, count in Counter(violation.invariant for violation in verdict.violations).items():
        sentences = [violation.told for violation in verdict.violations if violation.invariant == invariant]
        yield from (f"  {invariant}: {sentence}" for sentence in sentences[:SHOWN])
        if count > SHOWN:
            yield f"  {invariant}: and {count - SHOWN} more"
