"""Pairs the targets of two sides, and gives a reason for each target without a counterpart. It does no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

from coordinator.errors import RequestError, UnknownNameError
from coordinator.results.comparison.models import Omission
from coordinator.targets.models import NOT_RUN, Target
from coordinator.targets.selectors import Selector

Letter = Literal["a", "b"]


class CaseDigest(NamedTuple):
    """One case of the suite with which a target was charted."""

    function: str
    digest: str | None
    """A digest of everything that decides the case's result; None if its runner gives no digests."""
    charted: bool
    """Whether the campaign has an outcome of the case's function on the target."""


@dataclass(frozen=True)
class SideSelector:
    """A campaign (``3``), or one of its targets (``3:torch/xla``)."""

    campaign: int
    selector: str | None = None

    @classmethod
    def parse(cls, text: str, side: str) -> SideSelector:
        number, colon, selector = text.strip().partition(":")
        is_number = number.isascii() and number.isdigit() and len(number) <= 10 and 0 < int(number) < 2**31
        if not is_number or (colon and not selector):
            raise RequestError(
                f"{side}: '{text}' is not a campaign: write its number, such as 3, or one of its targets, "
                "such as 3:torch/xla"
            )
        return cls(int(number), selector or None)


def chosen_targets(side: SideSelector, targets: Sequence[Target]) -> list[Target]:
    """Return the targets of a side: the target that the selector names, or all targets of the campaign."""
    if side.selector is None:
        return list(targets)
    selector = Selector.parse(side.selector if "/" in side.selector else f"*/{side.selector}")
    matches = [target for target in targets if selector.matches(target)]
    if len(matches) != 1:
        there = ", ".join(target.target for target in targets) or "none"
        raise UnknownNameError(
            f"'{side.selector}' matches {len(matches)} targets of campaign {side.campaign}; name exactly one "
            f"(it has: {there})"
        )
    return matches


def match_targets(
    a: Sequence[Target], b: Sequence[Target], *, single_targets: bool
) -> tuple[list[tuple[Target, Target]], list[Omission]]:
    """Return the pairs to compare, and the targets that are not compared. With ``single_targets``, each side is one
    target that a person chose. Otherwise targets with the same framework and device are paired. If a side has several
    targets with this framework and device, targets with the same version are paired first, and among these the targets
    with the same hardware."""
    left_out = [
        Omission(
            target=target.target,
            side=side,
            why=f"{'simulated' if target.simulated else NOT_RUN}: its results are not compared",
        )
        for side, targets in _sides(a, b)
        for target in targets
        if not target.is_compared
    ]
    a, b = ([target for target in side if target.is_compared] for side in (a, b))
    pairs = list(product(a, b)) if single_targets else _nearest(a, b)
    if not single_targets:
        paired_ids = {id(target) for pair in pairs for target in pair}
        why = "the other campaign has no target of this framework and device"
        left_out += [
            Omission(target=target.target, side=side, why=why, absent=True)
            for side, targets in _sides(a, b)
            for target in targets
            if id(target) not in paired_ids
        ]
    comparable = []
    for one, other in pairs:
        objection = _find_objection(one, other)
        if objection is None:
            comparable.append((one, other))
        else:
            left_out.append(_both(one, other, objection))
    return comparable, left_out


def _sides(a: Sequence[Target], b: Sequence[Target]) -> tuple[tuple[Letter, Sequence[Target]], ...]:
    return ("a", a), ("b", b)


def _nearest(a: Sequence[Target], b: Sequence[Target]) -> list[tuple[Target, Target]]:
    """Pair each target with its counterpart. The best matches are paired first, so that a worse match cannot take the
    partner of a better one."""
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
    """The distance between two targets, smaller for a better match; None if they must not be paired."""
    if (one.framework, one.device) != (other.framework, other.device):
        return None
    return one.version != other.version, one.hardware != other.hardware, one.environment != other.environment


def _find_objection(one: Target, other: Target) -> str | None:
    if one.framework != other.framework:
        return f"functions of {one.framework} and of {other.framework} are not the same functions"
    if one.suite != other.suite:
        return (
            f"their suites differ ({one.suite} and {other.suite}), and only cells of one suite are compared: "
            "run both campaigns with the same suite"
        )
    return None


def other_cases(a: Mapping[str, CaseDigest], b: Mapping[str, CaseDigest]) -> list[str] | None:
    """The cases of charted functions that differ between two revisions of a suite; None if no case is the same.

    A function counts as charted if at least one side is known to have charted it.
    """
    both = [(name, a[name], b[name]) for name in a.keys() & b.keys()]
    same = {name for name, one, other in both if one.digest is not None and one.digest == other.digest}
    functions = {case.function for side in (a, b) for case in side.values() if case.charted}
    others = {name for side in (a, b) for name, case in side.items() if case.function in functions} - same
    return sorted(others) if same else None


def no_common_case(one: Target, other: Target) -> Omission:
    """The omission for two revisions of a suite without a common case, or whose runners give no digests."""
    return _both(
        one,
        other,
        f"their suites differ (revision {one.suite_revision} and {other.suite_revision}), and no case is known to "
        "be the same in both: run both campaigns with the same revision",
    )


def _both(one: Target, other: Target, why: str) -> Omission:
    both = one.target if one.target == other.target else f"{one.target} and {other.target}"
    return Omission(target=both, side="both", why=why)
