"""Evidence in the database: which campaigns charted which targets, and what came of their cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.views import case_latencies, cpu_bases, failure_text
from protocol.enums import REFUSES

_CHARTS = text("""
SELECT ct.campaign_id, ct.target_id, ct.suite_id, t.framework, t.version, t.device, t.device_class, t.hardware,
       t.simulated, t.notes, s.name AS suite, s.revision, coalesce(p.finished_at, now()) AS at,
       (SELECT f.body ->> 'repeat'
          FROM jobs j JOIN outcomes o ON o.job_id = j.id JOIN fingerprints f ON f.id = o.fingerprint_id
         WHERE j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id
         ORDER BY j.case_id, j.run LIMIT 1) AS repeat,
       (SELECT g.name FROM signers g WHERE g.id = p.signer_id AND g.revoked_at IS NULL) AS signed_by
  FROM campaign_targets ct
  JOIN campaigns p ON p.id = ct.campaign_id
  JOIN targets t ON t.id = ct.target_id
  JOIN suites s ON s.id = ct.suite_id
 WHERE ct.done > 0
 ORDER BY at DESC, ct.campaign_id DESC, t.framework, t.device, t.id
""")

_CHARTED = text("SELECT campaign_id, target_id, done, reclassifications FROM campaign_targets WHERE done > 0")

_CASES = text("SELECT name, digest FROM cases WHERE suite_id = :suite")
_CASES_OF_FUNCTIONS = text("SELECT name, digest FROM cases WHERE suite_id = :suite AND function = ANY(:functions)")

_CASE = """
SELECT c.id AS case_id, c.name, c.function, c.host_only IS NOT NULL AS host_only,
       array_agg(o.verdict ORDER BY o.run) AS verdicts,
       array_agg(o.placement ORDER BY o.run) AS placements,
       array_agg(o.cause ORDER BY o.run) AS causes,
       array_agg(o.ending ORDER BY o.run) AS endings,
"""
_IN_FULL = f"c.tags, c.options, array_agg(left({failure_text('o')}, 2000) ORDER BY o.run) AS messages"
# The one tag that decides how a case ends.
_ENDS = f"""CASE WHEN c.tags @> '["{REFUSES}"]' THEN ARRAY['{REFUSES}'] ELSE '{{}}' END AS tags,
       NULL AS options, NULL AS messages"""
_OF_ALL = """
  FROM outcomes o
  JOIN cases c ON c.id = o.case_id AND c.suite_id = :suite
 WHERE o.campaign_id = :campaign AND o.target_id = :target
 GROUP BY c.id
 ORDER BY c.position, c.id
"""
# By way of the jobs, whose key finds them: outcomes have no index of cases.
_OF_FUNCTIONS = """
  FROM cases c
  JOIN jobs j ON j.campaign_id = :campaign AND j.target_id = :target AND j.case_id = c.id
  JOIN outcomes o ON o.job_id = j.id
 WHERE c.suite_id = :suite AND c.function = ANY(:functions)
 GROUP BY c.id
 ORDER BY c.position, c.id
"""

# The campaign's latencies once: the views would work them out for each of the three.
_RATIOS = f"""
     measured AS MATERIALIZED (SELECT * FROM latencies WHERE campaign_id = :campaign),
     bases AS ({cpu_bases("measured")})
SELECT here.target_id, here.case_id, here.low_ms / cpu.low_ms AS ratio
  FROM measured here
  JOIN bases ON bases.target_id = here.target_id
  JOIN measured cpu ON cpu.target_id = bases.cpu_target_id AND cpu.case_id = here.case_id
 WHERE here.low_ms > 0 AND cpu.low_ms > 0 AND NOT here.host_only
"""
_RATIOS_OF_ALL = text(f"WITH latencies AS ({case_latencies('outcomes')}), {_RATIOS}")
# Chosen before the view groups them, which would put together all that the campaign has.
_RATIOS_OF_FUNCTIONS = text(f"""
WITH chosen AS MATERIALIZED (
    SELECT o.*
      FROM cases c
      JOIN campaign_targets ct ON ct.campaign_id = :campaign AND ct.suite_id = c.suite_id
      JOIN jobs j ON j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id AND j.case_id = c.id
      JOIN outcomes o ON o.job_id = j.id
     WHERE c.suite_id = :suite AND c.function = ANY(:functions)
),
     latencies AS ({case_latencies("chosen")}),
{_RATIOS}""")


async def charts(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Every target of every campaign that has an outcome; what was charted last comes first."""
    return (await connection.execute(_CHARTS)).all()


async def read_charts(connection: AsyncConnection) -> frozenset[tuple[int, int, int, int]]:
    """Every target of every campaign with its outcomes and reclassifications: equal as long as the evidence is."""
    return frozenset(tuple(row) for row in await connection.execute(_CHARTED))


async def digests(
    connection: AsyncConnection, suite_id: int, functions: Sequence[str] | None = None
) -> dict[str, str | None]:
    """By case of a suite, under one revision; of some functions alone if they are named."""
    query = _CASES if functions is None else _CASES_OF_FUNCTIONS.bindparams(functions=functions)
    rows = await connection.execute(query, {"suite": suite_id})
    return {row.name: row.digest for row in rows}


async def runs(
    connection: AsyncConnection, campaign_id: int, target_id: int, suite_id: int, functions: Sequence[str] | None = None
) -> Sequence[Row[Any]]:
    """One row a case, with arrays of what its runs ended in; of some functions alone if they are named."""
    return await _cases(connection, _IN_FULL, campaign_id, target_id, suite_id, functions)


async def ends(
    connection: AsyncConnection, campaign_id: int, target_id: int, suite_id: int, functions: Sequence[str] | None = None
) -> Sequence[Row[Any]]:
    """The same rows without options, messages and most tags, which are most of what is read."""
    return await _cases(connection, _ENDS, campaign_id, target_id, suite_id, functions)


async def _cases(
    connection: AsyncConnection,
    columns: str,
    campaign_id: int,
    target_id: int,
    suite_id: int,
    functions: Sequence[str] | None,
) -> Sequence[Row[Any]]:
    values: dict[str, Any] = {"campaign": campaign_id, "target": target_id, "suite": suite_id}
    if functions is None:
        return (await connection.execute(text(_CASE + columns + _OF_ALL), values)).all()
    query = text(_CASE + columns + _OF_FUNCTIONS)
    return (await connection.execute(query, {**values, "functions": functions})).all()


async def ratios(
    connection: AsyncConnection, campaign_id: int, suite_id: int, functions: Sequence[str] | None = None
) -> dict[int, dict[int, float]]:
    """How many times as long as on the nearest CPU: by target, and by the id of each case that both measured."""
    if functions is None:
        rows = await connection.execute(_RATIOS_OF_ALL, {"campaign": campaign_id})
    else:
        values = {"campaign": campaign_id, "suite": suite_id, "functions": functions}
        rows = await connection.execute(_RATIOS_OF_FUNCTIONS, values)
    by_target: dict[int, dict[int, float]] = defaultdict(dict)
    for row in rows:
        by_target[row.target_id][row.case_id] = row.ratio
    return by_target
