"""A campaign's report: one self-contained HTML file to send to a colleague. It does no I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from coordinator.access.headers import DOCUMENT
from coordinator.campaigns.models import CampaignDetail
from coordinator.causes.rules import readable
from coordinator.reports.contents import ReportContents
from coordinator.reports.table_renderer import cell_text
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.results.report_data import FailedCase, StoredFingerprint
from coordinator.results.summary import Section, summary
from coordinator.text.page_text import FILTERS, finalize
from coordinator.text.table_columns import table_columns

FAILURES_LISTED = 500
"""The maximum number of failures in the list, each with its command. The report says so if there are more."""
ROWS = 1500
"""The maximum number of rows of a table in the file. A note says where to find the others."""
TEMPLATE = "report.html"
SAID = 240
"""The maximum number of characters of a failure's message."""

_templates = Environment(
    loader=PackageLoader("coordinator.reports"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=finalize,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.filters |= {"cell_text": cell_text, **FILTERS}
_templates.globals["table_columns"] = table_columns


@dataclass(frozen=True)
class FailureCommand:
    """A failure, and the command that reproduces it."""

    target: str
    function: str
    case: str
    cause: str
    said: str
    command: str


@dataclass(frozen=True)
class Machine:
    """A fingerprint in words, with the number of outcomes that this machine produced for a target."""

    target: str
    outcomes: int
    id: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CampaignReport:
    campaign: CampaignDetail
    contents: ReportContents
    pictures: Mapping[str, str]
    """Figures by id, drawn as SVG for both light and dark pages."""
    tolerable: float
    failures: tuple[FailedCase, ...]
    fingerprints: tuple[StoredFingerprint, ...]

    @cached_property
    def summary(self) -> tuple[Section, ...]:
        return summary(self.campaign, self.contents.data, self.contents.comparisons, self.tolerable)

    @cached_property
    def commands(self) -> tuple[FailureCommand, ...]:
        return tuple(self._commands())

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        labels = self.contents.data.labels
        return tuple(
            Machine(labels.get(machine.target_id, ""), machine.outcomes, machine.id, tuple(_facts(machine.body)))
            for machine in self.fingerprints
        )

    @property
    def rules(self) -> dict[str, list[str]]:
        """The titles of the tables that use each counting rule."""
        return _group_titles((table.counting_rule, table.title) for table in self.contents.tables)

    @property
    def queries(self) -> dict[str, list[str]]:
        return _group_titles((table.query, table.title) for table in self.contents.tables if table.query)

    @cached_property
    def drawn(self) -> dict[str, Markup]:
        """The pictures as markup. They are our own drawings and need no escaping."""
        return {id: Markup(svg) for id, svg in self.pictures.items()}

    @property
    def caveats(self) -> list[str]:
        return list(dict.fromkeys(note for table in self.contents.tables for note in table.notes))

    def _commands(self) -> Iterator[FailureCommand]:
        targets = {target.id: target for target in self.contents.data.targets}
        # For each target the first fingerprint, which has the most outcomes.
        bodies = {fingerprint.target_id: fingerprint.body for fingerprint in reversed(self.fingerprints)}
        for failure in self.failures[:FAILURES_LISTED]:
            target = targets[failure.target_id]
            message = " ".join(readable(failure.said or "").split())
            yield FailureCommand(
                self.contents.data.labels[target.id],
                failure.function,
                failure.case,
                failure.cause,
                f"{message[:SAID]}…" if len(message) > SAID else message,
                repeat_command(target.framework, target.device, failure.case, failure.run, bodies.get(target.id)),
            )


def html(report: CampaignReport) -> str:
    """Render the file. Everything is escaped, except our own pictures and style sheet."""
    return _templates.get_template(TEMPLATE).render(make_report=lambda: report, **frame(report.campaign))


def frame(campaign: CampaignDetail) -> dict[str, object]:
    """The values that the template needs besides the function ``make_report``, which returns the report."""
    style = (files("coordinator.web") / "static" / "portolan.css").read_text(encoding="utf-8")
    return {
        "campaign": campaign,
        "policy": DOCUMENT,
        "style": Markup(style),
        "rows": ROWS,
        "failures_listed": FAILURES_LISTED,
        "made_at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _facts(body: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The fields of a fingerprint as rows. A list of libraries becomes one line."""
    for name, value in sorted(body.items()):
        if isinstance(value, Mapping):
            yield name, ", ".join(f"{library} {version}" for library, version in sorted(value.items()))
        elif value not in (None, "", []):
            yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _group_titles(pairs: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    titles: dict[str, list[str]] = {}
    for key, title in pairs:
        titles.setdefault(key, []).append(title)
    return titles
