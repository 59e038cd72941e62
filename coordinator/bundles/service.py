"""Imports bundles. A bundle is received completely, checked, and then stored as a finished campaign."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from coordinator.bundles import reader, signer_store, store
from coordinator.bundles.models import Signer
from coordinator.bundles.reader import COPY_AGAIN, Bundle
from coordinator.bundles.store import DoneJob
from coordinator.database.connection import allow_long_statements
from coordinator.database.outage import is_refused
from coordinator.dispatch.leases import Key
from coordinator.dispatch.records import record
from coordinator.errors import BundleError
from coordinator.registry.store import store_fingerprint, store_target
from coordinator.registry.suites import lock_revision, require_agreement, store_bundled_suite
from protocol.bundle import MAX_BYTES, BundledOutcome

IN_MEMORY_BYTES = 8 << 20
"""The size above which an upload is buffered on disk."""
BATCH = 500


@asynccontextmanager
async def receive(pieces: AsyncIterator[bytes], limit: int = MAX_BYTES) -> AsyncIterator[BinaryIO]:
    """Yield the upload as a file. Raises an error if it is larger than the limit."""
    size = 0
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
        async for piece in pieces:
            size += len(piece)
            reader.require_size(size, limit)
            file.write(piece)
        yield cast(BinaryIO, file)


async def import_bundle(
    engine: AsyncEngine, file: BinaryIO, name: str | None, created_by: str, signer: Signer | None = None
) -> tuple[int, bool]:
    """Store the bundle as a campaign. Returns the campaign's id, and whether the campaign is new.

    Raises ``BundleError`` without storing anything. If the bundle is already stored as unsigned and ``signer`` is not
    None, the signer is added.
    """
    bundle = await asyncio.to_thread(reader.check, file)
    try:
        async with engine.begin() as connection:
            # If the same bundle is being imported, this waits for that import.
            await allow_long_statements(connection)
            earlier_id = await store.campaign_of(connection, bundle.sha256)
            if earlier_id is None:
                campaign_id = await store.create_campaign(
                    connection, bundle.header, bundle.sha256, bundle.ended_at, name, created_by
                )
                if campaign_id is not None:
                    await _fill(connection, campaign_id, bundle, file)
                    await _name_signer(connection, campaign_id, signer)
                    return campaign_id, True
                # Another transaction has imported the bundle in the meantime.
                earlier_id = await store.campaign_of(connection, bundle.sha256)
            assert earlier_id is not None
            await _name_signer(connection, earlier_id, signer)
            return earlier_id, False
    except DBAPIError as error:
        if is_refused(error):
            raise BundleError(
                "the bundle was changed or damaged, because it has a value that the database cannot store: "
                f"{COPY_AGAIN}"
            ) from error
        raise


async def _name_signer(connection: AsyncConnection, campaign_id: int, signer: Signer | None) -> None:
    if signer is not None:
        await signer_store.name_signer(connection, campaign_id, signer.id)


async def _fill(connection: AsyncConnection, campaign_id: int, bundle: Bundle, file: BinaryIO) -> None:
    """Store the target, suite, jobs and outcomes of a campaign that already exists."""
    header = bundle.header
    framework, device = header.runner.framework, header.runner.device
    suite_id = await store_bundled_suite(connection, framework, header.suite)
    # The suite is checked now, because the file may be long, and again at the end, when no other transaction can store
    # this revision.
    await require_agreement(connection, suite_id, framework, header.suite)
    cases = await store.cases_of(connection, suite_id)
    target_id = await store_target(connection, header.runner, registering=False)
    fingerprint_id = await store_fingerprint(connection, header.runner.fingerprint)
    case_ids = {case.id: cases[case.id] for case in header.suite.cases}
    job_ids = await store.create_jobs(connection, campaign_id, target_id, list(case_ids.values()), header.runs)

    def rows(entries: list[BundledOutcome]) -> list[DoneJob]:
        jobs = []
        for entry in entries:
            case_id = case_ids[entry.case]
            row = record(Key(job_ids[case_id, entry.run], 1), entry.outcome, framework=framework, device=device)
            jobs.append(DoneJob(row, case_id, entry.run, entry.finished_at))
        return jobs

    verdicts: Counter[str] = Counter()
    batches = _batches(reader.outcomes(file))
    # Reading and classifying take CPU time, so they are done in a thread, one batch at a time.
    while batch := await asyncio.to_thread(lambda: rows(next(batches, []))):
        await store.store_outcomes(connection, campaign_id, target_id, fingerprint_id, batch)
        verdicts.update(str(job.row.verdict) for job in batch)
    await store.store_counters(connection, campaign_id, target_id, suite_id, verdicts)
    await lock_revision(connection, framework, header.suite)
    await require_agreement(connection, suite_id, framework, header.suite)


def _batches(entries: Iterator[BundledOutcome]) -> Iterator[list[BundledOutcome]]:
    while batch := list(itertools.islice(entries, BATCH)):
        yield batch
