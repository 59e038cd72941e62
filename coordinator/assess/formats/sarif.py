"""A report as SARIF 2.1.0 for GitHub's code scanning: one result per function and kind. This module does no I/O."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from pydantic_core import to_json

from coordinator.assess.findings import Finding
from coordinator.assess.notebooks import split_cell
from coordinator.assess.report import AssessmentReport, kind_sentence
from coordinator.assess.sites import Site
from coordinator.assess.verdicts import Kind, Weight
from coordinator.text.page_text import page_text

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_LOCATIONS = 1000
"""The maximum number of locations of one result; GitHub shows no more."""
RULES = {
    Kind.wrong: ("error", "Wrong values without an error"),
    Kind.fails: ("error", "Fails on the target"),
    Kind.accepts: ("warning", "Silently accepts what the host refuses"),
    Kind.falls_back: ("warning", "Silently runs on the host"),
    Kind.slow: ("note", "Slow on the target"),
}
"""The level and title of each kind."""


def sarif_of(report: AssessmentReport) -> bytes:
    findings = report.assessment.of_weight(Weight.finding)
    run = {
        "tool": {
            "driver": {
                "name": "Portolan",
                "version": version("portolan"),
                "rules": [
                    {"id": str(kind), "name": title.title().replace(" ", ""), "shortDescription": {"text": title}}
                    for kind, (_, title) in RULES.items()
                ],
            }
        },
        "automationDetails": {"id": f"portolan/{report.target.short}/"},
        "results": [
            _result([finding for finding in findings if _key(finding) == key], report)
            for key in dict.fromkeys(map(_key, findings))
        ],
        "columnKind": "unicodeCodePoints",
    }
    return to_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + b"\n"


def _key(finding: Finding) -> tuple[str, Kind]:
    return finding.verdict.function, finding.verdict.kind


def _result(findings: list[Finding], report: AssessmentReport) -> dict[str, Any]:
    """One result for all findings about one function and kind. These findings differ in their conditions."""
    function, kind = _key(findings[0])
    sentences = [f"{function} {kind_sentence(finding)}." for finding in findings]
    advice = [f"It {text}." for text in dict.fromkeys(text for f in findings for text in f.verdict.advice)]
    sites = [site for finding in findings for site in finding.places]
    level = "note" if all(finding.is_guarded for finding in findings) else RULES[kind][0]
    return {
        "ruleId": str(kind),
        "ruleIndex": list(RULES).index(kind),
        "level": level,
        "message": {
            "text": page_text(
                " ".join([f"On {report.target.target}:", *sentences, *advice, _repeat(findings[0], report)])
            )
        },
        # GitHub shows a result at its first location, and marks the others as related.
        "locations": [_location(sites[0], report)],
        "relatedLocations": [
            {"id": number, **_location(site, report)} for number, site in enumerate(sites[1:MOST_LOCATIONS], 1)
        ],
        "partialFingerprints": {"function/v1": sha256(f"{report.target.short} {function} {kind}".encode()).hexdigest()},
    }


def _repeat(finding: Finding, report: AssessmentReport) -> str:
    return f"Repeat the evidence: {report.repeat(finding.verdict)}"


def _location(site: Site, report: AssessmentReport) -> dict[str, Any]:
    """The location of a site. For a site in a notebook it contains only the file, because each cell numbers its lines
    separately."""
    path, cell = split_cell(site.path)
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(f"{report.prefix}{path}")}}
    if cell is None:
        physical["region"] = {"startLine": site.line, **({"startColumn": site.column} if site.column else {})}
    return {"physicalLocation": physical}
