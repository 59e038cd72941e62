"""Outcomes as pages, as files, and added up into the matrix."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.campaigns.store import read_targets
from coordinator.csv_text import csv_text
from coordinator.errors import PortolanError
from coordinator.results.outcomes import store
from coordinator.results.outcomes.models import Cell, Matrix, MatrixRow, MatrixTarget, OutcomePage
from coordinator.results.outcomes.store import Filters
from coordinator.targets.selectors import spelled

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


async def matrix(engine: AsyncEngine, campaign_id: int) -> Matrix:
    """Functions down, targets across: verdicts, main cause, latencies, ratio to the CPU."""
    campaign = await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        cells = await _cells(connection, campaign_id)
        targets = await read_targets(connection, campaign_id)
    return Matrix(
        campaign_id=campaign_id,
        suite=campaign.suite,
        targets=[
            MatrixTarget(
                id=row.target_id,
                target=spelled(row),
                hardware=row.hardware,
                environment=row.environment,
                revision=row.revision,
                simulated=row.simulated,
                notes=row.notes,
            )
            for row in targets
        ],
        functions=cells,
    )


async def _cells(connection: AsyncConnection, campaign_id: int) -> list[MatrixRow]:
    latencies = {(row.function, row.target_id): row for row in await store.latencies(connection, campaign_id)}
    ratios = {(row.function, row.target_id): row for row in await store.ratios(connection, campaign_id)}
    unknown = {(row.function, row.target_id): row.cases for row in await store.unknown_causes(connection, campaign_id)}
    rows: dict[str, MatrixRow] = {}
    for verdict in await store.verdicts(connection, campaign_id):
        key = (verdict.function, verdict.target_id)
        latency, ratio = latencies.get(key), ratios.get(key)
        values: dict[str, Any] = {name: value for name, value in verdict._mapping.items() if name in Cell.model_fields}
        values["unknown_cause"] = unknown.get(key, 0)
        if latency is not None:
            values |= {name: getattr(latency, name) for name in ("cold_ms", "steady_ms", "iqr_ms", "samples")}
        if ratio is not None:
            values |= {"ratio_to_cpu": ratio.ratio, "ratio_cases": ratio.cases}
        row = rows.setdefault(
            verdict.function, MatrixRow(function=verdict.function, host_only=verdict.host_only, cells={})
        )
        row.cells[verdict.target_id] = Cell.model_validate(values)
    return list(rows.values())
