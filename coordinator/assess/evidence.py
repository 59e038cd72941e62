"""Evidence: what campaigns found of each function on a target, its cases over their runs. Pure.

The same type has three sources: a coordinator, a file, and what ships with Portolan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from statistics import geometric_mean, median
from typing import Annotated, NamedTuple

from pydantic import PlainSerializer

from coordinator.catalogue.releases import version_numbers
from coordinator.errors import AssessmentError
from coordinator.figures.formats import join_words
from coordinator.results.conditions import EndedCase
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.targets.models import target_sentences
from coordinator.targets.selectors import Selector, target_name
from protocol.enums import HOST, WRONG_ON_HOST, Cause, DeviceClass, Ending, is_lowered
from protocol.function_names import did_you_mean

LONGEST_SAID = 160
"""Characters of what a failure said."""


@dataclass(frozen=True, kw_only=True)
class CaseEvidence(EndedCase):
    """A case of a function on a target, over the runs of the newest campaign that has an outcome of it.

    On a target whose programs are lowered and not run, ``failed`` is a case without a lowering, and ``unproven`` one
    that was lowered.
    """

    tags: Annotated[frozenset[str], PlainSerializer(sorted, return_type=list[str])] = frozenset()
    case: str
    chart: int
    """The number of its chart among those of the target."""
    cause: Cause | None = None
    """Of a failure, or of a call that was accepted; so are the next two."""
    ending: Ending | None = None
    said: str | None = None
    ratio: float | None = None
    """How many times as long a call takes as on the CPU; None: not measured on both."""
    disagreeing: tuple[int, ...] = ()
    """The numbers of older charts in which the same case ends otherwise."""

    @property
    def is_wrong(self) -> bool:
        """It ran, and a value was wrong without any error."""
        return self.end == "failed" and self.ending is Ending.mismatched

    @property
    def is_imprecise(self) -> bool:
        """Its wrong values would be right in the next narrower float type."""
        return self.is_wrong and self.cause is Cause.precision


@dataclass(frozen=True)
class Chart:
    """A campaign's part in the evidence: one suite under one revision."""

    suite: str
    revision: str
    at: datetime
    """When the campaign ended, or its last outcome so far came."""
    campaign: int | None = None
    """Its number at the coordinator; None of a bundle."""
    repeat: str | None = None
    """How its runner words the command that repeats a case (``protocol.runner.Fingerprint.repeat``)."""
    signed_by: str | None = None
    """The name under which the key that signed the bundle is trusted; None: no signature was checked."""
    ships: bool = False
    """Whether it ships with Portolan."""


class TargetKey(NamedTuple):
    """A target, apart from how it was installed."""

    framework: str
    version: str
    device: str
    hardware: str
    simulated: bool


