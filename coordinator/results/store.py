"""The kept matrix in the database: adding it up, finding rows by a query, reading cells."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.results.models import Cell, Counting, Key
from coordinator.results.query import Counted, MainCause, Name, OnTarget, Query, Slower, Verdict, named
from coordinator.targets.selectors import TargetName

TIMEOUT_S = 600
WORK_MEMORY = "64MB"
"""A million outcomes are sorted; PostgreSQL's own 4 MB would put that on disk."""
LOCK = 0x6D617478
"""With a campaign's number: the advisory lock of whoever adds up its matrix."""

_VALUES = (
    "module", "host_only", "verdict", "verdict_on_device", "passed", "failed", "total", "skipped", "incomplete",
    "flaky", "fell_back", "passed_on_device", "cause", "cause_on_device", "not_counted_cause", "cold_ms",
    "steady_ms", "iqr_ms", "ratio_to_cpu", "ratio_cases", "total_on_device", "unknown_placement",
)  # fmt: skip

# One statement sees one moment: what is noted in matrices is what the cells were added up from.
# Outcomes are never deleted, so neither are cells.
_ADD_UP = text(f"""
WITH seen AS (
    SELECT coalesce(sum(done), 0) AS done, coalesce(sum(renamed), 0) AS renamed
      FROM campaign_targets WHERE campaign_id = :campaign
), measured AS (
    SELECT o.target_id, o.case_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) AS steady_ms
      FROM outcomes o JOIN cases c ON c.id = o.case_id
     WHERE o.campaign_id = :campaign AND o.verdict = 'passed' AND o.placement = 'on_device'
       AND o.steady_ms > 0 AND c.host_only IS NULL
     GROUP BY 1, 2
), ratios AS (
    SELECT here.target_id, c.function, exp(avg(ln(here.steady_ms / cpu.steady_ms))) AS ratio, count(*) AS cases
      FROM measured here
      JOIN targets t ON t.id = here.target_id AND t.device <> 'cpu'
      JOIN targets b ON b.framework = t.framework AND b.version = t.version AND b.device = 'cpu'
      JOIN measured cpu ON cpu.target_id = b.id AND cpu.case_id = here.case_id
      JOIN cases c ON c.id = here.case_id
     GROUP BY 1, 2
), latencies AS (
    SELECT * FROM function_latencies WHERE campaign_id = :campaign
), put AS (
    INSERT INTO matrix_cells (campaign_id, framework, function, target_id, {", ".join(_VALUES)})
    SELECT v.campaign_id, v.framework, v.function, v.target_id,
           CASE WHEN strpos(v.function, '.') > 0 THEN regexp_replace(v.function, '[.][^.]*$', '') ELSE '' END,
           v.host_only, v.verdict, v.verdict_on_device, v.passed, v.failed, v.total, v.skipped, v.incomplete,
           v.flaky, v.fell_back, v.passed_on_device, v.cause, v.cause_on_device, v.not_counted_cause,
           l.cold_ms, l.steady_ms, l.iqr_ms, r.ratio, r.cases, v.total_on_device, v.unknown_placement
      FROM function_verdicts v
      LEFT JOIN latencies l ON l.target_id = v.target_id AND l.function = v.function
      LEFT JOIN ratios r ON r.target_id = v.target_id AND r.function = v.function
     WHERE v.campaign_id = :campaign
    ON CONFLICT (campaign_id, framework, function, target_id) DO UPDATE
       SET {", ".join(f"{each} = excluded.{each}" for each in _VALUES)}
    RETURNING framework, function, module
), rowed AS (
    INSERT INTO matrix_rows (campaign_id, framework, function, module)
    SELECT DISTINCT CAST(:campaign AS int), framework, function, module FROM put
    ON CONFLICT DO NOTHING
)
INSERT INTO matrices (campaign_id, done, renamed, made_at, took_s)
SELECT :campaign, seen.done, seen.renamed, clock_timestamp(), 0 FROM seen
ON CONFLICT (campaign_id) DO UPDATE
   SET done = excluded.done, renamed = excluded.renamed, made_at = excluded.made_at, took_s = excluded.took_s
""")

_NOW = """
SELECT n.campaign_id, n.done, coalesce(m.done, 0) AS kept, m.made_at,
       coalesce(m.done, 0) = n.done AND coalesce(m.renamed, 0) = n.renamed AS current,
       coalesce(m.took_s, 0) AS took_s, coalesce(extract(epoch FROM now() - m.made_at), 1e9)::float8 AS age_s
  FROM (SELECT campaign_id, sum(done) AS done, sum(renamed) AS renamed
          FROM campaign_targets GROUP BY campaign_id) n
  LEFT JOIN matrices m ON m.campaign_id = n.campaign_id
"""


async def now(connection: AsyncConnection, campaign_id: int) -> Row[Any] | None:
    """How far the campaign is, and how far its matrix."""
    found = await connection.execute(text(f"{_NOW} WHERE n.campaign_id = :campaign"), {"campaign": campaign_id})
    return found.one_or_none()


