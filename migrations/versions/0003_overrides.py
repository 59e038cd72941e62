"""Causes that a person named."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

CAUSES = (
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
)
VERDICTS = ("passed", "failed", "skipped", "incomplete")
# Frozen: coordinator/database/views.py goes on, this stays what revision 0003 was.
VIEW = (
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
    "COMMENT ON COLUMN outcome_rows.\"overridden_by\" IS 'who named the cause, if no rule did'",
    "COMMENT ON COLUMN outcome_rows.\"overridden_why\" IS 'their reason'",
    "COMMENT ON COLUMN outcome_rows.\"overridden_at\" IS 'when they said so'",
    "COMMENT ON COLUMN outcome_rows.\"rule\" IS 'which rule named the cause; overridden if a person did'",
)


def upgrade() -> None:
    op.create_table(
        "overrides",
        sa.Column("job_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column(
            "cause",
            sa.Enum(*CAUSES, name="cause", native_enum=False, create_constraint=True, length=24),
            nullable=False,
        ),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "was_verdict",
            sa.Enum(*VERDICTS, name="was_verdict", native_enum=False, create_constraint=True, length=24),
            nullable=False,
        ),
        sa.Column(
            "was_cause",
            sa.Enum(*CAUSES, name="was_cause", native_enum=False, create_constraint=True, length=24),
            nullable=True,
        ),
        sa.Column("was_rule", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["outcomes.job_id"], name=op.f("fk_overrides_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_overrides")),
        comment="causes that a person named; the outcome bears them, what it was before is kept here",
    )
    for statement in VIEW:
        op.execute(sa.text(statement))


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
