"""Tables and views."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Frozen: coordinator/database/views.py goes on, this stays what revision 0001 was.
VIEWS = (
    """\
CREATE VIEW outcome_rows AS
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
       o.case_id
  FROM outcomes o
  JOIN campaigns p ON p.id = o.campaign_id
  JOIN targets t ON t.id = o.target_id
  JOIN cases c ON c.id = o.case_id
  JOIN suites s ON s.id = c.suite_id
  LEFT JOIN fingerprints f ON f.id = o.fingerprint_id
""",
    (
        "COMMENT ON VIEW outcome_rows IS 'One row an outcome: the single accepted result of a job. What "
        "arrived late is not here.'"
    ),
    (
        'COMMENT ON COLUMN outcome_rows."suite" IS \'name of the suite; rows are comparable only within '
        "one revision of it'"
    ),
    (
        'COMMENT ON COLUMN outcome_rows."host_only" IS \'declared in the catalogue: the function never '
        "touches a device'"
    ),
    (
        'COMMENT ON COLUMN outcome_rows."verdict" IS \'passed, failed, skipped or incomplete; a fallback '
        "to the host passes'"
    ),
    (
        'COMMENT ON COLUMN outcome_rows."verdict_on_device" IS \'as verdict, but what passed by falling '
        "back failed; null if host_only'"
    ),
    "COMMENT ON COLUMN outcome_rows.\"cause\" IS 'why it did not pass; null if it passed'",
    (
        'COMMENT ON COLUMN outcome_rows."cause_on_device" IS \'as cause, with placement where only '
        "verdict_on_device failed; null if host_only'"
    ),
    "COMMENT ON COLUMN outcome_rows.\"rule\" IS 'which rule named the cause'",
    "COMMENT ON COLUMN outcome_rows.\"placement\" IS 'on_device, fell_back, host_only or unknown'",
    ("COMMENT ON COLUMN outcome_rows.\"init_ms\" IS 'priming of the device in this process, before any clock'"),
    "COMMENT ON COLUMN outcome_rows.\"cold_ms\" IS 'first call of the case; it holds compilation'",
    "COMMENT ON COLUMN outcome_rows.\"steady_ms\" IS 'median of the samples after warm-up, of one call'",
    "COMMENT ON COLUMN outcome_rows.\"iqr_ms\" IS 'interquartile range of the same samples'",
    "COMMENT ON COLUMN outcome_rows.\"samples\" IS 'number of samples'",
    (
        'COMMENT ON COLUMN outcome_rows."lock_wait_ms" IS \'waited for others to finish timing on the same'
        " host; in no other figure'"
    ),
    ("COMMENT ON COLUMN outcome_rows.\"position\" IS 'cases that ran in the same process before this one'"),
    "COMMENT ON COLUMN outcome_rows.\"duration_s\" IS 'the whole case, on the clock of its timeout'",
    (
        'COMMENT ON COLUMN outcome_rows."right_at" IS \'the narrower float type at whose tolerance the '
        "values would have been right'"
    ),
    ("COMMENT ON COLUMN outcome_rows.\"fallbacks\" IS 'operations that ran on the host unasked, with their count'"),
    "COMMENT ON COLUMN outcome_rows.\"devices\" IS 'where the arrays that went in and came out were'",
    "COMMENT ON COLUMN outcome_rows.\"log_bytes\" IS 'how much the case printed'",
    (
        'COMMENT ON COLUMN outcome_rows."fingerprint" IS \'everything known of the machine and the '
        "installation that produced it'"
    ),
    """\
