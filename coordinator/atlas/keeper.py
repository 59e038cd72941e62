"""The coordinator's atlas: put together from the database when its evidence is another, and kept in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from time import monotonic

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.assess import service
from coordinator.atlas.overview import Atlas, atlas_of, column_of
from coordinator.atlas.pages import Page, front_page
from coordinator.atlas.uses import shipped_uses
from protocol.host_only import load_host_only

ORIGIN = "is of all campaigns of this coordinator"
WAIT_S = 1.0
"""How long a reader waits for an atlas that is being put together; then the one before is shown."""
PAUSE = 10
"""After it was put together, so many times as long as that took passes before it is again: a campaign that runs brings
an outcome every moment."""


Charts = frozenset[tuple[int, int, int, int]]
"""The charts of a coordinator, as ``service.list_charts`` returns them."""


@dataclass(frozen=True)
class KeptAtlas:
    """An atlas with its front page, and whether there is newer evidence that it lacks."""

    atlas: Atlas
    front: Page
    """Made once: its index of all names and its changes take longer than to render it."""
    charts: Charts
    is_behind: bool = False


class AtlasKeeper:
    """Keeps one atlas, without its cases: these are as large as the database is.

    A new one is put together when somebody asks and the evidence is another, once at a time.
    """

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._kept: KeptAtlas | None = None
        self._building: asyncio.Task[None] | None = None
        self._not_before = 0.0

    async def current(self) -> KeptAtlas:
        """The atlas of all evidence, or, while that is being put together, the one before."""
        charts = await service.list_charts(self._engine)
        is_current = self._kept is not None and charts == self._kept.charts
        if not is_current and (building := self._build_in_background(charts)) is not None:
            await asyncio.wait([building], timeout=None if self._kept is None else WAIT_S)
            if building.done():
                building.result()
        assert self._kept is not None
        return replace(self._kept, is_behind=charts != self._kept.charts)

    async def close(self) -> None:
        """Stop putting one together."""
        if self._building is not None:
            self._building.cancel()
            await asyncio.wait([self._building])

    def _build_in_background(self, charts: Charts) -> asyncio.Task[None] | None:
        """The task that builds the next atlas, started if there is none; None if it is too early for one."""
        if self._building is None or self._building.done():
            if monotonic() < self._not_before:
                return None
            self._building = asyncio.create_task(self._build(charts), name="atlas")
            # Its readers may all have stopped waiting; the next one tries again, and is told why that fails.
            self._building.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._building

    async def _build(self, charts: Charts) -> None:
        start = monotonic()
        host_only = load_host_only()
        columns = []
        async for target in service.each_evidence(self._engine):
            column = await asyncio.to_thread(column_of, target, host_only)
            columns.append(replace(column, evidence=replace(target, functions={})))
        uses = await asyncio.to_thread(shipped_uses, [column.evidence for column in columns])
        atlas = atlas_of(columns, uses, ORIGIN)
        self._kept = KeptAtlas(atlas, await asyncio.to_thread(front_page, atlas), charts)
        self._not_before = monotonic() + PAUSE * (monotonic() - start)
