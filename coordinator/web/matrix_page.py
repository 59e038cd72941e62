"""The matrix of a campaign: functions in rows, targets in columns, filtered by a query."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from fastapi.responses import StreamingResponse
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access.caller import CurrentCaller
from coordinator.campaigns import service as campaigns
from coordinator.catalogue.coverage import sentence
from coordinator.catalogue.sample import sample_sentence
from coordinator.errors import QueryError
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, RULES, CountingRule, Counts
from coordinator.http.context import Context
from coordinator.http.parameters import CampaignId
from coordinator.http.routers import PageRouter
from coordinator.http.storable import Text
from coordinator.results import service
from coordinator.results.api import FunctionRuleParameter
from coordinator.results.coverage import of_matrix
from coordinator.results.models import CELL_COLUMNS, Cell, MatrixPage, MatrixRow, Module
from coordinator.results.query import EXAMPLES
from coordinator.results.service import MatrixQuery
from coordinator.targets.models import Target
from coordinator.text.csv_text import csv_text
from coordinator.web.pages import page

router = PageRouter()

ROWS = 100
"""The number of functions per page."""
USUAL_QUERIES = (
    ("fails:", "fail"),
    ("falls-back:", "fall back"),
    ("slower:>10", "take over 10 times as long as on the CPU"),
)
"""Queries that the page offers as links, with the verb of their sentence."""
QueryText = Annotated[Text, Query(max_length=1000)]


async def _room_for_file(request: Request, context: Context, caller: CurrentCaller) -> AsyncIterator[None]:
    """Hold a download slot until a file has been sent. A page needs no slot."""
    if request.query_params.get("as") != "csv":
        yield
        return
    async with context.downloads.hold(caller.name):
        yield


@router.get("/campaigns/{campaign_id}/matrix", dependencies=[Depends(_room_for_file)])
async def matrix(
    request: Request,
    campaign_id: CampaignId,
    context: Context,
    rule: FunctionRuleParameter,
    q: QueryText = "",
    offset: Annotated[int, Query(ge=0, le=10**7)] = 0,
) -> Response:
    query, error = MatrixQuery(q, rule, offset=offset, limit=ROWS), None
    try:
        part = await service.page(context.engine, campaign_id, query)
    except QueryError as refused:
        part, error = await service.page(context.engine, campaign_id, MatrixQuery("", rule, limit=0)), refused
    if request.query_params.get("as") == "csv" and error is None:
        lines = _csv(service.pages(context.engine, campaign_id, query))
        return StreamingResponse(lines, media_type="text/csv")
    return page(
        request,
        "matrix.html",
        part,
        status=error.status if error else 200,
        tables=list(tables(part, rule)),
        rules=RULES,
        other_label=other_rule(rule).label,
        per_page=ROWS,
        fit_class=fit_class,
        error=error,
        q=q,
        examples=EXAMPLES,
        usual_queries=USUAL_QUERIES,
        sample=await _sample_sentence(context.engine, campaign_id, part),
        coverage=[sentence(coverage) for coverage in await of_matrix(context.engine, campaign_id, part.suite)],
    )


async def _sample_sentence(engine: AsyncEngine, campaign_id: int, part: MatrixPage) -> str | None:
    if part.sample is None:
        return None
    sample = await campaigns.sample(engine, campaign_id)
    return sample_sentence(sample, part.suite) if sample is not None else None


@dataclass(frozen=True)
class FrameworkTable:
    """The functions of one framework on this page, with the targets on which any of them has a cell."""

    framework: str
    targets: tuple[Target, ...]
    modules: tuple[tuple[Module, list[tuple[MatrixRow, list[Any]]]], ...]
    """Each module with its rows. For every target, a row has the cell and its counts by two rules; None without a
    cell."""


def tables(part: MatrixPage, rule: CountingRule) -> Iterator[FrameworkTable]:
    """The rows by framework, and for each framework by module."""
    by_name = {(module.framework, module.name): module for module in part.modules}
    for framework, own in groupby(part.rows, key=lambda row: row.framework):
        rows = list(own)
        target_ids = {target_id for row in rows for target_id in row.cells}
        targets = tuple(target for target in part.targets if target.id in target_ids)
        modules = (
            (
                by_name[framework, name],
                [(row, [_cell_counts(row, target, rule) for target in targets]) for row in of_module],
            )
            for name, of_module in groupby(rows, key=lambda row: row.module)
        )
        yield FrameworkTable(framework, targets, tuple(modules))


def fit_class(targets: int) -> str:
    """The CSS class of a matrix with this number of targets: how wide the window must be so that the matrix fits. A
    matrix that does not fit is scrolled within a frame."""
    return next((f" {name}" for most, name in _FITS.items() if targets <= most), "")


def _cell_counts(row: MatrixRow, target: Target, rule: CountingRule) -> tuple[Any, ...]:
    cell = row.cells.get(target.id)
    return (target, cell, *by_two_rules(cell, rule)) if cell else (target, None, None, None)


def other_rule(rule: CountingRule) -> CountingRule:
    """The rule whose counts are also shown where they differ from the counts by this rule."""
    return ON_DEVICE if rule == ANYWHERE else ANYWHERE


def by_two_rules(cell: Cell, rule: CountingRule) -> tuple[Counts, Counts | None]:
    """The counts that are shown first, and the counts by the other rule if they differ."""
    first, second = cell.shown_counts(rule), cell.counts_by(other_rule(rule))
    same = second is None or (second.verdict, second.fraction) == (first.verdict, first.fraction)
    return first, None if same else second


async def _csv(parts: AsyncIterator[MatrixPage]) -> AsyncIterator[str]:
    """One row for each function and target. The file has all rows that match the query, not only those of one page."""
    yield csv_text([(*_OF_ROW, *_OF_TARGET, "notes", *_OF_CELL, "fails_on")])
    async for part in parts:
        yield csv_text(_lines(part))


def _lines(part: MatrixPage) -> Iterator[list[Any]]:
    targets = {target.id: target for target in part.targets}
    for row in part.rows:
        for target_id, cell in sorted(row.cells.items()):
            target = targets[target_id]
            values = [getattr(of, name) for of, names in ((row, _OF_ROW), (target, _OF_TARGET)) for name in names]
            columns = cell.columns()
            figures = (columns[name] for name in _OF_CELL)
            yield [*values, "; ".join(target.sentences), *figures, cell.fails_on]


_FITS = {2: "fits-phone", 4: "fits-tablet", 7: "fits-desk"}
"""The CSS classes by the greatest number of targets."""
_OF_ROW = ("framework", "module", "function")
_OF_TARGET = ("target", "hardware", "environment", "suite_revision", "simulated")
_LISTS = ("failed_inputs", "passed_inputs")
"""Columns that are lists. The csv has their meaning in words instead."""
_OF_CELL = tuple(name for name in CELL_COLUMNS if name not in _LISTS)
