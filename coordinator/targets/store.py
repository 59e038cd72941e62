"""The targets of a campaign in the database."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.targets.models import Target
from protocol.enums import HOST, WRONG_ON_HOST

# Only a drawn suite names who judged its cases; of another nobody says why a case is in it.
_TARGETS = text(f"""
SELECT t.id, t.framework, t.version, t.device, t.device_class, t.hardware, t.environment, t.simulated, t.notes,
       s.name AS suite, s.revision AS suite_revision, n.drawn_cases, n.wrong_on_host
  FROM campaign_targets ct
  JOIN targets t ON t.id = ct.target_id
  JOIN suites s ON s.id = ct.suite_id
 CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE c.judged_by IS NOT NULL) AS drawn_cases,
                            count(*) FILTER (WHERE c.tags @> '["{WRONG_ON_HOST}"]') AS wrong_on_host
                       FROM cases c WHERE t.device = '{HOST}' AND c.suite_id = s.id) n
 WHERE ct.campaign_id = :campaign
 ORDER BY t.framework, t.device, t.version_numbers, t.version, t.hardware, t.id
""")


async def of_campaign(connection: AsyncConnection, campaign_id: int) -> list[Target]:
    """A campaign's targets, in the order in which every page, table and file has them."""
    rows = await connection.execute(_TARGETS, {"campaign": campaign_id})
    return [Target.model_validate(row._mapping) for row in rows]
