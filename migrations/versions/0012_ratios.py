"""One definition of a ratio, as a view; what is kept says by which definitions it was made."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Frozen: coordinator/database/views.py goes on, this stays what revision 0012 was.
VIEWS = (
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
       CASE WHEN NOT n.host_only THEN n.unknown_placement END AS unknown_placement,
       n.unknown_cause
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
               count(*) FILTER (WHERE r.cause = 'unknown') AS unknown_cause,
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
    "COMMENT ON COLUMN function_verdicts.\"unknown_cause\" IS 'failed cases whose cause is that no rule knows it'",
    """\
CREATE OR REPLACE VIEW function_latencies AS
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
                       avg(o.cold_ms) AS mean_cold_ms,
                       sum(coalesce(cardinality(o.samples_ms), 0)) AS samples,
                       count(*) AS runs,
                       min(o.fingerprint_id) AS fingerprint_id
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
    """\
CREATE VIEW case_latencies AS
SELECT n.campaign_id,
       s.name AS suite,
       s.revision,
       t.framework,
       t.version,
       t.device,
       t.hardware,
       t.environment,
       t.simulated,
       c.function,
       c.name AS "case",
       c.host_only IS NOT NULL AS host_only,
       n.cold_ms,
       n.steady_ms,
       n.iqr_ms,
       n.mean_cold_ms,
       n.samples,
       n.runs,
       n.target_id,
       n.case_id,
       n.fingerprint_id
  FROM (SELECT o.campaign_id,
               o.target_id,
               o.case_id,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY o.cold_ms) AS cold_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) AS steady_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY o.iqr_ms) AS iqr_ms,
               avg(o.cold_ms) AS mean_cold_ms,
               sum(coalesce(cardinality(o.samples_ms), 0)) AS samples,
               count(*) AS runs,
               min(o.fingerprint_id) AS fingerprint_id
          FROM outcomes o
          JOIN cases h ON h.id = o.case_id
         WHERE o.verdict = 'passed'
           AND (o.placement = 'on_device' OR h.host_only IS NOT NULL)
           AND (o.cold_ms IS NOT NULL OR o.steady_ms IS NOT NULL)
         GROUP BY o.campaign_id, o.target_id, o.case_id) n
  JOIN targets t ON t.id = n.target_id
  JOIN cases c ON c.id = n.case_id
  JOIN suites s ON s.id = c.suite_id
""",
    "COMMENT ON VIEW case_latencies IS 'One row a case, target and campaign with something measured, its runs put together. Only runs that passed count, and of those only the ones proven on the device, or of functions declared host_only.'",  # noqa: E501
    "COMMENT ON COLUMN case_latencies.\"host_only\" IS 'declared in the catalogue; such functions stay out of latency ratios'",  # noqa: E501
    "COMMENT ON COLUMN case_latencies.\"cold_ms\" IS 'first call of the case in its process, the median over runs; it holds compilation'",  # noqa: E501
    "COMMENT ON COLUMN case_latencies.\"steady_ms\" IS 'one call after warm-up, the median over runs'",
    "COMMENT ON COLUMN case_latencies.\"iqr_ms\" IS 'interquartile range of a run''s samples, the median over runs'",
    "COMMENT ON COLUMN case_latencies.\"mean_cold_ms\" IS 'first call, the mean over runs: the study''s rule'",
    "COMMENT ON COLUMN case_latencies.\"samples\" IS 'number of samples behind steady_ms, over all runs'",
    "COMMENT ON COLUMN case_latencies.\"runs\" IS 'measured runs'",
    "COMMENT ON COLUMN case_latencies.\"fingerprint_id\" IS 'of one of the runs: the machine and the installation'",
    """\
CREATE VIEW cpu_bases AS
SELECT DISTINCT ON (n.campaign_id, n.target_id)
       n.campaign_id,
       n.target_id,
       n.cpu_target_id,
       n.common_cases
  FROM (SELECT m.campaign_id,
               m.target_id,
               m.cpu_target_id,
               sum(m.cases)::bigint AS common_cases,
               bool_or(coalesce(f.body ->> 'host' = g.body ->> 'host', false)) AS same_host,
               bool_and(m.same_hardware) AS same_hardware,
               bool_and(m.same_environment) AS same_environment
          FROM (SELECT here.campaign_id,
                       here.target_id,
                       here.fingerprint_id,
                       cpu.target_id AS cpu_target_id,
                       cpu.fingerprint_id AS cpu_fingerprint_id,
                       count(*) AS cases,
                       bool_and(here.hardware = cpu.hardware) AS same_hardware,
                       bool_and(here.environment = cpu.environment) AS same_environment
                  FROM case_latencies here
                  JOIN case_latencies cpu ON cpu.campaign_id = here.campaign_id AND cpu.case_id = here.case_id
                 WHERE here.device <> 'cpu' AND cpu.device = 'cpu'
                   AND cpu.framework = here.framework AND cpu.version = here.version
                   AND NOT here.simulated AND NOT cpu.simulated AND NOT here.host_only
                 GROUP BY here.campaign_id, here.target_id, here.fingerprint_id, cpu.target_id, cpu.fingerprint_id) m
          LEFT JOIN fingerprints f ON f.id = m.fingerprint_id
          LEFT JOIN fingerprints g ON g.id = m.cpu_fingerprint_id
         GROUP BY m.campaign_id, m.target_id, m.cpu_target_id) n
 ORDER BY n.campaign_id, n.target_id, n.same_host DESC, n.same_hardware DESC, n.same_environment DESC,
          n.common_cases DESC, n.cpu_target_id""",
    "COMMENT ON VIEW cpu_bases IS 'One row a target and campaign: the one CPU target that its latencies are set against. It is one of the same version, neither of the two is simulated, and both have measured a case. Of several it is the one on the same host, else on the same hardware, else in the same environment, else with the most common cases, else the oldest.'",  # noqa: E501
    "COMMENT ON COLUMN cpu_bases.\"cpu_target_id\" IS 'the CPU target'",
    "COMMENT ON COLUMN cpu_bases.\"common_cases\" IS 'cases that both measured, of functions that touch a device'",
    """\
CREATE VIEW function_ratios AS
SELECT here.campaign_id,
       here.suite,
       here.revision,
       here.framework,
       here.version,
       here.device,
       here.hardware,
       here.environment,
       here.function,
       exp(avg(ln(here.steady_ms / cpu.steady_ms))) AS ratio,
       count(*) AS cases,
       cpu.hardware AS cpu_hardware,
       here.target_id,
       cpu.target_id AS cpu_target_id
  FROM case_latencies here
  JOIN cpu_bases base ON base.campaign_id = here.campaign_id AND base.target_id = here.target_id
  JOIN case_latencies cpu ON cpu.campaign_id = base.campaign_id AND cpu.target_id = base.cpu_target_id
                          AND cpu.case_id = here.case_id
 WHERE here.steady_ms > 0 AND cpu.steady_ms > 0 AND NOT here.host_only
 GROUP BY here.campaign_id, here.suite, here.revision, here.framework, here.version, here.device, here.hardware,
          here.environment, here.function, cpu.hardware, here.target_id, cpu.target_id""",
    "COMMENT ON VIEW function_ratios IS 'One row a function, target and campaign with a case that was measured on the target and on its CPU target (cpu_bases): how many times as long a call after warm-up takes as there. Functions declared host_only have none.'",  # noqa: E501
    "COMMENT ON COLUMN function_ratios.\"ratio\" IS 'geometric mean, over the cases that both measured, of steady_ms here to steady_ms there'",  # noqa: E501
    "COMMENT ON COLUMN function_ratios.\"cases\" IS 'the cases that both measured'",
    "COMMENT ON COLUMN function_ratios.\"cpu_hardware\" IS 'hardware of the CPU target'",
)


