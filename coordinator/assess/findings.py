"""Findings: the results to expect on a target from the calls in a source, for each function. This module does no
I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from functools import cache

from coordinator.assess.evidence import TargetEvidence
from coordinator.assess.harmless import (
    is_demo,
    is_for_other_device,
    is_test_code,
    why_cheap,
    why_not_on_device,
)
from coordinator.assess.host_arrays import DEFAULTS
from coordinator.assess.names import Names
from coordinator.assess.repetition import is_repeated_name
from coordinator.assess.sites import AssessedSource, Certainty, Guard, Site, Use, function_of
from coordinator.assess.verdicts import SLOW, Kind, Meets, SiteVerdict, Weight, verdicts_on
from coordinator.catalogue.usage.resolver import is_class
from coordinator.results.conditions import CallSite


@dataclass(frozen=True)
class Finding:
    """A verdict about a function, with the sites in the source to which it applies."""

    verdict: SiteVerdict
    places: tuple[Site, ...]

    @property
    def is_guarded(self) -> bool:
        """Whether all sites are inside conditions, so that the target may never reach them."""
        return all(site.guards for site in self.places)

    @property
    def is_unreached(self) -> bool:
        """Whether a program run was measured and reached none of the sites."""
        return all(site.reached is False for site in self.places)

    @property
    def is_guessed(self) -> bool:
        """Whether, at all sites, the function is only guessed from a method's name."""
        return all(site.certainty is Certainty.guessed for site in self.places)


@dataclass(frozen=True)
class Assessment:
    """The findings about a source on a target, the most serious first."""

    findings: tuple[Finding, ...]
    charted: Mapping[str, int]
    """The number of sites of each function with evidence, the largest first."""
    unknown: Mapping[str, int]
    """The number of sites of each uncharted function, the largest first."""
    host_only: int = 0
    """The number of sites of functions that never use a device. ``charted`` and ``unknown`` do not include these
    functions."""

    def of_weight(self, weight: Weight) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.verdict.weight is weight)

    @property
    def serious(self) -> tuple[Finding, ...]:
        """The findings with the weight ``finding``, which require action, at sites that the target reaches."""
        return self._findings_of(Weight.finding)

    @property
    def conditional(self) -> tuple[Finding, ...]:
        """The conditions that apply to some similar calls, at sites that the target reaches."""
        return self._findings_of(Weight.condition)

    def _findings_of(self, weight: Weight) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.of_weight(weight) if not finding.is_guarded)


def assess(
    source: AssessedSource, target: TargetEvidence, names: Names, slow: float = SLOW, host_only: Container[str] = ()
) -> Assessment:
    """Compare every site of the source with the evidence about its function.

    The functions in ``host_only`` never use a device and need no evidence.
    """
    places: dict[SiteVerdict, list[Site]] = defaultdict(list)
    charted_uses: dict[str, int] = defaultdict(int)
    unknown_uses: dict[str, int] = defaultdict(int)
    uses_of_host = 0
    verdicts: dict[tuple[object, ...], tuple[SiteVerdict, ...]] = {}
    verdicts_by_call: dict[tuple[object, ...], tuple[SiteVerdict, ...]] = {}
    """The same verdicts by the calls themselves. Most equal calls are one object, and their forms are slow to
    compute."""
    places_by_reason: dict[tuple[int, str, bool], list[Site]] = {}
    """The lists of ``places`` by the verdict of the call, and by what changes it at a site."""
    charted_name_of = cache(names.charted_name)
    has_default_device = any(site.function in DEFAULTS for site in source.sites)
    are_tests_apart = not all(map(is_test_code, source.sites))
    are_demos_apart = not all(is_demo(site.path) for site in source.sites)
    for site in source.sites:
        charted_name = charted_name_of(site.function)
        if charted_name is None and site.function in host_only:
            uses_of_host += 1
            continue
        if charted_name is None:
            unknown_uses[site.function] += 1
            continue
        charted_uses[site.function] += 1
        function = function_of(site, source.modules)
        has_gradient = _has_gradient(site, function, source)
        source_call = None if site.use is Use.named else site.call
        call_key = (site.function, id(source_call), site.dtypes, has_gradient)
        site_verdicts = verdicts_by_call.get(call_key)
        if site_verdicts is None:
            call = None if source_call is None else charted_name.call(source_call)
            # A function occurs at thousands of sites, but in only a few forms.
            key = (site.function, _form(call), site.dtypes, has_gradient)
            if key not in verdicts:
                verdicts[key] = tuple(
                    verdicts_on(
                        site.function, charted_name.name, call, site.dtypes, target, slow, has_gradient=has_gradient
                    )
                )
            site_verdicts = verdicts_by_call[call_key] = verdicts[key]
        if not site_verdicts:
            continue
        is_recorded = site.certainty is Certainty.recorded
        not_on_device = (
            ""
            if is_recorded
            else why_not_on_device(
                site, target.device_type, has_default_device=has_default_device, are_tests_apart=are_tests_apart
            )
        )
        is_repeated = source.is_repeated.get(function or "", True)
        own_site = replace(site, guards=_open_guards(site, target)) if site.guards else site
        for verdict in site_verdicts:
            harmless = not_on_device or (
                ""
                if is_recorded
                else why_cheap(
                    verdict.kind,
                    site,
                    target.device_type,
                    is_repeated=is_repeated,
                    is_offered=function in source.offered_functions,
                    are_demos_apart=are_demos_apart,
                )
            )
            reason = (id(verdict), harmless, site.is_option)
            if reason not in places_by_reason:
                own_verdict = _note(verdict, harmless) if harmless else _of_choice(_of_device(verdict, target), site)
                places_by_reason[reason] = places[own_verdict]
            places_by_reason[reason].append(own_site)
    findings = (Finding(verdict, tuple(sorted(sites, key=_doubts))) for verdict, sites in places.items())
    return Assessment(
        tuple(sorted(findings, key=rank)), most_first(charted_uses), most_first(unknown_uses), uses_of_host
    )


