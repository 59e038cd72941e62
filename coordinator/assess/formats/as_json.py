"""A report as JSON: every finding, condition and note with all of its sites. This module does no I/O."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic_core import to_json

from coordinator.assess.findings import Finding
from coordinator.assess.recorded_run import RecordedRun
from coordinator.assess.report import AssessmentReport
from coordinator.assess.sites import Site
from coordinator.assess.whole_run import WholeRun

FORMAT = 1
"""The version of the format. It is increased when programs for older versions cannot read the output."""


def json_of(report: AssessmentReport) -> bytes:
    target = report.target
    return (
        to_json(
            {
                "type": "portolan-assessment",
                "format": FORMAT,
                "summary": report.first_line,
                "warning": report.version_warning,
                "path": report.path,
                "prefix": report.prefix,
                "target": {
                    "framework": target.framework,
                    "version": target.version,
                    "device": target.device,
                    "hardware": target.hardware,
                    "charted_at": target.charted_at,
                    "suites": target.suites,
                    "sentences": target.sentences,
                },
                "origin": report.whole_origin,
                "installed": report.installed,
                # A generator, because a list of all findings would take several times as much memory as the report.
                "findings": (_finding(finding, report) for finding in report.assessment.findings),
                "callers": [
                    {
                        "name": caller.name,
                        "path": caller.path,
                        "functions": [verdict.function for verdict in caller.verdicts],
                    }
                    for caller in report.callers
                ],
                "charted": report.assessment.charted,
                "unknown": report.assessment.unknown,
                "device_questions": [asdict(question) for question in report.source.device_questions],
                "host_reads": [
                    {"path": site.path, "line": site.line, "function": site.function}
                    for site in report.source.host_reads
                ],
                "unread": [asdict(file) for file in report.source.unread],
                "files": report.source.files,
                "star_imports": report.source.star_imports,
                "dynamic_names": report.source.dynamic_names,
                "run": None if report.run is None else _run(report.run),
                "whole": None if report.whole is None else _whole(report.whole),
                "why_not_whole": report.why_not_whole,
                "ignored": report.ignored,
                "in_baseline": report.known,
            },
            indent=2,
        )
        + b"\n"
    )


def _run(run: RecordedRun) -> dict[str, Any]:
    recording = run.recording
    return {
        "command": recording.command,
        "exit_code": recording.exit_code,
        "seconds": recording.seconds,
        "distinct_calls": len(recording.calls),
        "calls": sum(call.count for call in recording.calls),
        "is_replayed": run.replays is not None,
        "without_outcome": run.without_outcome,
        "crossings": [asdict(line) for line in run.crossings],
        "times": [asdict(line) for line in run.times],
        "left_out": [entry.model_dump() for entry in recording.left_out],
        "cannot_know": run.unknowable,
    }


def _whole(whole: WholeRun) -> dict[str, Any]:
    return {
        "exit_code": whole.run.exit_code,
        "seconds": whole.run.seconds,
        "host_seconds": whole.host_seconds,
        "events": [asdict(event) for event in whole.events],
        "unmet": [asdict(prediction) for prediction in whole.unmet],
        "notes": whole.run.notes,
    }


def _finding(finding: Finding, report: AssessmentReport) -> dict[str, Any]:
    verdict = asdict(finding.verdict)
    verdict.pop("chart")
    return {
        **verdict,
        "repeat": report.repeat(finding.verdict),
        "ships": report.has_shipped(finding.verdict),
        "guarded": finding.is_guarded,
        "unreached": finding.is_unreached,
        "places": map(_place, finding.places),
    }


def _place(site: Site) -> dict[str, Any]:
    return {
        "path": site.path,
        "line": site.line,
        "column": site.column,
        "within": site.within,
        "certainty": site.certainty,
        "use": site.use,
        "reached": site.reached,
        "guards": [asdict(guard) for guard in site.guards],
    }
