"""Refreshes the stored matrix: the statement that writes it, and queries for how current the matrix of a campaign
is."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.connection import allow_long_statements
from coordinator.database.views import (
    COUNTS_BY_RULE,
    FUNCTION_SUMS,
    VIEWS,
    cpu_bases,
    function_latencies,
    ratios,
)
from coordinator.figures.cell import ComparedFigures, CountedFigures, MeasuredFigures
from coordinator.results.report_store import JUDGES, PLACEMENTS, PLACES

WORK_MEMORY = "64MB"
"""PostgreSQL's work_mem for a refresh. It sorts up to a million outcomes; the default of 4 MB would use the disk."""
LOCK = 0x6D617478
"""Together with a campaign's number, this is the advisory lock for refreshing the campaign's matrix."""

_KEY = "campaign_id, framework, function, target_id"
_OF_CASES = ("low_ms", "first_cold_ms", "mean_cold_ms")
_SOURCES: Mapping[str, type[BaseModel]] = {"v": CountedFigures, "l": MeasuredFigures, "r": ComparedFigures}
"""The columns that come from each source of the statement below, by the source's alias in this statement."""
_FIGURES = tuple(f"{source}.{name}" for source, figures in _SOURCES.items() for name in figures.model_fields)
_VALUES = ("module", *(figure.partition(".")[2] for figure in _FIGURES))
_COUNTED = tuple(name for name in CountedFigures.model_fields if name != "counts")


def _replacing(*names: str) -> str:
    return f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in names)}"


_MODULE = "CASE WHEN strpos(v.function, '.') > 0 THEN regexp_replace(v.function, '[.][^.]*$', '') ELSE '' END"


def _in_order(value: str) -> str:
    """SQL for a sorted array with one value of each case of a function."""
    return f'array_agg({value} ORDER BY m."case" COLLATE "C") AS {value.partition(".")[2]}'


# One statement reads one snapshot, so ``matrices`` records the numbers from which the cells were computed. A
# cancelled job is also done: from then on, its case lacks a run. The latencies of cases, from which all others and the
# ratios are computed, are computed only once.
_REFRESH = f"""
WITH seen AS (
    SELECT coalesce(sum(done + cancelled), 0) AS done, coalesce(sum(reclassifications), 0) AS reclassifications
      FROM campaign_targets WHERE campaign_id = :campaign
), measured AS MATERIALIZED (
    SELECT * FROM case_latencies WHERE campaign_id = :campaign
), bases AS (
{cpu_bases("measured")}
), ratios AS (
    SELECT target_id, function, cpu_target_id, ratio AS ratio_to_cpu, cases AS ratio_cases FROM (
{ratios("measured", "bases")}
    ) found
), latencies AS (
{function_latencies("measured")}
), verdicts AS MATERIALIZED (
    SELECT n.campaign_id, t.framework, n.function, n.target_id, {", ".join(f"n.{name}" for name in _COUNTED)},
           {COUNTS_BY_RULE} AS counts
      FROM ({FUNCTION_SUMS}) n JOIN targets t ON t.id = n.target_id
     WHERE n.campaign_id = :campaign
), put_cells AS (
    INSERT INTO matrix_cells ({_KEY}, {", ".join(_VALUES)})
    SELECT v.campaign_id, v.framework, v.function, v.target_id, {_MODULE}, {", ".join(_FIGURES)}
      FROM verdicts v
      LEFT JOIN latencies l ON l.target_id = v.target_id AND l.function = v.function
      LEFT JOIN ratios r ON r.target_id = v.target_id AND r.function = v.function
    ON CONFLICT ({_KEY}) {_replacing(*_VALUES)}
), cases_by_name AS (
    SELECT framework, "case", min(case_id) AS id FROM measured GROUP BY framework, "case"
), latencies_by_case AS (
    SELECT m.target_id, m.function, bool_and(m.host_only) AS host_only,
           {", ".join(_in_order(name) for name in ("n.id", *(f"m.{name}" for name in _OF_CASES)))}
      FROM measured m JOIN cases_by_name n ON n.framework = m.framework AND n."case" = m."case"
     GROUP BY m.target_id, m.function
), put_latencies AS (
    INSERT INTO matrix_latencies ({_KEY}, host_only, cases, {", ".join(_OF_CASES)})
    SELECT v.campaign_id, v.framework, v.function, v.target_id, coalesce(l.host_only, v.host_only),
           {", ".join(f"coalesce(l.{name}, '{{}}')" for name in ("id", *_OF_CASES))}
      FROM verdicts v LEFT JOIN latencies_by_case l ON l.target_id = v.target_id AND l.function = v.function
    ON CONFLICT ({_KEY}) {_replacing("host_only", "cases", *_OF_CASES)}
), judged AS (
{JUDGES.format(campaign=":campaign")}
), put_rows AS (
    INSERT INTO matrix_rows (campaign_id, framework, function, module, judges, judged_cases)
    SELECT CAST(:campaign AS int), v.framework, v.function, {_MODULE},
           array_agg(v.judged_by ORDER BY v.judged_by COLLATE "C"), array_agg(v.cases ORDER BY v.judged_by COLLATE "C")
      FROM judged v GROUP BY v.framework, v.function
    ON CONFLICT (campaign_id, framework, function) {_replacing("module", "judges", "judged_cases")}
), placed AS (
{PLACEMENTS.format(campaign=":campaign")}
), put_targets AS (
    INSERT INTO matrix_targets (campaign_id, target_id, cpu_target_id, {", ".join(PLACES)})
    SELECT CAST(:campaign AS int), v.target_id, min(b.cpu_target_id),
           {", ".join(f"coalesce(sum(p.cases) FILTER (WHERE p.placement = '{place}'), 0)" for place in PLACES)}
      FROM (SELECT DISTINCT target_id FROM verdicts) v
      LEFT JOIN bases b ON b.target_id = v.target_id
      LEFT JOIN placed p ON p.target_id = v.target_id
     GROUP BY v.target_id
    ON CONFLICT (campaign_id, target_id) {_replacing("cpu_target_id", *PLACES)}
)
INSERT INTO matrices (campaign_id, done, reclassifications, made_at, took_s, definition)
SELECT :campaign, seen.done, seen.reclassifications, clock_timestamp(), 0, :definition FROM seen
ON CONFLICT (campaign_id) {_replacing("done", "reclassifications", "made_at", "took_s", "definition")}
"""

