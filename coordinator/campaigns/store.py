"""Campaigns and their jobs in the database. This module contains all of their SQL, except the dispatcher's."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple, cast

from sqlalchemy import Row, insert, null, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.campaigns.plan import Plan, PlannedCase, SuiteOffer, priority
from coordinator.campaigns.request import CampaignRequest
from coordinator.campaigns.timing import SuiteTiming
from coordinator.catalogue.models import ChartedSample
from coordinator.database.connection import allow_long_statements
from coordinator.database.tables import campaign_targets, campaigns, cases, submissions, suites
from coordinator.database.views import failure_text
from coordinator.figures.counting import ANYWHERE, SIDE_BY_SIDE
from coordinator.targets.selectors import TargetName
from protocol.enums import Cause, TimedCases, TimingPolicy

_WHY_AWAY = "format('%s is %s%s', coalesce(r.name, r.url), r.state, ': ' || r.reason)"
"""An SQL expression: a sentence about a runner ``r`` that is not online."""


async def live_targets(connection: AsyncConnection) -> list[TargetName]:
    rows = await connection.execute(
        text("""
        SELECT DISTINCT t.id, t.framework, t.version, t.device
          FROM targets t JOIN runners r ON r.target_id = t.id WHERE r.state = 'online' ORDER BY t.id
        """)
    )
    return [TargetName(row.id, row.framework, row.version, row.device) for row in rows]


async def away_runners(connection: AsyncConnection) -> list[str]:
    """A sentence for each registered runner that is not online: its target, its name, its state and the reason."""
    rows = await connection.execute(
        text(f"""
        SELECT t.id, t.framework, t.version, t.device, {_WHY_AWAY} AS why
          FROM runners r JOIN targets t ON t.id = r.target_id
         WHERE r.state NOT IN ('online', 'removed') ORDER BY r.id
        """)
    )
    return [f"{TargetName(row.id, row.framework, row.version, row.device)}: {row.why}" for row in rows]


async def suite_names(connection: AsyncConnection) -> list[str]:
    rows = await connection.execute(select(suites.c.name).distinct().order_by(suites.c.name))
    return [row.name for row in rows]


async def offers(connection: AsyncConnection, suite: str, targets: Sequence[TargetName]) -> list[SuiteOffer]:
    """For each target, the newest revision of the suite that an online runner of the target serves."""
    # The revision that was stored last has the largest id.
    rows = await connection.execute(
        text("""
        SELECT r.target_id, max(s.id) AS suite_id
          FROM runners r JOIN runner_suites rs ON rs.runner_id = r.id JOIN suites s ON s.id = rs.suite_id
         WHERE r.state = 'online' AND s.name = :suite AND r.target_id = ANY(CAST(:targets AS int[]))
         GROUP BY r.target_id
        """),
        {"suite": suite, "targets": [target.id for target in targets]},
    )
    suite_ids = {row.target_id: row.suite_id for row in rows}
    timing_rows = await connection.execute(
        select(suites.c.id, suites.c.timing, suites.c.timed_cases).where(suites.c.id.in_(set(suite_ids.values())))
    )
    timings = {
        row.id: SuiteTiming(
            row.timing and TimingPolicy(row.timing),
            row.timed_cases and TimedCases(row.timed_cases),
        )
        for row in timing_rows
    }
    of_suite: dict[int, list[PlannedCase]] = {}
    for suite_id in set(suite_ids.values()):
        case_rows = await connection.execute(
            select(cases.c.id, cases.c.name, cases.c.function)
            .where(cases.c.suite_id == suite_id)
            .order_by(cases.c.position)
        )
        of_suite[suite_id] = [PlannedCase(row.id, row.name, row.function) for row in case_rows]
    return [
        SuiteOffer(target, suite_ids[target.id], of_suite[suite_ids[target.id]], timings[suite_ids[target.id]])
        for target in targets
        if target.id in suite_ids
    ]


async def left_over(connection: AsyncConnection, campaign_id: int, which: str) -> dict[int, frozenset[str]]:
    """For each target, the names of the cases that have an outcome with this verdict (``failed`` or ``incomplete``)."""
    rows = await connection.execute(
        text("""
        SELECT DISTINCT o.target_id, c.name FROM outcomes o JOIN cases c ON c.id = o.case_id
         WHERE o.campaign_id = :campaign AND o.verdict = :which
        """),
        {"campaign": campaign_id, "which": which},
    )
    by_target: dict[int, set[str]] = {}
    for row in rows:
        by_target.setdefault(row.target_id, set()).add(row.name)
    return {target: frozenset(names) for target, names in by_target.items()}


class Submission(NamedTuple):
    """A submission with its idempotency key."""

    created_by: str
    key: str
    request_sha256: bytes

    @classmethod
    def of(cls, key: str, request: CampaignRequest, created_by: str | None) -> Submission:
        return cls(created_by or "", key, sha256(request.model_dump_json().encode()).digest())


async def find_submission(connection: AsyncConnection, submission: Submission) -> tuple[int, bool] | None:
    """The campaign that was submitted with this key, and whether the request was the same; None if there is none."""
    result = await connection.execute(
        select(submissions.c.campaign_id, submissions.c.request_sha256).where(
            submissions.c.created_by == submission.created_by, submissions.c.key == submission.key
        )
    )
    row = result.one_or_none()
    return None if row is None else (row.campaign_id, row.request_sha256 == submission.request_sha256)


# Jobs get their ids in the order of the cases, because a claim takes jobs of one priority by their ids.
_JOBS = text("""
INSERT INTO jobs (campaign_id, target_id, case_id, run, priority)
SELECT :campaign, :target, c.id, :run, :priority
  FROM unnest(CAST(:cases AS int[])) WITH ORDINALITY c (id, position) ORDER BY c.position
