"""``library`` measures the cost of charting a whole library, compared with the same cases in a plain loop.

The suites ``library`` and ``library_quick`` run on one target, once and without timing, as for a user: over REST, with
PostgreSQL and dispatch, on a runner with as many slots as ``portolan up`` sets, in child processes. The loop runs the
same cases with the same harness in one process, without dispatch, isolation or storage. Rounds alternate, so that other
load affects both.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.bench_instance import BenchInstance, coordinator, database, runner
from bench.environment import python_of
from bench.figure import MeasuredFigure, middle, spread
from bench.place import PROJECT, CannotRunError, folder, say
from coordinator.cli.local import slots_here

TARGET = "PORTOLAN_BENCH_TARGET"
ROUNDS = 3
LIMITS_S = {"cpu": {"library": 180.0, "library_quick": 60.0}, "xla": {"library": 1500.0, "library_quick": 300.0}}
"""The maximum seconds for a suite of torch on a device, on two otherwise idle cores."""
MOST_OVERHEAD = 1.25


def run() -> Iterator[MeasuredFigure]:
    target = os.environ.get(TARGET) or "torch/cpu"
    device = target.partition("/")[2]
    with (
        folder() as place,
        database(place) as dsn,
        coordinator(dsn, place) as instance,
        runner(target, place, "--slots", str(slots := slots_here(1))) as runner_access,
    ):
        instance.register(*runner_access[:2])
        for suite in ("library", "library_quick"):
            chart_s, loop_s, counters = _rounds(instance, target, suite, place)
            ratios = [one / other for one, other in zip(chart_s, loop_s, strict=True)]
            limit = LIMITS_S.get(device, {}).get(suite)
            yield MeasuredFigure(
                suite,
                middle(chart_s),
                "s",
                target=f"at most {limit:g} s (median of {ROUNDS})" if limit else "no goal",
                met=middle(chart_s) <= limit if limit else None,
                n=ROUNDS,
                spread=spread(chart_s),
                detail={"target": target, "slots": slots, "rounds": chart_s, "counters": counters},
            )
            yield MeasuredFigure(
                f"{suite}_against_a_loop",
                middle(chart_s),
                "s",
                target=f"at most {MOST_OVERHEAD:g} times (median of {ROUNDS} rounds in turn)",
                met=middle(ratios) <= MOST_OVERHEAD,
                baseline="the same cases in a loop, with the same harness; the import counts on neither side",
                baseline_value=middle(loop_s),
                ratio=middle(ratios),
                n=ROUNDS,
                spread=spread(ratios),
                detail={"target": target, "slots": slots, "rounds": chart_s, "baseline_rounds": loop_s},
            )


def _rounds(
    instance: BenchInstance, target: str, suite: str, place: Path
) -> tuple[list[float], list[float], dict[str, int]]:
    """The seconds of each round through the product and in the loop, and the jobs of the last campaign by state."""
    chart_s: list[float] = []
    loop_s: list[float] = []
    counters: dict[str, int] = {}
    for _ in range(ROUNDS):
        loop_s.append(_loop(target, suite, place))
        campaign = instance.wait(instance.submit(runs=1, suite=suite), limit_s=3600.0)
        counters = campaign["counters"]
        chart_s.append(_seconds(campaign))
        say("library", f"{suite} on {target}: {chart_s[-1]:.1f} s, {loop_s[-1]:.1f} s in a loop")
    return chart_s, loop_s, counters


def _seconds(campaign: dict[str, Any]) -> float:
    """The seconds from the submission to the last stored outcome. The coordinator's clock is used, because this process
    polls only once a second."""
    began, end = (datetime.fromisoformat(campaign[name]) for name in ("created_at", "finished_at"))
    return (end - began).total_seconds()


def _loop(target: str, suite: str, place: Path) -> float:
    framework, _, device = target.partition("/")
    log = place / "loop.log"
    with log.open("wb") as complaints:
        ran = subprocess.run(
            [python_of(framework, device), "-W", "ignore", "-m", "bench.one_process", framework, device, suite],
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=os.environ | {"PYTHONPATH": str(PROJECT)},
            cwd=PROJECT,
            check=False,
        )
    if ran.returncode != 0:
        raise CannotRunError(
            f"the loop's process ended with exit code {ran.returncode}: run `python -m bench.one_process` to see why"
        )
    return float(json.loads(ran.stdout.splitlines()[-1])["cases_s"])
