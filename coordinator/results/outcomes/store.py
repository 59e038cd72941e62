"""Reads outcomes: pages of ``outcome_rows``, the details of one outcome, and the outcomes of one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.views import cases_measured, failure_text
from coordinator.figures.counting import ANYWHERE, rule_named
from coordinator.results.outcomes.repeat import repeat_command
from coordinator.results.query import like_pattern
from protocol.enums import RECOMPILED

INTERNAL = ("target_id", "case_id")
"""Columns of the view that mean nothing outside the database."""


@dataclass(frozen=True)
class Filters:
    """Filters for rows. A field that is None does not filter.

    ``function`` is a glob. Verdict and cause are compared by the counting rule. Outcomes that the rule does not count
    are not included.
    """

    rule: str = ANYWHERE.name
    verdict: str | None = None
    cause: str | None = None
    placement: str | None = None
    ending: str | None = None
    function: str | None = None
    framework: str | None = None
    device: str | None = None
    judged_by: str | None = None

    def clauses(self) -> tuple[str, dict[str, Any]]:
        rule = rule_named(self.rule)
        columns = {"verdict": rule.verdict_column, "cause": rule.cause_column}
        values = {name: value for name, value in vars(self).items() if name != "rule" and value is not None}
        conditions = {name: f"{columns.get(name, name)} = :{name}" for name in values}
        if self.function is not None:
            values["function"] = like_pattern(self.function)
            conditions["function"] = "function LIKE :function"
        rule_conditions = (f"{rule.verdict_column} IS NOT NULL", f"({rule.cases})")
        return "".join(f" AND {condition}" for condition in (*rule_conditions, *conditions.values())), values


# PostgreSQL may read the rows in the order of the primary key. The bounds prevent it from then reading the outcomes of
# all earlier campaigns, which takes 500 ms for a million of them.
_PAGE = """
SELECT * FROM outcome_rows
 WHERE campaign_id = :campaign AND job_id > :after
   AND job_id >= (SELECT min(job_id) FROM outcomes WHERE campaign_id = :campaign)
   AND job_id <= (SELECT max(job_id) FROM outcomes WHERE campaign_id = :campaign){clauses}
 ORDER BY job_id LIMIT CAST(:limit AS int)
"""


async def page(
    connection: AsyncConnection, campaign_id: int, filters: Filters, *, after: int, limit: int
) -> list[dict[str, Any]]:
    """At most ``limit`` rows with a job id over ``after``."""
    clauses, values = filters.clauses()
    rows = await connection.execute(
        text(_PAGE.format(clauses=clauses)), {"campaign": campaign_id, "after": after, "limit": limit, **values}
    )
    names = list(rows.keys())
    return [_outward(dict(zip(names, row, strict=True))) for row in rows]


async def columns(connection: AsyncConnection) -> list[str]:
    """The names of a row's columns, in order."""
    none = await connection.execute(text("SELECT * FROM outcome_rows LIMIT 0"))
    names = list(none.keys())
    return [*(name for name in names if name not in INTERNAL), "repeat"]


def _outward(row: dict[str, Any]) -> dict[str, Any]:
    """Remove the internal columns, and add the command that repeats the case. The row is changed in place, because
    there are many rows."""
    for name in INTERNAL:
        del row[name]
    row["repeat"] = repeat_command(row["framework"], row["device"], row["case"], row["run"], row["fingerprint"])
    return row


async def one(connection: AsyncConnection, campaign_id: int, job_id: int) -> dict[str, Any] | None:
    """A row of ``outcome_rows``, with the columns that the view does not have: evidence, samples and log."""
    result = await connection.execute(
        text("""
        SELECT v.*, o.evidence, o.proof, o.samples_ms, o.calls_per_sample, o.log_tail, o.fingerprint_id,
               c.host_only AS host_only_because, c.tags, w.was_verdict, w.was_cause, w.was_rule,
               t.notes, p.timing, p.timeout_s
          FROM outcome_rows v
          JOIN outcomes o ON o.job_id = v.job_id
          JOIN cases c ON c.id = o.case_id
          JOIN targets t ON t.id = o.target_id
          JOIN campaigns p ON p.id = o.campaign_id
          LEFT JOIN overrides w ON w.job_id = o.job_id
         WHERE v.job_id = :job AND v.campaign_id = :campaign
        """),
        {"job": job_id, "campaign": campaign_id},
    )
    row = result.one_or_none()
    return None if row is None else dict(row._mapping)


