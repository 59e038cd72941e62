"""A pass without proof of where it ran is neither a pass nor a failure on the device."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Frozen: coordinator/database/views.py goes on, this stays what revision 0010 was.
VIEWS = (
    """\
CREATE OR REPLACE VIEW outcome_rows AS
SELECT o.job_id,
       o.campaign_id,
       p.name AS campaign,
       s.name AS suite,
       s.revision,
       t.framework,
       t.version,
       t.device,
       t.device_class,
       t.hardware,
       t.environment,
       t.simulated,
       c.function,
       c.name AS "case",
       o.run,
       o.attempt,
       c.host_only IS NOT NULL AS host_only,
       o.verdict,
       CASE WHEN c.host_only IS NOT NULL THEN NULL
            WHEN o.verdict = 'passed' AND o.placement = 'fell_back' THEN 'failed'
            WHEN o.verdict = 'passed' AND o.placement <> 'on_device' THEN 'unknown'
            ELSE o.verdict END AS verdict_on_device,
       o.cause,
       CASE WHEN c.host_only IS NOT NULL THEN NULL
            WHEN o.verdict = 'passed' AND o.placement = 'fell_back' THEN 'placement'
            ELSE o.cause END AS cause_on_device,
       o.rule,
       o.ending,
       o.placement,
       o.init_ms,
       o.cold_ms,
       o.steady_ms,
       o.iqr_ms,
       coalesce(cardinality(o.samples_ms), 0) AS samples,
       o.lock_wait_ms,
       o.position,
       o.duration_s,
       o.evidence ->> 'exception' AS exception,
       o.evidence ->> 'message' AS message,
       o.evidence ->> 'mismatch' AS mismatch,
       o.evidence ->> 'signal' AS signal,
       -- Between two numbers there are only numbers, so nothing that a runner says can break the cast.
       CASE WHEN o.evidence -> 'exit_code' BETWEEN '-2147483648' AND '2147483647'
            THEN (o.evidence -> 'exit_code')::integer END AS exit_code,
       o.evidence ->> 'right_at' AS right_at,
       coalesce(o.proof -> 'fallbacks', '{}') AS fallbacks,
       coalesce(o.proof -> 'devices', '[]') AS devices,
       o.log_bytes,
       o.runner_id,
       f.body ->> 'host' AS host,
       f.body AS fingerprint,
       o.finished_at,
       o.target_id,
       o.case_id,
       v.author AS overridden_by,
       v.why AS overridden_why,
       v.created_at AS overridden_at
  FROM outcomes o
  JOIN campaigns p ON p.id = o.campaign_id
  JOIN targets t ON t.id = o.target_id
  JOIN cases c ON c.id = o.case_id
  JOIN suites s ON s.id = c.suite_id
  LEFT JOIN fingerprints f ON f.id = o.fingerprint_id
  LEFT JOIN overrides v ON v.job_id = o.job_id
""",
    'COMMENT ON COLUMN outcome_rows."verdict_on_device" IS \'as verdict, but what passed by falling back '
    "failed, and what passed without proof of where is unknown; null if host_only'",
    """\
