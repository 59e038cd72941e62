"""Serves the matrix of a campaign in pages, and keeps it up to date in the background."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.database.outage import DATABASE_AWAY
from coordinator.errors import NotFoundError, reason_of
from coordinator.figures.counting import ANYWHERE, ON_DEVICE, CountingRule, counts_of
from coordinator.process.logs import get_logger
from coordinator.results import refresh_store, store
from coordinator.results.known_names import check_filters, nobody_charted
from coordinator.results.models import (
    Cell,
    Freshness,
    FunctionKey,
    History,
    HistoryCell,
    MatrixPage,
    MatrixRow,
    Module,
)
from coordinator.results.query import check_targets, parse
from coordinator.targets import store as targets_store
from coordinator.targets.models import Target

log = get_logger(__name__)

SMALL = 5000
"""The maximum number of outcomes of a campaign whose matrix is refreshed while its reader waits."""
AT_ONCE = 20
"""The maximum number of small campaigns whose matrices are refreshed while a reader waits for a page about all
campaigns.
"""
AT_ONCE_ROWS = 500
LOOK_EVERY_S = 2.0
SHARE = 0.05
"""The maximum share of time spent on refreshing the matrix of a running campaign."""


@dataclass(frozen=True)
class MatrixQuery:
    """The part of a matrix that a reader selects: a query, a rule, a device, and a range of rows."""

    query: str = ""
    rule: CountingRule = ANYWHERE
    """The counting rule with which the words of the query are evaluated."""
    device: str | None = None
    """The device. Only its targets are shown, and only functions with an outcome on one of them."""
    offset: int = 0
    limit: int | None = None


async def page(engine: AsyncEngine, campaign_id: int, request: MatrixQuery) -> MatrixPage:
    """Read one page of the matrix.

    Raises ``QueryError`` for a query that cannot be parsed or names no target of the campaign, and ``UnknownNameError``
    for a device that the campaign does not have.
    """
    query = parse(request.query)
    campaign = await campaigns.detail(engine, campaign_id)
    freshness = await ensure_fresh(engine, campaign_id)
    async with engine.connect() as connection:
        await check_filters(connection, campaign_id, device=request.device)
    whole = await targets(engine, campaign_id)
    selected_targets = [target for target in whole if request.device in (None, target.device)]
    check_targets(query, selected_targets, request.query)
    async with engine.connect() as connection:
        keys, functions = await store.keys(
            connection, campaign_id, query, selected_targets, request.rule, of_all=len(selected_targets) == len(whole)
        )
        page_keys = (
            keys[request.offset :] if request.limit is None else keys[request.offset : request.offset + request.limit]
        )
        cells = await store.cells(connection, campaign_id, page_keys)
    ids = {target.id for target in selected_targets}
    return MatrixPage(
        campaign_id=campaign_id,
        name=campaign.name,
        suite=campaign.suite,
        sample=campaign.sample,
        state=campaign.state,
        rule=request.rule.name,
        query=request.query,
        freshness=freshness,
        targets=selected_targets,
        modules=modules(keys),
        found=len(keys),
        functions=functions,
        offset=request.offset,
        rows=rows(page_keys, [cell for cell in cells if cell.target_id in ids]),
    )


async def pages(engine: AsyncEngine, campaign_id: int, request: MatrixQuery) -> AsyncIterator[MatrixPage]:
    """All rows that match the query, in pages."""
    request = replace(request, offset=0, limit=AT_ONCE_ROWS)
    while True:
        matrix = await page(engine, campaign_id, request)
        yield matrix
        request = replace(request, offset=request.offset + AT_ONCE_ROWS)
        if request.offset >= matrix.found:
            return


async def targets(engine: AsyncEngine, campaign_id: int) -> list[Target]:
    async with engine.connect() as connection:
        return await targets_store.of_campaign(connection, campaign_id)


async def ensure_fresh(engine: AsyncEngine, campaign_id: int, *, at_any_size: bool = False) -> Freshness:
    """Return the freshness of the matrix. A small campaign's matrix is refreshed first; with ``at_any_size``, a large
    campaign's too.
    """
    async with engine.connect() as connection:
        state = await refresh_store.now(connection, campaign_id)
    if state is not None and not state.current and (at_any_size or state.done <= SMALL):
        await _refresh(engine, campaign_id, wait=True)
        async with engine.connect() as connection:
            state = await refresh_store.now(connection, campaign_id)
    if state is None:
        return Freshness(outcomes=0, of=0, at=None, current=True)
    return Freshness(outcomes=state.kept, of=state.done, at=state.made_at, current=state.current)


async def cells_of(engine: AsyncEngine, campaign_id: int, framework: str, function: str) -> list[Cell]:
    """The cells of one function, which are one row of the matrix."""
    await ensure_fresh(engine, campaign_id)
    async with engine.connect() as connection:
        return await store.cells(connection, campaign_id, [FunctionKey(framework, "", function)])


async def column_of(engine: AsyncEngine, campaign_id: int, target_id: int) -> list[Cell]:
    """The cells of one target, which are one column of the matrix."""
    await ensure_fresh(engine, campaign_id)
    async with engine.connect() as connection:
        return await store.all_cells(connection, campaign_id, target_id)


async def history(engine: AsyncEngine, framework: str, function: str) -> History:
    """Every cell of the function in any campaign. Matrices of small campaigns that have just ended are updated
    first."""
    async with engine.connect() as connection:
        behind = [
            campaign.campaign_id
            for campaign in await refresh_store.outdated_campaigns(connection)
            if campaign.done <= SMALL
        ]
    for campaign_id in behind[:AT_ONCE]:
        await ensure_fresh(engine, campaign_id)
    async with engine.connect() as connection:
        cells = await store.history(connection, framework, function)
        if not cells:
            raise NotFoundError(await nobody_charted(connection, framework, function))
    return History(framework=framework, function=function, cells=mark_changes([_history_cell(row) for row in cells]))


def _history_cell(row: Row[Any]) -> HistoryCell:
    target = Target.model_validate(row._mapping)
    return HistoryCell.model_validate(
        {**row._mapping, **target.model_dump(), "counts": counts_of(row.counts), "changed": False}
    )


def mark_changes(newest_first: Sequence[HistoryCell]) -> list[HistoryCell]:
    """Mark each cell whose verdict differs from the previous comparable cell in time. Cells of the same suite with the
    same cases are comparable."""
    cells: list[HistoryCell] = []
    earlier: dict[tuple[str, ...], tuple[str, str | None]] = {}
    for cell in reversed(newest_first):
        line = (cell.device, cell.hardware, cell.suite, cell.cases_digest or cell.suite_revision)
        verdicts = (cell.anywhere.verdict, cell.verdict_by(ON_DEVICE))
        cells.append(cell.model_copy(update={"changed": earlier.get(line, verdicts) != verdicts}))
        earlier[line] = verdicts
    return cells[::-1]


async def refresh_forever(engine: AsyncEngine) -> None:
    """Keep matrices up to date until this coroutine is cancelled. Several coordinators can do this at the same time."""
    while True:
        try:
            await refresh_outdated(engine)
        except DATABASE_AWAY as error:
            log.warning("the matrices cannot be brought up to date", reason=reason_of(error))
        await asyncio.sleep(LOOK_EVERY_S)


async def refresh_outdated(engine: AsyncEngine) -> None:
    """Refresh each outdated matrix. While a campaign runs, its matrix is refreshed less often if a refresh takes
    long."""
    async with engine.connect() as connection:
        behind = await refresh_store.outdated_campaigns(connection)
    for matrix in behind:
        if not matrix.running or matrix.age_s * SHARE >= matrix.took_s:
            await _refresh(engine, matrix.campaign_id, wait=False)


async def _refresh(engine: AsyncEngine, campaign_id: int, *, wait: bool) -> None:
    async with engine.begin() as connection:
        if await refresh_store.lock_exclusively(connection, campaign_id, wait=wait):
            state = await refresh_store.now(connection, campaign_id)
            # Another coordinator may have refreshed it while it held the lock.
            if state is not None and not state.current:
                await refresh_store.refresh(connection, campaign_id, anew=not state.as_defined)


def modules(all_keys: Sequence[FunctionKey]) -> list[Module]:
    groups = []
    first = 0
    for (framework, name), keys in groupby(all_keys, key=lambda key: (key.framework, key.module)):
        functions = len(list(keys))
        groups.append(Module(framework=framework, name=name, functions=functions, first=first))
        first += functions
    return groups


def rows(page_keys: Sequence[FunctionKey], cells: Sequence[Cell]) -> list[MatrixRow]:
    by_row: dict[tuple[str, str], dict[int, Cell]] = defaultdict(dict)
    for cell in cells:
        by_row[cell.framework, cell.function][cell.target_id] = cell
    matrix_rows = []
    for key in page_keys:
        of_key = by_row[key.framework, key.function]
        host_only = any(cell.host_only for cell in of_key.values())
        matrix_rows.append(MatrixRow.model_construct(**key._asdict(), host_only=host_only, cells=of_key))
    return matrix_rows
