"""Reads the rows of reports from the database. This module contains all SQL of reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.views import failure_text
from coordinator.figures.counting import counts_of
from coordinator.reference.models import Reference
from coordinator.results.judges import JudgedCases
from coordinator.results.report_data import (
    FailedCase,
    FirstCallLatency,
    FunctionLatencies,
    FunctionVerdict,
    Measure,
    PlacementCount,
    Queries,
    ReportData,
    StoredFingerprint,
)
from coordinator.results.store import columns
from coordinator.targets import store as targets

RowT = TypeVar("RowT")

PLACES = ("fell_back", "host_only", "on_device", "unknown")
"""The placements of passed cases, which are columns of ``matrix_targets``."""

# The queries below are shown next to the tables that are made from their rows, so that anybody can run them. So they
# use only views and no parameters. The tables are made from the same rows in the stored matrix, which is faster than
# the views.
_VERDICTS = """\
SELECT *
  FROM function_verdicts
 WHERE campaign_id = {campaign}
 ORDER BY function, target_id"""

_KEPT_VERDICTS = text(f"""
SELECT {columns(field.name for field in fields(FunctionVerdict))}
  FROM matrix_cells m WHERE campaign_id = :campaign ORDER BY function, target_id
""")

_LATENCIES = """\
SELECT target_id, function, "case", host_only, {column} AS milliseconds
  FROM case_latencies
 WHERE campaign_id = {campaign} AND {column} > 0
 ORDER BY function, "case", target_id"""

_KEPT_LATENCIES = """
SELECT target_id, function, host_only, cases, {column} AS milliseconds
  FROM matrix_latencies WHERE campaign_id = :campaign ORDER BY function, target_id
"""

# A case's placement over its runs is the worst that any of them proved.
PLACEMENTS = """\
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

_KEPT_TARGETS = text("""
SELECT target_id, cpu_target_id, fell_back, host_only, on_device, unknown
  FROM matrix_targets WHERE campaign_id = :campaign ORDER BY target_id
""")

_FIRST_CALLS = """\
SELECT target_id, function, first_cold_ms, later_cold_ms, steady_ms
  FROM function_latencies
 WHERE campaign_id = {campaign} AND first_cold_ms > 0 AND steady_ms > 0 AND NOT host_only
 ORDER BY function, target_id"""

_KEPT_FIRST_CALLS = text("""
SELECT target_id, function, first_cold_ms, later_cold_ms, steady_ms
  FROM matrix_cells
 WHERE campaign_id = :campaign AND first_cold_ms > 0 AND steady_ms > 0 AND NOT host_only
 ORDER BY function, target_id
""")

# A case was judged if one of its runs passed or failed.
JUDGES = """\
SELECT framework, function, judged_by, count(*) FILTER (WHERE ran) AS cases
  FROM (SELECT framework, function, judged_by, suite, "case", bool_or(verdict IN ('passed', 'failed')) AS ran
          FROM outcome_rows WHERE campaign_id = {campaign}
         GROUP BY framework, function, judged_by, suite, "case") judged
 GROUP BY framework, function, judged_by
 ORDER BY framework, function, judged_by"""

_JUDGES_OF_WHAT_RAN = JUDGES.replace(" ORDER BY", "HAVING count(*) FILTER (WHERE ran) > 0\n ORDER BY")

_KEPT_JUDGES = text("""
SELECT framework, function, judged_by, cases
  FROM matrix_rows, unnest(judges, judged_cases) judged (judged_by, cases)
 WHERE campaign_id = :campaign AND cases > 0 ORDER BY framework, function, judged_by
""")

_COLUMNS: dict[Measure, str] = {"level": "low_ms", "cold": "first_cold_ms", "paper": "mean_cold_ms"}


def queries(campaign_id: int, measure: Measure) -> Queries:
    campaign, column = int(campaign_id), _COLUMNS[measure]
    texts = (_VERDICTS, _LATENCIES, PLACEMENTS, _FIRST_CALLS, _JUDGES_OF_WHAT_RAN)
    return Queries(*(query.format(campaign=campaign, column=column) for query in texts))