async def log_of(connection: AsyncConnection, campaign_id: int, job_id: int) -> str | None:
    """The stored output of the case; None if there is no such outcome."""
    result = await connection.execute(
        text("SELECT coalesce(log_tail, '') FROM outcomes WHERE job_id = :job AND campaign_id = :campaign"),
        {"job": job_id, "campaign": campaign_id},
    )
    return result.scalar_one_or_none()


async def attempts(connection: AsyncConnection, job_id: int) -> Sequence[Row[Any]]:
    rows = await connection.execute(
        text("""
        SELECT a.attempt, a.runner_id, coalesce(r.name, r.url) AS runner, a.boot_id, a.leased_at, a.started_at,
               a.ended_at, a."end", a.reason, a.late_outcome IS NOT NULL AS late
          FROM attempts a LEFT JOIN runners r ON r.id = a.runner_id
         WHERE a.job_id = :job ORDER BY a.attempt
        """),
        {"job": job_id},
    )
    return rows.all()


async def other_runs(connection: AsyncConnection, job_id: int) -> Sequence[Row[Any]]:
    """All outcomes of the same case on the same target in the same campaign."""
    rows = await connection.execute(
        text("""
        SELECT o.job_id, o.run, o.verdict, o.placement, o.cause, o.steady_ms
          FROM jobs this
          JOIN jobs j ON j.campaign_id = this.campaign_id AND j.target_id = this.target_id AND j.case_id = this.case_id
          JOIN outcomes o ON o.job_id = j.id
         WHERE this.id = :job ORDER BY o.run
        """),
        {"job": job_id},
    )
    return rows.all()


# The query uses jobs, which their key finds, because outcomes have no index by case.
_JOBS_OF_FUNCTION = """
  FROM campaign_targets ct
  JOIN suites s ON s.id = ct.suite_id AND s.framework = :framework
  JOIN cases c ON c.suite_id = ct.suite_id AND c.function = :function
  JOIN jobs j ON j.campaign_id = ct.campaign_id AND j.target_id = ct.target_id AND j.case_id = c.id
"""
_OF_FUNCTION = text(f"""
SELECT o.job_id, o.target_id, o.case_id, c.name AS "case", o.position, c.host_only, c.judged_by, c.inputs, c.options,
       c.tags @> '["{RECOMPILED}"]' AS recompiled,
       o.run, o.verdict, o.ending, o.cause, o.rule,
       o.placement, o.proof ->> 'unproven' AS unproven, o.proof -> 'fallbacks' AS fallbacks,
       o.cold_ms, o.steady_ms, o.iqr_ms, o.samples_ms, o.duration_s,
       o.fingerprint_id, left({failure_text("o")}, 2000) AS said,
       v.author AS overridden_by
{_JOBS_OF_FUNCTION}  JOIN outcomes o ON o.job_id = j.id
  LEFT JOIN overrides v ON v.job_id = o.job_id
 WHERE ct.campaign_id = :campaign
 ORDER BY c.position, c.id, o.run
""")


async def of_function(
    connection: AsyncConnection, campaign_id: int, framework: str, function: str
) -> Sequence[Row[Any]]:
    """Every outcome of the function, on all targets."""
    values = {"campaign": campaign_id, "framework": framework, "function": function}
    return (await connection.execute(_OF_FUNCTION, values)).all()


_LATENCIES_OF_FUNCTION = text(
    cases_measured(
        f"(SELECT o.*{_JOBS_OF_FUNCTION}  JOIN outcomes o ON o.job_id = j.id WHERE ct.campaign_id = :campaign)"
    )
)


async def latencies_of_function(
    connection: AsyncConnection, campaign_id: int, framework: str, function: str
) -> dict[tuple[int, int], Row[Any]]:
    """The rows of ``case_latencies`` for one function, keyed by target and case. The view itself would read the whole
    campaign."""
    values = {"campaign": campaign_id, "framework": framework, "function": function}
    rows = await connection.execute(_LATENCIES_OF_FUNCTION, values)
    return {(row.target_id, row.case_id): row for row in rows}


async def is_planned(connection: AsyncConnection, campaign_id: int, framework: str, function: str) -> bool:
    """Whether the campaign has jobs for the function."""
    values = {"campaign": campaign_id, "framework": framework, "function": function}
    query = f"SELECT EXISTS (SELECT {_JOBS_OF_FUNCTION} WHERE ct.campaign_id = :campaign)"
    result = await connection.execute(text(query), values)
    return bool(result.scalar_one())


async def fingerprints(connection: AsyncConnection, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    rows = await connection.execute(
        text("SELECT id, body FROM fingerprints WHERE id = ANY(CAST(:ids AS text[]))"), {"ids": list(ids)}
    )
    return {row.id: row.body for row in rows}
