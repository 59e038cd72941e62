"""A table as text for the terminal, as CSV and as JSON. What a file holds is exact; what people see is rounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table as Drawn
from rich.text import Text

from coordinator.csv_text import csv_text
from coordinator.formats import significant
from coordinator.reports.table import Cell, Column, Kind, Missing, Table
from coordinator.results.statistics import Estimate, Rate


def to_terminal(table: Table) -> RenderableType:
    """The table with its title above, and its notes, counting rule and revisions below."""
    drawn = Drawn(title=Text(table.title, style="bold"), title_justify="left", pad_edge=False, show_edge=False)
    for column in table.columns:
        unit = f", {column.unit}" if column.unit else ""
        drawn.add_column(Text(f"{column.label}{unit}"), justify="left" if column.kind == "text" else "right")
    for row in table.rows:
        drawn.add_row(*(Text(shown(cell, column.kind)) for cell, column in zip(row, table.columns, strict=True)))
    below = [*table.notes, table.counting_rule, *table.revisions]
    nothing = [] if table.rows else [Text("no figures")]
    return Group(drawn, *nothing, *(Text(each, style="dim") for each in below))


def to_csv(table: Table) -> str:
    """By RFC 4180 with a header; a figure has columns of its own for its interval and n."""
    header = [name for column in table.columns for name in _names(column)]
    rows = (
        [v for cell, column in zip(row, table.columns, strict=True) for v in _flat(cell, column)] for row in table.rows
    )
    return csv_text([header, *rows])


def to_json(table: Table) -> dict[str, Any]:
    """Rows as objects; a figure is an object, and a word stands where there is none."""
    return {
        "id": table.id,
        "title": table.title,
        "columns": [
            {"name": each.name, "label": each.label, "kind": each.kind, "unit": each.unit} for each in table.columns
        ],
        "rows": [{name: _value(cell) for name, cell in record.items()} for record in table.records()],
        "notes": list(table.notes),
        "counting_rule": table.counting_rule,
        "revisions": list(table.revisions),
        "query": table.query,
        "remade_from": list(table.remade_from),
    }


def from_json(said: Mapping[str, Any]) -> Table:
    """What ``to_json`` wrote."""
    columns = tuple(Column(**each) for each in said["columns"])
    return Table(
        id=said["id"],
        title=said["title"],
        columns=columns,
        rows=tuple(tuple(_cell(row[each.name]) for each in columns) for row in said["rows"]),
        notes=tuple(said["notes"]),
        counting_rule=said["counting_rule"],
        revisions=tuple(said["revisions"]),
        query=said["query"],
        remade_from=tuple(said["remade_from"]),
    )


def shown(cell: Cell, kind: Kind) -> str:
    """A cell as people read it."""
    if cell is None:
        return ""
    if isinstance(cell, Rate):
        return _rate(cell)
    if isinstance(cell, Estimate):
        return _estimate(cell, kind)
    return cell if isinstance(cell, str) else _number(cell, kind)


def _rate(rate: Rate) -> str:
    if rate.share is None or rate.interval is None:
        return Missing.none_counted
    low, high = (100 * each for each in rate.interval)
    return f"{100 * rate.share:.1f} % ({rate.count}/{rate.n}; {low:.0f} to {high:.0f})"


def _estimate(estimate: Estimate, kind: Kind) -> str:
    if estimate.value is None:
        return Missing.not_measured
    if estimate.interval is None:
        return f"{_number(estimate.value, kind)} (n {estimate.n})"
    low, high = (_number(each, kind) for each in estimate.interval)
    return f"{_number(estimate.value, kind)} ({low} to {high}; n {estimate.n})"


def _number(value: float, kind: Kind) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if kind in ("rate", "percent"):
        return f"{value:g} %"
    return significant(value)


def _names(column: Column) -> list[str]:
    if column.kind == "rate":
        return [column.name, *(f"{column.name}_{each}" for each in ("low", "high", "count", "n"))]
    if column.kind == "ratio":
        return [column.name, *(f"{column.name}_{each}" for each in ("low", "high", "n"))]
    return [column.name]


def _flat(cell: Cell, column: Column) -> Iterator[Any]:
    """As many values as the column has names."""
    match cell:
        case Rate(count, n):
            yield from (_percent(cell.share), *map(_percent, cell.interval or (None, None)), count, n)
        case Estimate(value, interval, n):
            yield from (value, *(interval or (None, None)), n)
        case _:
            yield cell
            yield from [None] * (len(_names(column)) - 1)


def _value(cell: Cell) -> Any:
    match cell:
        case Rate(count, n):
            low, high = cell.interval or (None, None)
            return {
                "percent": _percent(cell.share),
                "low": _percent(low),
                "high": _percent(high),
                "count": count,
                "n": n,
            }
        case Estimate(value, interval, n):
            low, high = interval or (None, None)
            return {"value": value, "low": low, "high": high, "n": n}
        case _:
            return cell


def _cell(value: Any) -> Cell:
    match value:
        case {"count": count, "n": n}:
            return Rate(count, n)
        case {"value": figure, "low": low, "high": high, "n": n}:
            return Estimate(figure, None if low is None else (low, high), n)
        case str() if value in tuple(Missing):
            return Missing(value)
        case _:
            found: Cell = value
            return found


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
