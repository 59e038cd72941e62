"""The context of request handlers: the database engine and the other services that handlers use.

The parts are declared as protocols. Every folder with handlers imports this module, so this module cannot import these
folders.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.contextvars import bind_contextvars

from coordinator.configuration.bounds import Bounds
from coordinator.configuration.times import Times
from coordinator.process.supervision import TaskSupervisor

Announcement = Literal["jobs", "cancel", "runners"]


class ChartRenderer(Protocol):
    """Draws Vega-Lite specifications in a separate process."""

    async def draw(self, specs: Sequence[dict[str, Any]], form: Literal["svg", "png"]) -> list[bytes]: ...
    async def scripts(self) -> Path: ...
    def remember(self, spec: dict[str, Any]) -> str: ...
    def recall(self, key: str | None) -> dict[str, Any] | None: ...


class Room(Protocol):
    """A limit on concurrent work. It raises ``TooManyError`` if no slot is free."""

    def hold(self, who: str) -> AbstractAsyncContextManager[None]: ...


class CampaignFollower(Protocol):
    """Reports a campaign's progress to any number of watchers, with one query for all of them."""

    def watch(self, campaign_id: int, who: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...


class FormKeySource(Protocol):
    """Provides the key for the tokens of forms."""

    async def get(self) -> bytes: ...


@dataclass(frozen=True)
class HandlerContext:
    engine: AsyncEngine
    announce: Callable[[Announcement], Awaitable[None]]
    """Tell every coordinator that there is work, that a campaign was cancelled, or that the fleet changed."""
    dsn: str
    enrolment_key_file: Path | None
    renderer: ChartRenderer
    supervisor: TaskSupervisor
    bounds: Bounds
    times: Times
    exports: Room
    """The slots for making a file, a table or a figure of a whole campaign."""
    downloads: Room
    """The slots for sending a finished file to a client."""
    assessments: Room
    """The slots for reading a script and comparing it with the evidence."""
    follower: CampaignFollower
    form_key: FormKeySource


LOGGED = {"campaign_id": "campaign", "job_id": "job", "runner_id": "runner"}
"""Path parameters, with the log field of each."""


async def _shared_context(request: Request) -> HandlerContext:
    # A coroutine: FastAPI runs plain functions in threads, and context variables bound there are lost.
    ids = {LOGGED[name]: value for name, value in request.path_params.items() if name in LOGGED}
    bind_contextvars(**{field: int(id) for field, id in ids.items() if str(id).isdecimal()})
    context: HandlerContext = request.app.state.shared
    return context


Context = Annotated[HandlerContext, Depends(_shared_context)]
