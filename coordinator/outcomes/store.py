"""Reading outcomes: pages of ``outcome_rows``, and the matrix of functions and targets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

INTERNAL = ("target_id", "case_id")
"""Columns of the view that mean nothing outside the database."""


@dataclass(frozen=True)
class Filters:
    """Every field that is not None narrows; ``function`` and ``target`` are globs."""

    verdict: str | None = None
    verdict_on_device: str | None = None
    cause: str | None = None
    placement: str | None = None
    function: str | None = None
    framework: str | None = None
    device: str | None = None

    def clauses(self) -> tuple[str, dict[str, str]]:
        chosen = {name: value for name, value in vars(self).items() if value is not None}
        if "function" in chosen:
            chosen["function"] = _like(chosen["function"])
        text_ = "".join(f" AND {name} {'LIKE' if name == 'function' else '='} :{name}" for name in chosen)
        return text_, chosen


async def page(
    connection: AsyncConnection, campaign_id: int, filters: Filters, *, after: int, limit: int
) -> list[dict[str, Any]]:
    """At most ``limit`` rows with a job id over ``after``."""
    clauses, values = filters.clauses()
    rows = await connection.execute(
        text(
            f"SELECT * FROM outcome_rows WHERE campaign_id = :campaign AND job_id > :after{clauses} "
            "ORDER BY job_id LIMIT CAST(:limit AS int)"
        ),
        {"campaign": campaign_id, "after": after, "limit": limit, **values},
    )
    return [_outward(dict(row._mapping)) for row in rows]


async def columns(connection: AsyncConnection) -> list[str]:
    """The names of a row's values, in their order."""
    none = await connection.execute(text("SELECT * FROM outcome_rows LIMIT 0"))
    names = list(none.keys())
    return [*(name for name in names if name not in INTERNAL), "repeat"]


def _outward(row: dict[str, Any]) -> dict[str, Any]:
    values = {name: value for name, value in row.items() if name not in INTERNAL}
    values["repeat"] = repeat_command(row["framework"], row["device"], row["case"], row["run"])
    return values


def repeat_command(framework: str, device: str, case: str, run: int) -> str:
    """What to type where the runner is installed to run the case once more."""
    again = f" --run {run}" if run != 1 else ""
    return f"portolan-runner run {framework} {device} {shlex.quote(case)}{again}"


def _like(glob: str) -> str:
    escaped = glob.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return escaped.replace("*", "%").replace("?", "_")


async def verdicts(connection: AsyncConnection, campaign_id: int) -> Sequence[Row[Any]]:
    rows = await connection.execute(
        text("SELECT * FROM function_verdicts WHERE campaign_id = :campaign ORDER BY function, target_id"),
        {"campaign": campaign_id},
    )
    return rows.all()


async def latencies(connection: AsyncConnection, campaign_id: int) -> Sequence[Row[Any]]:
    rows = await connection.execute(
        text("SELECT * FROM function_latencies WHERE campaign_id = :campaign"), {"campaign": campaign_id}
    )
    return rows.all()


async def unknown_causes(connection: AsyncConnection, campaign_id: int) -> Sequence[Row[Any]]:
    """Per function and target: failed cases whose most frequent cause is that no rule knows them."""
    rows = await connection.execute(
        text("""
        SELECT n.target_id, c.function, count(*) AS cases
          FROM (SELECT target_id, case_id,
                       mode() WITHIN GROUP (ORDER BY coalesce(cause, 'unknown') COLLATE "C") AS cause
                  FROM outcomes WHERE campaign_id = :campaign AND verdict = 'failed'
                 GROUP BY 1, 2) n
          JOIN cases c ON c.id = n.case_id
         WHERE n.cause = 'unknown'
         GROUP BY 1, 2
        """),
        {"campaign": campaign_id},
    )
    return rows.all()


async def ratios(connection: AsyncConnection, campaign_id: int) -> Sequence[Row[Any]]:
    """Steady time against the CPU of the same framework version, per function and target.

    Per case, then the geometric mean over the cases that both measured on the device.
    """
    rows = await connection.execute(
        text("""
        WITH measured AS (
            SELECT o.target_id, o.case_id,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) AS steady_ms
              FROM outcomes o JOIN cases c ON c.id = o.case_id
             WHERE o.campaign_id = :campaign AND o.verdict = 'passed' AND o.placement = 'on_device'
               AND o.steady_ms > 0 AND c.host_only IS NULL
             GROUP BY 1, 2)
        SELECT here.target_id, c.function, exp(avg(ln(here.steady_ms / cpu.steady_ms))) AS ratio, count(*) AS cases
          FROM measured here
          JOIN targets t ON t.id = here.target_id AND t.device <> 'cpu'
          JOIN targets b ON b.framework = t.framework AND b.version = t.version AND b.device = 'cpu'
          JOIN measured cpu ON cpu.target_id = b.id AND cpu.case_id = here.case_id
          JOIN cases c ON c.id = here.case_id
         GROUP BY 1, 2
        """),
        {"campaign": campaign_id},
    )
    return rows.all()
