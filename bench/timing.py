"""``timing`` compares Portolan's steady medians with those of each framework's own timing tool, for the same calls.

Portolan and the tool alternately measure the same calls, in one process and with the same number of threads. The calls
are from the suite's cases, chosen over the whole range of cost. For each side, the smallest median of several rounds
counts. The bench also measures the error of a clock that stops before the device has finished. It runs in each
framework's environment.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

from bench.figure import MeasuredFigure, middle, spread
from bench.place import CannotRunError, say
from bench.tools import TOOLS, prepare
from runners import frameworks
from runners.isolation import timing as clock
from runners.suite.cases import Case
from runners.suite.device import Device

CALLS = 40
ROUNDS = 5
BUDGET_S = 0.2
CHEAPEST_US = 20.0
LONGEST_US = 100_000.0
MEDIAN_WITHIN = 0.10
EACH_WITHIN = 0.20
SHARE_WITHIN = 0.9
UNWAITED = {"torch": "xla"}
"""For each framework, the device on which the error of a clock that stops too early is measured. For other frameworks
this is the CPU."""


@dataclass(frozen=True)
class Compared:
    case: str
    ours_us: float
    theirs_us: float
    theirs_again_us: float
    """A second measurement by the framework's tool in the same rounds. The difference between both measurements by the
    tool is the machine's noise."""

    @property
    def ratio(self) -> float:
        return self.ours_us / self.theirs_us


def run() -> Iterator[MeasuredFigure]:
    framework = next((tool for tool in TOOLS if importlib.util.find_spec(tool)), None)
    if framework is None:
        raise CannotRunError("no framework is installed here: run `portolan-runner setup torch`")
    module = frameworks.load(framework)
    unwaited_device = UNWAITED.get(framework, "cpu")
    os.environ.update(frameworks.variables(module, unwaited_device))
    cases = module.load_suites()["paper"].cases
    yield from _against_their_tool(framework, module.load_device("cpu"), cases)
    yield _without_wait(framework, module.load_device(unwaited_device), cases)


def _against_their_tool(framework: str, device: Device, cases: Sequence[Case]) -> Iterator[MeasuredFigure]:
    baseline = f"{TOOLS[framework].words}, in turn, same calls, same threads"
    comparisons = _compare(framework, device, cases)
    ratios = [comparison.ratio for comparison in comparisons]
    detail = {"framework": framework, "rounds": ROUNDS}
    yield MeasuredFigure(
        f"{framework}_median_ratio",
        middle(ratios),
        "ours / theirs",
        target=f"within {MEDIAN_WITHIN:.0%} of the framework's own tool",
        met=abs(middle(ratios) - 1) <= MEDIAN_WITHIN,
        baseline=baseline,
        baseline_value=1.0,
        ratio=middle(ratios),
        n=len(comparisons),
        spread=spread(ratios),
        detail={**detail, "cheapest_us": comparisons[0].theirs_us, "dearest_us": comparisons[-1].theirs_us},
    )
    long_enough = [comparison for comparison in comparisons if comparison.theirs_us > CHEAPEST_US]
    near = within([pair.ratio for pair in long_enough], EACH_WITHIN)
    far = {pair.case: pair.ratio for pair in long_enough if abs(pair.ratio - 1) > EACH_WITHIN}
    yield MeasuredFigure(
        f"{framework}_calls_that_agree",
        near,
        "share",
        target=f"{SHARE_WITHIN:.0%} of the calls over {CHEAPEST_US:g} µs within {EACH_WITHIN:.0%}",
        met=near >= SHARE_WITHIN,
        baseline=baseline,
        baseline_value=1.0,
        ratio=near,
        n=len(long_enough),
        spread=spread([pair.ratio for pair in long_enough]),
        detail={
            **detail,
            "further_off": far,
            "their_tool_agrees_with_itself": within(
                [pair.theirs_again_us / pair.theirs_us for pair in long_enough], EACH_WITHIN
            ),
        },
    )


