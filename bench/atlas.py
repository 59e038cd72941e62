"""``atlas`` measures the atlas of a million outcomes: fifty campaigns of 1,000 functions on 4 devices.

The campaigns chart ten suites, each in five revisions that have the same cases. The newest campaign of each suite is
the evidence. The atlas compares each older outcome with the outcome in the newest campaign of its suite. The bench
first measures the first build of the atlas after the coordinator's start: the duration of the build, and the latency of
the front page and of /healthz during the build. Then the bench measures the pages of the finished atlas.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import psutil

from bench import charted
from bench.bench_instance import BenchInstance, coordinator, database
from bench.charted import Size
from bench.figure import MeasuredFigure, middle, spread
from bench.place import folder, say
from bench.reader import BESIDE_MS, FIRST_BYTE_MS, asked_beside, first_bytes, wait_for_atlas
from coordinator.atlas.addresses import as_link, framework_path, function_path

CAMPAIGNS = 50
SUITES = 10
SIZE = Size("torch", functions=1_000, cases=5, runs=1, targets=4, releases=("torch@2.9.0",))
OUTCOMES = CAMPAIGNS * SIZE.outcomes
BUILT_CPU_S = 60.0


def run() -> Iterator[MeasuredFigure]:
    with folder() as place, database(place) as dsn:
        began = time.monotonic()
        asyncio.run(charted.make(dsn, *_campaigns()))
        say("atlas", f"{OUTCOMES:,} outcomes written in {time.monotonic() - began:.0f} s")
        with coordinator(dsn, place) as instance:
            yield from _start(instance)
            yield from first_bytes("atlas", instance, _pages())


def _campaigns() -> Iterator[Size]:
    for number in range(CAMPAIGNS):
        yield replace(SIZE, suite=f"suite_{number % SUITES}", revision=str(1 + number // SUITES))


def _pages() -> dict[str, str]:
    return {
        "front": "/",
        "search": "/?q=conv",
        "function": f"/atlas/{as_link(function_path(SIZE.names[0]))}",
        "framework": f"/atlas/{as_link(framework_path(SIZE.framework))}",
    }


def _start(instance: BenchInstance) -> Iterator[MeasuredFigure]:
    """Measure the first build of the atlas: the responses during the build, its duration, and the latency of
    /healthz."""
    began = time.monotonic()
    with asked_beside(instance) as healthz_ms:
        pending_ms = wait_for_atlas(instance)
    took = time.monotonic() - began
    process = psutil.Process(instance.pid)
    times = process.cpu_times()
    cpu_s = times.user + times.system + times.children_user + times.children_system
    say("atlas", f"built in {took:.1f} s and {cpu_s:.1f} s of CPU; /healthz waited {max(healthz_ms):.0f} ms at most")
    size = {"outcomes": OUTCOMES, "campaigns": CAMPAIGNS}
    yield MeasuredFigure(
        "pending_front",
        middle(pending_ms) if pending_ms else None,
        "ms",
        target=f"under {FIRST_BYTE_MS:g} ms (median), while the atlas is put together",
        met=middle(pending_ms) < FIRST_BYTE_MS if pending_ms else None,
        n=len(pending_ms),
        spread=spread(pending_ms) if pending_ms else (),
        detail=size,
    )
    yield MeasuredFigure(
        "first_atlas",
        cpu_s,
        "s",
        target=f"under {BUILT_CPU_S:g} s of the coordinator's CPU since its start",
        met=cpu_s < BUILT_CPU_S,
        detail={"wall_s": took, "held_mb": process.memory_info().rss / 1_000_000, **size},
    )
    yield MeasuredFigure(
        "healthz_beside_atlas",
        max(healthz_ms),
        "ms",
        target=f"under {BESIDE_MS:g} ms, while the atlas is put together",
        met=max(healthz_ms) < BESIDE_MS,
        n=len(healthz_ms),
        detail=size,
    )
