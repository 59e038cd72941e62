"""An upgraded database of a test's own, as the coordinator reaches it and as somebody with psql does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.database.connection import engine as make_engine
from tests.database_roles import application


@pytest.fixture
async def engine(database: str) -> AsyncIterator[AsyncEngine]:
    engine = make_engine(application(database))
    yield engine
    await engine.dispose()


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest.fixture
async def owner(database: str) -> AsyncIterator[AsyncEngine]:
    """For what a test does to the database that no coordinator may do."""
    engine = make_engine(database)
    yield engine
    await engine.dispose()
