"""A report's table: columns, rows, and all that must stand with them. Pure; ``table_renderer.py`` writes it out.

A cell is text, a number, a figure with its n and interval (``Rate``, ``Estimate``), or one of the
words that say why there is none (``Missing``). A figure's data are a table like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from coordinator.results.statistics import Estimate, Rate


class Missing(StrEnum):
    """Why a cell holds no figure."""

    not_published = "not published"
    """The reference is silent."""
    not_measured = "not measured"
    """No run that passed where it should was timed."""
    none_counted = "none counted"
    """The denominator is empty."""
    host_only = "host only"
    """The function never touches a device, so it has no ratio."""


Cell: TypeAlias = str | int | float | Rate | Estimate | Missing | None
"""The value of a cell; None if the column does not apply to the row."""

Kind = Literal["text", "rule", "number", "rate", "percent", "milliseconds", "ratio", "density"]
"""``rule`` is the name of a counting rule in files, which people see by its label. ``rate`` holds a ``Rate``, or a
printed percentage without its n; ``ratio`` an ``Estimate`` or a printed number."""


@dataclass(frozen=True)
class Column:
    name: str
    """The name in files, which stays the same."""
    label: str
    """The name for people."""
    kind: Kind = "text"
    unit: str | None = None

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "rule")


@dataclass(frozen=True)
class Table:
    """A table to be shown in a terminal, written to a file or drawn as a figure."""

    id: str
    """Stable: ``portability``."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    """Sentences that must be shown with it."""
    counting_rule: str
    revisions: tuple[str, ...]
    """The revisions of the suites behind it: ``paper of torch, revision 3f…``."""
    query: str
    """SQL over the views that returns the rows that it was made from; it can be run as is."""
    remade_from: tuple[str, ...] = ()
    """The study's figures that it reproduces: ``table-1``."""

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if wrong is not None:
            raise ValueError(f"{self.id}: a row of {len(wrong)} cells under {len(self.columns)} columns: {wrong}")

    def column(self, name: str) -> tuple[Cell, ...]:
        place = [column.name for column in self.columns].index(name)
        return tuple(row[place] for row in self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Each row by the names of its columns."""
        return [{column.name: cell for column, cell in zip(self.columns, row, strict=True)} for row in self.rows]
