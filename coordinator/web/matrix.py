"""The matrix of a campaign: functions down, targets across, found by a query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from coordinator.context import Context
from coordinator.csv_text import csv_text
from coordinator.errors import QueryError
from coordinator.formats import ratio
from coordinator.parameters import CampaignId, Text
from coordinator.results import service
from coordinator.results.api import VerdictParameter
from coordinator.results.models import Cell, Judgement, MatrixPage, MatrixRow, Module, WhichVerdict
from coordinator.results.query import EXAMPLES
from coordinator.results.service import MatrixQuery
from coordinator.targets.models import Target
from coordinator.web.filters import milliseconds
from coordinator.web.pages import SECURITY, page

router = APIRouter()

ROWS = 100
"""Functions on a page."""
QueryText = Annotated[Text, Query(max_length=1000)]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a cell shows: the verdict asked for, the other one where it differs, the rest as remarks."""

    main: Judgement
    other: Judgement | None
    other_is: str
    steady: str | None
    ratio: str | None
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    function: str
    short: str
    address: str
    host_only: bool
    cells: tuple[tuple[Target, Shown | None], ...]


@dataclass(frozen=True, slots=True)
class Group:
    module: Module
    lines: tuple[Line, ...]


@router.get("/campaigns/{campaign_id}/matrix")
async def matrix(
    request: Request,
    campaign_id: CampaignId,
    context: Context,
    verdict: VerdictParameter,
    q: QueryText = "",
    offset: Annotated[int, Query(ge=0, le=10**7)] = 0,
) -> Response:
    asked = MatrixQuery(q, verdict, offset=offset, limit=ROWS)
    try:
        part = await service.page(context.engine, campaign_id, asked)
    except QueryError as error:
        part = await service.page(context.engine, campaign_id, MatrixQuery("", verdict, limit=0))
        more: dict[str, Any] = {"groups": [], "pages": [], "per_page": ROWS, "error": error, "q": q}
        return page(request, "matrix.html", part, status=error.status, examples=EXAMPLES, **more)
    if request.query_params.get("as") == "csv":
        whole = service.pages(context.engine, campaign_id, asked)
        return StreamingResponse(_as_csv(whole), headers=SECURITY, media_type="text/csv; charset=utf-8")
    more = {"groups": groups(part), "pages": pages(part), "per_page": ROWS, "error": None, "q": q}
    return page(request, "matrix.html", part, examples=EXAMPLES, **more)


async def _as_csv(parts: AsyncIterator[MatrixPage]) -> AsyncIterator[str]:
    """All that the query finds, not only what is on the page."""
    yield csv_text([COLUMNS])
    async for part in parts:
        yield csv_text(list(record.values()) for record in records(part))


def groups(part: MatrixPage) -> list[Group]:
    """The part's rows by module, as the template shows them."""
    by_name = {(each.framework, each.name): each for each in part.modules}
    return [
        Group(by_name[key], tuple(_line(part, row) for row in rows))
        for key, rows in groupby(part.rows, key=lambda row: (row.framework, row.module))
    ]


def pages(part: MatrixPage) -> list[tuple[int, str, bool]]:
    """Offset, first function and whether it is this one, of every page of what was found; none if one holds all."""
    if part.found <= ROWS:
        return []
    return [
        (first, f"{first + 1}–{min(first + ROWS, part.found)}", first == part.offset)
        for first in range(0, part.found, ROWS)
    ]


def shown(cell: Cell, which: WhichVerdict) -> Shown:
    anywhere, on_device = cell.judged("anywhere"), cell.judged("on_device")
    assert anywhere is not None
    main, other = (on_device or anywhere, anywhere) if which == "on_device" else (anywhere, on_device)
    same = other is None or (other.verdict, other.fraction) == (main.verdict, main.fraction)
    return Shown(
        main=main,
        other=None if same else other,
        other_is="fallbacks pass" if which == "on_device" else "on device",
        steady=None if cell.steady_ms is None else milliseconds(cell.steady_ms),
        ratio=None if cell.ratio_to_cpu is None else ratio(cell.ratio_to_cpu),
        remarks=cell.remarks,
    )


def records(part: MatrixPage) -> Iterator[dict[str, Any]]:
    """One record a function and target, for csv: the values of ``COLUMNS``."""
    columns = {each.id: each for each in part.targets}
    for row in part.rows:
        for target_id, cell in sorted(row.cells.items()):
            column = columns[target_id]
            values = (
                *(row.framework, row.module, row.function, column.target, column.hardware, column.environment),
                *(column.suite_revision, column.simulated, "; ".join(column.sentences)),
                *(getattr(cell, name) for name in _OF_CELL),
            )
            yield dict(zip(COLUMNS, values, strict=True))


_OF_ROW = ("campaign_id", "framework", "module", "function", "target_id")
_OF_CELL = tuple(name for name in Cell.model_fields if name not in _OF_ROW)
COLUMNS = (
    *("framework", "module", "function", "target", "hardware", "environment", "suite_revision", "simulated", "notes"),
    *_OF_CELL,
)


def function_address(campaign_id: int, framework: str, function: str) -> str:
    return f"/campaigns/{campaign_id}/functions/{quote(framework)}/{quote(function)}"


def _line(part: MatrixPage, row: MatrixRow) -> Line:
    return Line(
        function=row.function,
        short=row.function.removeprefix(f"{row.module}.") if row.module else row.function,
        address=function_address(part.campaign_id, row.framework, row.function),
        host_only=row.host_only,
        cells=tuple(
            (column, shown(row.cells[column.id], part.verdict) if column.id in row.cells else None)
            for column in part.targets
        ),
    )
