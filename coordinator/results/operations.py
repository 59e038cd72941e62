"""Operations that fell back, failed, gave a wrong result or lack a lowering, with their functions and cases.

People call functions, but a device has kernels for a framework's own operations (``aten::isin``, ``Qr``, ``eigh``).
Operations that ran on the device are not recorded, so an operation is listed only if a case that uses it failed or fell
back.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.campaigns import service as campaigns
from coordinator.errors import NotFoundError
from coordinator.results.involvement import Met
from coordinator.targets import store as targets
from coordinator.targets.models import labels

MOST_OPERATIONS = 1000
MOST_CASES = 2000


class OperationSummary(BaseModel):
    """One operation on one target, with the numbers of cases in which it is involved."""

    operation: str
    target_id: int
    target: str
    fell_back: int
    failed: int
    diverged: int
    not_lowered: int
    functions: list[str]
    """All functions whose cases use the operation, by name."""


class CampaignOperations(BaseModel):
    """The operations of a campaign that fell back, failed or lack a lowering. The operation with the most cases comes
    first."""

    campaign_id: int
    operations: list[OperationSummary]
    more: bool
    """Whether there are more operations than listed. A longer `name` narrows the list."""


class OperationCase(BaseModel):
    """A case that uses the operation, on one target. The runs of the case are combined."""

    target_id: int
    target: str
    framework: str
    function: str
    case: str
    met: Met
    runs: int
    times: int | None
    """For a fallback, how often the operation ran on the host. If the runs differ, the number of the run with the most
    calls."""
    dtypes: list[str]
    """For a failure, the dtypes of the operation's arrays."""
    kernels: str | None
    """For a failure, the device's kernels for the operation, if they are known."""
    cause: str | None


class OperationCases(BaseModel):
    """The cases that involve a given operation, in one campaign."""

    campaign_id: int
    operation: str
    cases: list[OperationCase]
    more: bool


_MET = """
SELECT o.target_id, o.case_id, f.key AS operation, 'fell_back' AS met, (f.value #>> '{}')::bigint AS times,
       NULL::jsonb AS dtypes, NULL AS kernels, NULL AS cause
  FROM outcomes o, jsonb_each(o.proof -> 'fallbacks') f
 WHERE o.campaign_id = :campaign AND o.verdict = 'passed' AND o.placement = 'fell_back'
UNION ALL
SELECT o.target_id, o.case_id, o.evidence ->> 'operation',
       CASE WHEN o.verdict <> 'failed' THEN 'not_lowered'
            WHEN o.ending IN ('mismatched', 'accepted') THEN 'diverged'
            ELSE 'failed' END,
       NULL, o.evidence -> 'dtypes', o.evidence ->> 'kernels', o.cause
  FROM outcomes o
 WHERE o.campaign_id = :campaign AND o.evidence ->> 'operation' IS NOT NULL
   AND (o.verdict = 'failed' OR o.cause = 'not_lowered')"""

_COUNTS = ",\n       ".join(f"count(DISTINCT m.case_id) FILTER (WHERE m.met = '{met}') AS {met}" for met in Met)
_SUMMARIES = text(f"""
SELECT m.operation, m.target_id,
       {_COUNTS},
       array_agg(DISTINCT c.function ORDER BY c.function) AS functions
  FROM ({_MET}) m JOIN cases c ON c.id = m.case_id
 WHERE strpos(lower(m.operation), lower(:name)) > 0
 GROUP BY m.operation, m.target_id
 ORDER BY count(DISTINCT m.case_id) DESC, m.operation COLLATE "C", m.target_id
 LIMIT :most
""")

_CASES = text(f"""
SELECT m.target_id, s.framework, c.function, c.name AS "case", m.met, count(*) AS runs, max(m.times) AS times,
       (array_agg(m.dtypes) FILTER (WHERE m.dtypes IS NOT NULL))[1] AS dtypes, max(m.kernels) AS kernels,
       max(m.cause) AS cause
  FROM ({_MET}) m JOIN cases c ON c.id = m.case_id JOIN suites s ON s.id = c.suite_id
 WHERE m.operation = :operation
 GROUP BY m.target_id, s.framework, c.function, c.name, c.position, m.met
 ORDER BY c.function COLLATE "C", c.position, m.target_id, m.met
 LIMIT :most
""")


async def of_campaign(engine: AsyncEngine, campaign_id: int, name: str = "") -> CampaignOperations:
    """The operations whose name contains ``name``, on each target where they fell back or failed."""
    target_labels, rows = await _read(engine, campaign_id, _SUMMARIES, MOST_OPERATIONS, name=name)
    return CampaignOperations(
        campaign_id=campaign_id,
        operations=[OperationSummary(target=target_labels[row["target_id"]], **row) for row in rows[:MOST_OPERATIONS]],
        more=len(rows) > MOST_OPERATIONS,
    )


async def cases_of(engine: AsyncEngine, campaign_id: int, operation: str) -> OperationCases:
    """The cases in which the operation is involved. Raises ``NotFoundError`` if there are none."""
    target_labels, rows = await _read(engine, campaign_id, _CASES, MOST_CASES, operation=operation)
    if not rows:
        raise NotFoundError(
            f"no case of campaign {campaign_id} fell back or failed at operation {operation!r} (executions "
            "on the device are not recorded). Use the framework's own name, such as aten::isin, or "
            "no name to get a list of all operations"
        )
    return OperationCases(
        campaign_id=campaign_id,
        operation=operation,
        cases=[
            OperationCase(**row | {"target": target_labels[row["target_id"]], "dtypes": row["dtypes"] or []})
            for row in rows[:MOST_CASES]
        ],
        more=len(rows) > MOST_CASES,
    )


async def _read(
    engine: AsyncEngine, campaign_id: int, sql: TextClause, most: int, **values: str
) -> tuple[dict[int, str], list[dict[str, Any]]]:
    """The labels of the campaign's targets, and at most ``most`` + 1 rows. The last row shows that there are more than
    ``most``."""
    await campaigns.detail(engine, campaign_id)
    async with engine.connect() as connection:
        target_labels = labels(await targets.of_campaign(connection, campaign_id))
        result = await connection.execute(sql, {"campaign": campaign_id, "most": most + 1, **values})
        return target_labels, [dict(row._mapping) for row in result]
