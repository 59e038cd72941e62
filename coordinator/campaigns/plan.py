"""Planning: which cases run on which targets, how often, and in which order. No I/O.

All targets start run 1 before any target starts run 2, and earlier campaigns go before later ones. Within a run, the
cases of one function stay together, because they share a process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.campaigns.timing import DEFAULT, NOT_DECLARED, CampaignTiming, SuiteTiming
from coordinator.errors import RequestError, UnknownNameError
from coordinator.targets.selectors import TargetName, select_functions
from protocol.function_names import did_you_mean

MAX_RUNS = 100


@dataclass(frozen=True)
class PlannedCase:
    id: int
    name: str
    function: str


@dataclass(frozen=True)
class SuiteOffer:
    """The cases of a suite that one live target can run."""

    target: TargetName
    suite_id: int
    cases: Sequence[PlannedCase]
    timing: SuiteTiming = NOT_DECLARED


@dataclass(frozen=True)
class TargetPlan:
    target: TargetName
    suite_id: int
    case_ids: tuple[int, ...]
    functions: frozenset[str]


@dataclass(frozen=True)
class Plan:
    targets: tuple[TargetPlan, ...]
    runs: int
    not_charted: tuple[str, ...] = ()
    """The requested names and globs that match no function of the suite on these targets."""
    timing: CampaignTiming = DEFAULT

    @property
    def jobs(self) -> int:
        return sum(len(target.case_ids) for target in self.targets) * self.runs

    @property
    def functions(self) -> frozenset[str]:
        return frozenset[str]().union(*(target.functions for target in self.targets))


def make_plan(
    suite: str,
    offers: Iterable[SuiteOffer],
    targets: Sequence[TargetName],
    functions: Sequence[str],
    runs: int,
    only: Mapping[int, frozenset[int]] | None = None,
) -> Plan:
    """Combine the chosen targets with the cases of the suite that they offer.

    For a rerun, ``only`` has the case ids that each target (by id) may run. A target without any of the functions is
    not included. Raises an error if the plan has no jobs.
    """
    by_target = {offer.target.id: offer for offer in offers}
    without = [target for target in targets if target.id not in by_target]
    if without:
        raise UnknownNameError(
            f"no live runner of {without[0]} offers the suite '{suite}': omit this target, choose another "
            "suite, or start a runner that offers this one",
            "suite",
        )
    available = [case.function for target in targets for case in by_target[target.id].cases]
    selection = select_functions(functions, available)
    plans = []
    for target in targets:
        offer = by_target[target.id]
        cases = [
            case
            for case in offer.cases
            if case.function in selection.functions and (only is None or case.id in only.get(target.id, frozenset()))
        ]
        if cases:
            plans.append(
                TargetPlan(
                    target,
                    offer.suite_id,
                    tuple(case.id for case in cases),
                    frozenset(case.function for case in cases),
                )
            )
    if not plans:
        raise RequestError(
            "there is nothing to run: no case matches on any of these targets; choose other functions or targets"
        )
    return Plan(tuple(plans), runs, selection.unknown)


def of_framework(framework: str, targets: Sequence[TargetName]) -> list[TargetName]:
    """Return the targets of the sample's framework. Targets of other frameworks cannot run the sample's functions."""
    own = [target for target in targets if target.framework == framework]
    if not own:
        there = ", ".join(map(str, targets))
        raise UnknownNameError(
            f"the functions of the sample belong to {framework}, but none of the selected targets runs {framework} "
            f"({there}): select a target such as {framework}/cpu",
            "targets",
        )
    return own


def check_suite(suite: str, suite_names: Sequence[str]) -> None:
    if suite not in suite_names:
        guess = did_you_mean(suite, suite_names) or ";"
        there = f"choose one of {', '.join(suite_names)}" if suite_names else "register a runner first"
        raise UnknownNameError(f"there is no suite '{suite}'{guess} {there}", "suite")


def priority(campaign_id: int, run: int) -> int:
    """Return the priority of a job as a number. Jobs with smaller numbers start first."""
    return campaign_id * MAX_RUNS + run - 1
