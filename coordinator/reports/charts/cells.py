"""Cells of a table as numbers and words of a chart. Pure."""

from __future__ import annotations

from coordinator.reports.table import Cell
from coordinator.results.statistics import Rate


def percent_of(cell: Cell) -> float | None:
    """The share, counted here or printed elsewhere; None where there is none."""
    if isinstance(cell, Rate):
        return None if cell.share is None else 100 * cell.share
    return float(cell) if isinstance(cell, int | float) else None


def interval_of(cell: Cell) -> dict[str, float]:
    """The ends of the interval in percent; empty where there is none."""
    if not isinstance(cell, Rate) or cell.interval is None:
        return {}
    return {"low": 100 * cell.interval[0], "high": 100 * cell.interval[1]}


def size_of(cell: Cell) -> int | None:
    """How many were counted; None where that was not published."""
    return cell.n if isinstance(cell, Rate) else None


def text_of(cell: Cell, unpublished: str = "") -> str:
    """The share as its tooltip has it; ``unpublished`` is added where n is not known."""
    if isinstance(cell, Rate) and cell.share is not None:
        return f"{100 * cell.share:.1f} % ({cell.count} of {cell.n})"
    return f"{cell:g} %{unpublished}" if isinstance(cell, int | float) else str(cell)
