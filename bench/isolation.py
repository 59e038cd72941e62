"""``isolation`` measures the cost of the runner's processes, compared with one new interpreter per function and with no
isolation.

All cases of the suite ``paper`` run on torch/cpu, without timing, through the runner's own supervisor, zygote and
forked children. A sample of functions runs in one new interpreter per function, and the result is extrapolated to all
functions. To show the cost of isolation alone, all cases run again through the same runner in one child. To show the
whole cost of the runner, they also run in a loop with the same harness, without deadlines, separate output or a process
that could kill them. The bench runs in torch's environment.
"""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.figure import MeasuredFigure, middle, spread
from bench.place import PROJECT, CannotRunError, say
from protocol.catalogue import CatalogueCase
from protocol.enums import TimingPolicy
from protocol.events import EVENT, Finished
from protocol.jobs import Job
from runners.errors import FrameworkBrokenError
from runners.isolation.attempts import Task
from runners.isolation.events import EventLog
from runners.isolation.supervisor import Supervisor

FRAMEWORK, DEVICE, SUITE = "torch", "cpu", "paper"
SAMPLE = 8
SEED = "PORTOLAN_BENCH_SEED"
ROUNDS = 5
TIMES_FASTER = 20.0
TIMES_SHARED = 1.5
LIMIT_S = 600.0


def run() -> Iterator[MeasuredFigure]:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10_000))
    measurements = asyncio.run(_measure(seed))
    alone = middle(measurements.isolated)
    count = len(measurements.functions)
    everything = sum(measurements.fresh) / len(measurements.fresh) * count
    detail = {"functions": count, "cases": measurements.cases, "verdicts": measurements.verdicts}
    yield MeasuredFigure(
        "against_interpreters",
        measurements.start_s + alone,
        "s",
        target=f"at least {TIMES_FASTER:g} times less than a fresh interpreter per function",
        met=everything / (measurements.start_s + alone) >= TIMES_FASTER,
        baseline=f"{len(measurements.fresh)} functions drawn with seed {seed}, extrapolated to {count}",
        baseline_value=everything,
        ratio=everything / (measurements.start_s + alone),
        n=len(measurements.fresh),
        spread=[ratio * count / (measurements.start_s + alone) for ratio in spread(measurements.fresh)],
        detail={
            **detail,
            "start_once_s": measurements.start_s,
            "cases_s": alone,
            "ratio_without_start": everything / alone,
            "fresh_s": dict(zip(measurements.drawn, measurements.fresh, strict=True)),
        },
    )
    # The cost of a forked child's first write to each page. It differs tenfold between virtual machines.
    copied_us = page_copy_us()
    for name, target, baseline, rounds in (
        (
            "against_one_process",
            TIMES_SHARED,
            "the same runner with all cases in one child, which shows the cost of new processes",
            measurements.together,
        ),
        (
            "against_a_loop",
            None,
            "all cases in a loop, with the same harness and without a runner",
            measurements.looped,
        ),
    ):
        ratios = [one / other for one, other in zip(measurements.isolated, rounds, strict=True)]
        yield MeasuredFigure(
            name,
            alone,
            "s",
            target=f"at most {target:g} times (median of {ROUNDS} rounds in turn)" if target else "no goal",
            met=middle(ratios) <= target if target else None,
            baseline=f"{baseline}; the import counts on neither side",
            baseline_value=middle(rounds),
            ratio=middle(ratios),
            n=ROUNDS,
            spread=spread(ratios),
            detail={
                **detail,
                "rounds": measurements.isolated,
                "baseline_rounds": rounds,
                "page_copy_us": copied_us,
            },
        )


def page_copy_us(pages: int = 20_000) -> float:
    """The microseconds of a forked child's first write to an inherited page on this machine."""
    memory = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    _write_each_page(memory)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        first, again = _write_each_page(memory), _write_each_page(memory)
        os.write(writing, str((first - again) / pages * 1e6).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        return float(answer.read())


def _write_each_page(memory: mmap.mmap) -> float:
    """Write a byte to each page, and return the seconds that this took."""
    began = time.perf_counter()
    for offset in range(0, len(memory), mmap.PAGESIZE):
        memory[offset] = 1
    return time.perf_counter() - began


@dataclass
class Measured:
    """The measured durations in seconds."""

    start_s: float
    functions: Sequence[str]
    cases: int
    drawn: Sequence[str] = ()
    isolated: list[float] = field(default_factory=list)
    together: list[float] = field(default_factory=list)
    looped: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)
    verdicts: dict[str, int] = field(default_factory=dict)


