"""The context of request handlers: the database engine and the other parts of this process that they use.

These parts are protocols here: every folder with handlers imports this module, so it can import none of them.
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
    """Draws Vega-Lite specifications, in a process beside this one."""

    async def draw(self, specs: Sequence[dict[str, Any]], form: Literal["svg", "png"]) -> list[bytes]: ...
    async def scripts(self) -> Path: ...
    def remember(self, spec: dict[str, Any]) -> str: ...
    def recall(self, key: str | None) -> dict[str, Any] | None: ...


class Room(Protocol):
    """Room for one more piece of work; raises ``TooManyError`` where there is none."""

    def hold(self, who: str) -> AbstractAsyncContextManager[None]: ...


class CampaignFollower(Protocol):
    """Tells any number of watchers of a campaign's progress, from one reading of it."""

    def watch(self, campaign_id: int, who: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...


class FormKeySource(Protocol):
    """The key that the tokens of forms are made with."""

    async def get(self) -> bytes: ...


@dataclass(frozen=True)
class HandlerContext:
    engine: AsyncEngine
    announce: Callable[[Announcement], Awaitable[None]]
    """Tell every coordinator: there is work, a campaign was cancelled, or the fleet changed."""
    dsn: str
    enrolment_key_file: Path | None
    renderer: ChartRenderer
    supervisor: TaskSupervisor
    bounds: Bounds
    times: Times
    exports: Room
    """For making a file, a table or a figure of a whole campaign."""
    downloads: Room
    """For such a file until its client has it."""
    assessments: Room
    """For reading a script and setting it against the evidence."""
    follower: CampaignFollower
    form_key: FormKeySource


LOGGED = {"campaign_id": "campaign", "job_id": "job", "runner_id": "runner"}
"""Path parameters, by the field of the log that each becomes."""


async def _shared_context(request: Request) -> HandlerContext:
    # A coroutine: FastAPI runs plain functions in threads, and context variables bound there are lost.
    ids = {LOGGED[name]: value for name, value in request.path_params.items() if name in LOGGED}
    bind_contextvars(**{field: int(id) for field, id in ids.items() if str(id).isdecimal()})
    context: HandlerContext = request.app.state.shared
    return context


Context = Annotated[HandlerContext, Depends(_shared_context)]
