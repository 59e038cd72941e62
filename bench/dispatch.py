"""``dispatch`` measures how many jobs per second are finished and stored, and compares this rate with the same SQL in a
loop and with Celery.

Everything except the cases is real: submission over REST, the coordinator under uvicorn, the runner's service over
HTTP, PostgreSQL with fsync. Rounds of product and baseline alternate, so that other load on this machine affects both
equally.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg

from bench import ceiling
from bench.bench_instance import BenchInstance, database, instant_instance
from bench.celery_baseline import tasks_per_second
from bench.figure import MeasuredFigure, middle, spread
from bench.place import CannotRunError, folder, say
from coordinator.dispatch.outcome_writer import BATCH
from coordinator.dispatch.runner_state_machine import MAX_CLAIM

CASES = 2_000
RUNS = 10
ROUNDS = 5
STARTS = 25
LEAST_OF_CEILING = 0.6
TIMES_CELERY = 4.0


def run() -> Iterator[MeasuredFigure]:
    with folder() as place, database(place) as dsn:
        rates, ceilings, starts = _measure(place, dsn)
    jobs = CASES * RUNS
    shares = [rate / top for rate, top in zip(rates, ceilings, strict=True)]
    yield MeasuredFigure(
        "stored_jobs",
        middle(rates),
        "jobs/s",
        target=f"at least {LEAST_OF_CEILING:.0%} of the plain-SQL ceiling (median of {ROUNDS} rounds in turn)",
        met=middle(shares) >= LEAST_OF_CEILING,
        baseline=f"the same claims ({MAX_CLAIM}) and finishes ({BATCH}) in a loop, without HTTP",
        baseline_value=middle(ceilings),
        ratio=middle(shares),
        n=ROUNDS,
        spread=spread(shares),
        detail={"jobs": jobs, "rounds": rates, "ceiling_rounds": ceilings},
    )
    yield _against_celery(middle(rates))
    yield MeasuredFigure(
        "submit_to_start",
        middle(starts),
        "ms",
        target="none; idle, from before POST /campaigns to the job's arrival at its runner",
        met=None,
        n=len(starts),
        spread=spread(starts),
    )


def _measure(place: Path, dsn: str) -> tuple[list[float], list[float], list[float]]:
    rates, ceilings = [], []
    floor = asyncio.run(ceiling.make(dsn))
    with instant_instance(place, dsn, CASES) as (instance, _):
        # This round does not count: statements are prepared, and pages are touched for the first time.
        instance.wait(instance.submit(runs=1))
        asyncio.run(ceiling.run(floor, CASES, 1))
        for number in range(ROUNDS):
            # Otherwise autovacuum would do this in one of the rounds, and affect only one side of the comparison.
            for address in (dsn, floor):
                asyncio.run(ceiling.vacuum(address))
            campaign = instance.submit(runs=RUNS)
            instance.wait(campaign)
            rates.append(asyncio.run(ceiling.stored_per_second(dsn, campaign)))
            campaign = asyncio.run(ceiling.run(floor, CASES, RUNS))
            ceilings.append(asyncio.run(ceiling.stored_per_second(floor, campaign)))
            say("dispatch", f"round {number + 1}: {rates[-1]:.0f} jobs/s, ceiling {ceilings[-1]:.0f}")
        starts = [submit_to_start(instance, dsn) for _ in range(STARTS)]
        say("dispatch", f"submit to start: {middle(starts):.1f} ms")
    return rates, ceilings, starts


def submit_to_start(instance: BenchInstance, dsn: str) -> float:
    """The milliseconds from the submission of a campaign until the runner has received its only job. Both times are by
    this machine's clock."""
    began = time.monotonic_ns()
    campaign = instance.submit(runs=1, functions=["instant.function_0"])
    instance.wait(campaign)
    return (asyncio.run(_arrival(dsn, campaign)) - began) / 1e6


async def _arrival(dsn: str, campaign: int) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        return int(
            await connection.fetchval("SELECT min(log_tail::bigint) FROM outcomes WHERE campaign_id = $1", campaign)
        )
    finally:
        await connection.close()


def _against_celery(rate: float) -> MeasuredFigure:
    target = f"at least {TIMES_CELERY:g} times Celery with Redis storing its results"
    try:
        say("dispatch", "Celery with Redis")
        baseline = tasks_per_second()
    except CannotRunError as error:
        return MeasuredFigure("stored_jobs_to_celery", rate, "jobs/s", target, None, baseline=f"not run: {error}")
    return MeasuredFigure(
        "stored_jobs_to_celery",
        rate,
        "jobs/s",
        target,
        met=rate >= TIMES_CELERY * baseline.per_second,
        baseline=baseline.words,
        baseline_value=baseline.per_second,
        ratio=rate / baseline.per_second,
        n=baseline.tasks,
    )
