"""The job queue in PostgreSQL: claim, start, give back. The statements that end jobs are in ``finishes.py``.

Every statement is fenced by job, attempt and lease token, and works on a batch. A statement that stores the report of a
runner is also fenced by this runner. A statement that touches several tables locks them in the order jobs, attempts,
outcomes, campaign_targets, runners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.campaigns.plan import MAX_RUNS
from coordinator.configuration.times import DEFAULT_TIMES, Times
from coordinator.dispatch.instructions import FELL_SILENT
from coordinator.dispatch.leases import Key

CHANNEL = "portolan"
"""The channel of NOTIFY by which coordinators announce changes to each other."""


def _timing_of(run: str) -> str:
    return f"""CASE WHEN campaigns.verdicts_first AND {run} = 1
                  OR campaigns.timed_cases = 'representative' AND NOT cases.representative
            THEN 'off' ELSE campaigns.timing END"""


def _next_jobs(condition: str) -> str:
    """SQL for queued jobs that meet the condition, in their order. Each job is read and locked only when it is needed.

    One range of an index is read for each startable campaign. Jobs that may not start yet are not read, however many
    there are.
    """
    return f"""
           SELECT queued.id
             FROM (SELECT * FROM open WHERE priority IS NOT NULL ORDER BY campaign_id) open
            CROSS JOIN LATERAL (
                  SELECT id FROM jobs
                   WHERE state = 'queued' AND target_id = :target AND {condition}
                     AND priority BETWEEN open.campaign_id * {MAX_RUNS} AND open.priority
                   ORDER BY priority, id LIMIT :limit FOR UPDATE SKIP LOCKED) queued"""


def startable_campaigns(condition: str) -> str:
    """SQL for the campaigns from which jobs may start, for the targets that meet the condition on ``ours``.

    Each row has the highest ``priority`` (campaign and run, as one number) that may start now. All targets finish
    claiming run N before any target starts run N + 1, so that slow drift affects all targets equally. Targets without a
    live runner are not waited for. If run 1 is untimed, run 2 also waits until every claimed job of run 1 has started,
    because untimed jobs run in parallel and would disturb timed ones.
    """
    return f"""
    SELECT ours.campaign_id, ours.target_id, ours.suite_id,
           least(
               (SELECT min(first.priority)
                  FROM campaign_targets theirs
                 CROSS JOIN LATERAL (
                       SELECT q.priority FROM jobs q
                        WHERE q.state = 'queued' AND q.target_id = theirs.target_id
                          AND q.priority >= ours.campaign_id * {MAX_RUNS}
                          AND q.priority < (ours.campaign_id + 1) * {MAX_RUNS}
                        ORDER BY q.priority LIMIT 1) first
                 WHERE theirs.campaign_id = ours.campaign_id
                   AND EXISTS (SELECT 1 FROM runners r JOIN runner_suites rs ON rs.runner_id = r.id
                                WHERE r.target_id = theirs.target_id AND rs.suite_id = theirs.suite_id
                                  AND r.state = 'online')),
               CASE WHEN c.verdicts_first THEN
                   (SELECT ahead.priority
                      FROM campaign_targets theirs
                      JOIN runners r ON r.target_id = theirs.target_id AND r.state = 'online'
                      JOIN jobs ahead ON ahead.runner_id = r.id AND ahead.lease_until IS NOT NULL
                     WHERE theirs.campaign_id = ours.campaign_id AND ahead.state = 'leased'
                       AND ahead.priority = ours.campaign_id * {MAX_RUNS}
                     LIMIT 1)
               END) AS priority
      FROM campaign_targets ours JOIN campaigns c ON c.id = ours.campaign_id
     WHERE {condition} AND c.state = 'running'"""


# ARRAY makes PostgreSQL choose the jobs once. It may evaluate a plain subquery again and lock more than the limit.
# The runners of a target share its remaining jobs, whether they are idle or not. Jobs that a runner has refused come
# last, so that the runner still runs its other jobs.
_CLAIM = text(f"""
WITH open AS MATERIALIZED (
    {startable_campaigns("ours.target_id = :target AND ours.suite_id = ANY(CAST(:suites AS int[]))")}
), fair AS MATERIALIZED (
    SELECT least(:limit, greatest(1, ceil(sum(ct.total - ct.done - ct.cancelled)::float8 / greatest(1,
               (SELECT count(*) FROM runners r WHERE r.target_id = :target AND r.state = 'online')))::int - :held)
           ) AS jobs
      FROM open JOIN campaign_targets ct ON ct.campaign_id = open.campaign_id AND ct.target_id = :target
), leased AS (
    UPDATE jobs SET state = 'leased', attempt = attempt + 1, runner_id = :runner, token = :token,
           lease_until = now() + make_interval(secs => :lease_s)
     WHERE id = ANY(ARRAY(
           {_next_jobs("refused = 0")} UNION ALL {_next_jobs("refused > 0")} LIMIT (SELECT jobs FROM fair)))
    RETURNING id, attempt, campaign_id, case_id, run, priority, refused
), tried AS (
    INSERT INTO attempts (job_id, attempt, runner_id, boot_id, token)
    SELECT id, attempt, :runner, :boot, :token FROM leased
)
SELECT leased.id, leased.attempt, cases.name, leased.run, cases.suite_id, campaigns.timeout_s,
       {_timing_of("leased.run")} AS timing
  FROM leased
  JOIN cases ON cases.id = leased.case_id
  JOIN campaigns ON campaigns.id = leased.campaign_id
 ORDER BY leased.refused > 0, leased.priority, leased.id
