"""Handmade evidence and sources for the tests of assessments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from coordinator.assess.evidence import CaseEvidence, Chart, TargetEvidence
from coordinator.assess.findings import Assessment, assess
from coordinator.assess.names import Names
from coordinator.assess.report import AssessmentReport
from coordinator.assess.sites import AssessedSource, Certainty, Guard, Site, Use
from coordinator.results.conditions import CallSite, End
from protocol.catalogue import CallOptions, CaseOptions
from protocol.enums import Cause, DeviceClass, Ending, Judge

CHARTED_AT = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
FUNCTION = "torch.foo"


def case(
    name: str,
    end: End = "passed",
    *tags: str,
    dtype: str = "float32",
    positional: int = 1,
    keywords: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    ending: Ending = Ending.raised,
    cause: Cause = Cause.not_implemented,
    judged_by: Judge | None = Judge.numpy,
    ratio: float | None = None,
) -> CaseEvidence:
    calls = [CallOptions(positional=positional, arguments=dict(arguments or {}), keywords=dict(keywords or {}))]
    return CaseEvidence(
        end=end,
        options=CaseOptions(kind="value", dtypes=[dtype], calls=calls),
        tags=frozenset(tags),
        judged_by=judged_by,
        case=f"{FUNCTION}/{name}",
        chart=0,
        cause=cause if end in ("failed", "accepted") else None,
        ending=ending if end in ("failed", "accepted") else None,
        said=f"{name} said so" if end in ("failed", "accepted") else None,
        ratio=ratio,
    )


def several(count: int, name: str, *arguments: Any, **options: Any) -> list[CaseEvidence]:
    return [case(f"{name}-{number}", *arguments, **options) for number in range(count)]


def target(functions: Mapping[str, Sequence[CaseEvidence]], version: str = "2.9.0", **changes: Any) -> TargetEvidence:
    values: dict[str, Any] = {
        "framework": "torch",
        "version": version,
        "device": "xla",
        "device_class": DeviceClass.cpu,
        "hardware": "AMD EPYC",
        "charts": (Chart("library", "rev", CHARTED_AT, repeat="portolan-runner run torch xla {case}"),),
        "functions": {name: tuple(cases) for name, cases in functions.items()},
    }
    return TargetEvidence(**{**values, **changes})


def site(
    function: str = FUNCTION,
    line: int = 1,
    *,
    positional: int | None = 1,
    keywords: Mapping[str, Any] | None = None,
    arguments: Mapping[int, Any] | None = None,
    guards: Sequence[Guard] = (),
    dtypes: Sequence[str] = (),
    certainty: Certainty = Certainty.resolved,
    use: Use = Use.called,
    path: str = "train.py",
    within: str = "step",
    is_at_setup: bool = False,
) -> Site:
    return Site(
        path=path,
        line=line,
        column=4,
        function=function,
        certainty=certainty,
        use=use,
        call=None if positional is None else CallSite(positional, keywords or {}, arguments or {}),
        within=within,
        guards=tuple(guards),
        dtypes=frozenset(dtypes),
        is_at_setup=is_at_setup,
    )


def source(*sites: Site, **changes: Any) -> AssessedSource:
    return AssessedSource(sites=sites, files=1, modules={"train.py": "train"}, **changes)


def assessment_of(
    cases: Sequence[CaseEvidence] | Mapping[str, Sequence[CaseEvidence]], *sites: Site, slow: float = 10.0
) -> Assessment:
    """An assessment of these sites, or of one plain call, with the cases of one function or of several."""
    functions = cases if isinstance(cases, Mapping) else {FUNCTION: cases}
    return assess(source(*(sites or (site(),))), target(functions), Names(frozenset(functions)), slow)


def report(assessment: Assessment, *sites: Site, **changes: Any) -> AssessmentReport:
    values: dict[str, Any] = {
        "path": ".",
        "prefix": "src/",
        "target": target({}),
        "origin": "ships with Portolan",
        "installed": None,
        "others": (),
        "source": source(*sites),
        "assessment": assessment,
        "ignored": 0,
        "known": 0,
        "callers": (),
    }
    return AssessmentReport(**{**values, **changes})
