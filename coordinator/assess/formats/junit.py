"""A report as JUnit XML: one test case per function and kind, which fails if there is a finding. This module does no
I/O."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from coordinator.assess.findings import Finding
from coordinator.assess.report import AssessmentReport, kind_sentence
from coordinator.assess.verdicts import Weight
from coordinator.text.page_text import page_text

_DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
UNKNOWN = "nobody charted this function on the target"


def junit_of(report: AssessmentReport) -> bytes:
    """The XML. Functions with findings fail, uncharted functions are skipped, and all other functions pass."""
    findings = report.assessment.of_weight(Weight.finding)
    with_finding = {finding.verdict.function for finding in findings}
    passing = [name for name in report.assessment.charted if name not in with_finding]
    suite = ET.Element(
        "testsuite",
        name=f"portolan assess on {report.target.target}",
        tests=str(len(findings) + len(passing) + len(report.assessment.unknown)),
        failures=str(sum(not finding.is_guarded for finding in findings)),
        errors="0",
        skipped=str(len(report.assessment.unknown) + sum(finding.is_guarded for finding in findings)),
    )
    for finding in findings:
        _finding(suite, finding, report)
    for name in passing:
        ET.SubElement(suite, "testcase", classname=report.target.short, name=page_text(name))
    for name in report.assessment.unknown:
        case = ET.SubElement(suite, "testcase", classname=report.target.short, name=page_text(name))
        ET.SubElement(case, "skipped", message=UNKNOWN)
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return f"{_DECLARATION}{ET.tostring(suites, encoding='unicode')}\n".encode()


def _finding(suite: ET.Element, finding: Finding, report: AssessmentReport) -> None:
    verdict, first = finding.verdict, finding.places[0]
    case = ET.SubElement(
        suite,
        "testcase",
        classname=report.target.short,
        name=page_text(f"{verdict.function} {verdict.kind}"),
        file=page_text(f"{report.prefix}{first.path}"),
        line=str(first.line),
    )
    message = page_text(f"{verdict.function} {kind_sentence(finding)}")
    if finding.is_guarded:
        ET.SubElement(case, "skipped", message=f"{message}; only under a condition in the code")
        return
    failure = ET.SubElement(case, "failure", message=message, type=str(verdict.kind))
    lines = [*map(report.place, finding.places), verdict.said, *verdict.advice, report.repeat(verdict)]
    failure.text = page_text("\n".join(filter(None, lines)))