""")


async def create(
    connection: AsyncConnection,
    request: CampaignRequest,
    plan: Plan,
    sample: ChartedSample | None = None,
    created_by: str | None = None,
    submission: Submission | None = None,
) -> int:
    """Store the campaign and all its jobs. There is one bulk insert for each target and run."""
    await allow_long_statements(connection)
    what = request.suite if sample is None else f"{sample.name}, {request.suite}"
    result = await connection.execute(
        insert(campaigns)
        .values(
            name=request.name or f"{what} on {', '.join(request.targets)}",
            suite=request.suite,
            selectors=request.targets,
            functions=request.functions if sample is None else sample.functions,
            sample=null() if sample is None else sample.model_dump(mode="json"),
            not_charted=plan.not_charted if sample is None else sample.not_charted,
            runs=request.runs,
            timeout_s=request.timeout_s,
            timing=str(plan.timing.policy),
            timed_cases=str(plan.timing.cases),
            verdicts_first=request.verdicts_first,
            rerun_of=request.rerun.campaign if request.rerun else None,
            created_by=created_by,
        )
        .returning(campaigns.c.id)
    )
    campaign_id = int(result.scalar_one())
    if submission is not None:
        # The key is stored before the jobs, which may take long: a second submission with the same key waits here.
        await connection.execute(insert(submissions).values(campaign_id=campaign_id, **submission._asdict()))
    for target_plan in plan.targets:
        await connection.execute(
            insert(campaign_targets).values(
                campaign_id=campaign_id,
                target_id=target_plan.target.id,
                suite_id=target_plan.suite_id,
                total=len(target_plan.case_ids) * plan.runs,
            )
        )
        of_target = {"campaign": campaign_id, "target": target_plan.target.id, "cases": list(target_plan.case_ids)}
        runs = [{**of_target, "run": run, "priority": priority(campaign_id, run)} for run in range(1, plan.runs + 1)]
        await connection.execute(_JOBS, runs)
    return campaign_id


_LISTED = """
SELECT c.id, c.name, c.suite, c.state, c.selectors AS targets, c.functions, c.runs, c.timeout_s, c.timing,
       c.timed_cases, c.verdicts_first, c.rerun_of, c.sample ->> 'name' AS sample, c.not_charted,
       c.created_at, c.finished_at, c.imported_at, c.created_by,
       (SELECT s.name FROM signers s WHERE s.id = c.signer_id AND s.revoked_at IS NULL) AS signed_by,
       t.total, t.done, t.passed, t.failed, t.skipped, t.incomplete, t.cancelled,
       extract(epoch FROM coalesce(c.finished_at, now()) - c.created_at)::float8 AS elapsed_s
  FROM campaigns c
  JOIN LATERAL (
       SELECT coalesce(sum(total), 0) AS total, coalesce(sum(done), 0) AS done, coalesce(sum(passed), 0) AS passed,
              coalesce(sum(failed), 0) AS failed, coalesce(sum(skipped), 0) AS skipped,
              coalesce(sum(incomplete), 0) AS incomplete, coalesce(sum(cancelled), 0) AS cancelled
         FROM campaign_targets WHERE campaign_id = c.id) t ON true
