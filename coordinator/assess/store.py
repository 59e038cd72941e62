"""Evidence in the database: the charts, and the results of their cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.assess.runs import CaseTimes
from coordinator.database.views import case_latencies, cpu_bases, failure_text
from protocol.enums import GRADIENT, REFUSES, WITH_RECORDED_VALUES

_CHARTS = text("""
SELECT ct.campaign_id, ct.target_id, ct.suite_id, t.framework, t.version, t.device, t.device_class, t.hardware,
       t.simulated, t.notes, s.name AS suite, s.revision, coalesce(p.finished_at, now()) AS at,
       (SELECT f.body ->> 'repeat'
          FROM jobs j JOIN outcomes o ON o.job_id = j.id JOIN fingerprints f ON f.id = o.fingerprint_id
         WHERE j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id
         ORDER BY j.case_id, j.run LIMIT 1) AS repeat,
       (SELECT g.name FROM signers g WHERE g.id = p.signer_id AND g.revoked_at IS NULL) AS signed_by,
       p.imported_at IS NOT NULL AS is_imported
  FROM campaign_targets ct
  JOIN campaigns p ON p.id = ct.campaign_id
  JOIN targets t ON t.id = ct.target_id
  JOIN suites s ON s.id = ct.suite_id
 WHERE ct.done > 0
 ORDER BY at DESC, ct.campaign_id DESC, t.framework, t.device, t.id
""")

_CHARTED = text("SELECT campaign_id, target_id, done, reclassifications FROM campaign_targets WHERE done > 0")

_CASES = text("SELECT name, function, digest FROM cases WHERE suite_id = :suite")
_DIGESTS_OF_FUNCTIONS = text("""
SELECT suite_id, name, digest FROM cases WHERE suite_id = ANY(:suites) AND function = ANY(:functions)
""")

_CASE = """
c.id AS case_id, c.name, c.function, c.host_only IS NOT NULL AS host_only,
       array_agg(o.verdict ORDER BY o.run) AS verdicts,
       array_agg(o.placement ORDER BY o.run) AS placements,
       array_agg(o.cause ORDER BY o.run) AS causes,
       array_agg(o.ending ORDER BY o.run) AS endings,
"""
_IN_FULL = f"""c.tags, c.options, array_agg(left({failure_text("o")}, 2000) ORDER BY o.run) AS messages,
       jsonb_agg(CASE WHEN o.verdict = 'passed' THEN o.proof -> 'fallbacks' ELSE o.evidence -> 'operation' END
                 ORDER BY o.run) AS operations"""
# These tags affect the result of a case.
_ENDS = f"""CASE WHEN c.tags @> '["{REFUSES}"]' THEN ARRAY['{REFUSES}']
            WHEN c.tags @> '["{WITH_RECORDED_VALUES}"]' AND NOT c.tags @> '["{GRADIENT}"]'
            THEN ARRAY['{WITH_RECORDED_VALUES}']
            ELSE '{{}}' END AS tags,
       NULL AS options, NULL AS messages, NULL AS operations"""
# The query has no condition on the suite of the cases. While the statistics of PostgreSQL are older than the suite, it
# would expect that few cases meet this condition, and would then read all outcomes of the campaign once per case.
_OF_ALL = """
  FROM outcomes o
  JOIN cases c ON c.id = o.case_id
 WHERE o.campaign_id = :campaign AND o.target_id = :target
 GROUP BY c.id
 ORDER BY c.position, c.id
"""
# The query joins jobs, because jobs have an index by case, and outcomes do not.
_OF_FUNCTIONS = """
  FROM unnest(CAST(:campaigns AS integer[]), CAST(:targets AS integer[]), CAST(:suites AS integer[]))
       AS chart (campaign_id, target_id, suite_id)
  JOIN cases c ON c.suite_id = chart.suite_id AND c.function = ANY(:functions)
  JOIN jobs j ON j.campaign_id = chart.campaign_id AND j.target_id = chart.target_id AND j.case_id = c.id
  JOIN outcomes o ON o.job_id = j.id
 GROUP BY chart.campaign_id, chart.target_id, c.id
 ORDER BY c.position, c.id
"""

# The latencies are computed once here. Through the views, they would be computed for each of the three columns.
_TIMES = f"""
     measured AS MATERIALIZED (SELECT * FROM latencies WHERE campaign_id = ANY(:campaigns)),
     bases AS ({cpu_bases("measured")})
SELECT here.campaign_id, here.target_id, here.case_id, here.cold_ms, here.first_cold_ms,
       CASE WHEN here.low_ms > 0 AND cpu.low_ms > 0 AND NOT here.host_only THEN here.low_ms / cpu.low_ms END AS ratio
  FROM measured here
  LEFT JOIN bases ON bases.campaign_id = here.campaign_id AND bases.target_id = here.target_id
  LEFT JOIN measured cpu ON cpu.campaign_id = here.campaign_id AND cpu.target_id = bases.cpu_target_id
                        AND cpu.case_id = here.case_id
