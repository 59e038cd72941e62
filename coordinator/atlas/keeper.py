"""The coordinator's atlas. It is built from the database when the evidence has changed, and kept in memory.

While the database has no evidence, the atlas shows the evidence that ships with Portolan.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.assess import service
from coordinator.atlas.collection import Collection, collect, collect_apart, collect_shipped
from coordinator.atlas.overview import Atlas
from coordinator.atlas.pages import Page
from coordinator.database.outage import DATABASE_AWAY
from coordinator.errors import AtlasPendingError, reason_of
from coordinator.figures.formats import number, plural
from coordinator.process.logs import get_logger

log = get_logger(__name__)

WAIT_S = 1.0
"""The seconds that a reader waits for a build of the atlas. After that, the reader gets the previous atlas."""
SMALL = 20_000
"""The maximum number of outcomes of a small database. A small database is read in this process while the first reader
waits, which takes about a second. A larger database is read in a separate process, and until the first build ends,
readers are told to try again later."""
PAUSE = 10
"""The pause before the next build, as a multiple of the duration of the last build. Without a pause, the outcomes of a
running campaign would cause one build after the other."""
START_S = 10.0
"""The seconds from the coordinator's start until it reads the shipped evidence. At the start it has more urgent work,
and after the first outcome it does not need the shipped evidence. A reader who comes earlier waits about a second."""


Charts = frozenset[tuple[int, int, int, int]]
"""The charts of a coordinator, as ``service.list_charts`` returns them."""


@dataclass(frozen=True)
class KeptAtlas:
    """An atlas with its front page, and whether the database has newer evidence that the atlas does not include."""

    collection: Collection
    charts: Charts
    is_behind: bool = False

    @property
    def atlas(self) -> Atlas:
        return self.collection.atlas

    @property
    def front(self) -> Page:
        return self.collection.front


class AtlasKeeper:
    """Keeps one atlas. If a reader requests the atlas and the evidence has changed, the keeper rebuilds the atlas. Only
    one build runs at a time.

    The first build for a large database takes long, so it begins when the coordinator starts. The build from the
    shipped evidence takes a second, and begins some seconds after the start.
    """

    def __init__(self, engine: AsyncEngine, dsn: str) -> None:
        self._engine = engine
        self._dsn = dsn
        self._kept: KeptAtlas | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._building: asyncio.Task[None] | None = None
        self._targets_read = 0, 0
        """The number of targets read so far, and the total number."""
        self._failure: BaseException | None = None
        self._not_before = 0.0

    def prepare(self) -> None:
        """Start a task that builds the atlas of a large database or of the shipped evidence. The atlas of a small
        database is built when its first reader comes."""
        self._preparing = asyncio.create_task(self._prepare(), name="first atlas")

    async def _prepare(self) -> None:
        try:
            charts = await service.list_charts(self._engine)
            if not charts:
                await asyncio.sleep(START_S)
                charts = await service.list_charts(self._engine)
        except DATABASE_AWAY as error:
            log.warning("the atlas will be built when its first reader comes", reason=reason_of(error))
            return
        if self._kept is None and (not charts or _outcomes(charts) > SMALL):
            self._build_in_background(charts)

    async def current(self) -> KeptAtlas:
        """Return the newest atlas, and start a build if the evidence has changed. If the build takes longer than a
        reader waits, return the previous atlas.

        Raises ``AtlasPendingError`` if the database is large and there is no previous atlas.
        """
        charts = await service.list_charts(self._engine)
        # If the build began before the newest outcome, another build follows.
        while not self._is_of(charts) and (building := self._build_in_background(charts)) is not None:
            await asyncio.wait([building], timeout=self._patience_s(charts))
            if not building.done():
                break
            building.result()
        if self._kept is None:
            raise AtlasPendingError(self._progress(charts))
        return KeptAtlas(self._kept.collection, self._kept.charts, is_behind=not self._is_of(charts))

    def _is_of(self, charts: Charts) -> bool:
        return self._kept is not None and self._kept.charts == charts

    async def close(self) -> None:
        """Stop a running build."""
        for task in (self._preparing, self._building):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    def _patience_s(self, charts: Charts) -> float | None:
        """Return the seconds that a reader waits for a build; None if the reader waits until the build ends.

        If the database has evidence, a reader never gets the atlas of the shipped evidence, however long the build
        takes.
        """
        if self._kept is not None and not self._kept.atlas.ships:
            return WAIT_S
        return None if _outcomes(charts) <= SMALL else 0.0

    def _progress(self, charts: Charts) -> str:
        """The progress of the first build, in words."""
        read, targets = self._targets_read
        so_far = f": {read} of {plural(targets, 'target')} so far" if targets else ""
        failure = f" (the previous attempt failed: {reason_of(self._failure)})" if self._failure is not None else ""
        return f"{number(_outcomes(charts))} outcomes are being read{so_far}{failure}; try again in a moment"

    def _build_in_background(self, charts: Charts) -> asyncio.Task[None] | None:
        """Return the task that builds the next atlas, and start it if no build is running. Return None during the pause
        after a build."""
        if self._building is None or self._building.done():
            if monotonic() < self._not_before:
                return None
            self._building = asyncio.create_task(self._build(charts), name="atlas")
            self._building.add_done_callback(self._note_end)
        return self._building

    def _note_end(self, building: asyncio.Task[None]) -> None:
        # The failure is stored, because all readers may have stopped waiting. The next reader starts another attempt.
        self._failure = None if building.cancelled() else building.exception()
        if self._failure is not None:
            log.warning("the atlas could not be built", reason=reason_of(self._failure))

    async def _build(self, charts: Charts) -> None:
        start = monotonic()
        if _outcomes(charts) <= SMALL:
            collection = await collect(self._engine, self._note_progress)
        else:
            collection = await collect_apart(self._dsn, self._note_progress)
        self._not_before = monotonic() + PAUSE * (monotonic() - start)
        if not collection.atlas.frameworks:
            collection = await asyncio.to_thread(collect_shipped)
        self._kept = KeptAtlas(collection, charts)

    def _note_progress(self, number: int, of: int) -> None:
        self._targets_read = number, of


def _outcomes(charts: Charts) -> int:
    return sum(outcome_count for _, _, outcome_count, _ in charts)
