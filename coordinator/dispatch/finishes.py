"""Accepts outcomes in PostgreSQL. The first finish of an attempt counts; later ones are stored on the attempt.

The statements lock rows in the order jobs, attempts, outcomes, campaign_targets, runners.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.dispatch.leases import Key
from coordinator.dispatch.queue import CHANNEL, Cursor, complete, cursor_arrays, key_arrays
from protocol.enums import Placement


class FinishedJob(NamedTuple):
    """One row for ``finish``. The fields are columns of ``outcomes``, with JSON already encoded."""

    job_id: int
    attempt: int
    verdict: str
    ending: str
    cause: str | None
    rule: str | None
    duration_s: float
    placement: str = Placement.unknown
    proof: str = "{}"
    init_ms: float | None = None
    cold_ms: float | None = None
    steady_ms: float | None = None
    iqr_ms: float | None = None
    samples_ms: str | None = None
    """The samples as a PostgreSQL array literal. An array of arrays could not be sent, because its rows must have the
    same length."""
    calls_per_sample: int | None = None
    contended: bool = False
    contended_share: float | None = None
    lock_wait_ms: float | None = None
    position: int | None = None
    evidence: str | None = None
    log_tail: str | None = None
    log_bytes: int | None = None


class Finish(NamedTuple):
    """An outcome, the runner that reported it, and the token of the lease that the runner had."""

    row: FinishedJob
    runner_id: int
    token: str

    @property
    def key(self) -> Key:
        return Key(self.row.job_id, self.row.attempt, self.token)


# The rows ``u`` may contain several finishes of a job: of several attempts, or of a runner that reports another
# runner's job. Only one of them ended the job.
_ENDED_IT = "(u.job_id, u.attempt, u.f_runner, u.f_token) = (done.id, done.attempt, done.runner_id, done.token)"

_COLUMN_TYPES = {
    "job_id": "bigint",
    "attempt": "smallint",
    "init_ms": "double precision",
    "cold_ms": "double precision",
    "steady_ms": "double precision",
    "iqr_ms": "double precision",
    "calls_per_sample": "integer",
    "contended": "boolean",
    "contended_share": "double precision",
    "lock_wait_ms": "double precision",
    "position": "integer",
    "duration_s": "double precision",
    "log_bytes": "bigint",
}
_CASTS = {"proof": "::jsonb", "evidence": "::jsonb", "samples_ms": "::double precision[]"}
COLUMNS = FinishedJob._fields


def column_arrays() -> str:
    """SQL parameters for ``FinishedJob`` rows: one array per column, for ``unnest``."""
    return ", ".join(f"CAST(:{name} AS {_COLUMN_TYPES.get(name, 'text')}[])" for name in COLUMNS)


def column_values(rows: str, names: Iterable[str]) -> str:
    """SQL for these columns of the unnested ``rows``, cast to the types of ``outcomes``."""
    return ", ".join(f'{rows}."{name}"{_CASTS.get(name, "")}' for name in names)


def _finish_statement() -> TextClause:
    arrays = column_arrays()
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    outcome_columns = [name for name in COLUMNS if name not in ("job_id", "attempt")]
    values = column_values("u", outcome_columns)
    return text(f"""
WITH u AS MATERIALIZED (
    SELECT * FROM unnest({arrays}, CAST(:f_runner AS int[]), CAST(:f_token AS text[])) AS u ({names}, f_runner, f_token)
), done AS (
    UPDATE jobs j SET state = 'done', lease_until = NULL
      FROM u
     WHERE j.id = ANY(CAST(:job_id AS bigint[])) AND j.id = u.job_id AND j.attempt = u.attempt
       AND j.runner_id = u.f_runner AND j.token = u.f_token
       AND CASE WHEN j.state IN ('leased', 'running') THEN true END
    RETURNING j.id, j.attempt, j.token, j.campaign_id, j.target_id, j.case_id, j.run, j.runner_id
), ended AS (
    UPDATE attempts a SET "end" = 'finished', ended_at = now(),
           started_at = coalesce(a.started_at, now() - make_interval(secs => u.duration_s))
      FROM done JOIN u ON {_ENDED_IT}
     WHERE a.job_id = ANY(CAST(:job_id AS bigint[])) AND a.job_id = done.id AND a.attempt = done.attempt
), stored AS (
    INSERT INTO outcomes (job_id, attempt, campaign_id, target_id, case_id, run, runner_id, fingerprint_id,
                          {", ".join(f'"{name}"' for name in outcome_columns)})
    SELECT done.id, done.attempt, done.campaign_id, done.target_id, done.case_id, done.run,
           done.runner_id, runners.fingerprint_id, {values}
      FROM done JOIN u ON {_ENDED_IT}
      LEFT JOIN runners ON runners.id = done.runner_id
), counted AS (
    UPDATE campaign_targets c
       SET done = c.done + n.done, passed = c.passed + n.passed, failed = c.failed + n.failed,
           skipped = c.skipped + n.skipped, incomplete = c.incomplete + n.incomplete
      FROM (SELECT done.campaign_id, done.target_id, count(*) AS done,
                   count(*) FILTER (WHERE u.verdict = 'passed') AS passed,
                   count(*) FILTER (WHERE u.verdict = 'failed') AS failed,
                   count(*) FILTER (WHERE u.verdict = 'skipped') AS skipped,
                   count(*) FILTER (WHERE u.verdict = 'incomplete') AS incomplete
              FROM done JOIN u ON {_ENDED_IT} GROUP BY 1, 2) n
     WHERE c.campaign_id = n.campaign_id AND c.target_id = n.target_id
    RETURNING c.campaign_id, c.target_id, c.done + c.cancelled >= c.total AS settled
), cursors AS (
    UPDATE runners r SET cursor = x.n, last_seen = now(),
           strikes = CASE WHEN r.id IN (SELECT runner_id FROM done) THEN 0 ELSE r.strikes END
      FROM unnest(CAST(:c_runner AS int[]), CAST(:c_boot AS text[]), CAST(:c_n AS bigint[])) x (runner_id, boot_id, n)
     WHERE r.id = x.runner_id AND r.boot_id = x.boot_id AND r.cursor < x.n
)
SELECT done.id, done.attempt, done.token, done.campaign_id, counted.settled
  FROM done LEFT JOIN counted ON counted.campaign_id = done.campaign_id AND counted.target_id = done.target_id