CREATE VIEW function_verdicts AS
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
            WHEN n.passed + n.failed = 0 THEN 'unknown'
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
       n.target_id
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
               count(*) FILTER (WHERE r.failed + r.fell_back = 0 AND r.passed > 0) AS passed_on_device,
               count(*) FILTER (WHERE r.failed + r.fell_back > 0) AS failed_on_device,
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
    (
        "COMMENT ON VIEW function_verdicts IS 'One row a function, target and campaign: its cases over "
        "their runs, added up. Counted runs are those that passed or failed. A case passed if all its "
        "counted runs passed, failed if any failed, and is in no denominator if it has none. All counts "
        "are of cases. A function without any outcome yet has no row. Two targets that differ in their "
        "environment alone have a row each.'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."host_only" IS \'declared in the catalogue: the function '
        "never touches a device'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."verdict" IS \'success: none failed; complete: all failed; '
        "partial: between; unknown: total is 0. A fallback to the host passes, as in the study'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."verdict_on_device" IS \'the same, but a run that passed by '
        "falling back to the host failed; null if host_only'"
    ),
    "COMMENT ON COLUMN function_verdicts.\"passed\" IS 'cases of which every counted run passed'",
    "COMMENT ON COLUMN function_verdicts.\"failed\" IS 'cases of which at least one run failed'",
    "COMMENT ON COLUMN function_verdicts.\"total\" IS 'cases with a counted run: passed + failed'",
    (
        'COMMENT ON COLUMN function_verdicts."skipped" IS \'cases without a counted run, and without an '
        "incomplete one: removed or not applicable'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."incomplete" IS \'cases without a counted run and with an '
        "incomplete one: environment, infrastructure'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."cause" IS \'the most frequent cause of the failed cases, and'
        " of each case the most frequent of its failed runs; the alphabet decides between equals'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."passed_on_device" IS \'as passed, for verdict_on_device; '
        "null if host_only'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."failed_on_device" IS \'as failed, for verdict_on_device; '
        "null if host_only'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."cause_on_device" IS \'as cause, for verdict_on_device: '
        "placement for a run that passed by falling back, else the run''s own; null if host_only'"
    ),
    (
        'COMMENT ON COLUMN function_verdicts."not_counted_cause" IS \'as cause, of the skipped and '
        "incomplete cases (removed, environment, …)'"
    ),
    ("COMMENT ON COLUMN function_verdicts.\"flaky\" IS 'cases whose counted runs disagree; they are among the failed'"),
    ("COMMENT ON COLUMN function_verdicts.\"fell_back\" IS 'cases with a run that passed by falling back to the host'"),
    """\
CREATE VIEW function_latencies AS
SELECT n.campaign_id,
       s.name AS suite,
       s.revision,
       t.framework,
       t.version,
       t.device,
       t.hardware,
       n.function,
       n.host_only,
       n.cold_ms,
       n.steady_ms,
       n.iqr_ms,
       n.samples,
       n.cases,
       n.runs,
       t.environment,
       t.simulated,
       n.target_id
  FROM (SELECT r.campaign_id,
               r.target_id,
               c.suite_id,
               c.function,
               bool_and(c.host_only IS NOT NULL) AS host_only,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.cold_ms) AS cold_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.steady_ms) AS steady_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.iqr_ms) AS iqr_ms,
               sum(r.samples)::bigint AS samples,
               count(*) AS cases,
               sum(r.runs)::bigint AS runs
          FROM (SELECT o.campaign_id,
                       o.target_id,
                       o.case_id,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.cold_ms) AS cold_ms,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) AS steady_ms,
                       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.iqr_ms) AS iqr_ms,
                       sum(coalesce(cardinality(o.samples_ms), 0)) AS samples,
                       count(*) AS runs
                  FROM outcomes o
                  JOIN cases h ON h.id = o.case_id
                 WHERE o.verdict = 'passed'
                   AND (o.placement = 'on_device' OR h.host_only IS NOT NULL)
                   AND (o.cold_ms IS NOT NULL OR o.steady_ms IS NOT NULL)
                 GROUP BY o.campaign_id, o.target_id, o.case_id) r
          JOIN cases c ON c.id = r.case_id
         GROUP BY r.campaign_id, r.target_id, c.suite_id, c.function) n
  JOIN targets t ON t.id = n.target_id
  JOIN suites s ON s.id = n.suite_id
""",
    (
        "COMMENT ON VIEW function_latencies IS 'One row a function, target and campaign with something "
        "measured. Only runs that passed count, and of those only the ones proven on the device, or of "
        "functions declared host_only (told apart by that column). Each figure is the median over cases "
        "of the median over the case''s runs. The cases behind two rows can differ: a ratio of two "
        "devices is made per case, over the cases that both measured (from outcome_rows), never from "
        "these medians.'"
    ),
    (
        'COMMENT ON COLUMN function_latencies."host_only" IS \'declared in the catalogue; such functions '
        "stay out of latency ratios'"
    ),
    ("COMMENT ON COLUMN function_latencies.\"cold_ms\" IS 'first call of a case in its process; it holds compilation'"),
    (
        'COMMENT ON COLUMN function_latencies."steady_ms" IS \'one call after warm-up; of each run it is '
        "the median of its samples'"
    ),
    (
        "COMMENT ON COLUMN function_latencies.\"iqr_ms\" IS 'interquartile range of a run''s samples: the "
        "spread within a process, not between runs'"
    ),
    (
        'COMMENT ON COLUMN function_latencies."samples" IS \'number of samples behind steady_ms, over all '
        "cases and runs'"
    ),
    "COMMENT ON COLUMN function_latencies.\"cases\" IS 'cases with a measured run'",
    "COMMENT ON COLUMN function_latencies.\"runs\" IS 'measured runs of those cases'",
)


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("suite", sa.Text(), nullable=False),
        sa.Column("selectors", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("functions", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("runs", sa.SmallInteger(), nullable=False),
        sa.Column("timeout_s", sa.Double(), nullable=False),
        sa.Column(
            "timing",
            sa.Enum("off", "steady", "paper", name="timing", native_enum=False, create_constraint=True, length=24),
            nullable=False,
        ),
        sa.Column("rerun_of", sa.Integer(), nullable=True),
        sa.Column(
            "state",
            sa.Enum("running", "done", "cancelled", name="state", native_enum=False, create_constraint=True, length=24),
            server_default="running",
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("runs between 1 and 100", name=op.f("ck_campaigns_runs")),
        sa.CheckConstraint("timeout_s > 0 and timeout_s <= 14400", name=op.f("ck_campaigns_timeout")),
        sa.ForeignKeyConstraint(["rerun_of"], ["campaigns.id"], name=op.f("fk_campaigns_rerun_of")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
    )
    op.create_table(
        "fingerprints",
        sa.Column("id", sa.Text(), nullable=False, comment="first 16 hex digits of the SHA-256 of the body"),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fingerprints")),
    )
    op.create_table(
        "suites",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suites")),
        sa.UniqueConstraint("name", "framework", "revision", name=op.f("uq_suites_name_framework_revision")),
    )
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("device_class", sa.Text(), nullable=False),
        sa.Column("hardware", sa.Text(), nullable=False),
        sa.Column("environment", sa.Text(), nullable=False),
        sa.Column("simulated", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("notes", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_targets")),
        sa.UniqueConstraint(
            "framework",
            "version",
            "device",
            "hardware",
            "environment",
            name=op.f("uq_targets_framework_version_device_hardware_environment"),
        ),
    )
    op.create_table(
        "campaign_targets",
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("suite_id", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("passed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("failed", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("skipped", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("incomplete", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cancelled", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_campaign_targets_campaign_id")),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name=op.f("fk_campaign_targets_suite_id")),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_campaign_targets_target_id")),
        sa.PrimaryKeyConstraint("campaign_id", "target_id", name=op.f("pk_campaign_targets")),
        comment="what takes part, and its counters; kept by the statements that move jobs",
    )
    op.create_table(
        "cases",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("suite_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="the case's id in its suite"),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("host_only", sa.Text(), nullable=True, comment="why the function never touches a device, or null"),
        sa.Column("tags", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False, comment="order within the suite's catalogue"),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name=op.f("fk_cases_suite_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
        sa.UniqueConstraint("suite_id", "name", name=op.f("uq_cases_suite_id_name")),
    )
    op.create_table(
        "runners",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False, comment="sent to the runner as its bearer token"),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("fingerprint_id", sa.Text(), nullable=False),
        sa.Column("device_count", sa.Integer(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("queue_limit", sa.Integer(), nullable=False),
        sa.Column(
            "state",
            sa.Enum(
                "online",
                "offline",
                "quarantined",
                "removed",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column(
            "cursor",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="last stored event of the boot",
        ),
        sa.Column(
            "owner", sa.Text(), nullable=True, comment="the coordinator that alone posts, reads and acknowledges"
        ),
        sa.Column("owner_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=True),
        sa.Column("misbehaved", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="times in a row"),
        sa.Column("quarantined_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True, comment="why it is not online"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["fingerprint_id"], ["fingerprints.id"], name=op.f("fk_runners_fingerprint_id")),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_runners_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runners")),
    )
    op.create_index(
        "uq_runners_url_live", "runners", ["url"], unique=True, postgresql_where=sa.text("state <> 'removed'")
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("run", sa.SmallInteger(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False, comment="smaller goes first"),
        sa.Column(
            "state",
            sa.Enum(
                "queued",
                "leased",
                "running",
                "done",
                "cancelled",
                name="state",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            server_default="queued",
            nullable=False,
        ),
        sa.Column("attempt", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "lost",
            sa.SmallInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="attempts lost after they started",
        ),
        sa.Column("runner_id", sa.Integer(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_jobs_campaign_id")),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_jobs_case_id")),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_jobs_runner_id")),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_jobs_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint(
            "campaign_id", "target_id", "case_id", "run", name=op.f("uq_jobs_campaign_id_target_id_case_id_run")
        ),
    )
    op.create_index(
        "ix_jobs_lease",
        "jobs",
        ["runner_id", "lease_until"],
        unique=False,
        postgresql_where=sa.text("lease_until IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_queued",
        "jobs",
        ["target_id", "priority", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_table(
        "runner_suites",
        sa.Column("runner_id", sa.Integer(), nullable=False),
        sa.Column("suite_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["runner_id"], ["runners.id"], name=op.f("fk_runner_suites_runner_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name=op.f("fk_runner_suites_suite_id")),
        sa.PrimaryKeyConstraint("runner_id", "suite_id", name=op.f("pk_runner_suites")),
    )
    op.create_table(
        "attempts",
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("runner_id", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.Text(), nullable=False),
        sa.Column("leased_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "end",
            sa.Enum(
                "finished",
                "lost",
                "cancelled",
                "late",
                name="end",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=True,
        ),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column(
            "late_outcome",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="what arrived after the job had gone on without it",
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_attempts_runner_id")),
        sa.PrimaryKeyConstraint("job_id", "attempt", name=op.f("pk_attempts")),
    )
    op.create_table(
        "outcomes",
        sa.Column("job_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.Integer(), nullable=False),
        sa.Column("run", sa.SmallInteger(), nullable=False),
        sa.Column("runner_id", sa.Integer(), nullable=True),
        sa.Column("fingerprint_id", sa.Text(), nullable=True),
        sa.Column(
            "verdict",
            sa.Enum(
                "passed",
                "failed",
                "skipped",
                "incomplete",
                name="verdict",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column(
            "ending",
            sa.Enum(
                "returned",
                "raised",
                "mismatched",
                "timed_out",
                "out_of_memory",
                "exited",
                "signalled",
                "removed",
                "not_applicable",
                "harness_failed",
                "cancelled",
                name="ending",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column(
            "cause",
            sa.Enum(
                "type",
                "not_implemented",
                "timeout",
                "memory",
                "precision",
                "assertion",
                "placement",
                "compile",
                "crash",
                "unknown",
                "removed",
                "not_applicable",
                "environment",
                "infrastructure",
                "cancelled",
                name="cause",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=True,
        ),
        sa.Column("rule", sa.Text(), nullable=True, comment="which rule named the cause"),
        sa.Column(
            "placement",
            sa.Enum(
                "on_device",
                "fell_back",
                "host_only",
                "unknown",
                name="placement",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column("proof", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("init_ms", sa.Double(), nullable=True),
        sa.Column("cold_ms", sa.Double(), nullable=True),
        sa.Column("steady_ms", sa.Double(), nullable=True, comment="median of samples_ms"),
        sa.Column("iqr_ms", sa.Double(), nullable=True),
        sa.Column("samples_ms", sa.ARRAY(sa.Double()), nullable=True),
        sa.Column("calls_per_sample", sa.Integer(), nullable=True),
        sa.Column("lock_wait_ms", sa.Double(), nullable=True),
        sa.Column(
            "position", sa.Integer(), nullable=True, comment="cases that ran in the same process before this one"
        ),
        sa.Column("duration_s", sa.Double(), nullable=False),
        sa.Column("evidence", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("log_tail", sa.Text(), nullable=True),
        sa.Column("log_bytes", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_outcomes_campaign_id")),
        sa.ForeignKeyConstraint(["case_id"], ["cases.id"], name=op.f("fk_outcomes_case_id")),
        sa.ForeignKeyConstraint(["fingerprint_id"], ["fingerprints.id"], name=op.f("fk_outcomes_fingerprint_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_outcomes_job_id")),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_outcomes_runner_id")),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_outcomes_target_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_outcomes")),
    )
    op.create_index("ix_outcomes_campaign_id_job_id", "outcomes", ["campaign_id", "job_id"], unique=False)
    for statement in VIEWS:
        op.execute(sa.text(statement))


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