"""


async def list_campaigns(connection: AsyncConnection, *, before: int | None, limit: int) -> Sequence[Row[Any]]:
    rows = await connection.execute(
        text(
            f"{_LISTED} WHERE CAST(:before AS int) IS NULL OR c.id < CAST(:before AS int) "
            "ORDER BY c.id DESC LIMIT CAST(:limit AS int)"
        ),
        {"before": before, "limit": limit},
    )
    return rows.all()


async def read_campaign(connection: AsyncConnection, campaign_id: int) -> Row[Any] | None:
    return (await connection.execute(text(f"{_LISTED} WHERE c.id = :id"), {"id": campaign_id})).one_or_none()


async def read_sample(connection: AsyncConnection, campaign_id: int) -> dict[str, Any] | None:
    result = await connection.execute(select(campaigns.c.sample).where(campaigns.c.id == campaign_id))
    return cast("dict[str, Any] | None", result.scalar_one_or_none())


async def progress_marks(connection: AsyncConnection, campaign_ids: Sequence[int]) -> dict[int, tuple[object, ...]]:
    """For each campaign, its state and counters. The counters have the order of ``Counters``."""
    rows = await connection.execute(
        text("""
        SELECT c.id, c.state, coalesce(sum(t.total), 0)::int8, coalesce(sum(t.done), 0)::int8,
               coalesce(sum(t.passed), 0)::int8, coalesce(sum(t.failed), 0)::int8, coalesce(sum(t.skipped), 0)::int8,
               coalesce(sum(t.incomplete), 0)::int8, coalesce(sum(t.cancelled), 0)::int8
          FROM campaigns c LEFT JOIN campaign_targets t ON t.campaign_id = c.id
         WHERE c.id = ANY(CAST(:ids AS int[])) GROUP BY c.id
        """),
        {"ids": list(campaign_ids)},
    )
    return {row.id: tuple(row)[1:] for row in rows}


async def unfinished_jobs(connection: AsyncConnection, created_by: str | None) -> int:
    """The number of a submitter's jobs that have no outcome.

    The submitter is locked until the transaction ends, so that their other submissions wait.
    """
    await connection.execute(
        text("SELECT pg_advisory_xact_lock(hashtext('portolan submissions'), hashtext(:user))"),
        {"user": created_by or ""},
    )
    # IS NOT DISTINCT FROM, because an anonymous submitter is NULL, which equals nothing.
    result = await connection.execute(
        text("""
        SELECT coalesce(sum(t.total - t.done - t.cancelled), 0)::int8
          FROM campaigns c JOIN campaign_targets t ON t.campaign_id = c.id
         WHERE c.state = 'running' AND c.created_by IS NOT DISTINCT FROM CAST(:user AS text)
        """),
        {"user": created_by},
    )
    return int(result.scalar_one())


async def read_progress(connection: AsyncConnection, campaign_id: int) -> dict[int, Row[Any]]:
    """For each target, its counters, and the runners that serve it or could serve it."""
    rows = await connection.execute(
        text(f"""
        SELECT ct.*,
               (SELECT count(*) FROM runners r JOIN runner_suites rs ON rs.runner_id = r.id
                 WHERE r.target_id = t.id AND rs.suite_id = ct.suite_id AND r.state = 'online') AS live_runners,
               ARRAY(SELECT {_WHY_AWAY}
                       FROM runners r WHERE r.target_id = t.id AND r.state NOT IN ('online', 'removed')
                      ORDER BY r.id) AS held_up_by,
               CASE WHEN c.verdicts_first THEN
                    NOT EXISTS (SELECT 1 FROM jobs
                                 WHERE state = 'queued' AND target_id = ct.target_id AND priority = first.priority)
                    AND NOT EXISTS (SELECT 1 FROM jobs WHERE lease_until IS NOT NULL AND target_id = ct.target_id
                                       AND priority = first.priority)
               END AS verdicts_complete
          FROM campaign_targets ct
          JOIN campaigns c ON c.id = ct.campaign_id
          JOIN targets t ON t.id = ct.target_id
         CROSS JOIN (SELECT CAST(:first AS int) AS priority) first
         WHERE ct.campaign_id = :id
        """),
        {"id": campaign_id, "first": priority(campaign_id, 1)},
    )
    return {row.target_id: row for row in rows}


ESTIMATED_BY = 500
"""The maximum number of planned cases from which an estimate is computed. They are chosen at equal distances in the
plan."""

# The query looks up jobs, which have a key for this. Outcomes have no index by case, and reading them in the order of
# their key would read those of all newer campaigns. The planned cases of a bundle have rows of their own, with the
# same names.
_EARLIER_DURATIONS = text("""
SELECT avg(duration_s) AS mean, count(*) AS n FROM (
    SELECT o.duration_s
      FROM (SELECT ct.campaign_id
              FROM campaign_targets ct
              JOIN suites s ON s.id = ct.suite_id
              JOIN suites planned ON planned.id = :suite AND planned.framework = s.framework
               AND planned.name = s.name AND planned.revision = s.revision
             WHERE ct.target_id = :target AND ct.done > 0
             ORDER BY ct.campaign_id DESC LIMIT 20) chart
     CROSS JOIN LATERAL (
           SELECT id FROM jobs
            WHERE campaign_id = chart.campaign_id AND target_id = :target AND case_id = ANY(ARRAY(
                  SELECT alike.id
                    FROM cases planned
                    JOIN suites s ON s.id = planned.suite_id
                    JOIN suites same ON same.framework = s.framework AND same.name = s.name
                     AND same.revision = s.revision
                    JOIN cases alike ON alike.suite_id = same.id AND alike.name = planned.name
                   WHERE planned.id = ANY(CAST(:cases AS int[]))))) j
      JOIN outcomes o ON o.job_id = j.id
     LIMIT 2000) newest
