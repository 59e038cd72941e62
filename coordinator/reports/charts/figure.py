"""What a figure is: a specification, or a sentence why there is none, and all that must stand with it. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coordinator.reports.table import Cell, Table
from coordinator.results.report_data import ReportData

Spec = dict[str, Any]
"""A specification in Vega-Lite."""
Rows = list[dict[str, Any]]
"""What a chart is drawn of: one object for each mark."""
WIDE = 110
"""Letters of a line under a title."""


@dataclass(frozen=True)
class Figure:
    id: str
    """Stable: ``scatter``."""
    title: str
    subtitle: tuple[str, ...]
    """What is counted, over how many, and what must be said of the targets."""
    alternative: str
    """One sentence for who cannot see it."""
    table: str
    """The table that holds its numbers."""
    remade_from: tuple[str, ...]
    notes: tuple[str, ...]
    bare: Spec | None
    """Without its title, for a page that says it; None where there is nothing to draw."""
    silent: str = ""
    """Why there is nothing to draw, and what would change that."""

    @property
    def spec(self) -> Spec | None:
        """The whole figure, as it goes out alone."""
        if self.bare is None:
            return None
        subtitle = [line for said in self.subtitle for line in textwrap.wrap(said, WIDE)]
        return {**self.bare, "title": {"text": self.title, "subtitle": subtitle}, "description": self.alternative}


def figure(
    charted: ReportData,
    table: Table,
    id: str,
    *,
    drawing: Spec | None,
    counted: str,
    alternative: str,
    silent: str = "",
    title: str | None = None,
) -> Figure:
    """``drawing`` is a specification without a title, whose rows say which of them were published.

    ``counted`` says over what, and how, in a sentence.
    """
    return Figure(
        id=id,
        title=title or table.title,
        subtitle=(*_nothing_own(charted, drawing), f"{_whose(charted)}{counted}", *_of_targets(charted)),
        alternative=silent if drawing is None else alternative,
        table=table.id,
        remade_from=table.remade_from,
        notes=table.notes,
        bare=drawing,
        silent=silent if drawing is None else "",
    )


def distinct(rows: Rows, column: str) -> tuple[str, ...]:
    """The names in a column, in the order in which they come first."""
    return tuple(dict.fromkeys(str(row[column]) for row in rows))


def label(charted: ReportData, name: str) -> str:
    """A target's name in a figure: a simulated one says so wherever it stands."""
    simulated = {charted.labels[each.id] for each in charted.targets if each.simulated}
    return f"{name} (simulated)" if name in simulated else name


def label_of_pair(charted: ReportData, record: Mapping[str, Cell]) -> str:
    """``torch@2.9.0/cpu → xla``; of two versions or machines both are named."""
    base, other = str(record["base"]), str(record["other"])
    framework = "" if base.startswith(f"{record['framework']}@") else f"{record['framework']} "
    source = "" if record["source"] == charted.name else f"{record['source']}: "
    return f"{source}{framework}{base} → {other.removeprefix(base.partition('/')[0] + '/')}"


def _nothing_own(charted: ReportData, drawing: Spec | None) -> tuple[str, ...]:
    """A picture of the study must not be taken for one of the campaign."""
    if drawing is None or not charted.targets or not all(row.get("published") for row in drawing["data"]["values"]):
        return ()
    return (f"Of {charted.name} itself there is nothing to draw yet: all that is shown was published.",)


def _whose(charted: ReportData) -> str:
    beside = f", beside {charted.reference.name}" if charted.reference else ""
    if not charted.targets:
        return f"{charted.reference.name}. " if charted.reference else ""
    revisions = sorted({f"{each.suite} {each.suite_revision[:12]}" for each in charted.targets})
    return f"{charted.name.capitalize()}{beside}; suite {', '.join(revisions)}. "


def _of_targets(charted: ReportData) -> tuple[str, ...]:
    return tuple(
        f"{charted.labels[each.id]}: {'; '.join(each.sentences)}." for each in charted.targets if each.sentences
    )
