"""Which faults happen when: a schedule, from a seed. The same seed gives the same schedule. Pure."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.faults.matrix.fault import Fault

LANES = 3
"""So many faults last at once, as far as what they hold allows."""
PAUSE_S = (0.3, 1.5)
"""Between two faults of a lane."""


@dataclass(frozen=True)
class Planned:
    """One fault of the schedule; seconds count from its beginning."""

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
    """Each kind once, in an order drawn from the seed; with ``seconds``, again and again until then.

    Faults that hold nothing in common overlap, up to ``LANES`` of them.
    """
    drawn = random.Random(seed)
    planned: list[Planned] = []
    while True:
        for kind in drawn.sample(list(kinds), len(kinds)):
            fault = _next(planned, kind, drawn.choice(kind.targets), drawn.uniform(*PAUSE_S))
            if seconds is None or fault.ends_s <= seconds:
                planned.append(fault)
        if seconds is None or _end(planned) + max(kind.lasts_s for kind in kinds) >= seconds:
            return sorted(planned, key=lambda fault: fault.begins_s)


def _next(planned: Sequence[Planned], kind: type[Fault], target: str, pause_s: float) -> Planned:
    """The earliest moment at which a lane is free, and nobody holds what this one needs."""
    asked = Planned(kind, target, 0.0)
    begins_s = 0.0
    for moment in sorted({0.0, *(fault.ends_s for fault in planned)}):
        begins_s = moment + pause_s
        candidate = Planned(kind, target, begins_s)
        beside = [fault for fault in planned if _overlap(fault, candidate)]
        if len(_most_at_once(beside, candidate)) < LANES and not any(asked.holds & fault.holds for fault in beside):
            break
    return Planned(kind, target, begins_s)


def _overlap(one: Planned, other: Planned) -> bool:
    return one.begins_s <= other.ends_s + PAUSE_S[0] and other.begins_s <= one.ends_s + PAUSE_S[0]


def _most_at_once(beside: Iterable[Planned], candidate: Planned) -> list[Planned]:
    """Those that last at the moment, during the candidate, at which the most do."""
    faults = list(beside)
    moments = [candidate.begins_s, *(fault.begins_s for fault in faults if fault.begins_s > candidate.begins_s)]
    return max(
        ([fault for fault in faults if fault.begins_s <= moment <= fault.ends_s] for moment in moments),
        key=len,
        default=[],
    )


def _end(planned: Sequence[Planned]) -> float:
    return max((fault.ends_s for fault in planned), default=0.0)