""")


async def earlier_durations(connection: AsyncConnection, plan: Plan) -> dict[int, tuple[float, int]]:
    """For each target, the mean seconds of a job and the number of outcomes from which it was computed.

    The outcomes are those of some of the planned cases in the newest campaigns, including imported campaigns.
    """
    durations: dict[int, tuple[float, int]] = {}
    for target_plan in plan.targets:
        step = max(1, -(-len(target_plan.case_ids) // ESTIMATED_BY))
        values = {
            "target": target_plan.target.id,
            "suite": target_plan.suite_id,
            "cases": list(target_plan.case_ids[::step]),
        }
        row = (await connection.execute(_EARLIER_DURATIONS, values)).one()
        if row.n:
            durations[target_plan.target.id] = (float(row.mean), row.n)
    return durations


_ROWS_BY_RULE = ", ".join(f"('{rule.name}', {rule.name}_verdict, {rule.name}_cause)" for rule in SIDE_BY_SIDE)
_COLUMNS_BY_RULE = ", ".join(
    f"counts -> '{rule.name}' ->> '{column}' AS {rule.name}_{column}"
    for rule in SIDE_BY_SIDE
    for column in ("verdict", "cause")
)

# The cells are grouped before they are listed by rule: a large campaign has tens of thousands of cells, in a hundred
# groups.
_VERDICTS = text(f"""
SELECT target_id, rule, verdict,
       coalesce(cause, CASE WHEN {ANYWHERE.name}_verdict = 'unknown' THEN not_counted_cause END) AS cause,
       lowering, anywhere, of_another_device, CAST(sum(functions) AS int) AS functions
  FROM (SELECT target_id, lowering, of_another_device, not_counted_cause, {_COLUMNS_BY_RULE},
               CASE WHEN of_another_device > 0 THEN counts -> '{ANYWHERE.name}' END AS anywhere,
               count(*) AS functions
          FROM matrix_cells WHERE campaign_id = :id
         GROUP BY target_id, lowering, of_another_device, not_counted_cause, anywhere,
                  {", ".join(f"{rule.name}_verdict, {rule.name}_cause" for rule in SIDE_BY_SIDE)}) cells
 CROSS JOIN LATERAL (VALUES {_ROWS_BY_RULE}) AS by_rule (rule, verdict, cause)
 GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY functions DESC, 1, 2, 3, 4, 5, 7
""")


async def verdicts(connection: AsyncConnection, campaign_id: int) -> Sequence[Row[Any]]:
    return (await connection.execute(_VERDICTS, {"id": campaign_id})).all()


LONGEST_SAID = 300
"""The maximum number of characters of a failure's text that are read."""

_FAILED_LATELY = text(f"""
SELECT o.job_id, o.run, o.verdict, o.cause, o.finished_at, c.name AS "case", c.function,
       t.framework, t.version, t.device,
       left({failure_text("o")}, {LONGEST_SAID}) AS said
  FROM (SELECT * FROM outcomes WHERE campaign_id = :campaign AND verdict = 'failed'
         ORDER BY finished_at DESC, job_id DESC LIMIT CAST(:most AS int)) o
  JOIN cases c ON c.id = o.case_id
  JOIN targets t ON t.id = o.target_id
 ORDER BY o.finished_at DESC, o.job_id DESC
""")


