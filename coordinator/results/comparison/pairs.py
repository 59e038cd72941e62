"""Which target of one side answers to which of the other, and what cannot be compared. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coordinator.errors import RequestError, UnknownNameError
from coordinator.results.comparison.models import LeftOut
from coordinator.targets.models import Target
from coordinator.targets.selectors import Selector

Letter = Literal["a", "b"]


@dataclass(frozen=True)
class Matched:
    pairs: tuple[tuple[Target, Target], ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class SideSelector:
    """``3``, or ``3:torch/xla``: a campaign, or one target of it."""

    campaign: int
    selector: str | None = None

    @classmethod
    def parse(cls, text: str, side: str) -> SideSelector:
        number, colon, selector = text.strip().partition(":")
        is_number = number.isascii() and number.isdigit() and len(number) <= 10 and 0 < int(number) < 2**31
        if not is_number or (colon and not selector):
            raise RequestError(
                f"{side}: '{text}' is no campaign: write its number, such as 3, or a target of it, such as 3:torch/xla"
            )
        return cls(int(number), selector or None)


def chosen(asked: SideSelector, columns: Sequence[Target]) -> list[Target]:
    """The targets that a side speaks of; of a selector, the one that it names."""
    if asked.selector is None:
        return list(columns)
    text = asked.selector if "/" in asked.selector else f"*/{asked.selector}"
    selector = Selector.parse(text)
    matched = [target for target in columns if selector.matches(target)]
    if len(matched) != 1:
        there = ", ".join(each.target for each in columns) or "none"
        raise UnknownNameError(
            f"'{asked.selector}' names {len(matched)} targets of campaign {asked.campaign}, it must be one "
            f"(it has: {there})"
        )
    return matched


def matched(a: Sequence[Target], b: Sequence[Target], *, named: bool) -> Matched:
    """``named``: each side is one target that a person chose, whatever its device.

    Else the same framework and device belong together; where one of them is there several times,
    the same version, and then the same hardware, decide.
    """
    left = [*_simulated(a, "a"), *_simulated(b, "b")]
    real_a = [each for each in a if not each.simulated]
    real_b = [each for each in b if not each.simulated]
    pairs: list[tuple[Target, Target]] = []
    if named:
        pairs = [(one, other) for one in real_a for other in real_b]
    else:
        # The nearest first: else a near one's counterpart could be taken by a far one.
        candidates = sorted(
            (distance, i, j)
            for i, one in enumerate(real_a)
            for j, other in enumerate(real_b)
            if (distance := _distance(one, other)) is not None
        )
        taken_a: set[int] = set()
        taken_b: set[int] = set()
        for _, i, j in candidates:
            if i not in taken_a and j not in taken_b:
                taken_a.add(i)
                taken_b.add(j)
                pairs.append((real_a[i], real_b[j]))
        left += [_alone(each, "a") for i, each in enumerate(real_a) if i not in taken_a]
        left += [_alone(each, "b") for j, each in enumerate(real_b) if j not in taken_b]
    kept = []
    for one, other in pairs:
        refused = _refused(one, other)
        if refused is None:
            kept.append((one, other))
        else:
            left.append(LeftOut(target=_both(one, other), side="both", why=refused))
    return Matched(tuple(kept), tuple(left))


def _distance(one: Target, other: Target) -> tuple[bool, bool, bool] | None:
    """None: these two never belong together."""
    if (one.framework, one.device) != (other.framework, other.device):
        return None
    return one.version != other.version, one.hardware != other.hardware, one.environment != other.environment


def _simulated(columns: Sequence[Target], side: Letter) -> list[LeftOut]:
    why = "simulated: no figure of it is compared"
    return [LeftOut(target=each.target, side=side, why=why) for each in columns if each.simulated]


def _alone(each: Target, side: Letter) -> LeftOut:
    why = "the other campaign has no target of this framework and device"
    return LeftOut(target=each.target, side=side, why=why)


def _refused(one: Target, other: Target) -> str | None:
    if one.framework != other.framework:
        return f"functions of {one.framework} and of {other.framework} are not the same functions"
    if one.suite != other.suite:
        return (
            f"their suites differ ({one.suite} and {other.suite}): only cells of one suite are compared; "
            "run both on the same"
        )
    if one.suite_revision != other.suite_revision:
        return (
            f"their suites differ (revision {one.suite_revision} and {other.suite_revision}): only cells of one "
            "revision are compared; run both on the same"
        )
    return None


def _both(one: Target, other: Target) -> str:
    return one.target if one.target == other.target else f"{one.target} and {other.target}"
