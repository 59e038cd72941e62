"""What reports read of the database. All SQL of reports."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.reports.comparison import Measured

# As function_latencies has it: passed, and proven to have run where it should.
_MEASURED = """
SELECT c.function, c.name AS "case", o.run, o.{column} AS milliseconds
  FROM outcomes o JOIN cases c ON c.id = o.case_id JOIN targets t ON t.id = o.target_id
 WHERE o.campaign_id = :campaign AND o.verdict = 'passed' AND o.{column} > 0
   AND (o.placement = 'on_device' OR c.host_only IS NOT NULL)
   AND t.framework || '/' || t.device = :target
 ORDER BY c.function, o.run, c.id
"""


async def measured(
    connection: AsyncConnection, campaign_id: int, target: str, which: Literal["steady_ms", "cold_ms"] = "steady_ms"
) -> list[Measured]:
    """One target's latencies in a campaign; ``target`` is framework/device."""
    rows = await connection.execute(text(_MEASURED.format(column=which)), {"campaign": campaign_id, "target": target})
    return [Measured(row.function, row.case, row.run, row.milliseconds) for row in rows]
