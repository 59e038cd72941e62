"""A figure: a specification, or a sentence why there is none, and all that must stand with it. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coordinator.errors import NotFoundError
from coordinator.reports.table import Cell, Table
from coordinator.results.report_data import ReportData
from coordinator.results.statistics import Rate

Spec = dict[str, Any]
"""A specification in Vega-Lite."""
Rows = list[dict[str, Any]]
"""The data of a chart: one object for each mark."""
Record = Mapping[str, Cell]
"""A row of a table by the names of its columns."""
WIDE = 110
"""The maximum length of a line under a title, in characters."""


@dataclass(frozen=True)
class Figure:
    id: str
    """A stable identifier: ``scatter``."""
    title: str
    subtitle: tuple[str, ...]
    """The counted cases and their number, with everything that must be known about the targets."""
    alternative: str
    """One sentence for a reader who cannot see it."""
    table: Table
    """The table that holds its numbers."""
    bare: Spec | None
    """Without its title, for a page that has it already; None where there is nothing to draw."""
    silent: str = ""
    """Why there is nothing to draw, and what would change that."""

    @property
    def spec(self) -> Spec | None:
        """The specification of the whole figure, for use by itself."""
        if self.bare is None:
            return None
        subtitle = [line for sentence in self.subtitle for line in textwrap.wrap(sentence, WIDE)]
        return {**self.bare, "title": {"text": self.title, "subtitle": subtitle}, "description": self.alternative}

    def drawing(self, *, with_title: bool) -> Spec:
        """The specification with or without the title; raises ``NotFoundError`` where there is nothing to draw."""
        spec = self.spec if with_title else self.bare
        if spec is None:
            raise NotFoundError(f"the figure {self.id!r} cannot be drawn: {self.silent}")
        return spec


def figure(
    data: ReportData,
    table: Table,
    id: str,
    *,
    drawing: Spec | None,
    caption: str,
    alternative: str,
    silent: str = "",
    title: str | None = None,
) -> Figure:
    """Put a figure together from ``drawing``, a specification without a title.

    ``caption`` says what is counted, and how. Rows of the drawing that are not the campaign's own are marked
    as published.
    """
    return Figure(
        id=id,
        title=title or table.title,
        subtitle=(*_nothing_own(data, drawing), f"{_source(data)}{caption}", *_of_targets(data)),
        alternative=silent if drawing is None else alternative,
        table=table,
        bare=drawing,
        silent=silent if drawing is None else "",
    )


def share_of(cell: Cell, note: str = "") -> dict[str, Any]:
    """A share as a mark shows it, in percent, with n and interval as far as they are known; empty where there is none.

    Its text ends in ``note`` where n is not known.
    """
    if isinstance(cell, Rate) and cell.share is not None and cell.interval is not None:
        low, high = (100 * limit for limit in cell.interval)
        percent = 100 * cell.share
        share_text = f"{percent:.1f} % ({cell.count} of {cell.n})"
        return {"percent": percent, "shown": share_text, "n": cell.n, "low": low, "high": high}
    if isinstance(cell, int | float):
        return {"percent": float(cell), "shown": f"{cell:g} %{note}", "n": None}
    return {}


def distinct(rows: Rows, column: str) -> tuple[str, ...]:
    """The names in a column, in the order in which they come first."""
    return tuple(dict.fromkeys(str(row[column]) for row in rows))


def label(data: ReportData, record: Record) -> str:
    """The target of a row in a figure: a published one with its source, a simulated one marked wherever it stands."""
    name = str(record["target"])
    if record["source"] != data.name:
        return f"{record['source']}: {name}"
    simulated_labels = {data.labels[target.id] for target in data.targets if target.simulated}
    return f"{name} (simulated)" if name in simulated_labels else name


def label_of_pair(data: ReportData, record: Record) -> str:
    """``torch@2.9.0/cpu → xla``: the second name omits the framework and version if the first has the same."""
    base, other = str(record["base"]), str(record["other"])
    framework = "" if base.startswith(f"{record['framework']}@") else f"{record['framework']} "
    source = "" if record["source"] == data.name else f"{record['source']}: "
    return f"{source}{framework}{base} → {other.removeprefix(base.partition('/')[0] + '/')}"


def _nothing_own(data: ReportData, drawing: Spec | None) -> tuple[str, ...]:
    """A picture of the study must not be taken for one of the campaign."""
    if drawing is None or not data.targets or not all(row.get("published") for row in drawing["data"]["values"]):
        return ()
    return (f"{data.name.capitalize()} has nothing to draw yet: the figure shows published values only.",)


def _source(data: ReportData) -> str:
    beside = f", beside {data.reference.name}" if data.reference else ""
    if not data.targets:
        return f"{data.reference.name}. " if data.reference else ""
    revisions = sorted({f"{target.suite} {target.suite_revision[:12]}" for target in data.targets})
    return f"{data.name.capitalize()}{beside}; suite {', '.join(revisions)}. "


def _of_targets(data: ReportData) -> tuple[str, ...]:
    return tuple(
        f"{data.labels[target.id]}: {'; '.join(target.sentences)}." for target in data.targets if target.sentences
    )