def _has_gradient(site: Site, function: str | None, source: AssessedSource) -> bool:
    """Whether a training step also runs the backward pass of a call in a function. Modules train, wherever they are
    created."""
    if not site.has_gradient or site.certainty is Certainty.recorded:
        return False
    return function in source.trained_functions or is_class(site.function)


def _doubts(site: Site) -> tuple[bool, bool, bool]:
    """A sort key that puts the sites first that matter most, because reports show only the first sites of a finding.

    Last are sites that the target may never reach, then sites whose function is only guessed, and then sites outside of
    functions that a layer or step certainly runs.
    """
    return (
        bool(site.guards) or site.reached is False,
        site.certainty is Certainty.guessed,
        not any(map(is_repeated_name, site.within.split("."))),
    )


def _of_device(verdict: SiteVerdict, target: TargetEvidence) -> SiteVerdict:
    """The verdict itself, except that a finding about a function of another kind of device (``torch.cuda.…`` on
    ``xla``) becomes a condition, because only code for that device uses the function."""
    if verdict.weight is Weight.finding and is_for_other_device(verdict.function, target.device_type):
        return replace(verdict, weight=Weight.condition, meets=Meets.may_be_met)
    return verdict


def _of_choice(verdict: SiteVerdict, site: Site) -> SiteVerdict:
    """The verdict itself, except that a finding about one of several functions becomes a condition, because the source
    does not show whether the program selects this one."""
    if verdict.weight is Weight.finding and site.is_option:
        return replace(verdict, weight=Weight.condition, meets=Meets.may_be_met)
    return verdict


def _open_guards(site: Site, target: TargetEvidence) -> tuple[Guard, ...]:
    """The guards that may prevent the target from reaching a site."""
    return tuple(guard for guard in site.guards if not guard.reaches(target.device_type))


def _note(verdict: SiteVerdict, why: str) -> SiteVerdict:
    return replace(verdict, weight=Weight.note, meets=Meets.not_met, why_note=why, advice=())


def _form(call: CallSite | None) -> object:
    if call is None:
        return None
    keywords = tuple(sorted((name, repr(value)) for name, value in call.keywords.items()))
    return call.positional, keywords, tuple((number, repr(value)) for number, value in call.arguments.items())


def rank(finding: Finding) -> tuple[object, ...]:
    """A sort key that puts the most serious findings first."""
    verdict = finding.verdict
    return (
        list(Weight).index(verdict.weight),
        finding.is_guarded,
        # Silent acceptances come last, because many functions have them, and few calls have arguments that the host
        # refuses.
        verdict.kind is Kind.accepts,
        list(Kind).index(verdict.kind),
        finding.is_guessed,
        -verdict.share,
        -len(finding.places),
        verdict.function,
        verdict.condition,
    )


def most_first(counts: Mapping[str, int]) -> dict[str, int]:
    """The functions sorted by their number of sites, the largest first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
