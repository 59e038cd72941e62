"""The matrix of a campaign, some rows at a time; kept up to date beside the requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from sqlalchemy import Row as Found
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.database.outage import DATABASE_AWAY, reason_of
from coordinator.errors import NotFoundError
from coordinator.reports import store as reports
from coordinator.reports.models import Target
from coordinator.results import store
from coordinator.results.models import Cell, Column, Counting, History, Key, Made, Module, Part, Past, Row
from coordinator.results.query import check_targets, parse
from coordinator.targets.selectors import TargetName, spelled

log = logging.getLogger(__name__)

SMALL = 5000
"""A campaign of so few outcomes is added up while its reader waits."""
AT_ONCE = 20
"""And so many small campaigns for a page that looks at all."""
AT_ONCE_ROWS = 500
LOOK_EVERY_S = 2.0
SHARE = 0.05
"""Of the time, at most, goes into adding up a campaign that still runs."""


@dataclass(frozen=True)
class Asked:
    query: str = ""
    by: Counting = "verdict"
    offset: int = 0
    limit: int | None = None


async def part(engine: AsyncEngine, campaign_id: int, asked: Asked) -> Part:
    """Raises ``QueryError`` for a query that cannot be read, or names no target of the campaign."""
    query = parse(asked.query)
    campaign = await campaigns.detail(engine, campaign_id)
    made = await brought_up(engine, campaign_id)
    columns = await targets(engine, campaign_id)
    names = [TargetName(each.id, each.framework, each.version, each.device) for each in columns]
    check_targets(query, names, asked.query)
    async with engine.connect() as connection:
        found, functions = await store.keys(connection, campaign_id, query, names, asked.by)
        shown = found[asked.offset :] if asked.limit is None else found[asked.offset : asked.offset + asked.limit]
        cells = await store.cells(connection, campaign_id, shown)
    return Part(
        campaign_id=campaign_id,
        name=campaign.name,
        suite=campaign.suite,
        state=campaign.state,
        counted_by=asked.by,
        query=asked.query,
        made=made,
        targets=columns,
        modules=modules(found),
        found=len(found),
        functions=functions,
        offset=asked.offset,
        rows=rows(shown, cells),
    )


async def parts(engine: AsyncEngine, campaign_id: int, asked: Asked) -> AsyncIterator[Part]:
    """All rows that the query finds, some at a time."""
    asked = replace(asked, offset=0, limit=AT_ONCE_ROWS)
    while True:
        found = await part(engine, campaign_id, asked)
        yield found
        asked = replace(asked, offset=asked.offset + AT_ONCE_ROWS)
        if asked.offset >= found.found:
            return


async def targets(engine: AsyncEngine, campaign_id: int) -> list[Column]:
    async with engine.connect() as connection:
        found = await reports.targets(connection, campaign_id)
    return [column(each) for each in found]


def column(target: Target) -> Column:
    return Column(
        id=target.id,
        target=spelled(target),
        framework=target.framework,
        version=target.version,
        device=target.device,
        hardware=target.hardware,
        environment=target.environment,
        suite_revision=target.revision,
        simulated=target.simulated,
        sentences=list(target.sentences),
    )


async def brought_up(engine: AsyncEngine, campaign_id: int) -> Made:
    """What the matrix stands at; a small campaign's is first brought up to date."""
    async with engine.connect() as connection:
        found = await store.now(connection, campaign_id)
    if found is not None and not found.current and found.done <= SMALL:
        await _add_up(engine, campaign_id, wait=True)
        async with engine.connect() as connection:
            found = await store.now(connection, campaign_id)
    if found is None:
        return Made(outcomes=0, of=0, at=None, current=True)
    return Made(outcomes=found.kept, of=found.done, at=found.made_at, current=found.current)


async def cells_of(engine: AsyncEngine, campaign_id: int, framework: str, function: str) -> list[Cell]:
    """One row of the matrix."""
    await brought_up(engine, campaign_id)
    async with engine.connect() as connection:
        return await store.cells(connection, campaign_id, [Key(framework, "", function)])


async def column_of(engine: AsyncEngine, campaign_id: int, target_id: int) -> list[Cell]:
    """One column of the matrix."""
    await brought_up(engine, campaign_id)
    async with engine.connect() as connection:
        return await store.all_cells(connection, campaign_id, target_id)


async def history(engine: AsyncEngine, framework: str, function: str) -> History:
    """Every cell that any campaign has of the function; of campaigns that have just ended too, if they are small."""
    async with engine.connect() as connection:
        behind = [each.campaign_id for each in await store.outdated(connection) if each.done <= SMALL]
    for campaign_id in behind[:AT_ONCE]:
        await brought_up(engine, campaign_id)
    async with engine.connect() as connection:
        found = await store.history(connection, framework, function)
    if not found:
        raise NotFoundError(f"no campaign has an outcome of a function {function} of {framework}")
    return History(framework=framework, function=function, cells=[_past(row) for row in found])


def _past(row: Found[Any]) -> Past:
    target = Target(
        id=row.target_id,
        suite=row.suite,
        revision=row.revision,
        notes=tuple(row.notes),
        **{name: getattr(row, name) for name in _OF_TARGET},
    )
    values = {**row._mapping, "target": spelled(target), "suite_revision": row.revision}
    return Past.model_validate({**values, "sentences": list(target.sentences)})


_OF_TARGET = ("framework", "version", "device", "device_class", "hardware", "environment", "simulated")


async def keep(engine: AsyncEngine) -> None:
    """Bring matrices up to date, until cancelled. Several coordinators can do so at once."""
    while True:
        try:
            await keep_once(engine)
        except DATABASE_AWAY as error:
            log.warning("the matrices cannot be brought up to date, trying again: %s", reason_of(error))
        await asyncio.sleep(LOOK_EVERY_S)


async def keep_once(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        behind = await store.outdated(connection)
    for each in behind:
        if each.age_s * SHARE >= each.took_s:
            await _add_up(engine, each.campaign_id, wait=False)


async def _add_up(engine: AsyncEngine, campaign_id: int, *, wait: bool) -> None:
    async with engine.begin() as connection:
        if await store.alone(connection, campaign_id, wait=wait):
            found = await store.now(connection, campaign_id)
            # Whom we waited for may have done it.
            if found is not None and not found.current:
                await store.add_up(connection, campaign_id)


def modules(found: Sequence[Key]) -> list[Module]:
    groups = []
    first = 0
    for (framework, name), each in groupby(found, key=lambda key: (key.framework, key.module)):
        functions = len(list(each))
        groups.append(Module(framework=framework, name=name, functions=functions, first=first))
        first += functions
    return groups


def rows(shown: Sequence[Key], cells: Sequence[Cell]) -> list[Row]:
    by_row: dict[tuple[str, str], dict[int, Cell]] = {}
    for each in cells:
        by_row.setdefault((each.framework, each.function), {})[each.target_id] = each
    return [
        Row.model_construct(
            framework=key.framework,
            module=key.module,
            function=key.function,
            host_only=any(cell.host_only for cell in by_row.get((key.framework, key.function), {}).values()),
            cells=by_row.get((key.framework, key.function), {}),
        )
        for key in shown
    ]