""")

# The leases of a runner, in the order of their claims.
_HELD = text(f"""
SELECT jobs.id, jobs.attempt, jobs.token, cases.name, jobs.run, cases.suite_id, campaigns.timeout_s,
       {_timing_of("jobs.run")}, jobs.state = 'running', attempts.boot_id,
       greatest(extract(epoch FROM clock_timestamp() - attempts.started_at), 0)::float8 AS ran_s
  FROM jobs
  JOIN attempts ON attempts.job_id = jobs.id AND attempts.attempt = jobs.attempt
  JOIN cases ON cases.id = jobs.case_id
  JOIN campaigns ON campaigns.id = jobs.campaign_id
 WHERE jobs.runner_id = :runner AND jobs.lease_until IS NOT NULL
 ORDER BY jobs.priority, jobs.id
""")

_GIVE_BACK = text("""
WITH back AS (
    UPDATE jobs j SET state = 'queued', runner_id = NULL, lease_until = NULL, token = NULL,
           lost = j.lost + CAST(:counted AS smallint), refused = j.refused + CAST(:refused AS smallint)
      FROM unnest(CAST(:job AS bigint[]), CAST(:attempt AS smallint[]), CAST(:token AS text[]))
           u (job_id, attempt, token)
     WHERE j.id = ANY(CAST(:job AS bigint[])) AND j.id = u.job_id AND j.attempt = u.attempt AND j.token = u.token
       AND CASE WHEN j.state IN ('leased', 'running') THEN true END
    RETURNING j.id, j.attempt, u.token, j.lost, j.refused
), ended AS (
    UPDATE attempts a SET "end" = 'lost', ended_at = now(), reason = :reason,
           started_at = CASE WHEN CAST(:counted AS smallint) > 0
                             THEN coalesce(a.started_at, a.leased_at) ELSE a.started_at END
      FROM back WHERE a.job_id = ANY(CAST(:job AS bigint[])) AND a.job_id = back.id AND a.attempt = back.attempt
)
SELECT id, attempt, token, lost, refused FROM back
""")

# A runner that was silent may come back with all of its jobs. Then no attempt counts as lost, because the network may
# fail any number of times during a long case. After the case's time limit the attempt counts as lost, so that the
# repetitions end.
_WELCOME_BACK = text(f"""
WITH back AS (
    UPDATE jobs j SET state = CASE WHEN a.started_at IS NULL THEN 'leased' ELSE 'running' END,
           runner_id = a.runner_id, token = a.token, lease_until = now() + make_interval(secs => :lease_s),
           lost = j.lost - CASE WHEN a.reason = 'silent' AND a.started_at + make_interval(secs => c.timeout_s) > now()
                                THEN 1 ELSE 0 END
      FROM attempts a, campaigns c
     WHERE c.id = j.campaign_id
       AND a.runner_id = :runner AND a.boot_id = :boot AND a."end" = 'lost' AND a.reason IN ('silent', '{FELL_SILENT}')
       AND j.id = a.job_id AND j.attempt = a.attempt AND j.state = 'queued'
    RETURNING j.id, j.attempt
)
UPDATE attempts a SET "end" = NULL, ended_at = NULL, reason = NULL FROM back
 WHERE a.job_id = back.id AND a.attempt = back.attempt
