"""``repeatability``: does a campaign, made again, say the same; and is a real slowdown seen?

Three campaigns over REST on one target, one after the other: A; A again (whatever is reported as
changed is a false alarm); and A with every call of some functions, drawn now, made to last half as
long again. Beside what Portolan decides stands what the study's mean of three first calls says of
the same runs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure
from bench.house import House, coordinator, database, runner
from bench.place import folder, say
from bench.slowed import FACTOR, VARIABLE
from coordinator.database.connection import engine as make_engine
from coordinator.results.comparison.latencies import LatencyChange, Measurement, compare_latencies, paper_ratios
from coordinator.results.comparison.store import measurements
from coordinator.targets.store import of_campaign

SEED = "PORTOLAN_BENCH_SEED"
TARGET = "PORTOLAN_BENCH_TARGET"
RUNS = 3
PLANTED = 20
FEWEST_FOUND = 19
FALSE_ALARMS = 0.01
INSUFFICIENT = 0.05


def run() -> Iterator[Figure]:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    target = os.environ.get(TARGET) or "torch/cpu"
    with folder() as place, database(place) as dsn, coordinator(dsn, place) as house:
        first, again = (_campaign(house, place, target, []) for _ in range(2))
        before, after = _measured(dsn, first, target), _measured(dsn, again, target)
        functions = sorted({each.function for each in before.steady})
        planted = sorted(random.Random(seed).sample(functions, min(PLANTED, len(functions) // 2)))
        slower = _measured(dsn, _campaign(house, place, target, planted), target)
    same = compare_latencies(before.steady, after.steady)
    changed = compare_latencies(before.steady, slower.steady)
    detail = {"target": target, "seed": seed, "runs": RUNS, "cases": len({each.case for each in before.steady})}
    yield _false_alarms(same, paper_ratios(before.cold, after.cold), detail)
    yield _found(changed, paper_ratios(before.cold, slower.cold), planted, detail)
    yield _insufficient(same, detail)


def _false_alarms(compared: Sequence[LatencyChange], paper: dict[str, float], detail: dict[str, object]) -> Figure:
    alarms = {each.function: each.ratio for each in compared if each.changed}
    study = [name for name, ratio in paper.items() if not 1 / FACTOR < ratio < FACTOR]
    return Figure(
        "false_alarms",
        len(alarms) / len(compared),
        "share of functions",
        target=f"at most {FALSE_ALARMS:.0%} of functions reported as changed between two equal campaigns",
        met=len(alarms) <= FALSE_ALARMS * len(compared),
        baseline=f"functions whose mean of {RUNS} first calls (the study's rule) differs by more than {FACTOR:g} times",
        baseline_value=len(study) / max(len(paper), 1),
        n=len(compared),
        detail={**detail, "changed": alarms, "changed_by_the_studys_rule": sorted(study)},
    )


def _found(
    compared: Sequence[LatencyChange], paper: dict[str, float], planted: Sequence[str], detail: dict[str, object]
) -> Figure:
    told = {each.function: each for each in compared}
    found = [name for name in planted if told[name].change == "slower"]
    study = [name for name in planted if paper.get(name, 1.0) >= FACTOR]
    return Figure(
        "planted_slowdowns_found",
        float(len(found)),
        f"of {len(planted)} functions",
        target=f"at least {FEWEST_FOUND} of {PLANTED} functions slowed by {FACTOR:g} times",
        met=len(found) >= FEWEST_FOUND and len(planted) == PLANTED,
        baseline=f"of those, seen by the study's rule: its mean of {RUNS} is {FACTOR:g} times larger or more",
        baseline_value=float(len(study)),
        n=len(planted),
        detail={
            **detail,
            "missed": {name: [told[name].change, told[name].ratio] for name in planted if name not in found},
            "ratios": {name: told[name].ratio for name in planted},
            "others_changed": [each.function for each in compared if each.changed and each.function not in planted],
        },
    )


def _insufficient(compared: Sequence[LatencyChange], detail: dict[str, object]) -> Figure:
    unknown = [each.function for each in compared if each.change == "insufficient data"]
    return Figure(
        "insufficient_data",
        len(unknown) / len(compared),
        "share of functions",
        target=f"at most {INSUFFICIENT:.0%} of functions",
        met=len(unknown) <= INSUFFICIENT * len(compared),
        n=len(compared),
        detail={**detail, "functions": unknown},
    )


class _Campaign(NamedTuple):
    """What one campaign measured on the target."""

    steady: list[Measurement]
    cold: list[Measurement]


def _measured(dsn: str, campaign: int, target: str) -> _Campaign:
    async def read() -> _Campaign:
        engine = make_engine(dsn)
        try:
            async with engine.connect() as connection:
                (measured,) = [
                    found.id
                    for found in await of_campaign(connection, campaign)
                    if f"{found.framework}/{found.device}" == target
                ]
                return _Campaign(
                    await measurements(connection, campaign, measured, "steady_ms"),
                    await measurements(connection, campaign, measured, "cold_ms"),
                )
        finally:
            await engine.dispose()

    return asyncio.run(read())


def _campaign(house: House, place: Path, target: str, slowed: Sequence[str]) -> int:
    """A new runner of the target (its functions slowed as asked), and a whole campaign on it."""
    variables = {VARIABLE: json.dumps(list(slowed))}
    with runner(target, place, module="bench.slowed", variables=variables) as (url, secret, _):
        registered = house.register(url, secret)
        campaign = house.submit(runs=RUNS, suite="paper", timing="steady")
        say("repeatability", f"campaign {campaign} on {target}" + (f", {len(slowed)} functions slowed" * bool(slowed)))
        counters = house.wait(campaign)["counters"]
        say("repeatability", f"campaign {campaign}: {counters['done']} jobs, {counters['passed']} passed")
        house.remove(registered)
    return campaign
