"""Evidence: the results of functions' cases on each target, over their runs. This module does no I/O.

The same classes hold evidence from a coordinator, from a file, and from Portolan itself (the shipped evidence).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from statistics import geometric_mean, median
from typing import Annotated, NamedTuple, TypeVar, cast

from pydantic import AfterValidator, PlainSerializer, ValidationInfo

from coordinator.catalogue.releases import version_numbers
from coordinator.catalogue.surfaces import ROOTS
from coordinator.errors import AssessmentError
from coordinator.figures.formats import join_words
from coordinator.figures.second_shape import SecondShape, second_shape
from coordinator.results.conditions import EndedCase
from coordinator.results.involvement import Met
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.targets.models import target_sentences
from coordinator.targets.selectors import Selector, target_name
from protocol.catalogue import CaseOptions
from protocol.enums import HOST, RECOMPILED, WRONG_ON_HOST, Cause, DeviceClass, Ending, is_lowered
from protocol.function_names import did_you_mean

LONGEST_SAID = 160
"""The maximum length of a failure's text in characters."""


def _share_options(options: CaseOptions | None, info: ValidationInfo) -> CaseOptions | None:
    if options is None or info.context is None:
        return options
    return cast("CaseOptions", info.context.setdefault(options.model_dump_json(), options))


_Words = TypeVar("_Words", frozenset[str], tuple[str, ...])


def _share_words(words: _Words, info: ValidationInfo) -> _Words:
    return words if info.context is None else cast("_Words", info.context.setdefault(words, words))


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseEvidence(EndedCase):
    """The result of a case on a target, over the runs of the newest campaign that has an outcome of the case.

    Some targets only lower programs and do not run them. There, ``failed`` means that the case has no lowering, and
    ``unproven`` that it was lowered.

    Most cases have the same options, tags and operations as other cases. If the context of pydantic's validation is a
    dictionary, equal values become one object. Otherwise, the options of the shipped evidence would take half of the
    memory of an assessment.
    """

    options: Annotated[CaseOptions | None, AfterValidator(_share_options)] = None
    tags: Annotated[frozenset[str], AfterValidator(_share_words), PlainSerializer(sorted, return_type=list[str])] = (
        frozenset()
    )
    case: str
    chart: int
    """The index of the case's chart in the target's list."""
    cause: Cause | None = None
    """The cause of a failure or of a silently accepted call. None for other results, which also have no ``ending`` and
    no ``said``."""
    ending: Ending | None = None
    said: str | None = None
    ratio: float | None = None
    """The ratio of the call's time to its time on the CPU; None unless the call was timed on both devices."""
    first_call_ms: float | None = None
    """The median time of the first call in its process, in milliseconds. For a case with the tag ``recompiled``, the
    time of the first call with a second shape. None if the call was not timed."""
    disagreeing: tuple[int, ...] = ()
    """The indexes of older charts in which the case has another result."""
    operations: Annotated[tuple[str, ...], AfterValidator(_share_words)] = ()
    """The framework's own operations that the host ran, or the operation at which the case failed (see ``met``). Empty
    if the case passed on the device, or if its evidence names no operation."""

    @property
    def is_wrong(self) -> bool:
        """Whether the case ran and gave a wrong value without any error."""
        return self.end == "failed" and self.ending is Ending.mismatched

    @property
    def met(self) -> Met | None:
        """How ``operations`` are involved in the result; None unless the case failed, fell back or was silently
        accepted."""
        match self.end:
            case "fell_back":
                return Met.fell_back
            case "failed" if self.cause is Cause.not_lowered:
                return Met.not_lowered
            case "failed" if self.ending is not Ending.mismatched:
                return Met.failed
            case "failed" | "accepted":
                return Met.diverged
            case _:
                return None

    @property
    def is_imprecise(self) -> bool:
        """Whether the case gave wrong values that are right at the tolerance of the next float type of lower
        precision."""
        return self.is_wrong and self.cause is Cause.precision


@dataclass(frozen=True)
class Chart:
    """A chart: the outcomes of one campaign for one revision of a suite."""

    suite: str
    revision: str
    at: datetime
    """The time at which the campaign ended. For a running campaign, the time of its last outcome so far."""
    campaign: int | None = None
    """The campaign's number; None for a bundle."""
    repeat: str | None = None
    """The runner's template for the command that repeats a case (``protocol.runner.Fingerprint.repeat``)."""
    signed_by: str | None = None
    """The name of the trusted key that signed the bundle; None if there is none, or no signature was checked."""
    is_unsigned: bool = False
    """Whether the chart was imported or read without a trusted signature, or with one that was revoked later."""
    ships: bool = False
    """Whether the chart ships with Portolan."""

    @property
    def signature(self) -> str | None:
        """The signature in words: ``signed by lab@example.org`` or ``unsigned``. None for a coordinator's own chart,
        which needs none."""
        if self.signed_by is not None:
            return f"signed by {self.signed_by}"
        return "unsigned" if self.is_unsigned else None


class TargetKey(NamedTuple):
    """The key of a target, without the target's environment."""

    framework: str
    version: str
    device: str
    hardware: str
    simulated: bool


