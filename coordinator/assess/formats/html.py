"""A report as one self-contained HTML file, with the code next to its findings."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape

from coordinator.assess.code import Code
from coordinator.assess.report import AssessmentReport, kind_sentence
from coordinator.assess.verdicts import Kind, Weight
from coordinator.figures import formats
from coordinator.text.page_text import finalize

SHOWN_PLACES = 20
"""The maximum number of sites whose code is shown for a finding. For further sites, only path and line are shown."""
TITLES = {
    Kind.wrong: "wrong",
    Kind.fails: "fails",
    Kind.accepts: "silently accepts",
    Kind.falls_back: "runs on the host",
    Kind.slow: "slow",
}


TEMPLATES = Path(__file__).parent.parent / "templates"


def html_of(report: AssessmentReport, code: Code) -> str:
    return _template().render(finding_values(report, code, level=2))


def finding_values(report: AssessmentReport, code: Code, level: int) -> dict[str, Any]:
    """The values for ``finding_articles.html``. Its headings begin at ``level``."""
    weights = [
        (Weight.finding, "Findings", "none"),
        (Weight.condition, "Depends on something that the source does not show", ""),
        (Weight.note, "Notes, which are too weak to act on", ""),
    ]
    return {
        "report": report,
        "parts": [(title, report.assessment.of_weight(weight), empty) for weight, title, empty in weights],
        "excerpt": code.excerpt,
        "sentence": kind_sentence,
        "place": report.place,
        "titles": TITLES,
        "most": SHOWN_PLACES,
        "plural": formats.plural,
        "level": level,
    }


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("assessment.html")