""")

# The predicate on the state is a CASE on purpose. With a plain predicate, PostgreSQL believes that no row is leased or
# running (none is when it gathers statistics), and scans every dead entry of the index instead of looking up the few
# ids. For 200 jobs this takes 130 to 230 ms instead of 2 to 3 ms.
_START = text("""
WITH begun AS (
    UPDATE jobs j SET state = 'running'
      FROM unnest(CAST(:job AS bigint[]), CAST(:attempt AS smallint[]), CAST(:token AS text[]), CAST(:runner AS int[]))
           u (job_id, attempt, token, runner_id)
     WHERE j.id = ANY(CAST(:job AS bigint[])) AND j.id = u.job_id AND j.attempt = u.attempt AND j.token = u.token
       AND j.runner_id = u.runner_id AND CASE WHEN j.state = 'leased' THEN true END
    RETURNING j.id, j.attempt
)
UPDATE attempts a SET started_at = now() FROM begun
 WHERE a.job_id = ANY(CAST(:job AS bigint[])) AND a.job_id = begun.id AND a.attempt = begun.attempt
""")


# A batch is stored again if the connection broke after the commit, so a cursor never goes back. The boot is compared
# because a restarted runner numbers its events from 1.
_CURSORS = text("""
UPDATE runners r SET cursor = x.n, last_seen = now()
  FROM unnest(CAST(:c_runner AS int[]), CAST(:c_boot AS text[]), CAST(:c_n AS bigint[])) x (runner_id, boot_id, n)
 WHERE r.id = x.runner_id AND r.boot_id = x.boot_id AND r.cursor < x.n
""")

_COMPLETE = text("""
UPDATE campaigns c SET state = 'done', finished_at = now()
 WHERE c.id = ANY(CAST(:campaigns AS int[])) AND c.state = 'running'
   AND NOT EXISTS (SELECT 1 FROM campaign_targets t
                    WHERE t.campaign_id = c.id AND t.done + t.cancelled < t.total)
RETURNING c.id
""")


@dataclass(frozen=True)
class Cursor:
    """The position in one boot's events: the last event that was read. It is stored in the same statement as the
    event."""

    runner_id: int
    boot_id: str
    n: int


class HeldJob(NamedTuple):
    """A leased or running job, with everything that is needed to post it, in the order of the columns that are read."""

    key: Key
    case: str
    run: int
    suite_id: int
    timeout_s: float
    timing: str
    running: bool = False
    boot_id: str | None = None
    ran_s: float = 0.0


class ReturnedJob(NamedTuple):
    """An attempt that went back to the queue, with the numbers of its job's earlier returns."""

    key: Key
    lost: int
    """The number of the job's attempts that were lost after they had started."""
    refused: int
    """The number of times that a runner refused the job or did not start it."""


async def claim(
    connection: AsyncConnection,
    *,
    runner_id: int,
    boot_id: str,
    token: str,
    target_id: int,
    suites: Sequence[int],
    limit: int,
    held_count: int = 0,
    times: Times = DEFAULT_TIMES,
) -> list[HeldJob]:
    """Lease up to ``limit`` jobs, but no more than the runner's share of the remaining jobs.

    ``held_count`` is the number of jobs that the runner already has.
    """
    of_runner = {"runner": runner_id, "boot": boot_id, "token": token, "target": target_id}
    rows = await connection.execute(
        _CLAIM, {**of_runner, "suites": list(suites), "limit": limit, "held": held_count, "lease_s": times.lease_s}
    )
    return [HeldJob(Key(job, attempt, token), *columns) for job, attempt, *columns in rows]


async def leased_jobs(connection: AsyncConnection, runner_id: int) -> list[HeldJob]:
    rows = await connection.execute(_HELD, {"runner": runner_id})
    return [HeldJob(Key(job, attempt, token), *columns) for job, attempt, token, *columns in rows]


