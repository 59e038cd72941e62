"""What comparisons read of the database beside the matrix."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.results.comparison.latencies import Measurement


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
