"""The kept matrix in the database: refreshing it, finding rows by a query, reading cells."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.connection import allow_long_statements
from coordinator.database.views import VIEWS, cpu_bases, ratios
from coordinator.results.models import Cell, CountedVerdict, FunctionKey
from coordinator.results.query import (
    CauseTerm,
    CountTerm,
    NameTerm,
    OnTarget,
    Query,
    RatioTerm,
    VerdictTerm,
    like_pattern,
    named,
)
from coordinator.targets.models import Target

WORK_MEMORY = "64MB"
"""A million outcomes are sorted; PostgreSQL's own 4 MB would put that on disk."""
LOCK = 0x6D617478
"""With a campaign's number: the advisory lock under which its matrix is refreshed."""

_VALUES = (
    "module", "host_only", "verdict", "verdict_on_device", "passed", "failed", "total", "skipped", "incomplete",
    "flaky", "fell_back", "passed_on_device", "cause", "cause_on_device", "not_counted_cause", "unknown_cause",
    "cold_ms", "steady_ms", "iqr_ms", "samples", "ratio_to_cpu", "ratio_cases", "cpu_target_id", "total_on_device",
    "unknown_placement", "low_ms", "noisy", "first_cold_ms", "later_cold_ms", "lowered", "not_lowered", "lowering",
    "missing_lowering", "of_another_device", "verdict_independent", "cause_independent", "passed_independent",
    "total_independent", "failed_inputs", "passed_inputs",
)  # fmt: skip

# One statement sees one moment: what is noted in matrices is what the cells were made from.
# The latencies of cases, of which the ratios are made several times over, are computed once.
_REFRESH = f"""
WITH seen AS (
    SELECT coalesce(sum(done), 0) AS done, coalesce(sum(reclassifications), 0) AS reclassifications
      FROM campaign_targets WHERE campaign_id = :campaign
), measured AS MATERIALIZED (
    SELECT * FROM case_latencies WHERE campaign_id = :campaign
), bases AS (
{cpu_bases("measured")}
), ratios AS (
{ratios("measured", "bases")}
), latencies AS (
    SELECT * FROM function_latencies WHERE campaign_id = :campaign
), put AS (
    INSERT INTO matrix_cells (campaign_id, framework, function, target_id, {", ".join(_VALUES)})
    SELECT v.campaign_id, v.framework, v.function, v.target_id,
           CASE WHEN strpos(v.function, '.') > 0 THEN regexp_replace(v.function, '[.][^.]*$', '') ELSE '' END,
           v.host_only, v.verdict, v.verdict_on_device, v.passed, v.failed, v.total, v.skipped, v.incomplete,
           v.flaky, v.fell_back, v.passed_on_device, v.cause, v.cause_on_device, v.not_counted_cause, v.unknown_cause,
           l.cold_ms, l.steady_ms, l.iqr_ms, l.samples, r.ratio, r.cases, r.cpu_target_id, v.total_on_device,
           v.unknown_placement, l.low_ms, l.noisy, l.first_cold_ms, l.later_cold_ms,
           v.lowered, v.not_lowered, v.lowering, v.missing_lowering, v.of_another_device,
           v.verdict_independent, v.cause_independent, v.passed_independent, v.total_independent,
           v.failed_inputs, v.passed_inputs
      FROM function_verdicts v
      LEFT JOIN latencies l ON l.target_id = v.target_id AND l.function = v.function
      LEFT JOIN ratios r ON r.target_id = v.target_id AND r.function = v.function
     WHERE v.campaign_id = :campaign
    ON CONFLICT (campaign_id, framework, function, target_id) DO UPDATE
       SET {", ".join(f"{name} = excluded.{name}" for name in _VALUES)}
    RETURNING framework, function, module
), rowed AS (
    INSERT INTO matrix_rows (campaign_id, framework, function, module)
    SELECT DISTINCT CAST(:campaign AS int), framework, function, module FROM put
    ON CONFLICT DO NOTHING
)
INSERT INTO matrices (campaign_id, done, reclassifications, made_at, took_s, definition)
SELECT :campaign, seen.done, seen.reclassifications, clock_timestamp(), 0, :definition FROM seen
ON CONFLICT (campaign_id) DO UPDATE
   SET done = excluded.done, reclassifications = excluded.reclassifications, made_at = excluded.made_at,
       took_s = excluded.took_s, definition = excluded.definition
"""

DEFINITION = hashlib.sha256("\n".join((_REFRESH, *(view.query for view in VIEWS))).encode()).hexdigest()[:16]
"""The version of the definition of kept figures: this statement and the views. A matrix of another is made anew."""