""")


_FINISH = _finish_statement()

# The result of a lost attempt still becomes the outcome if no newer attempt has started.
_RECLAIM = text("""
WITH u AS (
    SELECT * FROM unnest(CAST(:job AS bigint[]), CAST(:attempt AS smallint[]), CAST(:token AS text[]),
                         CAST(:runner AS int[])) u (job_id, attempt, token, runner_id)
), back AS (
    UPDATE jobs j SET state = 'running', attempt = u.attempt, runner_id = u.runner_id, token = u.token,
           lease_until = now()
      FROM u JOIN attempts a ON a.job_id = u.job_id AND a.attempt = u.attempt
     WHERE j.id = ANY(CAST(:job AS bigint[])) AND j.id = u.job_id
       AND a.runner_id = u.runner_id AND a.token = u.token AND a."end" = 'lost' AND a.late_outcome IS NULL
       AND CASE WHEN j.state IN ('queued', 'leased') THEN true END
    RETURNING j.id, j.attempt, j.token
), superseded AS (
    UPDATE attempts a SET "end" = 'lost', ended_at = now(), reason = 'an earlier attempt reported after all'
      FROM back WHERE a.job_id = back.id AND a.attempt > back.attempt AND a."end" IS NULL
    RETURNING a.job_id
)
SELECT back.id, back.attempt, back.token, superseded.job_id IS NOT NULL AS superseded
  FROM back LEFT JOIN superseded ON superseded.job_id = back.id
""")

# A result that comes too late, or a second one, is stored on its attempt and nowhere else.
_LATE = text("""
UPDATE attempts a SET "end" = CASE WHEN a."end" = 'finished' THEN 'finished' ELSE 'late' END,
       ended_at = CASE WHEN a."end" = 'finished' THEN a.ended_at ELSE now() END,
       late_outcome = coalesce(a.late_outcome, u.body::jsonb)
  FROM unnest(CAST(:job AS bigint[]), CAST(:attempt AS smallint[]), CAST(:token AS text[]), CAST(:runner AS int[]),
              CAST(:body AS text[])) u (job_id, attempt, token, runner_id, body)
 WHERE a.job_id = u.job_id AND a.attempt = u.attempt AND a.runner_id = u.runner_id AND a.token = u.token
""")


class LateFinish(NamedTuple):
    """The part of a late finish that is stored. A late finish never becomes the outcome."""

    key: Key
    runner_id: int
    body: str


async def finish(
    connection: AsyncConnection, finishes: Sequence[Finish], cursors: Iterable[Cursor] = ()
) -> tuple[set[Key], list[int]]:
    """Accept these outcomes and move the cursors, in one statement.

    Returns the attempts whose outcome was accepted, and the campaigns that are now complete.
    """
    rows = zip(*(finish.row for finish in finishes), strict=True)
    parameters: dict[str, Any] = dict(zip(COLUMNS, map(list, rows), strict=True))
    parameters["f_runner"] = [finish.runner_id for finish in finishes]
    parameters["f_token"] = [finish.token for finish in finishes]
    finished_jobs = (await connection.execute(_FINISH, parameters | cursor_arrays(cursors))).all()
    settled_ids = sorted({row.campaign_id for row in finished_jobs if row.settled})
    completed_ids = await complete(connection, settled_ids) if settled_ids else []
    return {Key(row.id, row.attempt, row.token) for row in finished_jobs}, completed_ids


async def reclaim(connection: AsyncConnection, finishes: Sequence[Finish]) -> set[Key]:
    """Lease requeued attempts again to the runners that finished them, unless a newer attempt has started. Returns the
    attempts that were leased."""
    keys = [finish.key for finish in finishes]
    runners = [finish.runner_id for finish in finishes]
    rows = (await connection.execute(_RECLAIM, {**key_arrays(keys), "runner": runners})).all()
    if any(row.superseded for row in rows):
        # The runner that has the newer attempt must stop that attempt.
        await connection.execute(text("SELECT pg_notify(:channel, 'cancel')"), {"channel": CHANNEL})
    return {Key(row.id, row.attempt, row.token) for row in rows}


async def keep_late(connection: AsyncConnection, late: Sequence[LateFinish]) -> None:
    values = {"runner": [finish.runner_id for finish in late], "body": [finish.body for finish in late]}
    await connection.execute(_LATE, {**key_arrays([finish.key for finish in late]), **values})
