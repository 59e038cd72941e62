"""The rows that reports are made of, read from the database. All SQL of reports."""

from __future__ import annotations

from typing import TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.reference.models import Reference
from coordinator.results.judges import JudgedCases
from coordinator.results.report_data import (
    CaseLatency,
    Failure,
    Fingerprint,
    FirstCall,
    FunctionVerdict,
    Measure,
    PlacementCount,
    Queries,
    ReportData,
)
from coordinator.targets import store as targets

RowT = TypeVar("RowT")

# These are shown beside the tables that are made of them, so that anybody can run them: only views, no parameters.
_VERDICTS = """\
SELECT target_id, function, verdict, verdict_on_device, cause, cause_on_device, fell_back, unknown_placement,
       failed, unknown_cause, not_counted_cause, host_work, verdict_without_host_work,
       of_another_device,
       lowered, not_lowered, lowering, missing_lowering
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
SELECT target_id, function, first_cold_ms, later_cold_ms, steady_ms
  FROM function_latencies
 WHERE campaign_id = {campaign} AND first_cold_ms > 0 AND steady_ms > 0 AND NOT host_only
 ORDER BY function, target_id"""

_JUDGES = """\
SELECT framework, function, judged_by, count(*) AS cases
  FROM (SELECT DISTINCT framework, function, judged_by, suite, "case"
          FROM outcome_rows WHERE campaign_id = {campaign}) judged
 GROUP BY framework, function, judged_by
 ORDER BY framework, function, judged_by"""

_COLUMNS: dict[Measure, str] = {"steady": "low_ms", "cold": "first_cold_ms", "paper": "mean_cold_ms"}


def queries(campaign_id: int, measure: Measure) -> Queries:
    campaign, column = int(campaign_id), _COLUMNS[measure]
    texts = (_VERDICTS, _LATENCIES, _PLACEMENTS, _FIRST_CALLS, _JUDGES)
    return Queries(*(query.format(campaign=campaign, column=column) for query in texts))


async def read(
    connection: AsyncConnection, campaign_id: int, measure: Measure, reference: Reference | None
) -> ReportData:
    """All rows of which a campaign's tables are made; ``reference`` is set beside them."""
    sql = queries(campaign_id, measure)
    bases = await connection.execute(_BASES, {"campaign": campaign_id})
    return ReportData(
        name=f"campaign {campaign_id}",
        targets=tuple(await targets.of_campaign(connection, campaign_id)),
        verdicts=await _rows(connection, FunctionVerdict, sql.verdicts),
        latencies=await _rows(connection, CaseLatency, sql.latencies),
        measure=measure,
        reference=reference,
        queries=sql,
        placements=await _rows(connection, PlacementCount, sql.placements),
        first_calls=await _rows(connection, FirstCall, sql.first_calls),
        judged=await _rows(connection, JudgedCases, sql.judges),
        cpu_bases={row.target_id: row.cpu_target_id for row in bases},
    )


async def _rows(connection: AsyncConnection, row_type: type[RowT], sql: str, **values: int) -> tuple[RowT, ...]:
    return tuple(row_type(*row) for row in await connection.execute(text(sql), values))


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


async def failures(connection: AsyncConnection, campaign_id: int, most: int) -> tuple[Failure, ...]:
    """Of each function and target that failed, the first case to run again; at most ``most``."""
    return await _rows(connection, Failure, _FAILURES, campaign=campaign_id, most=most)


_FINGERPRINTS = """
SELECT n.target_id, n.outcomes, f.id, f.body
  FROM (SELECT target_id, fingerprint_id, count(*) AS outcomes
          FROM outcomes WHERE campaign_id = :campaign AND fingerprint_id IS NOT NULL GROUP BY 1, 2) n
  JOIN fingerprints f ON f.id = n.fingerprint_id
 ORDER BY n.target_id, n.outcomes DESC, f.id
"""


async def fingerprints(connection: AsyncConnection, campaign_id: int) -> tuple[Fingerprint, ...]:
    """The machines and installations that produced the campaign's outcomes, by target."""
    return await _rows(connection, Fingerprint, _FINGERPRINTS, campaign=campaign_id)
