"""The targets of two sides that are compared with each other, and those that cannot be. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from coordinator.errors import RequestError, UnknownNameError
from coordinator.results.comparison.models import Omission
from coordinator.targets.models import Target
from coordinator.targets.selectors import Selector

Letter = Literal["a", "b"]


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


def chosen_targets(side: SideSelector, targets: Sequence[Target]) -> list[Target]:
    """The targets of a side: all of a campaign, or the one that its selector names."""
    if side.selector is None:
        return list(targets)
    selector = Selector.parse(side.selector if "/" in side.selector else f"*/{side.selector}")
    named = [target for target in targets if selector.matches(target)]
    if len(named) != 1:
        there = ", ".join(target.target for target in targets) or "none"
        raise UnknownNameError(
            f"'{side.selector}' names {len(named)} targets of campaign {side.campaign}, it must be one "
            f"(it has: {there})"
        )
    return named


def match_targets(
    a: Sequence[Target], b: Sequence[Target], *, named: bool
) -> tuple[list[tuple[Target, Target]], list[Omission]]:
    """The pairs to compare, and what is left out. ``named``: each side is one target that a person chose.

    Else the same framework and device belong together; where one of them is there several times,
    the same version, and then the same hardware, decide.
    """
    left_out = [
        Omission(target=target.target, side=side, why="simulated: no figure of it is compared")
        for side, targets in _sides(a, b)
        for target in targets
        if target.simulated
    ]
    a, b = ([target for target in side if not target.simulated] for side in (a, b))
    pairs = list(product(a, b)) if named else _nearest(a, b)
    if not named:
        taken = {id(target) for pair in pairs for target in pair}
        why = "the other campaign has no target of this framework and device"
        left_out += [
            Omission(target=target.target, side=side, why=why)
            for side, targets in _sides(a, b)
            for target in targets
            if id(target) not in taken
        ]
    kept = []
    for one, other in pairs:
        refused = _refused(one, other)
        if refused is None:
            kept.append((one, other))
        else:
            left_out.append(_both(one, other, refused))
    return kept, left_out


def _sides(a: Sequence[Target], b: Sequence[Target]) -> tuple[tuple[Letter, Sequence[Target]], ...]:
    return ("a", a), ("b", b)


def _nearest(a: Sequence[Target], b: Sequence[Target]) -> list[tuple[Target, Target]]:
    """Each target with its counterpart, the nearest first: else a far one could take a near one's."""
    candidates = sorted(
        (distance, i, j)
        for i, one in enumerate(a)
        for j, other in enumerate(b)
        if (distance := _distance(one, other)) is not None
    )
    pairs: dict[int, int] = {}
    for _, i, j in candidates:
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return [(a[i], b[j]) for i, j in pairs.items()]


def _distance(one: Target, other: Target) -> tuple[bool, bool, bool] | None:
    """None: these two never belong together."""
    if (one.framework, one.device) != (other.framework, other.device):
        return None
    return one.version != other.version, one.hardware != other.hardware, one.environment != other.environment


def _refused(one: Target, other: Target) -> str | None:
    if one.framework != other.framework:
        return f"functions of {one.framework} and of {other.framework} are not the same functions"
    if one.suite != other.suite:
        return (
            f"their suites differ ({one.suite} and {other.suite}): only cells of one suite are compared; "
            "run both on the same"
        )
    return None


def changed_functions(a: Mapping[str, str | None], b: Mapping[str, str | None]) -> list[str] | None:
    """The functions that have other cases on the other side, by each side's digests of a function's cases.

    None if no function is known to have the same.
    """
    same = {function for function, digest in a.items() if digest is not None and b.get(function) == digest}
    return sorted((a.keys() | b.keys()) - same) if same else None


def no_common_case(one: Target, other: Target) -> Omission:
    """Two revisions of a suite of which no function has the same cases, or whose runners give no digests."""
    return _both(
        one,
        other,
        f"their suites differ (revision {one.suite_revision} and {other.suite_revision}), and no function is known to "
        "have the same cases in both: run both on the same",
    )


def _both(one: Target, other: Target, why: str) -> Omission:
    both = one.target if one.target == other.target else f"{one.target} and {other.target}"
    return Omission(target=both, side="both", why=why)
