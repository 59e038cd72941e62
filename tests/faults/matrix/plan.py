"""Draws the schedule of faults from a seed. The same seed gives the same schedule. Does no I/O."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.faults.matrix.fault import Fault

LANES = 4
"""The maximum number of simultaneous faults. They must not affect the same parts."""
PAUSE_S = (0.3, 1.5)
"""Seconds between two faults of a lane."""


@dataclass(frozen=True)
class Planned:
    """One fault of the schedule. Its seconds count from the schedule's beginning."""

    kind: type[Fault]
    target: str
    begins_s: float

    @property
    def ends_s(self) -> float:
        return self.begins_s + self.kind.lasts_s

    @property
    def holds(self) -> frozenset[str]:
        return self.kind(self.target).holds


def schedule(kinds: Sequence[type[Fault]], seed: int, seconds: float | None = None) -> list[Planned]:
    """A schedule with each kind once, in an order drawn from the seed; with ``seconds``, kinds repeat until that time.
    Up to ``LANES`` faults overlap if they have no part in common."""
    generator = random.Random(seed)
    lanes = [0.0] * LANES
    free: dict[str, float] = {}
    faults: list[Planned] = []
    while seconds is None or min(lanes) < seconds:
        waiting = [(kind, generator.choice(kind.targets)) for kind in generator.sample(list(kinds), len(kinds))]
        while waiting:
            lane = lanes.index(min(lanes))
            # Of those that wait, the first that need not wait any longer than the lane; else the soonest.
            soonest = min(waiting, key=lambda fault: max(lanes[lane], _free_at(fault, free)))
            waiting.remove(soonest)
            begins_s = max(lanes[lane], _free_at(soonest, free)) + generator.uniform(*PAUSE_S)
            fault = Planned(*soonest, begins_s)
            if seconds is not None and fault.ends_s > seconds:
                lanes[lane] = begins_s
                continue
            faults.append(fault)
            lanes[lane] = fault.ends_s
            free.update(dict.fromkeys(fault.holds, fault.ends_s))
        if seconds is None:
            break
    return sorted(faults, key=lambda fault: fault.begins_s)


def _free_at(fault: tuple[type[Fault], str], free: Mapping[str, float]) -> float:
    """The time at which no other fault affects the needed parts any more."""
    kind, target = fault
    return max((free.get(name, 0.0) for name in kind(target).holds), default=0.0)