def upgrade() -> None:
    for statement in VIEWS:
        op.execute(statement)
    for table in ("campaign_targets", "matrices"):
        op.alter_column(table, "renamed", new_column_name="reclassifications")
    op.add_column("matrices", sa.Column("definition", sa.Text(), server_default="", nullable=False))
    op.add_column("matrix_cells", sa.Column("unknown_cause", sa.Integer(), server_default=sa.text("0"), nullable=False))
    op.add_column("matrix_cells", sa.Column("samples", sa.BigInteger()))
    op.add_column("matrix_cells", sa.Column("cpu_target_id", sa.Integer()))

    comments = {
        ("campaign_targets", "reclassifications"): "times that outcomes got another cause",
        ("matrices", "done"): "outcomes that it was made from",
        ("matrices", "reclassifications"): "times that outcomes had got another cause by then",
        ("matrices", "took_s"): "to make it",
        ("matrices", "definition"): "digest of what its figures are defined by",
        ("matrix_cells", "cpu_target_id"): "the target that ratio_to_cpu is against",
    }
    for (table, column), comment in comments.items():
        op.execute(f"COMMENT ON COLUMN {table}.{column} IS '{comment}'")
    op.execute(
        "COMMENT ON TABLE matrix_cells IS"
        " 'function_verdicts, function_latencies and function_ratios, kept for pages that cannot wait for them'"
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
