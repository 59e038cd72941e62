"""Reads the cases, latencies and digests for comparisons from the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.figures.counting import CountingRule
from coordinator.results.comparison.cases import enough
from coordinator.results.comparison.latencies import Measurement
from coordinator.results.comparison.models import SideCase
from coordinator.results.comparison.pairs import CaseDigest

# A function that never touches a device has no verdict on it.
_CASES = """
SELECT n.function, n."case", n.runs, n.placements,
       CASE WHEN n.failed > 0 AND n.passed > 0 THEN 'flaky'
            WHEN n.failed > 0 THEN 'failed'
            WHEN n.unknown > 0 THEN 'unproven'
            WHEN n.passed > 0 THEN 'passed'
            WHEN n.incomplete > 0 THEN 'incomplete'
            ELSE 'skipped' END AS verdict,
       CASE WHEN n.failed > 0 THEN n.causes ELSE n.not_counted_causes END AS causes
  FROM (SELECT function, "case", count(*) AS runs,
               count(*) FILTER (WHERE verdict = 'passed') AS passed,
               count(*) FILTER (WHERE verdict = 'failed') AS failed,
               count(*) FILTER (WHERE verdict = 'unknown') AS unknown,
               count(*) FILTER (WHERE verdict = 'incomplete') AS incomplete,
               array_agg(DISTINCT coalesce(cause, 'unknown') COLLATE "C")
                   FILTER (WHERE verdict = 'failed') AS causes,
               array_agg(DISTINCT cause COLLATE "C")
                   FILTER (WHERE verdict IN ('skipped', 'incomplete') AND cause IS NOT NULL) AS not_counted_causes,
               array_agg(DISTINCT placement::text COLLATE "C") FILTER (WHERE verdict = 'passed') AS placements
          FROM (SELECT function, "case", placement, {cause} AS cause,
                       -- A refused call has no proven placement, but it is a change if the call is no longer refused.
                       CASE WHEN NOT ({counts}) THEN 'skipped'
                            WHEN refuses AND {verdict} = 'unknown' THEN verdict ELSE {verdict} END AS verdict
                  FROM outcome_rows
                 WHERE campaign_id = :campaign AND target_id = :target AND {verdict} IS NOT NULL) o
         GROUP BY function, "case") n
"""


async def cases(
    connection: AsyncConnection, campaign_id: int, target_id: int, rule: CountingRule
) -> dict[str, dict[str, SideCase]]:
    """Return the cases of one target: a dictionary by function, then by the case's name. Each case has the verdict,
    causes and placements of all its runs."""
    rows = await connection.execute(
        text(_CASES.format(verdict=rule.verdict_column, cause=rule.cause_column, counts=rule.cases)),
        {"campaign": campaign_id, "target": target_id},
    )
    by_function: dict[str, dict[str, SideCase]] = {}
    # Tens of thousands of cases have few distinct values, so equal ones share an object.
    kinds: dict[tuple[Any, ...], SideCase] = {}
    for function, case, runs, placements, verdict, causes in rows:
        kind = verdict, tuple(causes or ()), tuple(placements or ()), runs
        if kind not in kinds:
            kinds[kind] = SideCase(verdict=verdict, causes=causes or [], placements=placements or [], runs=runs)
        by_function.setdefault(function, {})[case] = kinds[kind]
    return {function: enough(cases, rule.least_cases) for function, cases in by_function.items()}


async def measurements(connection: AsyncConnection, campaign_id: int, target_id: int, column: str) -> list[Measurement]:
    """Return the latency in ``column`` of each run on one target: ``low_ms`` (level) or ``cold_ms`` (first call).

    Only runs that passed and are proven to have run on the device are included.
    """
    if column not in ("low_ms", "cold_ms"):
        raise ValueError(column)
    contention_columns = "contended, contended_share" if column == "low_ms" else "false, NULL"
    rows = await connection.execute(
        text(f"""
        SELECT function, "case", run, {column} AS milliseconds, {contention_columns}
          FROM outcome_rows
         WHERE campaign_id = :campaign AND target_id = :target AND verdict = 'passed' AND {column} > 0
           AND placement = 'on_device' AND NOT host_only
        """),
        {"campaign": campaign_id, "target": target_id},
    )
    return [Measurement(*row) for row in rows]


async def digests(connection: AsyncConnection, campaign_id: int, target_id: int) -> dict[str, CaseDigest]:
    """Return the digest and function of each case of the suite with which the target was charted: a dictionary by the
    case's name."""
    rows = await connection.execute(
        text("""
        SELECT c.name, c.function, c.digest,
               c.function IN (SELECT h.function FROM outcomes o JOIN cases h ON h.id = o.case_id
                               WHERE o.campaign_id = :campaign AND o.target_id = :target) AS charted
          FROM campaign_targets ct JOIN cases c ON c.suite_id = ct.suite_id
         WHERE ct.campaign_id = :campaign AND ct.target_id = :target
        """),
        {"campaign": campaign_id, "target": target_id},
    )
    return {row.name: CaseDigest(row.function, row.digest, row.charted) for row in rows}
