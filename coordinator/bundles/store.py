"""Imported campaigns in the database. Their rows are like the rows of a dispatched campaign, with two differences.

An imported campaign has no attempts, because nothing was dispatched, and its outcomes have no runner. So no runner
appears, is probed or gets jobs because of an import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from sqlalchemy import insert, select, text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.campaigns.plan import priority
from coordinator.database.tables import campaign_targets, campaigns, cases, jobs
from coordinator.dispatch.finishes import COLUMNS, FinishedJob, column_arrays, column_values
from coordinator.targets.selectors import select_functions, target_name
from protocol.bundle import BundleHeader
from protocol.enums import Verdict


class DoneJob(NamedTuple):
    """The outcome of a job, with its case and run."""

    row: FinishedJob
    case_id: int
    run: int
    finished_at: datetime


async def create_campaign(
    connection: AsyncConnection,
    header: BundleHeader,
    sha256: str,
    ended_at: datetime,
    name: str | None,
    created_by: str,
) -> int | None:
    """Create the campaign and return its id; None if the bundle is already stored. If another transaction is importing
    the same bundle, waits for it."""
    runner = header.runner
    result = await connection.execute(
        upsert(campaigns)
        .values(
            name=name or f"{header.suite.name} on {runner.framework}/{runner.device} of {runner.fingerprint.host}",
            suite=header.suite.name,
            selectors=[target_name(runner)],
            functions=list(header.functions),
            not_charted=select_functions(header.functions, {case.function for case in header.suite.cases}).unknown,
            runs=header.runs,
            timeout_s=header.timeout_s,
            timing=str(header.timing),
            timed_cases=str(header.timed_cases),
            state="done",
            created_at=header.begun_at,
            finished_at=ended_at,
            imported_at=text("now()"),
            bundle_sha256=sha256,
            created_by=created_by,
        )
        .on_conflict_do_nothing(index_elements=["bundle_sha256"])
        .returning(campaigns.c.id)
    )
    return cast("int | None", result.scalar_one_or_none())


async def campaign_of(connection: AsyncConnection, sha256: str) -> int | None:
    """Return the campaign that was imported from the bundle; None if it was not imported."""
    result = await connection.execute(select(campaigns.c.id).where(campaigns.c.bundle_sha256 == sha256))
    return cast("int | None", result.scalar_one_or_none())


async def cases_of(connection: AsyncConnection, suite_id: int) -> dict[str, int]:
    """Return the database ids of the suite's cases. The keys are the ids that the suite gives its cases."""
    rows = await connection.execute(select(cases.c.name, cases.c.id).where(cases.c.suite_id == suite_id))
    return {row.name: row.id for row in rows}


async def create_jobs(
    connection: AsyncConnection, campaign_id: int, target_id: int, case_ids: Sequence[int], runs: int
) -> dict[tuple[int, int], int]:
    """Create all jobs of the campaign as done. Returns their ids by case and run."""
    await connection.execute(
        text("""
        INSERT INTO jobs (campaign_id, target_id, case_id, run, priority, state, attempt)
        SELECT :campaign, :target, c.id, run, CAST(:priority AS int) + run - 1, 'done', 1
          FROM unnest(CAST(:cases AS int[])) WITH ORDINALITY c (id, position)
         CROSS JOIN generate_series(1, CAST(:runs AS int)) run
         ORDER BY run, c.position
        """),
        {
            "campaign": campaign_id,
            "target": target_id,
            "cases": list(case_ids),
            "runs": runs,
            "priority": priority(campaign_id, 1),
        },
    )
    rows = await connection.execute(select(jobs.c.id, jobs.c.case_id, jobs.c.run).filter_by(campaign_id=campaign_id))
    return {(row.case_id, row.run): row.id for row in rows}


_STORE = text(f"""
INSERT INTO outcomes (campaign_id, target_id, fingerprint_id, case_id, run, finished_at,
                      {", ".join(f'"{name}"' for name in COLUMNS)})
SELECT :campaign, :target, :fingerprint, u.done_case, u.done_run, u.done_at, {column_values("u", COLUMNS)}
  FROM unnest(CAST(:done_case AS int[]), CAST(:done_run AS smallint[]), CAST(:done_at AS timestamptz[]),
              {column_arrays()})
    AS u (done_case, done_run, done_at, {", ".join(f'"{name}"' for name in COLUMNS)})
""")


async def store_outcomes(
    connection: AsyncConnection, campaign_id: int, target_id: int, fingerprint_id: str, jobs: Sequence[DoneJob]
) -> None:
    columns = map(list, zip(*(job.row for job in jobs), strict=True))
    await connection.execute(
        _STORE,
        {
            "campaign": campaign_id,
            "target": target_id,
            "fingerprint": fingerprint_id,
            "done_case": [job.case_id for job in jobs],
            "done_run": [job.run for job in jobs],
            "done_at": [job.finished_at for job in jobs],
            **dict(zip(COLUMNS, columns, strict=True)),
        },
    )


async def store_counters(
    connection: AsyncConnection, campaign_id: int, target_id: int, suite_id: int, verdicts: Mapping[str, int]
) -> None:
    """Store the target of the campaign with its final counters."""
    total = sum(verdicts.values())
    await connection.execute(
        insert(campaign_targets).values(
            campaign_id=campaign_id,
            target_id=target_id,
            suite_id=suite_id,
            total=total,
            done=total,
            **{str(verdict): verdicts.get(str(verdict), 0) for verdict in Verdict},
        )
    )
