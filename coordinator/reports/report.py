"""A campaign's report: one HTML file that needs nothing else, to send to a colleague. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coordinator.campaigns.models import CampaignDetail
from coordinator.causes.rules import readable
from coordinator.reports.chapters import CHAPTERS, Chapter
from coordinator.reports.charts.figure import Figure
from coordinator.reports.table import Table
from coordinator.reports.table_renderer import shown
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.results.ratios import TargetRatios
from coordinator.results.report_data import Failure, Fingerprint, ReportData
from coordinator.results.summary import Section, summary

FAILURES_LISTED = 500
"""Functions and targets, each with one command; of more the report says so."""
ROWS = 1500
"""Of one table in the file; it says where the others are."""
TEMPLATE = "report.html"
SAID = 240
"""Letters of what a failure said."""

_templates = Environment(
    loader=PackageLoader("coordinator.reports"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters["shown"] = shown


@dataclass(frozen=True)
class Repeated:
    """A failure, and how to see it again."""

    target: str
    function: str
    case: str
    cause: str
    said: str
    command: str


@dataclass(frozen=True)
class Machine:
    """A fingerprint in words: what produced how many outcomes of a target."""

    target: str
    outcomes: int
    id: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Report:
    """All that is said, as data."""

    campaign: CampaignDetail
    charted: ReportData
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    pictures: Mapping[str, str]
    """Drawn figures by id, as SVG that fits both a light and a dark page."""
    compared: tuple[TargetRatios, ...]
    tolerable: float
    failures: tuple[Failure, ...]
    fingerprints: tuple[Fingerprint, ...]

    @cached_property
    def summary(self) -> tuple[Section, ...]:
        return summary(self.campaign, self.charted, self.compared, self.tolerable)

    @cached_property
    def commands(self) -> tuple[Repeated, ...]:
        return tuple(self._repeated())

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(
            Machine(self.charted.labels.get(each.target_id, ""), each.outcomes, each.id, tuple(_facts(each.body)))
            for each in self.fingerprints
        )

    @cached_property
    def chapters(self) -> tuple[Chapter, ...]:
        return tuple(each.filled(self.tables, self.figures) for each in CHAPTERS)

    @property
    def rules(self) -> dict[str, list[str]]:
        """Each counting rule with the titles of the tables that it holds for."""
        return _grouped((each.counting_rule, each.title) for each in self.tables)

    @property
    def queries(self) -> dict[str, list[str]]:
        return _grouped((each.query, each.title) for each in self.tables if each.query)

    @cached_property
    def drawn(self) -> dict[str, Markup]:
        """The pictures, which are our own drawing and need no escaping."""
        return {id: Markup(svg) for id, svg in self.pictures.items()}

    @property
    def caveats(self) -> list[str]:
        return list(dict.fromkeys(note for each in self.tables for note in each.notes))

    def _repeated(self) -> Iterator[Repeated]:
        targets = {each.id: each for each in self.charted.targets}
        # Of each target the fingerprint with the most outcomes, which is the first.
        bodies = {fingerprint.target_id: fingerprint.body for fingerprint in reversed(self.fingerprints)}
        for each in self.failures[:FAILURES_LISTED]:
            target = targets[each.target_id]
            said = " ".join(readable(each.said or "").split())
            yield Repeated(
                self.charted.labels[target.id],
                each.function,
                each.case,
                each.cause,
                f"{said[:SAID]}…" if len(said) > SAID else said,
                repeat_command(target.framework, target.device, each.case, each.run, bodies.get(target.id)),
            )


def html(report: Report) -> str:
    """The file. Everything but our own pictures and style is escaped."""
    return _templates.get_template(TEMPLATE).render(made=lambda: report, **frame(report.campaign))


def frame(campaign: CampaignDetail) -> dict[str, object]:
    """What the template needs besides ``made``, which makes the report where the template comes to it."""
    style = (files("coordinator.web") / "static" / "portolan.css").read_text(encoding="utf-8")
    return {
        "campaign": campaign,
        "style": Markup(style),
        "rows": ROWS,
        "failures_listed": FAILURES_LISTED,
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _facts(body: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """A fingerprint's fields, one below the other; lists of libraries in one line."""
    for name, value in sorted(body.items()):
        if isinstance(value, Mapping):
            yield name, ", ".join(f"{key} {each}" for key, each in sorted(value.items()))
        elif value not in (None, "", []):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _grouped(pairs: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, title in pairs:
        found.setdefault(key, []).append(title)
    return found
