"""What request handlers share: the engine and the dispatcher of this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from sqlalchemy.ext.asyncio import AsyncEngine

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


def _shared(request: Request) -> Shared:
    shared: Shared = request.app.state.shared
    return shared


Context = Annotated[Shared, Depends(_shared)]
