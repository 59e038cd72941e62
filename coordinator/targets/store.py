"""Reads the targets of a campaign from the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.targets.models import Target
from protocol.enums import HOST

_TARGETS = text(f"""
SELECT t.id, t.framework, t.version, t.device, t.device_class, t.hardware, t.environment, t.simulated, t.notes,
       s.name AS suite, s.revision AS suite_revision,
       CASE WHEN t.device = '{HOST}' THEN s.drawn_cases ELSE 0 END AS drawn_cases,
       CASE WHEN t.device = '{HOST}' THEN s.wrong_on_host ELSE 0 END AS wrong_on_host
  FROM campaign_targets ct
  JOIN targets t ON t.id = ct.target_id
  JOIN suites s ON s.id = ct.suite_id
 WHERE ct.campaign_id = :campaign
 ORDER BY t.framework, t.device, t.version_numbers, t.version, t.hardware, t.id
""")

_NAMES = text("""
SELECT ct.campaign_id, t.framework || '@' || t.version || '/' || t.device AS name
  FROM campaign_targets ct
  JOIN targets t ON t.id = ct.target_id
 WHERE ct.campaign_id = ANY(:campaigns)
 GROUP BY ct.campaign_id, t.framework, t.version, t.device, t.version_numbers
HAVING count(*) = 1
 ORDER BY ct.campaign_id, t.framework, t.device, t.version_numbers, t.version
""")
"""If a campaign has a name on two kinds of hardware, this name selects neither, so it is left out."""


async def of_campaign(connection: AsyncConnection, campaign_id: int) -> list[Target]:
    """The targets of a campaign, in the order in which all pages, tables and files list them."""
    rows = await connection.execute(_TARGETS, {"campaign": campaign_id})
    return [Target.model_validate(row._mapping) for row in rows]


async def names_by_campaign(connection: AsyncConnection, campaign_ids: Sequence[int]) -> dict[int, list[str]]:
    """The target names that each select one target of their campaign."""
    names: dict[int, list[str]] = {campaign_id: [] for campaign_id in campaign_ids}
    for row in await connection.execute(_NAMES, {"campaigns": list(campaign_ids)}):
        names[row.campaign_id].append(row.name)
    return names
