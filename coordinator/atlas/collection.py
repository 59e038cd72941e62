"""Collects all evidence of a database into an atlas with its front page.

A large database is read in a separate process, ``python -m coordinator.atlas.collection``. Reading a million outcomes
takes half a minute and hundreds of megabytes, which would slow down dispatch in the coordinator's process. The separate
process prints a line for each target that it has read, then an empty line, then the pickled result.

If the database has no evidence, the coordinator shows the shipped evidence instead.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.assess import service
from coordinator.assess.evidence_file import load_shipped
from coordinator.atlas.overview import Atlas, atlas_of, column_of
from coordinator.atlas.pages import Page, front_page
from coordinator.atlas.whole_atlas import shipped_uses, whole_atlas
from coordinator.configuration.settings import Settings
from coordinator.database.connection import engine as make_engine
from coordinator.database.module_process import run_module, run_work
from protocol.host_only import load_host_only

ORIGIN = "is of all campaigns of this coordinator"

Report = Callable[[int, int], None]
"""A function that is called after each target, with the number of targets read so far and the total number."""


@dataclass(frozen=True)
class Collection:
    """An atlas with its front page."""

    atlas: Atlas
    """The atlas. An atlas from a database contains no cases, because its cases can be as large as the database. The
    atlas of the shipped evidence contains the cases."""
    front: Page
    """The front page. It is prepared once, because its search index and its list of changes take longer than its
    rendering."""


async def collect(engine: AsyncEngine, report: Report) -> Collection:
    """Collect the database's evidence in this process."""
    host_only = load_host_only()
    columns = []
    async for target in service.each_evidence(engine, report):
        column = await asyncio.to_thread(column_of, target, host_only)
        columns.append(replace(column, evidence=replace(target, functions={})))
    uses = await asyncio.to_thread(shipped_uses, [column.evidence for column in columns])
    atlas = atlas_of(columns, uses, ORIGIN)
    return Collection(atlas, await asyncio.to_thread(front_page, atlas))


def collect_shipped() -> Collection:
    """Collect the evidence that ships with Portolan, which takes about a second."""
    atlas = whole_atlas(load_shipped())
    return Collection(atlas, front_page(atlas))


async def collect_apart(dsn: str, report: Report) -> Collection:
    """Collect the database's evidence in a separate process.

    Raises ``DatabaseAwayError`` if the database is unreachable, and another ``PortolanError`` if the process fails for
    another reason.
    """
    content = await run_module(
        __name__, dsn, "the evidence could not be collected", read=partial(_read_result, report=report)
    )
    collection: Collection = await asyncio.to_thread(pickle.loads, content)
    return collection


async def _read_result(stdout: asyncio.StreamReader, report: Report) -> bytes:
    while line := (await stdout.readline()).strip():
        number, of = map(int, line.split())
        report(number, of)
    return await stdout.read()


async def _write() -> None:
    settings = Settings.from_environment()
    engine = make_engine(
        settings.database_url,
        pool_size=1,
        application_name="portolan atlas",
        statement_timeout_s=settings.statement_timeout_s,
    )
    try:
        collection = await collect(engine, lambda number, of: print(number, of, flush=True))
    finally:
        await engine.dispose()
    print(flush=True)
    pickle.dump(collection, sys.stdout.buffer)


if __name__ == "__main__":
    # Classes of this module are pickled under the name that the coordinator knows, not as ``__main__``.
    from coordinator.atlas import collection

    run_work(collection._write())