_NOW = """
SELECT n.campaign_id, p.state = 'running' AS running, n.done, coalesce(m.done, 0) AS kept, m.made_at,
       coalesce(m.definition, :definition) = :definition AS as_defined,
       coalesce(m.done, 0) = n.done AND coalesce(m.reclassifications, 0) = n.reclassifications
           AND coalesce(m.definition, :definition) = :definition AS current,
       coalesce(m.took_s, 0) AS took_s, coalesce(extract(epoch FROM now() - m.made_at), 1e9)::float8 AS age_s
  FROM (SELECT campaign_id, sum(done) AS done, sum(reclassifications) AS reclassifications
          FROM campaign_targets GROUP BY campaign_id) n
  JOIN campaigns p ON p.id = n.campaign_id
  LEFT JOIN matrices m ON m.campaign_id = n.campaign_id
"""


async def now(connection: AsyncConnection, campaign_id: int) -> Row[Any] | None:
    """The progress of the campaign, and of its matrix."""
    found = await connection.execute(
        text(f"{_NOW} WHERE n.campaign_id = :campaign"), {"campaign": campaign_id, "definition": DEFINITION}
    )
    return found.one_or_none()


async def outdated(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """The campaigns whose matrix is behind, newest first."""
    rows = await connection.execute(
        text(f"SELECT * FROM ({_NOW}) matrix WHERE NOT current ORDER BY campaign_id DESC"), {"definition": DEFINITION}
    )
    return rows.all()


async def lock_exclusively(connection: AsyncConnection, campaign_id: int, *, wait: bool) -> bool:
    """Keep everybody else from refreshing the campaign in this transaction; False if somebody does so already."""
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    got = await connection.execute(
        text(f"SELECT {function}(:lock, :campaign)"), {"lock": LOCK, "campaign": campaign_id}
    )
    return wait or bool(got.scalar_one())


async def refresh(connection: AsyncConnection, campaign_id: int, *, anew: bool) -> None:
    """Bring the campaign's cells up to date; ``anew``: those that were made by another definition go first."""
    await allow_long_statements(connection)
    await connection.execute(text(f"SET LOCAL work_mem = '{WORK_MEMORY}'"))
    # PostgreSQL expects one row of each view, and would go through the latencies once for every verdict.
    await connection.execute(text("SET LOCAL enable_nestloop = off"))
    begun = time.monotonic()
    if anew:
        for table in ("matrix_cells", "matrix_rows"):
            await connection.execute(
                text(f"DELETE FROM {table} WHERE campaign_id = :campaign"), {"campaign": campaign_id}
            )
    await connection.execute(text(_REFRESH), {"campaign": campaign_id, "definition": DEFINITION})
    await connection.execute(
        text("UPDATE matrices SET took_s = :took WHERE campaign_id = :campaign"),
        {"campaign": campaign_id, "took": time.monotonic() - begun},
    )


async def keys(
    connection: AsyncConnection,
    campaign_id: int,
    query: Query,
    targets: Sequence[Target],
    which: CountedVerdict,
    *,
    of_all: bool,
) -> tuple[list[FunctionKey], int]:
    """The rows that the query finds, in the order of the matrix; and how many there are.

    Unless ``of_all`` the targets are a part of the campaign's, and rows without any cell on them are left out.
    """
    condition, values = _condition(query, targets, which)
    there = "true"
    if not of_all:
        there = (
            "(framework, function) IN (SELECT framework, function FROM matrix_cells"
            " WHERE campaign_id = :campaign AND target_id = ANY(CAST(:targets AS int[])))"
        )
        values["targets"] = [target.id for target in targets]
    found = await connection.execute(
        text(
            f"SELECT framework, module, function FROM matrix_rows WHERE campaign_id = :campaign AND {there}"
            f' AND {condition} ORDER BY framework COLLATE "C", module COLLATE "C", function COLLATE "C"'
        ),
        {"campaign": campaign_id, **values},
    )
    count = await connection.execute(
        text("SELECT count(*) FROM matrix_rows WHERE campaign_id = :campaign"), {"campaign": campaign_id}
    )
    return [FunctionKey._make(row) for row in found], count.scalar_one()


async def cells(connection: AsyncConnection, campaign_id: int, rows: Sequence[FunctionKey]) -> list[Cell]:
    found = await connection.execute(
        text(
            "SELECT c.* FROM matrix_cells c"
            " JOIN unnest(CAST(:frameworks AS text[]), CAST(:functions AS text[])) u (framework, function)"
            " ON c.framework = u.framework AND c.function = u.function WHERE c.campaign_id = :campaign"
        ),
        {
            "campaign": campaign_id,
            "frameworks": [row.framework for row in rows],
            "functions": [row.function for row in rows],
        },
    )
    return [Cell.model_construct(**row._mapping) for row in found]


async def campaign_cells(connection: AsyncConnection, campaign_id: int) -> list[Cell]:
    """All cells of a campaign that has few functions."""
    found = await connection.execute(
        text("SELECT * FROM matrix_cells WHERE campaign_id = :campaign ORDER BY function, target_id"),
        {"campaign": campaign_id},
    )
    return [Cell.model_construct(**row._mapping) for row in found]


async def charted_functions(
    connection: AsyncConnection, campaign_id: int, frameworks: Sequence[str]
) -> Sequence[Row[Any]]:
    """The functions of these frameworks that have a case that counts, or was lowered, on a target of a version."""
    found = await connection.execute(
        text(
            "SELECT DISTINCT t.framework, t.version, c.function"
            "  FROM matrix_cells c JOIN targets t ON t.id = c.target_id"
            " WHERE c.campaign_id = :campaign AND c.framework = ANY(CAST(:frameworks AS text[]))"
            " AND (c.verdict <> 'unknown' OR c.lowering IS NOT NULL)"
        ),
        {"campaign": campaign_id, "frameworks": list(frameworks)},
    )
    return found.all()


async def all_cells(connection: AsyncConnection, campaign_id: int, target_id: int) -> list[Cell]:
    """One target's column, by function."""
    found = await connection.execute(
        text("SELECT * FROM matrix_cells WHERE campaign_id = :campaign AND target_id = :target ORDER BY function"),
        {"campaign": campaign_id, "target": target_id},
    )
    return [Cell.model_construct(**row._mapping) for row in found]


CASES_DIGEST = """\
CASE WHEN bool_and(c.digest IS NOT NULL)
     THEN encode(sha256(convert_to(string_agg(c.name || ' ' || c.digest, E'\\n' ORDER BY c.name), 'UTF8')), 'hex')
END"""
"""Of the cases ``c`` of a function: equal for equal cases, also under two revisions of their suite."""


async def history(connection: AsyncConnection, framework: str, function: str) -> list[Row[Any]]:
    """Every cell that any campaign has of the function, newest campaign first."""
    found = await connection.execute(
        text(f"""
        SELECT m.*, p.name AS campaign, p.created_at, t.id, t.version, t.device, t.device_class, t.hardware,
               t.environment, t.simulated, t.notes, s.name AS suite, s.revision AS suite_revision,
               (SELECT {CASES_DIGEST} FROM cases c
                 WHERE c.suite_id = s.id AND c.function = m.function) AS cases_digest
          FROM matrix_cells m
          JOIN campaigns p ON p.id = m.campaign_id
          JOIN targets t ON t.id = m.target_id
          JOIN campaign_targets ct ON ct.campaign_id = m.campaign_id AND ct.target_id = m.target_id
          JOIN suites s ON s.id = ct.suite_id
         WHERE m.framework = :framework AND m.function = :function
         ORDER BY m.campaign_id DESC, t.device, t.version_numbers, t.version, t.id
         LIMIT 2000
        """),
        {"framework": framework, "function": function},
    )
    return list(found.all())


def _condition(query: Query, targets: Sequence[Target], which: CountedVerdict) -> tuple[str, dict[str, Any]]:
    """The condition that finds the rows, and the values in it."""
    conditions = ["true"]
    values: dict[str, Any] = {}
    for number, term in enumerate(query):
        if isinstance(term, NameTerm):
            values[f"v{number}"] = pattern(term)
            holds = f"{'module' if term.of == 'module' else 'function'} ILIKE :v{number}"
        else:
            cell, value = _on_target(term, which, f"v{number}")
            if value is not None:
                values[f"v{number}"] = value
            values[f"t{number}"] = named(term, targets)
            holds = (
                "(framework, function) IN (SELECT framework, function FROM matrix_cells"
                f" WHERE campaign_id = :campaign AND target_id = ANY(CAST(:t{number} AS int[])) AND {cell})"
            )
        conditions.append(f"NOT ({holds})" if term.excluded else holds)
    return " AND ".join(conditions), values


def _on_target(term: OnTarget, which: CountedVerdict, name: str) -> tuple[str, Any]:
    end = "" if which == "anywhere" else f"_{which}"
    match term:
        case VerdictTerm(words=words):
            return f"verdict{end} = ANY(CAST(:{name} AS text[]))", list(words)
        case CauseTerm(word=word):
            # What is in no count has its cause in a column of its own.
            return f"CASE WHEN total = 0 THEN not_counted_cause ELSE cause{end} END = CAST(:{name} AS text)", word
        case CountTerm(column=column):
            return f"{column} > 0", None
        case RatioTerm(than=than, over=over):
            return f"ratio_to_cpu {'>' if over else '<'} CAST(:{name} AS float8)", than


def pattern(term: NameTerm) -> str:
    """A LIKE pattern: a glob, or, of a bare word without any wildcard, what stands anywhere in the name."""
    bare = term.of == "bare" and "*" not in term.glob and "?" not in term.glob
    return like_pattern(f"*{term.glob}*" if bare else term.glob)
