"""``timing``: our steady medians beside those of ``torch.utils.benchmark``, on the same calls.

Both measure in turn, in one process and with the same threads: calls of the suite's own
cases, chosen over the whole range of cost. Of several rounds each side's smallest median
counts. Runs in torch's environment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.figure import Figure, middle, spread
from bench.place import say
from runners import frameworks
from runners import timing as clock
from runners.cases import Case, On
from runners.rounding import rounded

CALLS = 40
ROUNDS = 5
BUDGET_S = 0.2
CHEAPEST_US = 20.0
LONGEST_US = 100_000.0
MEDIAN_WITHIN = 0.10
EACH_WITHIN = 0.20
SHARE_WITHIN = 0.9


@dataclass(frozen=True)
class Compared:
    case: str
    ours_us: float
    theirs_us: float

    @property
    def ratio(self) -> float:
        return self.ours_us / self.theirs_us


def run() -> Iterator[Figure]:
    import torch

    compared = _compare()
    ratios = [each.ratio for each in compared]
    detail = {"threads": torch.get_num_threads(), "rounds": ROUNDS}
    yield Figure(
        "median_ratio",
        middle(ratios),
        "ours / theirs",
        target=f"within {MEDIAN_WITHIN:.0%} of torch.utils.benchmark",
        met=abs(middle(ratios) - 1) <= MEDIAN_WITHIN,
        baseline="torch.utils.benchmark.Timer.blocked_autorange, in turn, same calls, same threads",
        baseline_value=1.0,
        ratio=middle(ratios),
        n=len(compared),
        spread=spread(ratios),
        detail={**detail, "cheapest_us": compared[0].theirs_us, "dearest_us": compared[-1].theirs_us},
    )
    counted = [each for each in compared if each.theirs_us > CHEAPEST_US]
    near = within([each.ratio for each in counted], EACH_WITHIN)
    far = {each.case: each.ratio for each in counted if abs(each.ratio - 1) > EACH_WITHIN}
    yield Figure(
        "calls_that_agree",
        near,
        "share",
        target=f"{SHARE_WITHIN:.0%} of the calls over {CHEAPEST_US:g} µs within {EACH_WITHIN:.0%}",
        met=near >= SHARE_WITHIN,
        baseline="torch.utils.benchmark.Timer.blocked_autorange, in turn, same calls, same threads",
        baseline_value=1.0,
        ratio=near,
        n=len(counted),
        spread=spread([each.ratio for each in counted]),
        detail={**detail, "further_off": far},
    )


def within(ratios: Sequence[float], limit: float) -> float:
    """The share of ratios that differ from 1 by no more than ``limit``."""
    return sum(abs(ratio - 1) <= limit for ratio in ratios) / len(ratios)


def spaced(costs: Sequence[tuple[float, str]], count: int) -> list[str]:
    """``count`` names over the whole range of cost, evenly by rank."""
    ranked = [name for _, name in sorted(costs)]
    if len(ranked) <= count:
        return ranked
    return [ranked[round(step * (len(ranked) - 1) / (count - 1))] for step in range(count)]


def _compare() -> list[Compared]:
    """By cost, cheapest first."""
    import torch
    from torch.utils import benchmark

    module = frameworks.load("torch")
    device = module.device("cpu")
    device.prime()
    cases = {case.id: case for each in module.suites()["paper"] for case in each.cases}
    costs = []
    for name, case in cases.items():
        cost = _cost_us(device, case)
        if cost is not None and cost < LONGEST_US:
            costs.append((cost, name))
    say("timing", f"{len(costs)} of {len(cases)} cases can be called over and over")
    compared = []
    for name in spaced(costs, CALLS):
        call = _call(device, cases[name])
        timer = benchmark.Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(1e3 * clock.median(clock.steady(call, device.wait, budget_s=BUDGET_S).milliseconds))
            theirs.append(1e6 * timer.blocked_autorange(min_run_time=BUDGET_S).median)
        # Each side's least disturbed round: their blocks last longer than ours, so that another
        # process on the core is in more of them.
        each = Compared(name, min(ours), min(theirs))
        say("timing", f"{each.ours_us:10.1f} µs, theirs {each.theirs_us:10.1f} µs, {each.ratio:.3f}  {name}")
        compared.append(each)
    return sorted(compared, key=lambda each: each.theirs_us)


def _call(device: Any, case: Case) -> clock.Call:
    """What the harness would time, made the same way."""
    on = On(
        function=device.lookup(case.function),
        device=device.handle,
        target=device.name,
        dtype=device.dtype(case.dtype),
        put=lambda tree: device.put(rounded(tree, case.dtype), case.dtype),
    )
    arguments = device.put(list(rounded(list(case.inputs(case.make())), case.dtype)), case.dtype)
    return case.prepare(on, *arguments, **case.options)


def _cost_us(device: Any, case: Case) -> float | None:
    """What one more call costs after two, or None if the case is not to be called here."""
    try:
        call = _call(device, case)
        for _ in range(2):
            clock.cold(call, device.wait)
        cost = 1e3 * min(clock.cold(call, device.wait)[1] for _ in range(3))
    except Exception:
        # Not this bench's business: a case that cannot be called is found by the suite's own tests.
        return None
    return cost if math.isfinite(cost) else None
