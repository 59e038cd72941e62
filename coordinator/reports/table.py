"""A report's table: columns, rows, and the texts that must be shown with them. It does no I/O.

``table_renderer.py`` writes a table. A cell is text, a number, an estimate with its n and interval (``Rate``,
``Estimate``), or the reason why there is no number (``Missing``). The data of a drawn figure are also a ``Table``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from coordinator.results.statistics import Estimate, Rate


class Missing(StrEnum):
    """The reason why a cell has no number."""

    not_published = "not published"
    """The reference has no value."""
    not_measured = "not measured"
    """No timed run passed on the target's device."""
    none_counted = "none counted"
    """No case or function is counted, so there is no rate."""
    host_only = "host only"
    """The function never touches a device, so there is no ratio."""


Cell: TypeAlias = str | int | float | Rate | Estimate | Missing | None
"""The value of a cell; None if the column does not apply to the row."""

Kind = Literal["text", "rule", "number", "rate", "percent", "milliseconds", "ratio", "density"]
"""The kind of a column. ``rule``: the name of a counting rule, which people see as its label. ``rate``: a ``Rate``, or
a published percentage without its n. ``ratio``: an ``Estimate`` or a published number."""


@dataclass(frozen=True)
class Column:
    name: str
    """The column's name in files. It does not change between releases."""
    label: str
    """The column's name for people."""
    kind: Kind = "text"
    unit: str | None = None

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "rule")


@dataclass(frozen=True)
class Table:
    """A table that can be shown in a terminal, written to a file or drawn as a figure."""

    id: str
    """The table's name in URLs and files, such as ``portability``. It does not change between releases."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    """Sentences that must be shown with the table."""
    counting_rule: str
    revisions: tuple[str, ...]
    """The revisions of the suites: ``paper of torch, revision 3f…``."""
    query: str
    """SQL over the views that returns the rows from which the table was computed. It can be run without changes."""
    remade_from: tuple[str, ...] = ()
    """The study's tables and figures that this table reproduces, such as ``table-1``."""

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if wrong is not None:
            raise ValueError(f"{self.id}: a row of {len(wrong)} cells under {len(self.columns)} columns: {wrong}")

    def column(self, name: str) -> tuple[Cell, ...]:
        place = [column.name for column in self.columns].index(name)
        return tuple(row[place] for row in self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Each row as a mapping from column names."""
        return [{column.name: cell for column, cell in zip(self.columns, row, strict=True)} for row in self.rows]
