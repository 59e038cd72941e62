"""The context of request handlers: the engine, the dispatcher and the renderer of this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncEngine
from structlog.contextvars import bind_contextvars

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.reports.charts.renderer import Renderer
from coordinator.supervision import Supervisor


@dataclass(frozen=True)
class Shared:
    engine: AsyncEngine
    dispatcher: Dispatcher
    dsn: str
    enrolment_secret_file: Path | None
    renderer: Renderer
    supervisor: Supervisor


LOGGED = {"campaign_id": "campaign", "job_id": "job", "runner_id": "runner"}
"""Parameters of paths, by the field of the log that they are."""


async def _shared(request: Request) -> Shared:
    # A coroutine, because what a function binds in FastAPI's threads is bound for nobody else.
    ids = {LOGGED[name]: value for name, value in request.path_params.items() if name in LOGGED}
    bind_contextvars(**{field: int(id) for field, id in ids.items() if str(id).isdecimal()})
    shared: Shared = request.app.state.shared
    return shared


Context = Annotated[Shared, Depends(_shared)]
