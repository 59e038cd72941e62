"""``scale`` measures the cost of a million jobs, a thousand runners and two coordinators, in CPU seconds of each part.

Everything except the cases is real: two coordinators under uvicorn share one embedded PostgreSQL with fsync. The
runners are ``instant_runner`` in separate processes, whose CPU time does not count.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psutil

from bench.bench_instance import BenchInstance, coordinator, database, instant_runner
from bench.ceiling import vacuum
from bench.dispatch import submit_to_start
from bench.figure import MeasuredFigure, middle, spread
from bench.instant_runner import SECRET
from bench.place import folder, say

RUNNERS = 1_000
IDLE_S = 30.0
STARTS = 20
LONGEST_START_MS = 100.0
MOST_IDLE_CORES = 0.3
MILLION = 1_000_000
MILLION_RUNS = 100
MOST_SUBMIT_CPU_S = 15.0
TARGETS = 6
CASES = 60_800
"""The number of cases. With six targets they give 364,800 outcomes: 3,800 functions with sixteen cases each."""


@dataclass(frozen=True)
class Used:
    """The CPU seconds that each part used."""

    coordinators: float
    postgres: float

    @property
    def all(self) -> float:
        return self.coordinators + self.postgres

    def since(self, before: Used) -> Used:
        return Used(self.coordinators - before.coordinators, self.postgres - before.postgres)


class Meter:
    """Measures the CPU time of the coordinators and of PostgreSQL, whose backend processes start and end."""

    def __init__(self, place: Path, instances: list[BenchInstance]) -> None:
        self._instances = [psutil.Process(instance.pid) for instance in instances]
        pid = int((place / "postgres" / "cluster" / "postmaster.pid").read_text().split()[0])
        self._postmaster = psutil.Process(pid)

    def read(self) -> Used:
        return Used(sum(map(_cpu_s, self._instances)), sum(map(_cpu_s, self._backends())))

    def _backends(self) -> list[psutil.Process]:
        return [self._postmaster, *self._postmaster.children(recursive=True)]


def _cpu_s(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        # For a server process, the time of its ended backends is included.
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def run() -> Iterator[MeasuredFigure]:
    with folder() as place, database(place) as dsn:
        second = place / "second"
        second.mkdir()
        with coordinator(dsn, place) as instance, coordinator(dsn, second) as other:
            meter = Meter(place, [instance, other])
            yield from _idle_fleet(place, dsn, instance, meter)
            yield from _outcomes(place, dsn, instance, meter)
            yield from _million_jobs(place, dsn, instance, meter)
        logs = [(folder / "coordinator.log").read_text() for folder in (place, second)]
        away = sum(log.count("the database is not reachable") for log in logs)
        yield MeasuredFigure("outages_logged", away, "lines", target="none: the database was reachable", met=away == 0)


def _idle_fleet(place: Path, dsn: str, instance: BenchInstance, meter: Meter) -> Iterator[MeasuredFigure]:
    with instant_runner(10, place, ["cpu"] * RUNNERS) as (url, _):
        runners = []
        for number in range(RUNNERS):
            runners.append(instance.register(f"{url}/{number}", SECRET))
            if number % 100 == 99:
                say("scale", f"{number + 1} runners are registered")
        instance.wait(instance.submit(runs=1))
        before, began = meter.read(), time.monotonic()
        time.sleep(IDLE_S)
        usage, took_s = meter.read().since(before), time.monotonic() - began
        say("scale", f"{RUNNERS} idle runners: {usage.all / took_s:.2f} cores")
        yield MeasuredFigure(
            "idle_runners",
            usage.all / took_s,
            "cores",
            target=f"{RUNNERS} idle runners and two coordinators: under {MOST_IDLE_CORES:g} cores",
            met=usage.all / took_s < MOST_IDLE_CORES,
            detail={"seconds": took_s, "coordinators_cpu_s": usage.coordinators, "postgres_cpu_s": usage.postgres},
        )
        starts = [submit_to_start(instance, dsn) for _ in range(STARTS)]
        yield MeasuredFigure(
            "first_start",
            middle(starts),
            "ms",
            target=f"of a small campaign on {RUNNERS} idle runners: under {LONGEST_START_MS:g} ms",
            met=middle(starts) < LONGEST_START_MS,
            n=STARTS,
            spread=spread(starts),
        )
        for runner in runners:
            instance.remove(runner)


def _outcomes(place: Path, dsn: str, instance: BenchInstance, meter: Meter) -> Iterator[MeasuredFigure]:
    """Measure a campaign with as many outcomes as a survey of whole frameworks, next to a small campaign in the same
    run."""
    with instant_runner(CASES, place, [f"cpu{number}" for number in range(TARGETS)]) as (url, _):
        runners = [instance.register(f"{url}/{number}", SECRET) for number in range(TARGETS)]
        rates, usages = [], []
        for functions in (["instant.function_??", "instant.function_???"], ["*"]):
            before = meter.read()
            campaign = instance.submit(runs=1, functions=functions)
            campaign_state = instance.wait(campaign, limit_s=1_800.0)
            jobs = campaign_state["counters"]["done"]
            usages.append((meter.read().since(before), jobs))
            rates.append(jobs / usages[-1][0].all)
            say("scale", f"{jobs} outcomes: {usages[-1][0].all:.0f} s of CPU")
        (small, _), (large, jobs) = usages
        yield MeasuredFigure(
            "outcomes_per_cpu_second",
            rates[1],
            "outcomes per CPU second",
            target=f"{jobs} outcomes on {TARGETS} targets cost at most a quarter more each than a small campaign's",
            met=rates[1] >= 0.8 * rates[0],
            baseline="a campaign of a sixth of the size at most, in the same run",
            baseline_value=rates[0],
            ratio=rates[1] / rates[0],
            detail={
                "outcomes": jobs,
                "coordinators_cpu_s": large.coordinators,
                "postgres_cpu_s": large.postgres,
                "small_cpu_s": small.all,
            },
        )
        for runner in runners:
            instance.remove(runner)


def _million_jobs(place: Path, dsn: str, instance: BenchInstance, meter: Meter) -> Iterator[MeasuredFigure]:
    with instant_runner(MILLION // MILLION_RUNS, place) as (url, _):
        runner = instance.register(url, SECRET)
        # Otherwise autovacuum would do this during the measurement.
        asyncio.run(vacuum(dsn))
        before, began = meter.read(), time.monotonic()
        campaign = instance.submit(runs=MILLION_RUNS)
        usage, took_s = meter.read().since(before), time.monotonic() - began
        instance.remove(runner)
        say("scale", f"a million jobs: {usage.all:.1f} s of CPU, {took_s:.0f} s")
    plain = asyncio.run(_plain_insert(dsn))
    yield MeasuredFigure(
        "submit_a_million",
        usage.all,
        "CPU s",
        target=f"under {MOST_SUBMIT_CPU_S:g} CPU s",
        met=usage.all < MOST_SUBMIT_CPU_S,
        baseline="INSERT … SELECT of as many rows into a bare queue table with one index",
        baseline_value=plain,
        ratio=usage.all / plain,
        detail={"seconds": took_s, "coordinators_cpu_s": usage.coordinators, "postgres_cpu_s": usage.postgres},
    )
    asyncio.run(vacuum(dsn))
    before, began = meter.read(), time.monotonic()
    instance.cancel(campaign)
    usage, took_s = meter.read().since(before), time.monotonic() - began
    yield MeasuredFigure(
        "cancel_a_million",
        usage.all,
        "CPU s",
        target="none",
        met=None,
        detail={"seconds": took_s, "coordinators_cpu_s": usage.coordinators, "postgres_cpu_s": usage.postgres},
    )


async def _plain_insert(dsn: str) -> float:
    """The CPU seconds that the PostgreSQL backend uses for a plain INSERT of the outcomes."""
    connection = await asyncpg.connect(dsn)
    try:
        backend = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
        await connection.execute(
            "CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task text, run int, "
            "state text DEFAULT 'queued'); CREATE INDEX ON plain (run, id) WHERE state = 'queued'"
        )
        before = _cpu_s(backend)
        await connection.execute(
            "INSERT INTO plain (task, run) SELECT 'task ' || n % 10000, n / 10000 FROM generate_series(0, $1) n",
            MILLION - 1,
        )
        cpu_s = _cpu_s(backend) - before
        await connection.execute("DROP TABLE plain")
        return cpu_s
    finally:
        await connection.close()
