"""One function over campaigns and versions of its framework."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from fastapi import Request, Response

from coordinator.http.context import Context
from coordinator.http.parameters import PathName
from coordinator.http.routers import PageRouter
from coordinator.results import service
from coordinator.results.models import HistoryCell
from coordinator.web.pages import page
from coordinator.web.plots import PlotScale, dot, scale_of

router = PageRouter()

Line = tuple[str, str, str]
"""Device, hardware and suite, which identify a line."""


@router.get("/history/{framework}/{function:path}")
async def history(request: Request, framework: PathName, function: PathName, context: Context) -> Response:
    cell_history = await service.history(context.engine, framework, function)
    rows = [
        cell.model_dump(exclude={"sentences", "module", "counts"})
        | cell.columns()
        | {"notes": "; ".join(cell.sentences)}
        for cell in cell_history.cells
    ]
    return page(
        request, "history.html", cell_history, rows=rows, lines=lines(cell_history.cells), scale_of_line=_scale, dot=dot
    )


def lines(cells: Sequence[HistoryCell]) -> dict[Line, list[HistoryCell]]:
    """The cells of each line, newest first."""
    of_line = attrgetter("device", "hardware", "suite")
    return {line: list(of_it) for line, of_it in groupby(sorted(cells, key=of_line), key=of_line)}


def _scale(cells: Sequence[HistoryCell]) -> PlotScale | None:
    """A scale that fits the steady times of all these cells."""
    scale = scale_of([[cell.low_ms for cell in cells if cell.low_ms is not None]])
    return scale and scale.at_least(10)
