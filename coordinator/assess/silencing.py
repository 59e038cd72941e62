"""Silencing: removes findings that the user has accepted, by a comment in the source or by a baseline. This module does
no I/O.

A baseline is a file with the findings of an earlier assessment.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coordinator.assess.findings import Assessment, Finding
from coordinator.assess.sites import Site
from coordinator.assess.verdicts import Kind, Weight
from coordinator.errors import AssessmentError
from protocol.model import first_fault

MARK = "portolan:"
"""A text that every comment which ignores a function contains."""
_COMMENT = re.compile(r"#[ \t]{0,8}portolan:[ \t]{0,8}ignore\[(?P<functions>[^\]#]*)\]")


def ignores(line: str, function: str) -> bool:
    """Whether a line has a comment that ignores the function: ``# portolan: ignore[torch.foo] why``.

    The comment may list several functions, separated by commas. Each may be a glob.
    """
    comments = _COMMENT.finditer(line)
    return any(fnmatchcase(function, name.strip()) for comment in comments for name in comment["functions"].split(","))


class KnownFinding(BaseModel):
    """The key of a finding in one of the user's functions. It contains no line number, because lines move."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    function: str
    path: str
    within: str
    places: int = Field(ge=1)


class Baseline(BaseModel):
    """The content of a baseline: the findings that existed when it was written."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["portolan-baseline"] = "portolan-baseline"
    format: Literal[1] = 1
    target: str
    """The target, such as ``torch/xla``. A baseline applies to one target only."""
    findings: tuple[KnownFinding, ...]


_Known = tuple[Kind, str, str, str]


def baseline_of(assessment: Assessment, target: str) -> Baseline:
    """The baseline that silences every finding of an assessment."""
    counts = Counter(
        _identity_of(finding, site) for finding in assessment.of_weight(Weight.finding) for site in finding.places
    )
    return Baseline(
        target=target,
        findings=tuple(
            KnownFinding(kind=kind, function=function, path=path, within=within, places=places)
            for (kind, function, path, within), places in sorted(counts.items())
        ),
    )


def read_baseline(content: bytes, name: str, target: str) -> Baseline:
    """Read a baseline. Raises ``AssessmentError`` for a file that is not a baseline, and for a baseline of another
    target."""
    try:
        baseline = Baseline.model_validate_json(content)
    except ValidationError as error:
        raise AssessmentError(
            f"{name} is not a baseline: {first_fault(error)}; write one with --write-baseline {name}"
        ) from None
    if baseline.target != target:
        raise AssessmentError(f"{name} is a baseline of {baseline.target}, not of {target}: write one for each target")
    return baseline


@dataclass(frozen=True)
class Silenced:
    """An assessment without the accepted findings, and the numbers of the removed sites."""

    assessment: Assessment
    ignored: int = 0
    """The number of sites with a comment that ignores the finding."""
    known: int = 0
    """The number of sites that the baseline includes."""


def silence(assessment: Assessment, line_of: Callable[[str, int], str], baseline: Baseline | None = None) -> Silenced:
    """Remove the sites that are accepted by a comment on their line or by the baseline.

    ``line_of`` returns a source line by path and number.
    """
    left: dict[_Known, int] = {}
    for entry in baseline.findings if baseline else ():
        left[entry.kind, entry.function, entry.path, entry.within] = entry.places
    ignored_places = baseline_places = 0
    findings = []
    for finding in assessment.findings:
        places = [site for site in finding.places if not ignores(line_of(site.path, site.line), site.function)]
        is_finding = finding.verdict.weight is Weight.finding
        new = _new(finding, places, left) if is_finding else places
        if is_finding:
            ignored_places += len(finding.places) - len(places)
            baseline_places += len(places) - len(new)
        if new:
            findings.append(replace(finding, places=tuple(new)))
    return Silenced(replace(assessment, findings=tuple(findings)), ignored_places, baseline_places)


def _new(finding: Finding, places: Iterable[Site], left: dict[_Known, int]) -> list[Site]:
    """The sites that the baseline does not include. Each included site decreases its count in ``left`` by one."""
    new = []
    for site in places:
        key = _identity_of(finding, site)
        if left.get(key, 0):
            left[key] -= 1
        else:
            new.append(site)
    return new


def _identity_of(finding: Finding, site: Site) -> _Known:
    return finding.verdict.kind, finding.verdict.function, site.path, site.within
