"""``repeatability`` measures whether a repeated campaign gives the same results, and whether real slowdowns are
detected.

Three campaigns run over REST on one target, one after the other: A; A again, where every reported change is a false
alarm; and A with some randomly chosen functions slowed down, so that each of their calls takes half as long again. This
is done on an otherwise idle host, then next to two and next to eight busy loops per core. Portolan's decisions are
compared with the study's method, the mean of three first calls, on the same runs. At the end, the campaigns A of all
loads are compared with each other, because load on the host is not a change of a function. On a busy host fewer
slowdowns can be detected. There, the only promise is that a slowed function is not reported as unchanged.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.bench_instance import BenchInstance, coordinator, database, runner
from bench.busy import busy
from bench.figure import MeasuredFigure
from bench.place import folder, say
from bench.slowed import FACTOR, VARIABLE
from coordinator.database.connection import engine as make_engine
from coordinator.results.comparison.latencies import LatencyChange, Measurement, compare_latencies, paper_ratios
from coordinator.results.comparison.store import measurements
from coordinator.targets.store import of_campaign

SEED = "PORTOLAN_BENCH_SEED"
TARGET = "PORTOLAN_BENCH_TARGET"
LOADS = "PORTOLAN_BENCH_LOADS"
"""The numbers of busy loops per core, one load after another: ``0,2,8``."""
FUNCTIONS = "PORTOLAN_BENCH_FUNCTIONS"
"""A glob that restricts the functions, for a short bench whose figures are compared with no goal."""
RUNS = 3
PLANTED = 20
FEWEST_FOUND = 19
MOST_CALLED_THE_SAME = 1
FALSE_ALARMS = 0.01
INSUFFICIENT = 0.05
CAMPAIGN_LIMIT_S = 3600.0


class CampaignLatencies(NamedTuple):
    """The latencies from one campaign on the target."""

    levels: list[Measurement]
    cold: list[Measurement]


class LoadTrial(NamedTuple):
    """Three campaigns with one load."""

    loops: int
    """The number of busy loops on each core."""
    before: CampaignLatencies
    again: CampaignLatencies
    slower: CampaignLatencies
    planted: list[str]


def run() -> Iterator[MeasuredFigure]:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    target = os.environ.get(TARGET) or "torch/cpu"
    loads = [int(loops) for loops in (os.environ.get(LOADS) or "0,2,8").split(",")]
    trials = []
    with folder() as place, database(place) as dsn, coordinator(dsn, place) as instance:
        for loops in loads:
            with busy(loops * len(os.sched_getaffinity(0)), place):
                trials.append(_trial(instance, place, dsn, target, loops, seed))
            yield from judge(trials[-1], {"target": target, "seed": seed})
    if len(trials) > 1:
        yield between_loads(trials, {"target": target, "seed": seed})


def judge(trial: LoadTrial, detail: dict[str, object]) -> list[MeasuredFigure]:
    """Count false alarms between equal campaigns, detected slowdowns, and functions without enough data."""
    same = compare_latencies(trial.before.levels, trial.again.levels)
    changes = compare_latencies(trial.before.levels, trial.slower.levels)
    cases = len({measurement.case for measurement in trial.before.levels})
    detail = {**detail, "loops": trial.loops, "runs": RUNS, "cases": cases}
    return [
        _false_alarms(same, paper_ratios(trial.before.cold, trial.again.cold), detail),
        _planted_share(changes, paper_ratios(trial.before.cold, trial.slower.cold), trial.planted, detail),
        _insufficient(same, detail),
    ]


def between_loads(trials: Sequence[LoadTrial], detail: dict[str, object]) -> MeasuredFigure:
    """For each two loads, compare their campaigns and count false alarms."""
    changes = [
        (f"{one.loops} and {other.loops} loops per core: {change.function}", change)
        for one, other in itertools.combinations(trials, 2)
        for change in compare_latencies(one.before.levels, other.before.levels)
    ]
    alarms = {name: change.ratio for name, change in changes if change.changed}
    decided_count = sum(change.change != "insufficient data" for _, change in changes)
    return MeasuredFigure(
        "false_alarms_between_loads",
        len(alarms) / len(changes),
        "share of functions",
        target=f"at most {FALSE_ALARMS:.0%} of functions reported as changed between equal campaigns at other loads",
        met=len(alarms) <= FALSE_ALARMS * len(changes),
        n=len(changes),
        detail={**detail, "changed": alarms, "not_insufficient": decided_count},
    )


def planted_among(functions: Sequence[str], seed: int) -> list[str]:
    """Choose the functions to slow down: at most half of all functions, so that the others can raise false alarms."""
    return sorted(random.Random(seed).sample(sorted(functions), min(PLANTED, len(functions) // 2)))


def _trial(instance: BenchInstance, place: Path, dsn: str, target: str, loops: int, seed: int) -> LoadTrial:
    first, again = (_campaign(instance, place, target, []) for _ in range(2))
    before = _read_campaign(dsn, first, target)
    planted_functions = planted_among(list({measurement.function for measurement in before.levels}), seed)
    slower = _campaign(instance, place, target, planted_functions)
    return LoadTrial(
        loops, before, _read_campaign(dsn, again, target), _read_campaign(dsn, slower, target), planted_functions
    )


def _at(name: str, detail: dict[str, object]) -> str:
    return f"{name}_beside_{detail['loops']}_loops_a_core"


def _false_alarms(
    changes: Sequence[LatencyChange], paper: dict[str, float], detail: dict[str, object]
) -> MeasuredFigure:
    alarms = {change.function: change.ratio for change in changes if change.changed}
    study = [name for name, ratio in paper.items() if not 1 / FACTOR < ratio < FACTOR]
    return MeasuredFigure(
        _at("false_alarms", detail),
        len(alarms) / len(changes),
        "share of functions",
        target=f"at most {FALSE_ALARMS:.0%} of functions reported as changed between two equal campaigns",
        met=len(alarms) <= FALSE_ALARMS * len(changes),
        baseline=f"functions whose mean of {RUNS} first calls (the study's rule) differs by more than {FACTOR:g} times",
        baseline_value=len(study) / max(len(paper), 1),
        n=len(changes),
        detail={**detail, "changed": alarms, "changed_by_the_studys_rule": sorted(study)},
    )


def _planted_share(
    changes: Sequence[LatencyChange],
    paper: dict[str, float],
    planted_functions: Sequence[str],
    detail: dict[str, object],
) -> MeasuredFigure:
    change_of = {change.function: change for change in changes}
    found_functions = [name for name in planted_functions if change_of[name].change == "slower"]
    study = [name for name in planted_functions if paper.get(name, 1.0) >= FACTOR]
    the_same = [name for name in planted_functions if change_of[name].change == "same"]
    target = f"at least {FEWEST_FOUND} of {PLANTED} functions slowed by {FACTOR:g} times"
    met = len(found_functions) >= FEWEST_FOUND and len(planted_functions) == PLANTED
    if detail["loops"]:
        target = (
            f"at most {MOST_CALLED_THE_SAME} of {PLANTED} functions slowed by {FACTOR:g} times reported as unchanged"
        )
        met = len(the_same) <= MOST_CALLED_THE_SAME and len(planted_functions) == PLANTED
    return MeasuredFigure(
        _at("planted_slowdowns_found", detail),
        float(len(found_functions)),
        f"of {len(planted_functions)} functions",
        target=target,
        met=met,
        baseline=f"of those, detected by the study's rule: the mean of {RUNS} is at least {FACTOR:g} times larger",
        baseline_value=float(len(study)),
        n=len(planted_functions),
        detail={
            **detail,
            "missed": {
                name: [change_of[name].change, change_of[name].ratio]
                for name in planted_functions
                if name not in found_functions
            },
            "ratios": {name: change_of[name].ratio for name in planted_functions},
            "others_changed": [
                change.function for change in changes if change.changed and change.function not in planted_functions
            ],
        },
    )


def _insufficient(changes: Sequence[LatencyChange], detail: dict[str, object]) -> MeasuredFigure:
    unknown = {change.function: change.why for change in changes if change.change == "insufficient data"}
    return MeasuredFigure(
        _at("insufficient_data", detail),
        len(unknown) / len(changes),
        "share of functions",
        target="no goal" if detail["loops"] else f"at most {INSUFFICIENT:.0%} of functions",
        met=None if detail["loops"] else len(unknown) <= INSUFFICIENT * len(changes),
        n=len(changes),
        detail={**detail, "functions": unknown},
    )


def _read_campaign(dsn: str, campaign: int, target: str) -> CampaignLatencies:
    async def read() -> CampaignLatencies:
        engine = make_engine(dsn)
        try:
            async with engine.connect() as connection:
                (target_id,) = [
                    row.id
                    for row in await of_campaign(connection, campaign)
                    if f"{row.framework}/{row.device}" == target
                ]
                return CampaignLatencies(
                    await measurements(connection, campaign, target_id, "low_ms"),
                    await measurements(connection, campaign, target_id, "cold_ms"),
                )
        finally:
            await engine.dispose()

    return asyncio.run(read())


def _campaign(instance: BenchInstance, place: Path, target: str, slowed_functions: Sequence[str]) -> int:
    """Start a new runner of the target on which some functions are slowed down, and run a whole campaign on it."""
    variables = {VARIABLE: json.dumps(list(slowed_functions))}
    with runner(target, place, module="bench.slowed", variables=variables) as (url, secret, _):
        runner_id = instance.register(url, secret)
        functions = [glob] if (glob := os.environ.get(FUNCTIONS)) else None
        campaign = instance.submit(runs=RUNS, functions=functions, suite="paper", timing="steady")
        say(
            "repeatability",
            f"campaign {campaign} on {target}"
            + (f", {len(slowed_functions)} functions slowed" * bool(slowed_functions)),
        )
        counters = instance.wait(campaign, CAMPAIGN_LIMIT_S)["counters"]
        say("repeatability", f"campaign {campaign}: {counters['done']} jobs, {counters['passed']} passed")
        instance.remove(runner_id)
    return campaign