async def outdated(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """The campaigns whose matrix is behind, newest first."""
    rows = await connection.execute(text(f"SELECT * FROM ({_NOW}) each WHERE NOT current ORDER BY campaign_id DESC"))
    return rows.all()


async def alone(connection: AsyncConnection, campaign_id: int, *, wait: bool) -> bool:
    """Nobody else adds up the campaign in this transaction; False if another does, and we do not ``wait``."""
    function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
    got = await connection.execute(
        text(f"SELECT {function}(:lock, :campaign)"), {"lock": LOCK, "campaign": campaign_id}
    )
    return wait or bool(got.scalar_one())


async def add_up(connection: AsyncConnection, campaign_id: int) -> None:
    """Bring the campaign's cells up to date."""
    await connection.execute(text(f"SET LOCAL statement_timeout = '{TIMEOUT_S}s'"))
    await connection.execute(text(f"SET LOCAL work_mem = '{WORK_MEMORY}'"))
    # PostgreSQL expects one row of each view, and would go through the latencies once for every verdict.
    await connection.execute(text("SET LOCAL enable_nestloop = off"))
    begun = time.monotonic()
    await connection.execute(_ADD_UP, {"campaign": campaign_id})
    await connection.execute(
        text("UPDATE matrices SET took_s = :took WHERE campaign_id = :campaign"),
        {"campaign": campaign_id, "took": time.monotonic() - begun},
    )


async def keys(
    connection: AsyncConnection, campaign_id: int, query: Query, targets: Sequence[TargetName], by: Counting
) -> tuple[list[Key], int]:
    """The rows that the query finds, in the order of the matrix; and how many there are."""
    condition, values = _condition(query, targets, by)
    found = await connection.execute(
        text(
            f"SELECT framework, module, function FROM matrix_rows WHERE campaign_id = :campaign AND {condition}"
            ' ORDER BY framework COLLATE "C", module COLLATE "C", function COLLATE "C"'
        ),
        {"campaign": campaign_id, **values},
    )
    count = await connection.execute(
        text("SELECT count(*) FROM matrix_rows WHERE campaign_id = :campaign"), {"campaign": campaign_id}
    )
    return [Key._make(row) for row in found], count.scalar_one()


async def cells(connection: AsyncConnection, campaign_id: int, rows: Sequence[Key]) -> list[Cell]:
    found = await connection.execute(
        text(
            "SELECT c.* FROM matrix_cells c"
            " JOIN unnest(CAST(:frameworks AS text[]), CAST(:functions AS text[])) u (framework, function)"
            " ON c.framework = u.framework AND c.function = u.function WHERE c.campaign_id = :campaign"
        ),
        {
            "campaign": campaign_id,
            "frameworks": [each.framework for each in rows],
            "functions": [each.function for each in rows],
        },
    )
    return [Cell.model_construct(**row._mapping) for row in found]


async def all_cells(connection: AsyncConnection, campaign_id: int, target_id: int) -> list[Cell]:
    """One target's column, by function."""
    found = await connection.execute(
        text("SELECT * FROM matrix_cells WHERE campaign_id = :campaign AND target_id = :target ORDER BY function"),
        {"campaign": campaign_id, "target": target_id},
    )
    return [Cell.model_construct(**row._mapping) for row in found]


async def history(connection: AsyncConnection, framework: str, function: str) -> list[Row[Any]]:
    """Every cell that any campaign has of the function, newest campaign first."""
    found = await connection.execute(
        text("""
        SELECT m.*, p.name AS campaign, p.state, p.created_at, t.version, t.device, t.device_class, t.hardware,
               t.environment, t.simulated, t.notes, s.name AS suite, s.revision
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


def _condition(query: Query, targets: Sequence[TargetName], by: Counting) -> tuple[str, dict[str, Any]]:
    """What must hold of a row, and the values in it."""
    conditions = ["true"]
    values: dict[str, Any] = {}
    for number, term in enumerate(query):
        if isinstance(term, Name):
            values[f"v{number}"] = pattern(term)
            holds = f"{term.of} ILIKE :v{number}"
        else:
            cell, value = _on_target(term, by, f"v{number}")
            if value is not None:
                values[f"v{number}"] = value
            values[f"t{number}"] = named(term, targets)
            holds = (
                "(framework, function) IN (SELECT framework, function FROM matrix_cells"
                f" WHERE campaign_id = :campaign AND target_id = ANY(CAST(:t{number} AS int[])) AND {cell})"
            )
        conditions.append(f"NOT ({holds})" if term.excluded else holds)
    return " AND ".join(conditions), values


def _on_target(term: OnTarget, by: Counting, name: str) -> tuple[str, Any]:
    end = "_on_device" if by == "device" else ""
    match term:
        case Verdict(words=words):
            return f"verdict{end} = ANY(CAST(:{name} AS text[]))", list(words)
        case MainCause(word=word):
            # What is in no count has its cause in a column of its own.
            return f"CASE WHEN total = 0 THEN not_counted_cause ELSE cause{end} END = CAST(:{name} AS text)", word
        case Counted(what=what):
            return f"{what} > 0", None
        case Slower(than=than, over=over):
            return f"ratio_to_cpu {'>' if over else '<'} CAST(:{name} AS float8)", than


def pattern(term: Name) -> str:
    """A LIKE pattern: a glob, or, without any wildcard, what stands anywhere in the name."""
    escaped = term.glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    if "*" not in escaped and "?" not in escaped:
        return escaped if term.of == "module" else f"%{escaped}%"
    return escaped.replace("*", "%").replace("?", "_")