async def _measure(seed: int) -> Measured:
    # The first import reads from a cold disk. It is made here so that neither side of the comparison pays for it.
    await _interpreter([])
    log = EventLog()
    supervisor = Supervisor(FRAMEWORK, DEVICE, log)
    began = time.monotonic()
    try:
        offer = await supervisor.open()
        await supervisor.look()
    except FrameworkBrokenError as error:
        raise CannotRunError(str(error)) from error
    start_s = time.monotonic() - began
    try:
        (suite,) = (suite_offer for suite_offer in offer.catalogue().suites if suite_offer.name == SUITE)
        functions = list(dict.fromkeys(case.function for case in suite.cases))
        measurements = Measured(start_s, functions, len(suite.cases))
        say("isolation", f"{len(functions)} functions, {len(suite.cases)} cases, ready after {start_s:.1f} s")
        for number in range(1, ROUNDS + 1):
            began = time.monotonic()
            measurements.verdicts = await _execute(supervisor, log, suite.cases, 2 * number)
            measurements.isolated.append(time.monotonic() - began)
            began = time.monotonic()
            await _execute(supervisor, log, suite.cases, 2 * number + 1, together=True)
            measurements.together.append(time.monotonic() - began)
            measurements.looped.append((await _interpreter([]))["cases_s"])
            isolated_s, together_s, loop_s = (
                measurements.isolated[-1],
                measurements.together[-1],
                measurements.looped[-1],
            )
            say("isolation", f"{isolated_s:.1f} s isolated, {together_s:.1f} s in one child, {loop_s:.1f} s in a loop")
    finally:
        await supervisor.close()
    measurements.drawn = random.Random(seed).sample(functions, min(SAMPLE, len(functions)))
    for function in measurements.drawn:
        began = time.monotonic()
        await _interpreter([function])
        measurements.fresh.append(time.monotonic() - began)
        say("isolation", f"{measurements.fresh[-1]:.1f} s in an interpreter of its own: {function}")
    return measurements


async def _execute(
    supervisor: Supervisor, log: EventLog, cases: Sequence[CatalogueCase], run: int, *, together: bool = False
) -> dict[str, int]:
    """Run all cases once, in separate processes as the runner does, or in one process if ``together``. Returns the
    number of cases by verdict."""
    supervisor.submit(
        Task(
            Job(id=f"{run}-{number}", attempt=1, case=case.id, run=run, timeout_s=LIMIT_S, timing=TimingPolicy.off),
            SUITE,
            "together" if together else case.function,
        )
        for number, case in enumerate(cases)
    )
    verdicts: Counter[str] = Counter()
    while verdicts.total() < len(cases):
        if not await log.wait_for_event(log.acknowledged, LIMIT_S):
            raise CannotRunError(f"the supervisor sent no event for {LIMIT_S:.0f} s: run the bench on an idle machine")
        last, lines = log.after(log.acknowledged)
        for line in lines.splitlines():
            event = EVENT.validate_json(line)
            if isinstance(event, Finished):
                verdicts[event.outcome.verdict] += 1
        log.acknowledge(last)
    return dict(verdicts)


async def _interpreter(functions: Sequence[str]) -> dict[str, float]:
    """Run the cases of these functions (of all functions if none is named) in one new process. Returns the durations
    that this process prints."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.one_process", FRAMEWORK, DEVICE, SUITE, *functions,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=PROJECT,
    )  # fmt: skip
    output, _ = await child.communicate()
    if child.returncode:
        raise CannotRunError(
            f"the baseline ended with exit code {child.returncode}: run `python -m bench.one_process` to see why"
        )
    seconds_by_part: dict[str, float] = json.loads(output.splitlines()[-1])
    return seconds_by_part
