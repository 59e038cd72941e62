"""A figure: a specification of a drawing, or the reason why there is none, with all texts that must be shown with it.
It does no I/O.
"""

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
"""A Vega-Lite specification."""
Rows = list[dict[str, Any]]
"""The data of a chart: one object for each mark."""
Record = Mapping[str, Cell]
"""A row of a table, by column name."""
WIDE = 110
"""The maximum number of characters of a line under a title."""


@dataclass(frozen=True)
class Figure:
    id: str
    """The figure's name in URLs and files, such as ``scatter``. It does not change between releases."""
    title: str
    subtitle: tuple[str, ...]
    """A sentence that says which cases are counted, and how many, with all remarks that readers must know about the
    targets."""
    alternative: str
    """One sentence that describes the figure to a reader who cannot see it."""
    table: Table
    """The table with the figure's numbers."""
    bare: Spec | None
    """The specification without a title, for a page that shows the title itself. None if there is nothing to draw."""
    silent: str = ""
    """The reason why there is nothing to draw, and what would change this."""

    @property
    def spec(self) -> Spec | None:
        """The specification with the title, for use outside of a page. None if there is nothing to draw."""
        if self.bare is None:
            return None
        subtitle = [line for sentence in self.subtitle for line in textwrap.wrap(sentence, WIDE)]
        return {**self.bare, "title": {"text": self.title, "subtitle": subtitle}, "description": self.alternative}

    def drawing(self, *, with_title: bool) -> Spec:
        """The specification with or without the title. Raises ``NotFoundError`` if there is nothing to draw."""
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
    """Build a figure from ``drawing``, a specification without a title.

    ``caption`` says what is counted, and how. Rows of the drawing that come from a reference are marked as published.
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
    """The fields for a mark that shows a share: the percent, and n and the interval if they are known. Empty if there
    is no share.

    If n is unknown, the text ends with ``note``.
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
    """The names in a column, in the order of their first occurrence."""
    return tuple(dict.fromkeys(str(row[column]) for row in rows))


def label(data: ReportData, record: Record) -> str:
    """The label of a row's target in a figure. The label of a published target names its source; the label of a
    simulated target says that it is simulated."""
    name = str(record["target"])
    if record["source"] != data.name:
        return f"{record['source']}: {name}"
    simulated_labels = {data.labels[target.id] for target in data.targets if target.simulated}
    return f"{name} (simulated)" if name in simulated_labels else name


def label_of_pair(data: ReportData, record: Record) -> str:
    """The label of a pair: ``torch@2.9.0/cpu → xla``. The second name omits the framework and version if both are those
    of the first."""
    base, other = str(record["base"]), str(record["other"])
    framework = "" if base.startswith(f"{record['framework']}@") else f"{record['framework']} "
    source = "" if record["source"] == data.name else f"{record['source']}: "
    return f"{source}{framework}{base} → {other.removeprefix(base.partition('/')[0] + '/')}"


def _nothing_own(data: ReportData, drawing: Spec | None) -> tuple[str, ...]:
    """A remark for a figure that shows only the study's data, so that nobody takes the data for the campaign's."""
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