DEFINITION = hashlib.sha256("\n".join((_REFRESH, *(view.query for view in VIEWS))).encode()).hexdigest()[:16]
"""The version of the definition of the stored columns: a hash of this statement and the views. A matrix with another
version is rebuilt."""

_NOW = """
SELECT n.campaign_id, p.state = 'running' AS running, n.done, coalesce(m.done, 0) AS kept, m.made_at,
       coalesce(m.definition, :definition) = :definition AS as_defined,
       coalesce(m.done, 0) = n.done AND coalesce(m.reclassifications, 0) = n.reclassifications
           AND coalesce(m.definition, :definition) = :definition AS current,
       coalesce(m.took_s, 0) AS took_s, coalesce(extract(epoch FROM now() - m.made_at), 1e9)::float8 AS age_s
  FROM (SELECT campaign_id, sum(done + cancelled) AS done, sum(reclassifications) AS reclassifications
          FROM campaign_targets GROUP BY campaign_id) n
  JOIN campaigns p ON p.id = n.campaign_id
  LEFT JOIN matrices m ON m.campaign_id = n.campaign_id
"""


async def now(connection: AsyncConnection, campaign_id: int) -> Row[Any] | None:
    """The progress of the campaign, and of its matrix."""
    result = await connection.execute(
        text(f"{_NOW} WHERE n.campaign_id = :campaign"), {"campaign": campaign_id, "definition": DEFINITION}
    )
    return result.one_or_none()


async def outdated_campaigns(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """The campaigns whose matrix is out of date, newest first."""
    rows = await connection.execute(
        text(f"SELECT * FROM ({_NOW}) matrix WHERE NOT current ORDER BY campaign_id DESC"), {"definition": DEFINITION}
    )
    return rows.all()


async def lock_exclusively(connection: AsyncConnection, campaign_id: int, *, wait: bool) -> bool:
    """Lock the campaign's matrix for this transaction. Returns False if another process has the lock.

    After this call, the statements of the transaction have no short timeout, because a statement may wait for another
    refresh.
    """
    await allow_long_statements(connection)
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    result = await connection.execute(
        text(f"SELECT {function}(:lock, :campaign)"), {"lock": LOCK, "campaign": campaign_id}
    )
    return wait or bool(result.scalar_one())


async def refresh(connection: AsyncConnection, campaign_id: int, *, anew: bool) -> None:
    """Update the campaign's cells. With ``anew``, cells that were computed by another definition are first deleted."""
    await connection.execute(text(f"SET LOCAL work_mem = '{WORK_MEMORY}'"))
    # PostgreSQL expects one row from each view, and would read the latencies once for every verdict.
    await connection.execute(text("SET LOCAL enable_nestloop = off"))
    started_at = time.monotonic()
    if anew:
        for table in ("matrix_cells", "matrix_latencies", "matrix_rows", "matrix_targets"):
            await connection.execute(
                text(f"DELETE FROM {table} WHERE campaign_id = :campaign"), {"campaign": campaign_id}
            )
    await connection.execute(text(_REFRESH), {"campaign": campaign_id, "definition": DEFINITION})
    await connection.execute(
        text("UPDATE matrices SET took_s = :took WHERE campaign_id = :campaign"),
        {"campaign": campaign_id, "took": time.monotonic() - started_at},
    )
