"""A client of the real application in this process, for tests without a socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from coordinator.app import create_app
from coordinator.configuration.settings import Settings
from tests.admin import ADMIN_TOKEN, AS_ADMIN
from tests.database_roles import application


@asynccontextmanager
async def app_client(dsn: str, *, path: str = "/api/v1", **settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the admin token, for REST or another path. Every call starts a new application on the database."""
    app = create_app(Settings(database_url=application(dsn), admin_token=ADMIN_TOKEN, **settings))
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url=f"http://localhost{path}", headers=AS_ADMIN, timeout=120
        ) as client,
    ):
        yield client