def within(ratios: Sequence[float], limit: float) -> float:
    """The share of ratios that differ from 1 by at most ``limit``."""
    return sum(abs(ratio - 1) <= limit for ratio in ratios) / len(ratios)


def pick_spaced(costs: Sequence[tuple[float, str]], count: int) -> list[str]:
    """Choose ``count`` names over the whole range of cost, evenly by rank."""
    names = [name for _, name in sorted(costs)]
    if len(names) <= count:
        return names
    return [names[round(step * (len(names) - 1) / (count - 1))] for step in range(count)]


def _compare(framework: str, device: Device, cases: Sequence[Case]) -> list[Compared]:
    """Compare the calls of these cases, the cheapest call first."""
    device.prime()
    by_id = {case.id: case for case in cases}
    costs = []
    for case in cases:
        cost = _cost_us(framework, device, case)
        if cost is not None and cost < LONGEST_US:
            costs.append((cost, case.id))
    say("timing", f"{framework}: {len(costs)} of {len(cases)} cases can be called repeatedly by both")
    comparisons = []
    for name in pick_spaced(costs, CALLS):
        with device.scope(by_id[name].dtype):
            call, theirs_of = TOOLS[framework].timed(device, by_id[name])
            ours, theirs, again = [], [], []
            for _ in range(ROUNDS):
                ours.append(1e3 * clock.median(clock.steady(call, device.wait, budget_s=BUDGET_S).milliseconds))
                theirs.append(theirs_of(BUDGET_S))
                again.append(theirs_of(BUDGET_S))
        # The least disturbed round of each side counts. The tool's blocks last longer than ours, so another process on
        # the core disturbs more of them.
        each = Compared(name, min(ours), min(theirs), min(again))
        say("timing", f"{each.ours_us:10.1f} µs, theirs {each.theirs_us:10.1f} µs, {each.ratio:.3f}  {name}")
        comparisons.append(each)
    return sorted(comparisons, key=lambda each: each.theirs_us)


def _cost_us(framework: str, device: Device, case: Case) -> float | None:
    """The cost of one call, measured after two other calls; None if the case cannot be called on this device."""
    try:
        with device.scope(case.dtype):
            call, _ = TOOLS[framework].timed(device, case)
            for _ in range(2):
                clock.cold(call, device.wait)
            cost = 1e3 * min(clock.cold(call, device.wait)[1] for _ in range(3))
    except Exception:
        # A case that cannot be called is skipped here. The suite's own tests find it.
        return None
    return cost if math.isfinite(cost) else None


def _without_wait(framework: str, device: Device, cases: Sequence[Case]) -> MeasuredFigure:
    """Measure the share of a call's time that a clock sees if it stops before the results are ready. The figure is the
    median over the cases."""
    device.prime()
    shares: dict[str, float] = {}
    for case in [candidate for candidate in cases if candidate.kind == "value"][:: max(1, len(cases) // CALLS)]:
        try:
            with device.scope(case.dtype):
                call = prepare(device, case)
                waiting_ms = clock.median(clock.steady(call, device.wait, budget_s=BUDGET_S).milliseconds)
                shares[case.id] = middle([_unwaited_ms(call, device.wait) for _ in range(10)]) / waiting_ms
        except Exception:
            continue
    return MeasuredFigure(
        f"{framework}_without_wait",
        middle(list(shares.values())),
        "of the time with the wait",
        target="none; the share of a call that a clock measures if it stops before the results are ready",
        met=None,
        baseline=f"the same calls on {framework}/{device.name}, timed until every result is ready",
        baseline_value=1.0,
        n=len(shares),
        spread=spread(list(shares.values())),
        detail={"framework": framework, "least": min(shares, key=lambda name: shares[name])},
    )


def _unwaited_ms(call: clock.Call, wait: Any) -> float:
    wait(None)
    began = perf_counter_ns()
    result = call()
    took = perf_counter_ns() - began
    wait(result)
    return took / 1e6