CREATE OR REPLACE VIEW function_verdicts AS
SELECT n.campaign_id,
       s.name AS suite,
       s.revision,
       t.framework,
       t.version,
       t.device,
       t.hardware,
       n.function,
       n.host_only,
       CASE WHEN n.passed + n.failed = 0 THEN 'unknown'
            WHEN n.failed = 0 THEN 'success'
            WHEN n.passed = 0 THEN 'complete'
            ELSE 'partial' END AS verdict,
       CASE WHEN n.host_only THEN NULL
            WHEN n.passed_on_device + n.failed_on_device = 0 THEN 'unknown'
            WHEN n.failed_on_device = 0 THEN 'success'
            WHEN n.passed_on_device = 0 THEN 'complete'
            ELSE 'partial' END AS verdict_on_device,
       n.passed,
       n.failed,
       n.passed + n.failed AS total,
       n.skipped,
       n.incomplete,
       n.cause,
       CASE WHEN NOT n.host_only THEN n.passed_on_device END AS passed_on_device,
       CASE WHEN NOT n.host_only THEN n.failed_on_device END AS failed_on_device,
       CASE WHEN NOT n.host_only THEN n.cause_on_device END AS cause_on_device,
       n.not_counted_cause,
       n.flaky,
       n.fell_back,
       t.environment,
       t.simulated,
       n.target_id,
       CASE WHEN NOT n.host_only THEN n.passed_on_device + n.failed_on_device END AS total_on_device,
       CASE WHEN NOT n.host_only THEN n.unknown_placement END AS unknown_placement
  FROM (SELECT r.campaign_id,
               r.target_id,
               c.suite_id,
               c.function,
               bool_and(c.host_only IS NOT NULL) AS host_only,
               count(*) FILTER (WHERE r.failed = 0 AND r.passed > 0) AS passed,
               count(*) FILTER (WHERE r.failed > 0) AS failed,
               count(*) FILTER (WHERE r.failed + r.passed = 0 AND r.incomplete = 0) AS skipped,
               count(*) FILTER (WHERE r.failed + r.passed = 0 AND r.incomplete > 0) AS incomplete,
               count(*) FILTER (WHERE r.failed > 0 AND r.passed > 0) AS flaky,
               count(*) FILTER (WHERE r.fell_back > 0) AS fell_back,
               -- Here is decided what counts on the device. Only what was proven there passed there; without
               -- proof a case is neither, and in no total. A failure is one wherever it was.
               count(*) FILTER (WHERE r.failed + r.fell_back = 0 AND r.passed > 0 AND r.passed = r.on_device)
                   AS passed_on_device,
               count(*) FILTER (WHERE r.failed + r.fell_back > 0) AS failed_on_device,
               count(*) FILTER (WHERE r.failed + r.fell_back = 0 AND r.passed > r.on_device AND c.host_only IS NULL)
                   AS unknown_placement,
               mode() WITHIN GROUP (ORDER BY r.cause) AS cause,
               mode() WITHIN GROUP (ORDER BY r.cause_on_device) AS cause_on_device,
               mode() WITHIN GROUP (ORDER BY r.not_counted_cause)
                   FILTER (WHERE r.failed + r.passed = 0) AS not_counted_cause
          FROM (SELECT o.campaign_id,
                       o.target_id,
                       o.case_id,
                       count(*) FILTER (WHERE o.verdict = 'passed') AS passed,
                       count(*) FILTER (WHERE o.verdict = 'failed') AS failed,
                       count(*) FILTER (WHERE o.verdict = 'incomplete') AS incomplete,
                       count(*) FILTER (WHERE o.verdict = 'passed' AND o.placement = 'fell_back') AS fell_back,
                       count(*) FILTER (WHERE o.verdict = 'passed' AND o.placement = 'on_device') AS on_device,
                       -- mode() takes the first of equals, in the order of bytes.
                       mode() WITHIN GROUP (ORDER BY coalesce(o.cause, 'unknown') COLLATE "C")
                           FILTER (WHERE o.verdict = 'failed') AS cause,
                       mode() WITHIN GROUP (ORDER BY
                               CASE WHEN o.verdict = 'passed' THEN 'placement'
                                    ELSE coalesce(o.cause, 'unknown') END COLLATE "C")
                           FILTER (WHERE o.verdict = 'failed'
                                      OR o.verdict = 'passed' AND o.placement = 'fell_back') AS cause_on_device,
                       mode() WITHIN GROUP (ORDER BY o.cause COLLATE "C")
                           FILTER (WHERE o.verdict IN ('skipped', 'incomplete')) AS not_counted_cause
                  FROM outcomes o
                 GROUP BY o.campaign_id, o.target_id, o.case_id) r
          JOIN cases c ON c.id = r.case_id
         GROUP BY r.campaign_id, r.target_id, c.suite_id, c.function) n
  JOIN targets t ON t.id = n.target_id
  JOIN suites s ON s.id = n.suite_id
""",
    'COMMENT ON COLUMN function_verdicts."verdict_on_device" IS \'the same of total_on_device: a run that '
    "passed by falling back to the host failed, and a case that passed without proof of where is in no "
    "count; null if host_only'",
    'COMMENT ON COLUMN function_verdicts."passed_on_device" IS \'cases of which every counted run passed, '
    "proven on the device; null if host_only'",
    'COMMENT ON COLUMN function_verdicts."total_on_device" IS \'passed_on_device + failed_on_device; null '
    "if host_only'",
    'COMMENT ON COLUMN function_verdicts."unknown_placement" IS \'cases of which every counted run passed,'
    " none by falling back, and one or more without proof of where: neither passed nor failed on the "
    "device; null if host_only'",
)


def upgrade() -> None:
    for statement in VIEWS:
        op.execute(statement)
    # What was kept was added up by the rule before; charts add theirs up again when they are next looked at.
    for table in ("matrices", "matrix_rows", "matrix_cells"):
        op.execute(sa.text(f"DELETE FROM {table}"))
    op.add_column("matrix_cells", sa.Column("total_on_device", sa.Integer()))
    op.add_column("matrix_cells", sa.Column("unknown_placement", sa.Integer()))


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
