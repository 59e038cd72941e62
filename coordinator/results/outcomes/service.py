"""Outcomes as pages and as files."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.csv_text import csv_text
from coordinator.errors import PortolanError
from coordinator.results.outcomes import store
from coordinator.results.outcomes.models import OutcomePage
from coordinator.results.outcomes.store import Filters

EXPORT_PAGE = 2000


async def page(engine: AsyncEngine, campaign_id: int, filters: Filters, *, after: int, limit: int) -> OutcomePage:
    await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        rows = await store.page(connection, campaign_id, filters, after=after, limit=limit)
    return OutcomePage(outcomes=rows, next=rows[-1]["job_id"] if len(rows) == limit else None)


async def pages(engine: AsyncEngine, campaign_id: int, filters: Filters) -> AsyncIterator[list[dict[str, Any]]]:
    """All rows, page by page: no long transaction, however many there are."""
    after = 0
    while True:
        async with engine.connect() as connection:
            rows = await store.page(connection, campaign_id, filters, after=after, limit=EXPORT_PAGE)
        if rows:
            yield rows
        if len(rows) < EXPORT_PAGE:
            return
        after = rows[-1]["job_id"]


async def as_csv(engine: AsyncEngine, campaign_id: int, filters: Filters) -> AsyncIterator[str]:
    """CSV by RFC 4180 with a header; lists and objects as JSON."""
    async with engine.connect() as connection:
        yield csv_text([await store.columns(connection)])
    async for rows in pages(engine, campaign_id, filters):
        yield csv_text([_flat(value) for value in row.values()] for row in rows)


def _flat(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value


async def as_parquet(dsn: str, campaign_id: int, filters: Filters) -> Path:
    """A temporary parquet file, to be deleted by the caller.

    Written by a process of its own: the library that writes it takes more memory than the
    rest of the coordinator.
    """
    descriptor, name = tempfile.mkstemp(prefix="portolan-", suffix=".parquet")
    os.close(descriptor)
    asked = json.dumps({"campaign": campaign_id, "filters": vars(filters), "path": name})
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "coordinator.results.outcomes.parquet",
        stdin=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PORTOLAN_DATABASE_URL": dsn},
    )
    _, complaint = await process.communicate(asked.encode())
    if process.returncode != 0:
        os.unlink(name)
        last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        raise PortolanError(f"the parquet file could not be written: {last[0]}")
    return Path(name)
