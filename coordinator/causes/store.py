"""Reads outcomes that did not pass and their evidence, changes their causes, and stores overrides."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.causes.rules import LOG_TAIL
from protocol.enums import Cause, Verdict

PAGE = 200
"""The number of outcomes, with their evidence, that are read in one step: some megabytes at most."""
RENAMED_AT_ONCE = 1000
LOCK = 0x706F72746F72766E
"""The advisory lock of transactions that change causes."""
OVERRIDDEN = "overridden"
"""This word is stored in place of a rule's id if a person set the cause."""


class ClassifiedOutcome(NamedTuple):
    """The new verdict, cause and rule of an outcome."""

    job_id: int
    verdict: Verdict
    cause: Cause | None
    rule: str | None


async def lock_exclusively(connection: AsyncConnection) -> None:
    """Lock out other transactions that change causes. Otherwise two concurrent transactions could count the same
    change twice."""
    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})


async def not_passed(connection: AsyncConnection, campaign_id: int | None) -> AsyncIterator[Sequence[Row[Any]]]:
    """All outcomes that did not pass, page by page, with the evidence that the rules read."""
    after = 0
    while True:
        rows = (
            await connection.execute(
                text("""
                SELECT o.job_id, o.verdict, o.cause, o.rule, o.ending, o.evidence,
                       right(o.log_tail, :log_tail) AS log_tail,
                       o.position IS NULL AS unreported, v.job_id IS NOT NULL AS overridden,
                       t.framework, t.device
                  FROM outcomes o
                  JOIN targets t ON t.id = o.target_id
                  LEFT JOIN overrides v ON v.job_id = o.job_id
                 WHERE o.ending <> 'returned' AND o.job_id > :after
                   AND o.campaign_id = coalesce(CAST(:campaign AS int), o.campaign_id)
                 ORDER BY o.job_id LIMIT :page
                """),
                {"campaign": campaign_id, "after": after, "page": PAGE, "log_tail": LOG_TAIL},
            )
        ).all()
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        after = rows[-1].job_id


_RENAME = text("""
WITH u AS (
    SELECT * FROM unnest(CAST(:jobs AS bigint[]), CAST(:verdicts AS text[]), CAST(:causes AS text[]),
                         CAST(:rules AS text[])) x (job_id, verdict, cause, rule)
), was AS (
    SELECT o.job_id, o.campaign_id, o.target_id, o.verdict FROM outcomes o JOIN u USING (job_id)
), renamed AS (
    UPDATE outcomes o SET verdict = u.verdict, cause = u.cause, rule = u.rule FROM u WHERE o.job_id = u.job_id
)
SELECT was.campaign_id, was.target_id, was.verdict AS earlier, u.verdict, count(*) AS outcomes
  FROM was JOIN u USING (job_id) GROUP BY 1, 2, 3, 4
""")

# The change of ``reclassifications`` marks the matrix as out of date.
_COUNT = text("""
UPDATE campaign_targets c
   SET failed = c.failed + n.failed, skipped = c.skipped + n.skipped, incomplete = c.incomplete + n.incomplete,
       reclassifications = c.reclassifications + 1
  FROM (SELECT campaign_id, target_id,
               sum(((verdict = 'failed')::int - (earlier = 'failed')::int) * outcomes) AS failed,
               sum(((verdict = 'skipped')::int - (earlier = 'skipped')::int) * outcomes) AS skipped,
               sum(((verdict = 'incomplete')::int - (earlier = 'incomplete')::int) * outcomes) AS incomplete
          FROM unnest(CAST(:campaigns AS int[]), CAST(:targets AS int[]), CAST(:earlier AS text[]),
                      CAST(:verdicts AS text[]), CAST(:outcomes AS int[]))
               x (campaign_id, target_id, earlier, verdict, outcomes)
         GROUP BY 1, 2) n
 WHERE c.campaign_id = n.campaign_id AND c.target_id = n.target_id
""")


