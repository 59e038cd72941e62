"""One function over campaigns and versions of its framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from coordinator.context import Context
from coordinator.parameters import PathName
from coordinator.results import service
from coordinator.results.models import History, HistoryCell
from coordinator.web.matrix import function_address
from coordinator.web.pages import page
from coordinator.web.plots import Scale, dot, scale_of

router = APIRouter()


@dataclass(frozen=True)
class Line:
    """The cells of one device, hardware and suite, newest first."""

    suite: str
    device: str
    hardware: str
    sentences: tuple[str, ...]
    cells: tuple[HistoryCell, ...]
    steady: Scale | None
    """That the steady times of all its cells fit on."""


@router.get("/history/{framework}/{function:path}")
async def history(request: Request, framework: PathName, function: PathName, context: Context) -> Response:
    found = await service.history(context.engine, framework, function)
    rows = list(records(found))
    return page(
        request, "history.html", found, rows=rows, lines=lines(found), function_address=function_address, dot=dot
    )


def lines(found: History) -> list[Line]:
    by_line: dict[tuple[str, str, str], list[HistoryCell]] = {}
    for each in found.cells:
        by_line.setdefault((each.device, each.hardware, each.suite), []).append(each)
    return [
        Line(
            suite=suite,
            device=device,
            hardware=hardware,
            sentences=tuple(dict.fromkeys(said for each in cells for said in each.sentences)),
            cells=tuple(cells),
            steady=_scale(cells),
        )
        for (device, hardware, suite), cells in sorted(by_line.items())
    ]


def records(found: History) -> Iterator[dict[str, Any]]:
    for each in found.cells:
        yield each.model_dump(exclude={"sentences", "module"}) | {"notes": "; ".join(each.sentences)}


def _scale(cells: Sequence[HistoryCell]) -> Scale | None:
    found = scale_of([[each.steady_ms for each in cells if each.steady_ms is not None]])
    return found and found.at_least(10)
