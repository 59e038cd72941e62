"""Columns of a terminal's table: side by side where they fit, else one below the other, with nothing cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

BETWEEN = 3
"""Between two columns stand a line and a space on each of its sides."""


@dataclass(frozen=True)
class Column:
    """A heading of several lines, and a cell for each row."""

    heading: str
    cells: Sequence[Text]

    @property
    def width(self) -> int:
        return max((_width(cell) for cell in self.cells), default=0)


def side_by_side(names: Column, columns: Sequence[Column], width: int) -> Iterator[RenderableType]:
    """Tables of these columns, each beginning with the names, as few as fit into the width of the terminal.

    If a column alone does not fit beside the names, each name stands above its cell instead.
    """
    room = width - names.width
    if any(BETWEEN + column.width > room for column in columns):
        for column in columns:
            yield from _below(names, column)
        return
    for group in _groups(columns, room):
        table = Table(pad_edge=False, show_edge=False, title=None, header_style="bold")
        for column in (names, *group):
            # Of a heading that is longer than its cells, words go on in the next line.
            table.add_column(Text(column.heading, overflow="fold"), min_width=column.width, overflow="fold")
        for row in zip(names.cells, *(column.cells for column in group), strict=True):
            table.add_row(*row)
        yield table


def _below(names: Column, column: Column) -> Iterator[RenderableType]:
    yield Text(column.heading, style="bold")
    for name, cell in zip(names.cells, column.cells, strict=True):
        yield name
        yield Padding(cell, (0, 0, 0, 2), expand=False)
    yield ""


def _groups(columns: Sequence[Column], room: int) -> list[list[Column]]:
    """The columns in their order, in as few groups as fit."""
    groups: list[list[Column]] = []
    used = 0
    for column in columns:
        if groups and used + BETWEEN + column.width <= room:
            groups[-1].append(column)
            used += BETWEEN + column.width
        else:
            groups.append([column])
            used = BETWEEN + column.width
    return groups


def _width(text: Text) -> int:
    return max(len(line) for line in text.plain.split("\n"))