@dataclass(frozen=True)
class TargetEvidence:
    """All that is known of one target: a framework in one version, a device on one hardware."""

    framework: str
    version: str
    device: str
    device_class: DeviceClass
    hardware: str
    charts: tuple[Chart, ...]
    functions: Mapping[str, tuple[CaseEvidence, ...]]
    simulated: bool = False
    notes: tuple[str, ...] = ()
    """Sentences that its runner wants beside any figure."""

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, self.version, self.device, self.hardware, self.simulated)

    @property
    def target(self) -> str:
        return target_name(self)

    @property
    def short(self) -> str:
        """``torch/xla``: as people ask for it."""
        return f"{self.framework}/{self.device}"

    @property
    def own_charts(self) -> tuple[Chart, ...]:
        """The charts beside those that ship with Portolan, if there are any."""
        return tuple(chart for chart in self.charts if not chart.ships) or self.charts

    @property
    def charted_at(self) -> datetime:
        return max(chart.at for chart in self.own_charts)

    @property
    def suites(self) -> list[str]:
        return sorted({chart.suite for chart in self.own_charts})

    @property
    def shipped_functions(self) -> frozenset[str]:
        """The functions whose evidence ships with Portolan, beside those of other charts; empty if all of it does."""
        if self.own_charts == self.charts:
            return frozenset()
        return frozenset(name for name, cases in self.functions.items() if self.charts[cases[0].chart].ships)

    def function_charted_at(self, function: str) -> datetime:
        return max(self.charts[case.chart].at for case in self.functions[function])

    @property
    def is_lowered(self) -> bool:
        return is_lowered(self.device)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that must stand beside any figure of it."""
        return target_sentences(
            self.device,
            self.device_class,
            simulated=self.simulated,
            notes=self.notes,
            drawn_cases=self._drawn_cases[False] + self._drawn_cases[True],
            wrong_on_host=self._drawn_cases[True],
        )

    @cached_property
    def _drawn_cases(self) -> Counter[bool]:
        """If it is the host: the cases that were drawn, by whether the host was wrong in them then."""
        if self.device != HOST:
            return Counter()
        cases = (case for cases in self.functions.values() for case in cases)
        return Counter(WRONG_ON_HOST in case.tags for case in cases if case.judged_by is not None)

    def repeat(self, case: str, chart: int) -> str:
        """The command that repeats a case of one of the charts."""
        template = self.charts[chart].repeat
        return repeat_command(self.framework, self.device, case, 1, None if template is None else {"repeat": template})

    @cached_property
    def usual_ratio(self) -> float | None:
        """How many times as long as on the CPU the middle function takes: what any single call costs there."""
        ratios = [ratio for cases in self.functions.values() if (ratio := mean_ratio(cases)) is not None]
        return median(ratios) if ratios else None


@dataclass(frozen=True)
class EvidenceSet:
    """The evidence of some targets, and where it is from."""

    targets: tuple[TargetEvidence, ...]
    origin: str
    """In words: ``ships with Portolan``."""
    made_at: datetime | None = None
    """When the file was written; None: it is as of now."""


@dataclass(frozen=True)
class Choice:
    """The target whose evidence is used, and the others that the selector matches."""

    chosen: TargetEvidence
    others: tuple[TargetEvidence, ...] = field(default=())


def mean_ratio(cases: Iterable[CaseEvidence]) -> float | None:
    """The geometric mean over the cases that both devices measured."""
    ratios = [case.ratio for case in cases if case.ratio is not None]
    return geometric_mean(ratios) if ratios else None


def choose(evidence: EvidenceSet, selector: Selector, installed_version: str | None) -> Choice:
    """The target that the selector means: of several that of the installed version, else of the newest.

    Of several hardware models it is that which was charted last. Raises ``AssessmentError`` if nobody charted one, or
    if it means more than one framework.
    """
    targets = [target for target in evidence.targets if selector.matches(target)]
    if not targets:
        raise AssessmentError(_nobody_charted(selector, evidence))
    frameworks = sorted({target.framework for target in targets})
    if len(frameworks) > 1:
        raise AssessmentError(
            f"--on {selector} means targets of {join_words(frameworks)}: name one framework, such as {targets[0].short}"
        )
    best = max(
        targets, key=lambda one: (one.version == installed_version, version_numbers(one.version), one.charted_at)
    )
    return Choice(best, tuple(one for one in targets if one is not best))


def _nobody_charted(selector: Selector, evidence: EvidenceSet) -> str:
    target_name = str(selector)
    if selector.device == HOST:
        return f"{target_name} is the host, to which other targets are compared: name another device, such as torch/xla"
    short_names: Sequence[str] = sorted({target.short for target in evidence.targets})
    there = ", ".join(sorted({target.target for target in evidence.targets})) or "nothing"
    guess = did_you_mean(target_name, [name for name in short_names if name != target_name])
    return (
        f"nobody charted {target_name} (the evidence that {evidence.origin} has {there}){guess or ';'} "
        f"chart it with a runner, or name a file of evidence with --data"
    )