async def failed_lately(connection: AsyncConnection, campaign_id: int, most: int) -> Sequence[Row[Any]]:
    return (await connection.execute(_FAILED_LATELY, {"campaign": campaign_id, "most": most})).all()


# The query uses the matrix, which has few such functions, because outcomes have no index by function.
_INCOMPLETE = text(f"""
SELECT o.job_id, o.run, o.verdict, o.cause, o.finished_at, c.name AS "case", c.function,
       t.framework, t.version, t.device,
       left({failure_text("o")}, {LONGEST_SAID}) AS said
  FROM (SELECT * FROM matrix_cells WHERE campaign_id = :campaign AND incomplete > 0
           AND not_counted_cause IS DISTINCT FROM '{Cause.cancelled}'
         ORDER BY framework, function, target_id LIMIT CAST(:functions AS int)) m
  JOIN campaign_targets ct ON ct.campaign_id = m.campaign_id AND ct.target_id = m.target_id
  JOIN targets t ON t.id = m.target_id
  JOIN cases c ON c.suite_id = ct.suite_id AND c.function = m.function
  JOIN jobs j ON j.campaign_id = m.campaign_id AND j.target_id = m.target_id AND j.case_id = c.id
  JOIN outcomes o ON o.job_id = j.id AND o.verdict = 'incomplete'
 ORDER BY m.framework, m.function, m.target_id, o.job_id
""")


async def incomplete(connection: AsyncConnection, campaign_id: int, functions: int) -> Sequence[Row[Any]]:
    return (await connection.execute(_INCOMPLETE, {"campaign": campaign_id, "functions": functions})).all()


async def cancel(connection: AsyncConnection, campaign_id: int) -> bool:
    """Cancel all jobs that are not done. Returns False if the campaign had already ended."""
    result = await connection.execute(
        text("""
        UPDATE campaigns SET state = 'cancelled', finished_at = now()
         WHERE id = :id AND state = 'running' RETURNING id
        """),
        {"id": campaign_id},
    )
    if result.scalar_one_or_none() is None:
        return False
    await _cancel_jobs(connection, campaign_id, None)
    return True


async def cancel_targets(connection: AsyncConnection, campaign_id: int, target_ids: Sequence[int]) -> bool:
    """Cancel the jobs that are not done on these targets. Returns False if the campaign had already ended.

    If no job is left, the campaign ends. Its state is then *done* if all jobs of one target are done, otherwise
    *cancelled*.
    """
    # The campaign is locked, so that no finish completes it before the last statement here.
    result = await connection.execute(
        text("SELECT 1 FROM campaigns WHERE id = :id AND state = 'running' FOR UPDATE"), {"id": campaign_id}
    )
    if result.scalar_one_or_none() is None:
        return False
    await _cancel_jobs(connection, campaign_id, target_ids)
    await connection.execute(
        text("""
        UPDATE campaigns c SET finished_at = now(), state = CASE WHEN t.whole THEN 'done' ELSE 'cancelled' END
          FROM (SELECT bool_or(cancelled = 0) AS whole, bool_and(done + cancelled >= total) AS settled
                  FROM campaign_targets WHERE campaign_id = :id) t
         WHERE c.id = :id AND t.settled
        """),
        {"id": campaign_id},
    )
    return True


async def _cancel_jobs(connection: AsyncConnection, campaign_id: int, target_ids: Sequence[int] | None) -> None:
    """Cancel the jobs that are not done on these targets; on all targets if None."""
    # The rows are locked in the order of ids, so that two cancellations wait for each other and do not deadlock.
    await connection.execute(
        text("""
        WITH chosen AS (
            SELECT id FROM jobs
             WHERE campaign_id = :id AND state IN ('queued', 'leased', 'running')
               AND (CAST(:targets AS int[]) IS NULL OR target_id = ANY(CAST(:targets AS int[])))
             ORDER BY id FOR UPDATE
        ), gone AS (
            UPDATE jobs j SET state = 'cancelled', lease_until = NULL FROM chosen WHERE j.id = chosen.id
            RETURNING j.id, j.attempt, j.target_id
        ), ended AS (
            UPDATE attempts a SET "end" = 'cancelled', ended_at = now()
              FROM gone WHERE a.job_id = gone.id AND a.attempt = gone.attempt
        )
        UPDATE campaign_targets c SET cancelled = c.cancelled + n.n
          FROM (SELECT target_id, count(*) AS n FROM gone GROUP BY 1) n
         WHERE c.campaign_id = :id AND c.target_id = n.target_id
        """),
        {"id": campaign_id, "targets": None if target_ids is None else list(target_ids)},
    )
