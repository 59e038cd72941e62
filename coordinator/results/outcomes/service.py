"""Reads outcomes as pages and as export files."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.database.module_process import run_module
from coordinator.errors import PortolanError
from coordinator.results.known_names import check_filters
from coordinator.results.outcomes import store
from coordinator.results.outcomes.models import OutcomePage
from coordinator.results.outcomes.store import Filters
from coordinator.text.csv_text import csv_text

EXPORT_PAGE = 2000


async def page(engine: AsyncEngine, campaign_id: int, filters: Filters, *, after: int, limit: int) -> OutcomePage:
    await check(engine, campaign_id, filters)
    async with engine.connect() as connection:
        rows = await store.page(connection, campaign_id, filters, after=after, limit=limit)
    return OutcomePage(outcomes=rows, next=rows[-1]["job_id"] if len(rows) == limit else None)


async def check(engine: AsyncEngine, campaign_id: int, filters: Filters) -> None:
    """Raise ``NotFoundError`` if the campaign does not exist, and ``UnknownNameError`` if a filter matches nothing."""
    await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        await check_filters(
            connection,
            campaign_id,
            function=filters.function,
            framework=filters.framework,
            device=filters.device,
        )


async def pages(engine: AsyncEngine, campaign_id: int, filters: Filters) -> AsyncIterator[list[dict[str, Any]]]:
    """Yield all rows, page by page, without a long transaction."""
    after = 0
    while True:
        async with engine.connect() as connection:
            rows = await store.page(connection, campaign_id, filters, after=after, limit=EXPORT_PAGE)
        if rows:
            yield rows
        if len(rows) < EXPORT_PAGE:
            return
        after = rows[-1]["job_id"]


async def as_csv(engine: AsyncEngine, campaign_id: int, filters: Filters) -> ExportFile:
    """Write the rows to a CSV file (RFC 4180, with a header; lists and objects as JSON). The caller closes the file.

    The file is complete before its first byte is sent. So a failure becomes an error and not a truncated file, and a
    client that reads slowly holds no database connection.
    """
    with _open_export() as export, export.path.open("w", encoding="utf-8", newline="") as file:
        async with engine.connect() as connection:
            file.write(csv_text([await store.columns(connection)]))
        async for rows in pages(engine, campaign_id, filters):
            await asyncio.to_thread(_write_csv, file, rows)
    return export


def _write_csv(file: TextIO, rows: list[dict[str, Any]]) -> None:
    file.write(csv_text([*row.values()] for row in rows))


async def as_parquet(dsn: str, campaign_id: int, filters: Filters, within_s: float) -> ExportFile:
    """Write the rows to a parquet file in a separate process. The caller closes the file.

    The process is separate because the library that writes parquet takes more memory than the rest of the coordinator.
    """
    with _open_export() as export:
        request = json.dumps({"campaign": campaign_id, "filters": vars(filters), "path": str(export.path)})
        try:
            async with asyncio.timeout(within_s):
                await run_module(
                    "coordinator.results.outcomes.parquet",
                    dsn,
                    "the parquet file could not be written",
                    request=request.encode(),
                    pass_fds=(export.descriptor,),
                )
        except TimeoutError as error:
            raise PortolanError(f"the parquet file was not written within {within_s:g} s: export fewer rows") from error
    return export


class ExportFile:
    """A temporary file without a name. The system deletes it even if the process is killed."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self.descriptor = self._file.fileno()
        self.path = Path(f"/proc/self/fd/{self.descriptor}")
        """A path by which this process, and a child that inherits the descriptor, can open the file."""

    def close(self) -> None:
        self._file.close()


@contextmanager
def _open_export() -> Iterator[ExportFile]:
    """Yield an empty file. If the block ends without an error, the file stays open."""
    file = ExportFile()
    try:
        yield file
    except BaseException:
        file.close()
        raise
