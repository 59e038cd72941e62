"""The latencies and the cases' digests that comparisons read of the database beside the matrix."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.results.comparison.latencies import Measurement
from coordinator.results.store import CASES_DIGEST


async def measurements(connection: AsyncConnection, campaign_id: int, target_id: int, column: str) -> list[Measurement]:
    """One target's latencies, run by run: passed, and proven to have run where it should."""
    if column not in ("steady_ms", "cold_ms"):
        raise ValueError(column)
    rows = await connection.execute(
        text(f"""
        SELECT c.function, c.name AS "case", o.run, o.{column} AS milliseconds
          FROM outcomes o JOIN cases c ON c.id = o.case_id
         WHERE o.campaign_id = :campaign AND o.target_id = :target AND o.verdict = 'passed' AND o.{column} > 0
           AND o.placement = 'on_device' AND c.host_only IS NULL
        """),
        {"campaign": campaign_id, "target": target_id},
    )
    return [Measurement(*row) for row in rows]


async def digests(connection: AsyncConnection, campaign_id: int, target_id: int) -> dict[str, str | None]:
    """Each function's cases with their digests, as one digest; None where a case has none."""
    rows = await connection.execute(
        text(f"""
        SELECT c.function, {CASES_DIGEST} AS digest
          FROM campaign_targets ct JOIN cases c ON c.suite_id = ct.suite_id
         WHERE ct.campaign_id = :campaign AND ct.target_id = :target
         GROUP BY c.function
        """),
        {"campaign": campaign_id, "target": target_id},
    )
    return {row.function: row.digest for row in rows}
