"""Fixtures: an upgraded database for each test, as the coordinator's role and as a psql user sees it."""

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
    """The owner's DSN, for changes that no coordinator may make."""
    engine = make_engine(database)
    yield engine
    await engine.dispose()
