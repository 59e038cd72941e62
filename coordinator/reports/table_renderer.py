"""Writes a table as text for the terminal, as CSV and as JSON. Files contain exact numbers; people see rounded
numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as TerminalTable
from rich.text import Text

from coordinator.figures.counting import rule_label
from coordinator.figures.formats import significant
from coordinator.reports.table import Cell, Column, Kind, Missing, Table
from coordinator.results.statistics import Estimate, Rate
from coordinator.text.csv_text import csv_text

_MORE = {"rate": ("low", "high", "count", "n"), "ratio": ("low", "high", "n")}
"""Additional columns in a file, by the kind of the column."""


def to_terminal(table: Table) -> RenderableType:
    """The table with its title above, and its notes, counting rule and suite revisions below."""
    grid = TerminalTable(title=Text(table.title, style="bold"), title_justify="left", pad_edge=False, show_edge=False)
    for column in table.columns:
        unit = f", {column.unit}" if column.unit else ""
        grid.add_column(Text(f"{column.label}{unit}"), justify="left" if column.is_text else "right")
    for row in table.rows:
        grid.add_row(*(Text(cell_text(cell, column.kind)) for cell, column in zip(row, table.columns, strict=True)))
    below = [*table.notes, table.counting_rule, *table.revisions]
    nothing = [] if table.rows else [Text("no rows")]
    return Group(grid, *nothing, *(Text(sentence, style="dim") for sentence in below))


def to_csv(table: Table) -> str:
    """The table as CSV (RFC 4180, with a header). An estimate has additional columns for its interval and n."""
    header = [name for column in table.columns for name in _names(column)]
    rows = (
        [value for cell, column in zip(row, table.columns, strict=True) for value in _values(cell, column)]
        for row in table.rows
    )
    return csv_text([header, *rows])


def to_json(table: Table) -> dict[str, Any]:
    """The table as JSON. Each row is an object, an estimate is an object, and a missing number is a word."""
    rows = [{name: _as_json(cell) for name, cell in record.items()} for record in table.records()]
    return {**vars(table), "columns": [{**vars(column)} for column in table.columns], "rows": rows}


def from_json(body: Mapping[str, Any]) -> Table:
    """The table that ``to_json`` has turned into JSON."""
    columns = tuple(Column(**column) for column in body["columns"])
    rows = tuple(tuple(_from_json(row[column.name]) for column in columns) for row in body["rows"])
    sentences = {name: tuple(body[name]) for name in ("notes", "revisions", "remade_from")}
    return Table(**{**body, **sentences, "columns": columns, "rows": rows})


def cell_text(cell: Cell, kind: Kind) -> str:
    """A cell as text for people."""
    match cell:
        case None:
            return ""
        case Rate():
            return _rate(cell)
        case Estimate():
            return _estimate(cell, kind)
        case str():
            return rule_label(cell) if kind == "rule" else cell
        case _:
            return _number(cell, kind)


def _rate(rate: Rate) -> str:
    if rate.share is None or rate.interval is None:
        return Missing.none_counted
    low, high = (100 * limit for limit in rate.interval)
    return f"{100 * rate.share:.1f} % ({rate.count}/{rate.n}; {low:.0f} to {high:.0f})"


def _estimate(estimate: Estimate, kind: Kind) -> str:
    if estimate.value is None:
        return Missing.not_measured
    if estimate.interval is None:
        return f"{_number(estimate.value, kind)} (n {estimate.n})"
    low, high = (_number(limit, kind) for limit in estimate.interval)
    return f"{_number(estimate.value, kind)} ({low} to {high}; n {estimate.n})"


def _number(value: float, kind: Kind) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if kind in ("rate", "percent"):
        return f"{value:g} %"
    return significant(value)


def _names(column: Column) -> list[str]:
    return [column.name, *(f"{column.name}_{more}" for more in _MORE.get(column.kind, ()))]


def _values(cell: Cell, column: Column) -> Iterator[Any]:
    """The values of a cell in a file. There is one for each name that the column has in files."""
    value = _as_json(cell)
    if isinstance(value, dict):
        yield from value.values()
    else:
        yield value
        yield from [None] * (len(_names(column)) - 1)


def _as_json(cell: Cell) -> Any:
    match cell:
        case Rate(count, n):
            low, high = cell.interval or (None, None)
            shares = {"percent": _percent(cell.share), "low": _percent(low), "high": _percent(high)}
            return {**shares, "count": count, "n": n}
        case Estimate(value, interval, n):
            low, high = interval or (None, None)
            return {"value": value, "low": low, "high": high, "n": n}
        case _:
            return cell


def _from_json(value: Any) -> Cell:
    match value:
        case {"count": count, "n": n}:
            return Rate(count, n)
        case {"value": figure, "low": low, "high": high, "n": n}:
            return Estimate(figure, None if low is None else (low, high), n)
        case str() if value in tuple(Missing):
            return Missing(value)
        case _:
            cell: Cell = value
            return cell


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