async def rename(connection: AsyncConnection, classifications: Sequence[ClassifiedOutcome]) -> None:
    """Store the new verdicts, causes and rules of outcomes that did not pass, and correct the counters.

    The counters are updated last and only once. This is safe because no job of these campaigns can finish meanwhile.
    """
    moves: Counter[tuple[int, int, str, str]] = Counter()
    for first in range(0, len(classifications), RENAMED_AT_ONCE):
        some = classifications[first : first + RENAMED_AT_ONCE]
        result = await connection.execute(
            _RENAME,
            {
                "jobs": [outcome.job_id for outcome in some],
                "verdicts": [str(outcome.verdict) for outcome in some],
                "causes": [outcome.cause and str(outcome.cause) for outcome in some],
                "rules": [outcome.rule for outcome in some],
            },
        )
        for row in result:
            moves[row.campaign_id, row.target_id, row.earlier, row.verdict] += row.outcomes
    if moves:
        campaigns, targets, earlier, verdicts = map(list, zip(*moves, strict=True))
        await connection.execute(
            _COUNT,
            {
                "campaigns": campaigns,
                "targets": targets,
                "earlier": earlier,
                "verdicts": verdicts,
                "outcomes": list(moves.values()),
            },
        )


async def runs_that_did_not_pass(
    connection: AsyncConnection, campaign_id: int, target_id: int, case: str
) -> Sequence[int]:
    rows = await connection.execute(
        text("""
        SELECT o.job_id FROM outcomes o JOIN cases c ON c.id = o.case_id
         WHERE o.campaign_id = :campaign AND o.target_id = :target AND c.name = :case AND o.verdict <> 'passed'
         ORDER BY o.job_id
        """),
        {"campaign": campaign_id, "target": target_id, "case": case},
    )
    return rows.scalars().all()


async def where(connection: AsyncConnection, campaign_id: int, job_id: int) -> Row[Any] | None:
    """The case and the target of an outcome."""
    result = await connection.execute(
        text("""
        SELECT o.target_id, c.name AS "case" FROM outcomes o JOIN cases c ON c.id = o.case_id
         WHERE o.job_id = :job AND o.campaign_id = :campaign
        """),
        {"job": job_id, "campaign": campaign_id},
    )
    return result.one_or_none()


async def put_overrides(connection: AsyncConnection, jobs: Sequence[int], cause: Cause, by: str, why: str) -> None:
    """Store the cause that a person set for these outcomes. At the first override, the classification by the rules is
    stored too."""
    await connection.execute(
        text("""
        INSERT INTO overrides (job_id, cause, author, why, was_verdict, was_cause, was_rule)
        SELECT o.job_id, :cause, :by, :why, o.verdict, o.cause, o.rule
          FROM outcomes o WHERE o.job_id = ANY(CAST(:jobs AS bigint[]))
        ON CONFLICT (job_id) DO UPDATE
           SET cause = excluded.cause, author = excluded.author, why = excluded.why, created_at = now()
        """),
        {"jobs": list(jobs), "cause": str(cause), "by": by, "why": why},
    )


async def take_overrides(connection: AsyncConnection, jobs: Sequence[int]) -> list[ClassifiedOutcome]:
    """Delete the overrides of these outcomes. Returns the classifications that they had before the first override."""
    rows = await connection.execute(
        text("""
        DELETE FROM overrides WHERE job_id = ANY(CAST(:jobs AS bigint[]))
        RETURNING job_id, was_verdict, was_cause, was_rule
        """),
        {"jobs": list(jobs)},
    )
    return [
        ClassifiedOutcome(
            row.job_id, Verdict(row.was_verdict), Cause(row.was_cause) if row.was_cause else None, row.was_rule
        )
        for row in rows
    ]


async def overrides(
    connection: AsyncConnection, campaign_id: int, case: str | None, target_id: int | None
) -> Sequence[Row[Any]]:
    """The overrides, with one row per case and target, because all runs are overridden together."""
    rows = await connection.execute(
        text("""
        SELECT c.name AS "case", t.framework, t.version, t.device, v.cause, o.verdict, v.author, v.why,
               v.created_at, count(*) AS outcomes
          FROM overrides v
          JOIN outcomes o ON o.job_id = v.job_id
          JOIN cases c ON c.id = o.case_id
          JOIN targets t ON t.id = o.target_id
         WHERE o.campaign_id = :campaign
           AND c.name = coalesce(CAST(:case AS text), c.name)
           AND o.target_id = coalesce(CAST(:target AS int), o.target_id)
         GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, o.target_id
         ORDER BY 1, 2, 3, 4, o.target_id
        """),
        {"campaign": campaign_id, "case": case, "target": target_id},
    )
    return rows.all()
