"""Follows campaigns: one reader task queries the database about all watched campaigns, for all watchers.

A poll costs one statement, however many clients watch. A campaign that has changed is read once for all its watchers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from fastapi.sse import format_sse_event
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service, store
from coordinator.campaigns.models import CampaignDetail
from coordinator.database.outage import DATABASE_AWAY
from coordinator.errors import NotFoundError, TooManyError, reason_of
from coordinator.http.problems import DATABASE_PROBLEM
from coordinator.process.logs import get_logger
from protocol.problems import Problem

log = get_logger(__name__)

EVENTS_EVERY_S = 0.5
KEEP_ALIVE_S = 10.0
STILL_HERE = format_sse_event(comment="still here")


@dataclass
class _Topic:
    """A watched campaign: its latest event, and the watchers that wait for its next event.

    A slow watcher gets only the latest event, because no events are queued.
    """

    event: bytes = b""
    number: int = 0
    """The number of the latest event. The numbers of later events are higher."""
    last: bool = False
    """Whether the latest event is the last one."""
    mark: tuple[object, ...] = ()
    """The state and counters in the latest event."""
    watchers: int = 0
    read: asyncio.Lock = field(default_factory=asyncio.Lock)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: bytes, *, last: bool) -> None:
        self.event, self.last = event, last
        self.number += 1
        news, self.news = self.news, asyncio.Event()
        news.set()


class Follower:
    """Distributes campaign events to watchers. An application has one follower. Its reader task runs while at least one
    client watches."""

    def __init__(self, engine: AsyncEngine, most: int, each: int) -> None:
        self._engine = engine
        self._most = most
        self._each = each
        """The maximum number of streams that one caller may have open."""
        self._watchers: Counter[str] = Counter()
        self._topics: dict[int, _Topic] = {}
        self._reader: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def watch(self, campaign_id: int, who: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the campaign's events. Raises ``TooManyError`` beyond a limit, and ``NotFoundError``."""
        instead = f"poll campaign {campaign_id} instead, or try again in a moment"
        if self._watchers[who] >= self._each:
            raise TooManyError(f"one caller may have at most {self._each:,} event streams: {instead}")
        if self._watchers.total() >= self._most:
            raise TooManyError(f"{self._most:,} event streams are open, which is the limit: {instead}")
        self._watchers[who] += 1
        topic = self._topics.setdefault(campaign_id, _Topic())
        topic.watchers += 1
        try:
            await self._begin(campaign_id, topic)
            yield _events(topic)
        finally:
            self._watchers[who] -= 1
            self._watchers += Counter()  # removes callers who watch nothing
            topic.watchers -= 1
            # After an outage or a deletion, the dictionary may contain a newer topic for this campaign.
            if not topic.watchers and self._topics.get(campaign_id) is topic:
                del self._topics[campaign_id]

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])

    async def _begin(self, campaign_id: int, topic: _Topic) -> None:
        """Read the campaign for its first watcher. Later watchers share the result."""
        async with topic.read:
            if not topic.number:
                _tell(topic, await service.detail(self._engine, campaign_id))
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read(), name="campaigns are followed")

    async def _read(self) -> None:
        while self._topics:
            await asyncio.sleep(EVENTS_EVERY_S)
            # The topics that have a first event and expect more.
            topics = {number: topic for number, topic in self._topics.items() if topic.number and not topic.last}
            if topics:
                await self._look(topics)

    async def _look(self, topics: dict[int, _Topic]) -> None:
        try:
            async with self._engine.connect() as connection:
                marks = await store.progress_marks(connection, list(topics))
            for number, topic in topics.items():
                if marks.get(number) != topic.mark:
                    await self._read_one(number, topic)
        except Exception as error:
            # The HTTP status of every stream was already sent. A watcher that connects again gets a 503 in an outage.
            if isinstance(error, DATABASE_AWAY):
                log.warning("campaigns cannot be followed", reason=reason_of(error))
            else:
                log.exception("campaigns cannot be followed")
            for number, topic in topics.items():
                self._topics.pop(number, None)
                topic.tell(_event("away", DATABASE_PROBLEM), last=True)

    async def _read_one(self, number: int, topic: _Topic) -> None:
        try:
            _tell(topic, await service.detail(self._engine, number))
        except NotFoundError as error:
            # The campaign was deleted since the last look. A new request gets the same problem as a response.
            self._topics.pop(number, None)
            problem = Problem(title=error.title, status=error.status, detail=str(error))
            topic.tell(_event("away", problem), last=True)


async def _events(topic: _Topic) -> AsyncIterator[bytes]:
    last_number = 0
    while True:
        news = topic.news
        if topic.number > last_number:
            last_number, last = topic.number, topic.last
            yield topic.event
            if last:
                return
            continue
        try:
            async with asyncio.timeout(KEEP_ALIVE_S):
                await news.wait()
        except TimeoutError:
            yield STILL_HERE


def _tell(topic: _Topic, campaign: CampaignDetail) -> None:
    topic.mark = (campaign.state, *campaign.counters.model_dump().values())
    has_ended = campaign.state != "running"
    event = _event("progress", campaign)
    topic.tell(event + _event("ended", campaign) if has_ended else event, last=has_ended)


def _event(kind: str, content: BaseModel) -> bytes:
    return format_sse_event(event=kind, data_str=content.model_dump_json())
