"""One function over campaigns and versions of its framework."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from coordinator.context import Context
from coordinator.parameters import PathName
from coordinator.results import service
from coordinator.results.models import History, Past
from coordinator.web.matrix import function_address
from coordinator.web.pages import page
from coordinator.web.plots import Scale, dot, scale_of

router = APIRouter()


@dataclass(frozen=True)
class Line:
    """One device's cells, newest first."""

    device: str
    hardware: str
    sentences: tuple[str, ...]
    cells: tuple[Past, ...]
    changed: tuple[bool, ...]
    """Of each cell, whether its verdict is another than that of the cell before it in time, of the same revision."""
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
    by_device: dict[tuple[str, str], list[Past]] = {}
    for each in found.cells:
        by_device.setdefault((each.device, each.hardware), []).append(each)
    return [
        Line(
            device=device,
            hardware=hardware,
            sentences=tuple(dict.fromkeys(said for each in cells for said in each.sentences)),
            cells=tuple(cells),
            changed=changed(cells),
            steady=_scale(cells),
        )
        for (device, hardware), cells in sorted(by_device.items())
    ]


def changed(cells: Sequence[Past]) -> tuple[bool, ...]:
    """Newest first; only cells of one suite revision are compared."""
    told = []
    for number, each in enumerate(cells):
        earlier = next((old for old in cells[number + 1 :] if old.suite_revision == each.suite_revision), None)
        told.append(earlier is not None and _verdicts(earlier) != _verdicts(each))
    return tuple(told)


def records(found: History) -> Iterator[dict[str, Any]]:
    for each in found.cells:
        yield each.model_dump(exclude={"sentences", "module"}) | {"notes": "; ".join(each.sentences)}


def _scale(cells: Sequence[Past]) -> Scale | None:
    found = scale_of([[each.steady_ms for each in cells if each.steady_ms is not None]])
    return found and found.at_least(10)


def _verdicts(cell: Past) -> tuple[str, str | None]:
    return cell.verdict, cell.verdict_on_device