@dataclass(frozen=True)
class TargetEvidence:
    """All evidence about one target: one version of a framework, on a device of one hardware model."""

    framework: str
    version: str
    device: str
    device_class: DeviceClass
    hardware: str
    charts: tuple[Chart, ...]
    functions: Mapping[str, tuple[CaseEvidence, ...]]
    simulated: bool = False
    notes: tuple[str, ...] = ()
    """Sentences of the runner that must be shown with every result."""

    @property
    def key(self) -> TargetKey:
        return TargetKey(self.framework, self.version, self.device, self.hardware, self.simulated)

    @property
    def target(self) -> str:
        return target_name(self)

    @property
    def device_type(self) -> str:
        """The device type that a program sees on a value. PyTorch uses ``xla`` for TPUs."""
        return "xla" if (self.framework, self.device) == ("torch", "tpu") else self.device

    @property
    def short(self) -> str:
        """The framework and device in short: ``torch/xla``."""
        return f"{self.framework}/{self.device}"

    @property
    def own_charts(self) -> tuple[Chart, ...]:
        """The charts that do not ship with Portolan; if all charts ship with Portolan, all charts."""
        return tuple(chart for chart in self.charts if not chart.ships) or self.charts

    @property
    def charted_at(self) -> datetime:
        return max(chart.at for chart in self.own_charts)

    @property
    def suites(self) -> list[str]:
        return sorted({chart.suite for chart in self.own_charts})

    @property
    def shipped_functions(self) -> frozenset[str]:
        """The functions whose evidence ships with Portolan. Empty if there is no other evidence about the target."""
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
        """The sentences that must be shown with every result of the target."""
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
        """The number of generated cases of a target on the host: under True, those that failed on the host when they
        were generated; under False, the others. Empty for a target on another device."""
        if self.device != HOST:
            return Counter()
        cases = (case for cases in self.functions.values() for case in cases)
        return Counter(WRONG_ON_HOST in case.tags for case in cases if case.judged_by is not None)

    def repeat(self, case: str, chart: int) -> str:
        """The command that repeats a case of the chart with the index ``chart``."""
        template = self.charts[chart].repeat
        return repeat_command(self.framework, self.device, case, 1, None if template is None else {"repeat": template})

    @cached_property
    def usual_ratio(self) -> float | None:
        """The median of the functions' latency ratios to the CPU. It is the usual cost of a single call on this
        target."""
        ratios = [ratio for cases in self.functions.values() if (ratio := mean_ratio(cases)) is not None]
        return median(ratios) if ratios else None


@dataclass(frozen=True)
class EvidenceSet:
    """The evidence of several targets, with its source."""

    targets: tuple[TargetEvidence, ...]
    origin: str
    """The source of the evidence in words: ``ships with Portolan``."""
    made_at: datetime | None = None
    """The time at which the file was written; None for the current state of a coordinator."""


@dataclass(frozen=True)
class Choice:
    """The selected target, and the other targets that the selector matches."""

    chosen: TargetEvidence
    others: tuple[TargetEvidence, ...] = field(default=())


def mean_ratio(cases: Iterable[CaseEvidence]) -> float | None:
    """The geometric mean of the cases' ratios to the CPU; None if no case was timed on both devices."""
    ratios = [case.ratio for case in cases if case.ratio is not None]
    return geometric_mean(ratios) if ratios else None


def second_shape_of(cases: Sequence[CaseEvidence]) -> SecondShape | None:
    """The time of the first call with a second shape, and of first calls in the same chart for comparison; None if no
    case measured it."""
    chart = next((case.chart for case in cases if RECOMPILED in case.tags and case.first_call_ms is not None), None)
    return second_shape((RECOMPILED in case.tags, case.first_call_ms) for case in cases if case.chart == chart)


def choose(evidence: EvidenceSet, selector: Selector, installed_version: str | None) -> Choice:
    """Choose one of the targets that the selector matches.

    If their versions differ, the installed version is chosen; if it is not among them, the newest. If several hardware
    models remain, the model that was charted last is chosen. Raises ``AssessmentError`` if no target is charted, or if
    the selector matches several frameworks.
    """
    targets = [target for target in evidence.targets if selector.matches(target)]
    if not targets:
        raise AssessmentError(_nobody_charted(selector, evidence))
    frameworks = sorted({target.framework for target in targets})
    if len(frameworks) > 1:
        raise AssessmentError(
            f"--on {selector} matches targets of {join_words(frameworks)}: name one framework, "
            f"such as {targets[0].short}"
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
    other_names = [name for name in short_names if name != target_name]
    if selector.framework in ROOTS:
        # ``torch/xla`` is similar to ``jax/xla``, but is no answer for a JAX program.
        other_names = [name for name in other_names if name.startswith(f"{selector.framework}/")]
    guess = did_you_mean(target_name, other_names)
    return (
        f"nobody charted {target_name}; the evidence ({evidence.origin}) has {there}{guess or ':'} "
        f"chart it with a runner, or name an evidence file with --data"
    )
