"""What reports read of the database. All SQL of reports."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.results.report_data import (
    CaseLatency,
    Failure,
    Fingerprint,
    FirstCall,
    FunctionVerdict,
    Measure,
    PlacementCount,
    Queries,
)

# Both are shown beside the tables made of them, so that anybody can ask the same: only views, no parameters.
_VERDICTS = """\
SELECT target_id, function, verdict, verdict_on_device, cause, cause_on_device, fell_back, unknown_placement,
       failed, unknown_cause, not_counted_cause
  FROM function_verdicts
 WHERE campaign_id = {campaign}
 ORDER BY function, target_id"""

_LATENCIES = """\
SELECT target_id, function, "case", host_only, {column} AS milliseconds
  FROM case_latencies
 WHERE campaign_id = {campaign} AND {column} > 0
 ORDER BY function, "case", target_id"""

_BASES = text("SELECT target_id, cpu_target_id FROM cpu_bases WHERE campaign_id = :campaign")

# A case's placement over its runs is the worst that any of them proved.
_PLACEMENTS = """\
SELECT target_id, placement, count(*) AS cases
  FROM (SELECT target_id, "case",
               CASE WHEN bool_or(host_only) THEN 'host_only'
                    WHEN bool_or(placement = 'fell_back') THEN 'fell_back'
                    WHEN bool_and(placement = 'on_device') THEN 'on_device'
                    ELSE 'unknown' END AS placement
          FROM outcome_rows
         WHERE campaign_id = {campaign} AND verdict = 'passed'
         GROUP BY target_id, "case") placed
 GROUP BY target_id, placement
 ORDER BY target_id, placement"""

_FIRST_CALLS = """\
SELECT target_id, function, cold_ms, steady_ms
  FROM function_latencies
 WHERE campaign_id = {campaign} AND cold_ms > 0 AND steady_ms > 0 AND NOT host_only
 ORDER BY function, target_id"""

_COLUMNS: dict[Measure, str] = {"steady": "steady_ms", "cold": "cold_ms", "paper": "mean_cold_ms"}


def queries(campaign_id: int, measure: Measure) -> Queries:
    return Queries(
        verdicts=_VERDICTS.format(campaign=int(campaign_id)),
        latencies=_LATENCIES.format(campaign=int(campaign_id), column=_COLUMNS[measure]),
        placements=_PLACEMENTS.format(campaign=int(campaign_id)),
        first_calls=_FIRST_CALLS.format(campaign=int(campaign_id)),
    )


async def cpu_bases(connection: AsyncConnection, campaign_id: int) -> dict[int, int]:
    """By target: the CPU target that its latencies are set against."""
    rows = await connection.execute(_BASES, {"campaign": campaign_id})
    return {row.target_id: row.cpu_target_id for row in rows}


async def verdicts(connection: AsyncConnection, asked: Queries) -> list[FunctionVerdict]:
    return [FunctionVerdict(*row) for row in await connection.execute(text(asked.verdicts))]


async def latencies(connection: AsyncConnection, asked: Queries) -> list[CaseLatency]:
    return [CaseLatency(*row) for row in await connection.execute(text(asked.latencies))]


async def placements(connection: AsyncConnection, asked: Queries) -> list[PlacementCount]:
    return [PlacementCount(*row) for row in await connection.execute(text(asked.placements))]


async def first_calls(connection: AsyncConnection, asked: Queries) -> list[FirstCall]:
    return [FirstCall(*row) for row in await connection.execute(text(asked.first_calls))]


_FAILURES = """
SELECT DISTINCT ON (o.target_id, c.function)
       o.target_id, c.function, c.name AS "case", o.run, coalesce(o.cause, 'placement') AS cause,
       coalesce(o.evidence ->> 'mismatch', o.evidence ->> 'message', o.evidence ->> 'signal', o.ending) AS said
  FROM outcomes o JOIN cases c ON c.id = o.case_id
 WHERE o.campaign_id = :campaign
   AND (o.verdict = 'failed' OR o.verdict = 'passed' AND o.placement = 'fell_back' AND c.host_only IS NULL)
 ORDER BY o.target_id, c.function, o.verdict = 'failed' DESC, c.position, o.run
 LIMIT CAST(:most AS int)
"""


async def failures(connection: AsyncConnection, campaign_id: int, most: int) -> list[Failure]:
    """Of each function and target that failed, the first case to run again; at most ``most``."""
    rows = await connection.execute(text(_FAILURES), {"campaign": campaign_id, "most": most})
    return [Failure(*row) for row in rows]


_FINGERPRINTS = """
SELECT n.target_id, n.outcomes, f.id, f.body
  FROM (SELECT target_id, fingerprint_id, count(*) AS outcomes
          FROM outcomes WHERE campaign_id = :campaign AND fingerprint_id IS NOT NULL GROUP BY 1, 2) n
  JOIN fingerprints f ON f.id = n.fingerprint_id
 ORDER BY n.target_id, n.outcomes DESC, f.id
"""


async def fingerprints(connection: AsyncConnection, campaign_id: int) -> list[Fingerprint]:
    """What produced the campaign's outcomes, by target."""
    rows = await connection.execute(text(_FINGERPRINTS), {"campaign": campaign_id})
    return [Fingerprint(*row) for row in rows]
