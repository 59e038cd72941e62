"""Writes a report in the requested format, as bytes."""

from __future__ import annotations

from typing import Literal

from coordinator.assess.code import Code
from coordinator.assess.report import AssessmentReport

Format = Literal["text", "json", "html", "junit", "sarif"]


def write_report(report: AssessmentReport, format: Format, code: Code, *, whole: bool) -> bytes:
    """The report as bytes. Each format's module is imported only when the format is requested, because most users need
    only the terminal."""
    match format:
        case "text":
            from coordinator.assess.formats.terminal import text_of

            return text_of(report, whole=whole).encode()
        case "json":
            from coordinator.assess.formats.as_json import json_of

            return json_of(report)
        case "html":
            from coordinator.assess.formats.html import html_of

            return html_of(report, code).encode()
        case "junit":
            from coordinator.assess.formats.junit import junit_of

            return junit_of(report)
        case "sarif":
            from coordinator.assess.formats.sarif import sarif_of

            return sarif_of(report)