"""
_TIMES_OF_ALL = text(f"WITH latencies AS ({case_latencies('outcomes')}), {_TIMES}")
# The rows are selected before the view groups them. Otherwise it would group all rows of the campaigns.
_TIMES_OF_FUNCTIONS = text(f"""
WITH chosen AS MATERIALIZED (
    SELECT o.*
      FROM campaign_targets ct
      JOIN cases c ON c.suite_id = ct.suite_id AND c.function = ANY(:functions)
      JOIN jobs j ON j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id AND j.case_id = c.id
      JOIN outcomes o ON o.job_id = j.id
     WHERE ct.campaign_id = ANY(:campaigns)
),
     latencies AS ({case_latencies("chosen")}),
{_TIMES}""")


ChartKey = tuple[int, int]
"""The campaign id and the target id of a chart."""
Times = Mapping[int, Mapping[int, CaseTimes]]
"""The times of measured cases, by target id and case id. Ratios are relative to the nearest CPU."""


async def charts(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """One row for each target of each campaign that has outcomes. The campaign that ended last comes first."""
    return (await connection.execute(_CHARTS)).all()


async def read_charts(connection: AsyncConnection) -> frozenset[tuple[int, int, int, int]]:
    """The charts: campaign id, target id, number of outcomes, number of reclassifications. The set changes exactly when
    the evidence changes."""
    return frozenset(tuple(row) for row in await connection.execute(_CHARTED))


async def cases(connection: AsyncConnection, suite_id: int) -> Sequence[Row[Any]]:
    """The name, function and digest of each case of one revision of a suite."""
    return (await connection.execute(_CASES, {"suite": suite_id})).all()


async def digests_of_functions(
    connection: AsyncConnection, suite_ids: Collection[int], functions: Sequence[str]
) -> dict[int, dict[str, str | None]]:
    """The digests of some functions' cases, by suite id and case name."""
    by_suite: dict[int, dict[str, str | None]] = defaultdict(dict)
    values = {"suites": list(suite_ids), "functions": functions}
    for row in await connection.execute(_DIGESTS_OF_FUNCTIONS, values):
        by_suite[row.suite_id][row.name] = row.digest
    return by_suite


async def runs(connection: AsyncConnection, chart: Row[Any]) -> Sequence[Row[Any]]:
    """One row per case, with arrays of the results of its runs."""
    return await _cases_of_chart(connection, _IN_FULL, chart)


async def ends(connection: AsyncConnection, chart: Row[Any]) -> Sequence[Row[Any]]:
    """The rows of ``runs`` without options, messages, operations and most tags, which are most of the data."""
    return await _cases_of_chart(connection, _ENDS, chart)


async def runs_of_functions(
    connection: AsyncConnection, charts: Sequence[Row[Any]], functions: Sequence[str]
) -> dict[ChartKey, list[Row[Any]]]:
    """The rows of ``runs`` for some functions, by chart."""
    return await _cases_of_functions(connection, _IN_FULL, charts, functions)


async def ends_of_functions(
    connection: AsyncConnection, charts: Sequence[Row[Any]], functions: Sequence[str]
) -> dict[ChartKey, list[Row[Any]]]:
    """The rows of ``ends`` for some functions, by chart."""
    return await _cases_of_functions(connection, _ENDS, charts, functions)


async def _cases_of_chart(connection: AsyncConnection, columns: str, chart: Row[Any]) -> Sequence[Row[Any]]:
    values = {"campaign": chart.campaign_id, "target": chart.target_id}
    return (await connection.execute(text(f"SELECT {_CASE} {columns} {_OF_ALL}"), values)).all()


async def _cases_of_functions(
    connection: AsyncConnection, columns: str, charts: Sequence[Row[Any]], functions: Sequence[str]
) -> dict[ChartKey, list[Row[Any]]]:
    by_chart: dict[ChartKey, list[Row[Any]]] = defaultdict(list)
    values = {
        "campaigns": [chart.campaign_id for chart in charts],
        "targets": [chart.target_id for chart in charts],
        "suites": [chart.suite_id for chart in charts],
        "functions": functions,
    }
    query = text(f"SELECT chart.campaign_id, chart.target_id, {_CASE} {columns} {_OF_FUNCTIONS}")
    for row in await connection.execute(query, values):
        by_chart[row.campaign_id, row.target_id].append(row)
    return by_chart


async def times(connection: AsyncConnection, campaign_id: int) -> Times:
    """The times of all cases of a campaign."""
    rows = await connection.execute(_TIMES_OF_ALL, {"campaigns": [campaign_id]})
    return _times_by_campaign([campaign_id], rows)[campaign_id]


async def times_of_functions(
    connection: AsyncConnection, campaign_ids: Collection[int], functions: Sequence[str]
) -> dict[int, Times]:
    """The times of some functions' cases, by campaign id."""
    values = {"campaigns": list(campaign_ids), "functions": functions}
    return _times_by_campaign(campaign_ids, await connection.execute(_TIMES_OF_FUNCTIONS, values))


def _times_by_campaign(campaign_ids: Iterable[int], rows: Iterable[Row[Any]]) -> dict[int, Times]:
    by_campaign: dict[int, dict[int, dict[int, CaseTimes]]] = {number: defaultdict(dict) for number in campaign_ids}
    for row in rows:
        by_campaign[row.campaign_id][row.target_id][row.case_id] = CaseTimes(row.ratio, row.cold_ms, row.first_cold_ms)
    return dict(by_campaign)
