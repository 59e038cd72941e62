"""Writes a database with a million outcomes by SQL, as an instance may have after a year.

No case ran. Jobs and outcomes have everything that a page shows: causes, evidence, samples, fallbacks, and runs that
disagree. The values of an outcome are computed from its job's numbers, so they are the same in every bench.
"""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from coordinator.catalogue.releases import shipped_release
from protocol.enums import JUDGED_BY, Judge

JUDGES = [f"{JUDGED_BY}{judge}" for judge in (Judge.numpy, Judge.reference, Judge.float64)]


@dataclass(frozen=True)
class Size:
    """The size of one campaign."""

    framework: str
    functions: int
    cases: int
    """The number of cases per function."""
    runs: int
    targets: int
    releases: tuple[str, ...] = ()
    """Releases whose surfaces ship with Portolan. The targets have the versions of these releases, and the functions
    have the names of the first release. Without releases, versions and names are invented, and there is no coverage."""

    suite: str = "bench"
    revision: str = "1"
    """The suite's revision. It must differ between campaigns with the same suite and framework."""

    @property
    def names(self) -> list[str]:
        if not self.releases:
            return [f"{self.framework}.module_{n % 40}.function_{n}" for n in range(1, self.functions + 1)]
        public = sorted(shipped_release(self.releases[0]).kinds)
        return [public[place * len(public) // self.functions] for place in range(self.functions)]

    @property
    def versions(self) -> list[str]:
        return [release.partition("@")[2] for release in self.releases] or [
            f"{number}.0" for number in range(1, (self.targets + 3) // 4 + 1)
        ]

    @property
    def outcomes(self) -> int:
        return self.functions * self.cases * self.runs * self.targets


async def make(dsn: str, *sizes: Size, is_analyzed: bool = True) -> list[int]:
    """Write the campaigns and return their ids. If ``is_analyzed`` is false, PostgreSQL has no statistics about the new
    rows."""
    connection = await asyncpg.connect(dsn)
    try:
        # All rows are consistent, so PostgreSQL need not check the foreign keys of each.
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(
            "INSERT INTO fingerprints (id, body) VALUES ('bench',"
            """ '{"hardware": "none", "environment": "bench", "host": "here", "system": "none"}')"""
            " ON CONFLICT DO NOTHING"
        )
        campaigns = [await _campaign(connection, size) for size in sizes]
        await connection.execute("SET session_replication_role = origin")
        # Autovacuum would do this sooner or later.
        if is_analyzed:
            await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()
    return campaigns


async def _campaign(connection: asyncpg.Connection, size: Size) -> int:
    campaign: int = await connection.fetchval(
        "INSERT INTO campaigns (name, suite, selectors, functions, runs, timeout_s, timing, state, finished_at)"
        " VALUES ($1, $3, '[\"*\"]', '[\"*\"]', $2, 900, 'steady', 'done', now()) RETURNING id",
        f"{size.framework}: {size.functions} functions, {size.targets} targets",
        size.runs,
        size.suite,
    )
    suite = await connection.fetchval(
        "INSERT INTO suites (name, framework, revision, digest) VALUES ($1, $2, $3, '') RETURNING id",
        size.suite,
        size.framework,
        size.revision,
    )
    await connection.execute(_TARGETS, size.framework, size.targets, size.versions)
    await connection.execute(_CASES, suite, size.names, size.cases, JUDGES)
    await connection.execute("UPDATE suites SET drawn_cases = $2 WHERE id = $1", suite, size.cases * len(size.names))
    await connection.execute(_JOBS, campaign, suite, size.framework, size.runs)
    await connection.execute(_OUTCOMES, campaign, size.cases)
    await connection.execute(_COUNTERS, campaign, suite)
    return campaign


_TARGETS = """
INSERT INTO targets (framework, version, device, device_class, hardware, environment)
SELECT $1, version, device, class, 'of the bench', 'bench'
  FROM unnest($3::text[]) version,
       (VALUES ('cpu', 'cpu'), ('cuda', 'gpu'), ('xla', 'tpu'), ('other', 'other')) devices (device, class)
 ORDER BY version, device LIMIT $2
    ON CONFLICT DO NOTHING
"""

_CASES = """
INSERT INTO cases (suite_id, name, digest, function, position, tags)
SELECT $1, f.name || '/' || c, md5(f.name || '/' || c), f.name, (f.number - 1) * $3::int + c,
       jsonb_build_array(($4::text[])[1 + c % cardinality($4::text[])])
  FROM unnest($2::text[]) WITH ORDINALITY f (name, number), generate_series(1, $3::int) c
"""

_JOBS = """
INSERT INTO jobs (campaign_id, target_id, case_id, run, priority, state, attempt)
SELECT $1, t.id, c.id, run, run, 'done', 1
  FROM generate_series(1, $4::int) run, targets t, cases c
 WHERE t.framework = $3 AND c.suite_id = $2
"""

# One case in 9 fails on a target other than the CPU, one in 7 falls back, one in 97 is flaky.
_OUTCOMES = """
INSERT INTO outcomes (job_id, attempt, campaign_id, target_id, case_id, run, fingerprint_id, verdict, ending, cause,
                      rule, placement, proof, init_ms, cold_ms, steady_ms, iqr_ms, samples_ms, calls_per_sample,
                      position, duration_s, evidence, log_tail, log_bytes)
SELECT j.id, 1, j.campaign_id, j.target_id, j.case_id, j.run, 'bench',
       CASE WHEN failed THEN 'failed' ELSE 'passed' END, CASE WHEN failed THEN 'raised' ELSE 'returned' END,
       CASE WHEN failed THEN (ARRAY['type', 'not_implemented', 'assertion', 'memory'])[1 + j.case_id % 4] END,
       CASE WHEN failed THEN 'bench' END,
       CASE WHEN failed THEN 'unknown' WHEN fell THEN 'fell_back' ELSE 'on_device' END,
       '{"devices": ["it"], "fallbacks": {}, "executed": 1}', 1,
       CASE WHEN NOT failed THEN 40 * ms END, CASE WHEN NOT failed THEN ms END, CASE WHEN NOT failed THEN ms / 20 END,
       CASE WHEN NOT failed THEN (SELECT array_agg(ms * (1 + n / 200.0)) FROM generate_series(-10, 10) n) END,
       CASE WHEN NOT failed THEN 1 END, j.case_id % $2::int, 0.1,
       CASE WHEN failed THEN jsonb '{"exception": "RuntimeError", "message": "no such kernel", "stage": "call"}' END,
       'the log of the case', 19
  FROM (SELECT jobs.*, t.device <> 'cpu' AND (case_id * 31 + target_id) % 9 = 0
                       OR (case_id + target_id * 7) % 97 = run AS failed,
               t.device <> 'cpu' AND (case_id + target_id) % 7 = 0 AS fell,
               (1 + case_id % 1000) * (1 + target_id % 4) * (1 + run / 100.0) / 1000 AS ms
          FROM jobs JOIN targets t ON t.id = jobs.target_id WHERE campaign_id = $1) j
"""

_COUNTERS = """
INSERT INTO campaign_targets (campaign_id, target_id, suite_id, total, done, passed, failed)
SELECT $1, target_id, $2, count(*), count(*), count(*) FILTER (WHERE verdict = 'passed'),
       count(*) FILTER (WHERE verdict = 'failed')
  FROM outcomes WHERE campaign_id = $1 GROUP BY target_id
"""