async def read(
    connection: AsyncConnection, campaign_id: int, measure: Measure, reference: Reference | None
) -> ReportData:
    """Read all rows for a campaign's tables from its stored matrix. ``reference`` becomes a part of the returned
    data."""
    kept_latencies = text(_KEPT_LATENCIES.format(column=_COLUMNS[measure]))
    latencies = await connection.execute(kept_latencies, {"campaign": campaign_id})
    of_targets = (await connection.execute(_KEPT_TARGETS, {"campaign": campaign_id})).all()
    return ReportData(
        name=f"campaign {campaign_id}",
        targets=tuple(await targets.of_campaign(connection, campaign_id)),
        verdicts=await _rows(connection, _verdict, _KEPT_VERDICTS, campaign=campaign_id),
        latencies=tuple(_latency_rows(latencies)),
        measure=measure,
        reference=reference,
        queries=queries(campaign_id, measure),
        placements=tuple(
            PlacementCount(row.target_id, placement, row._mapping[placement])
            for row in of_targets
            for placement in PLACES
            if row._mapping[placement]
        ),
        first_calls=await _rows(connection, FirstCallLatency, _KEPT_FIRST_CALLS, campaign=campaign_id),
        judged=await _rows(connection, JudgedCases, _KEPT_JUDGES, campaign=campaign_id),
        cpu_bases={row.target_id: row.cpu_target_id for row in of_targets if row.cpu_target_id is not None},
    )


def _verdict(target: int, function: str, counts: str, *figures: Any) -> FunctionVerdict:
    return FunctionVerdict(target, function, counts_of(counts), *figures)


def _latency_rows(rows: Iterable[Sequence[Any]]) -> Iterator[FunctionLatencies]:
    """The functions with a measured case. A case of 0 ms is not included, because it has no ratio."""
    for target, function, host_only, cases, values in rows:
        by_case = {case: value for case, value in zip(cases, values, strict=True) if value is not None and value > 0}
        if by_case:
            yield FunctionLatencies(target, function, host_only, by_case)


async def _rows(
    connection: AsyncConnection, row_type: Callable[..., RowT], sql: TextClause, **values: int
) -> tuple[RowT, ...]:
    return tuple(row_type(*row) for row in await connection.execute(sql, values))


_FAILURES = text(f"""
SELECT DISTINCT ON (o.target_id, c.function)
       o.target_id, c.function, c.name AS "case", o.run, coalesce(o.cause, 'placement') AS cause,
       {failure_text("o")} AS said
  FROM outcomes o JOIN cases c ON c.id = o.case_id
 WHERE o.campaign_id = :campaign
   AND (o.verdict = 'failed' OR o.verdict = 'passed' AND o.placement = 'fell_back' AND c.host_only IS NULL)
 ORDER BY o.target_id, c.function, o.verdict = 'failed' DESC, c.position, o.run
 LIMIT CAST(:most AS int)
""")


async def failures(connection: AsyncConnection, campaign_id: int, most: int) -> tuple[FailedCase, ...]:
    """For each failed function on each target, the first case to run again, at most ``most`` in all."""
    return await _rows(connection, FailedCase, _FAILURES, campaign=campaign_id, most=most)


_FINGERPRINTS = text("""
SELECT n.target_id, n.outcomes, f.id, f.body
  FROM (SELECT target_id, fingerprint_id, count(*) AS outcomes
          FROM outcomes WHERE campaign_id = :campaign AND fingerprint_id IS NOT NULL GROUP BY 1, 2) n
  JOIN fingerprints f ON f.id = n.fingerprint_id
 ORDER BY n.target_id, n.outcomes DESC, f.id
""")


async def fingerprints(connection: AsyncConnection, campaign_id: int) -> tuple[StoredFingerprint, ...]:
    """The machines and installations that produced the campaign's outcomes, by target."""
    return await _rows(connection, StoredFingerprint, _FINGERPRINTS, campaign=campaign_id)