async def welcome_back(connection: AsyncConnection, runner_id: int, boot_id: str, times: Times = DEFAULT_TIMES) -> None:
    """Lease to a runner again the jobs that it lost because it was silent, except jobs that another runner has had
    since."""
    await connection.execute(_WELCOME_BACK, {"runner": runner_id, "boot": boot_id, "lease_s": times.lease_s})


async def give_back(
    connection: AsyncConnection, keys: Sequence[Key], reason: str, *, is_loss: bool, is_refusal: bool = False
) -> list[ReturnedJob]:
    """Queue these attempts again. Returns those that were still leased."""
    values = {"reason": reason, "counted": int(is_loss), "refused": int(is_refusal)}
    rows = await connection.execute(_GIVE_BACK, {**key_arrays(keys), **values})
    return [ReturnedJob(Key(row.id, row.attempt, row.token), row.lost, row.refused) for row in rows]


async def start(connection: AsyncConnection, starts: Sequence[tuple[int, Key]]) -> None:
    """Mark jobs as running. Each start is the id of the runner that reports it, and the attempt."""
    runner_ids = [runner_id for runner_id, _ in starts]
    await connection.execute(_START, {**key_arrays([key for _, key in starts]), "runner": runner_ids})


async def complete(connection: AsyncConnection, campaigns: Sequence[int]) -> list[int]:
    """Mark a campaign as done if all its targets are settled. Returns the marked campaigns among these."""
    return [row.id for row in await connection.execute(_COMPLETE, {"campaigns": list(campaigns)})]


async def move_cursors(connection: AsyncConnection, cursors: Iterable[Cursor]) -> None:
    await connection.execute(_CURSORS, cursor_arrays(cursors))


async def lost_attempts(connection: AsyncConnection, job_id: int) -> list[tuple[str, datetime, int]]:
    """Reason, time and runner of each attempt of a job that was lost after it had started."""
    rows = await connection.execute(
        text(
            "SELECT reason, ended_at, runner_id FROM attempts WHERE job_id = :job AND \"end\" = 'lost' "
            "AND started_at IS NOT NULL ORDER BY attempt"
        ),
        {"job": job_id},
    )
    return [(reason, ended_at, runner_id) for reason, ended_at, runner_id in rows]


async def did_well_since(connection: AsyncConnection, losses: Sequence[tuple[str, datetime, int]]) -> bool:
    """Whether every runner that lost the job has finished another job since."""
    for _, when, runner_id in losses:
        row = await connection.execute(
            text("SELECT 1 FROM outcomes WHERE runner_id = :runner AND finished_at > :when LIMIT 1"),
            {"runner": runner_id, "when": when},
        )
        # The last loss has just happened, so outcomes from before this loss count too.
        if row.first() is None and (runner_id, when) != (losses[-1][2], losses[-1][1]):
            return False
    return True


async def lease_again(connection: AsyncConnection, key: Key, runner_id: int) -> None:
    """Lease a job again that this transaction has requeued, so that the coordinator can end the job itself."""
    await connection.execute(
        text(
            "UPDATE jobs SET state = 'leased', lease_until = now(), runner_id = :runner, token = :token "
            "WHERE id = :job AND attempt = :attempt"
        ),
        {"job": key.job, "attempt": key.attempt, "token": key.token, "runner": runner_id},
    )


async def find_revoked(connection: AsyncConnection, runner_id: int, keys: Sequence[Key]) -> list[Key]:
    """Return the attempts that the runner should stop, because their jobs were cancelled or have ended."""
    rows = await connection.execute(
        text(
            "SELECT j.id, j.attempt, j.token FROM jobs j WHERE j.id = ANY(CAST(:job AS bigint[])) "
            "AND j.runner_id = :runner AND j.lease_until IS NOT NULL"
        ),
        {"job": [key.job for key in keys], "runner": runner_id},
    )
    still = {Key(row.id, row.attempt, row.token) for row in rows}
    return [key for key in keys if key not in still]


def key_arrays(keys: Sequence[Key]) -> dict[str, list[Any]]:
    return {name: [getattr(key, name) for key in keys] for name in Key._fields}


def cursor_arrays(cursors: Iterable[Cursor]) -> dict[str, list[Any]]:
    rows = [(cursor.runner_id, cursor.boot_id, cursor.n) for cursor in cursors]
    return {name: [row[place] for row in rows] for place, name in enumerate(("c_runner", "c_boot", "c_n"))}
