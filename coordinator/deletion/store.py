"""The DELETE statements, in the order that foreign keys require."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

_CAMPAIGN = text("""
SELECT c.id, c.name, c.state, c.imported_at IS NOT NULL AS imported,
       EXISTS (SELECT FROM jobs j WHERE j.campaign_id = c.id AND j.state IN ('leased', 'running')) AS in_flight
  FROM campaigns c WHERE c.id = :campaign FOR UPDATE
""")
_SUITES_OF = text("SELECT suite_id FROM campaign_targets WHERE campaign_id = :campaign")
_OF_CAMPAIGN = tuple(
    text(statement)
    for statement in (
        "DELETE FROM overrides USING outcomes o WHERE overrides.job_id = o.job_id AND o.campaign_id = :campaign",
        "DELETE FROM outcomes WHERE campaign_id = :campaign",
        "DELETE FROM attempts USING jobs j WHERE attempts.job_id = j.id AND j.campaign_id = :campaign",
        "DELETE FROM jobs WHERE campaign_id = :campaign",
        "DELETE FROM campaign_targets WHERE campaign_id = :campaign",
        "DELETE FROM submissions WHERE campaign_id = :campaign",
        "UPDATE campaigns SET rerun_of = NULL WHERE rerun_of = :campaign",
        # Its matrix is deleted by cascade.
        "DELETE FROM campaigns WHERE id = :campaign",
    )
)
_OUTCOMES, _JOBS = 1, 3
"""The indexes of outcomes and jobs in ``_OF_CAMPAIGN``."""

_SUITES = """
SELECT s.id, s.framework, s.name, s.revision, s.origin, s.created_at,
       (SELECT count(*) FROM cases c WHERE c.suite_id = s.id) AS cases,
       ARRAY(SELECT DISTINCT t.campaign_id FROM campaign_targets t WHERE t.suite_id = s.id ORDER BY 1) AS campaigns,
       ARRAY(SELECT r.id FROM runner_suites rs JOIN runners r ON r.id = rs.runner_id
              WHERE rs.suite_id = s.id AND r.state <> 'removed' ORDER BY 1) AS runners
  FROM suites s
"""
_ALL_SUITES = text(f"{_SUITES} ORDER BY s.framework, s.name, s.id")
_SUITE = text(f"{_SUITES} WHERE s.id = :suite")
_OF_SUITE = tuple(
    text(statement)
    for statement in (
        "DELETE FROM runner_suites WHERE suite_id = :suite",
        "DELETE FROM cases WHERE suite_id = :suite",
        "DELETE FROM suites WHERE id = :suite",
    )
)


async def lock_campaign(connection: AsyncConnection, campaign_id: int) -> Row[Any] | None:
    """Lock a campaign. The returned row has its ``id``, ``name`` and ``state``, whether it was ``imported``, and
    whether it has jobs ``in_flight``."""
    return (await connection.execute(_CAMPAIGN, {"campaign": campaign_id})).one_or_none()


async def suites_of(connection: AsyncConnection, campaign_id: int) -> Sequence[int]:
    return (await connection.execute(_SUITES_OF, {"campaign": campaign_id})).scalars().all()


async def delete_campaign(connection: AsyncConnection, campaign_id: int) -> tuple[int, int]:
    """Delete the campaign with all dependent rows. Returns the numbers of its jobs and outcomes."""
    rows = [(await connection.execute(statement, {"campaign": campaign_id})).rowcount for statement in _OF_CAMPAIGN]
    return rows[_JOBS], rows[_OUTCOMES]


async def list_suites(connection: AsyncConnection) -> Sequence[Row[Any]]:
    return (await connection.execute(_ALL_SUITES)).all()


async def read_suite(connection: AsyncConnection, suite_id: int) -> Row[Any] | None:
    return (await connection.execute(_SUITE, {"suite": suite_id})).one_or_none()


async def delete_suite(connection: AsyncConnection, suite_id: int) -> None:
    for statement in _OF_SUITE:
        await connection.execute(statement, {"suite": suite_id})
