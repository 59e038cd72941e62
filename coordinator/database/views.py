"""The views. People query them with psql or pandas, and every report is made from them.

Their names, columns and meanings are a promise: columns are only added, after the last one, and nothing else changes.
To change a view, change its text here. ``define`` replaces the views of a database if they were made from another text.
It does not drop objects that depend on them. A migration that alters a column that a view uses must drop this view
first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from coordinator.database.tables import view_definitions
from coordinator.figures.counting import (
    ANYWHERE,
    INDEPENDENT,
    ON_DEVICE,
    RULES,
    WITHOUT_HOST_WORK,
    CaseClass,
    CountingRule,
)
from coordinator.figures.level import ALIKE, LOW, UNCONFIRMED
from protocol.enums import GRADIENT, RECOMPILED, REFUSES, Cause, Ending
from protocol.limits import LEAST_MILLISECONDS

NOISY = 1.2
"""If a median is more than this factor above its level, it reflects the host more than the call. If sampling ended
because the median was known to 1 %, the quartiles are within 9 % of each other, so the median is at most 12 % above the
low quantile. Also, no comparison counts a smaller change."""


@dataclass(frozen=True)
class View:
    name: str
    comment: str
    columns: Mapping[str, str]
    """A comment on each column. ``make docs`` writes them into ``docs/reference/database.md``."""
    query: str

    def statements(self) -> list[str]:
        """The statements that create or replace the view."""
        return [
            f"CREATE OR REPLACE VIEW {self.name} AS\n{self.query}",
            f"COMMENT ON VIEW {self.name} IS {_quote(self.comment)}",
            *(f'COMMENT ON COLUMN {self.name}."{name}" IS {_quote(text)}' for name, text in self.columns.items()),
        ]


def _quote(text: str) -> str:
    return "'" + " ".join(text.split()).replace("'", "''") + "'"


def _indent(query: str, spaces: int) -> str:
    return query.replace("\n", "\n" + " " * spaces)


def low(outcomes: str) -> str:
    """SQL for the level of a run: a low quantile of its samples, because other work on a host only makes calls longer.

    If the run's samples were not stored, the level is their median.
    """
    return f"""\
coalesce((SELECT CASE WHEN percentile_cont({LOW}) WITHIN GROUP (ORDER BY u.ms) < {LEAST_MILLISECONDS} THEN 0
                     ELSE percentile_cont({LOW}) WITHIN GROUP (ORDER BY u.ms) END
            FROM unnest({outcomes}.samples_ms) u (ms)), {outcomes}.steady_ms)"""


def case_class(cases: str) -> str:
    """SQL for the ``CaseClass`` of a case. Handwritten cases have a tag with their dtype, generated cases a tag with
    their class."""
    return f"""\
CASE WHEN {cases}.tags @> '["{GRADIENT}"]' THEN '{CaseClass.gradient}'
     WHEN {cases}.tags ?| '{{low-precision,float16,bfloat16}}' THEN '{CaseClass.sixteen_bit}'
     ELSE '{CaseClass.forward}' END"""


def failure_text(outcomes: str) -> str:
    """SQL for the error text of a run, the same wherever it is shown; null if the run passed."""
    texts = [f"{outcomes}.evidence ->> '{name}'" for name in ("mismatch", "message", "signal", "reason")]
    return f"""\
CASE WHEN {outcomes}.verdict <> 'passed'
     THEN coalesce({", ".join(texts)},
                   CASE {outcomes}.ending WHEN '{Ending.timed_out}' THEN 'killed at its deadline'
                                          ELSE {outcomes}.ending END) END"""


COMMON_COMMENTS: Mapping[str, str] = {
    "campaign_id": "the campaign's number",
    "revision": "the suite's revision",
    "framework": "`torch`, `tensorflow`, `jax`, or the name that a runner in another language reports (`node`)",
    "version": "the framework's version",
    "device": "`cpu`, `xla`, …",
    "hardware": "the model name that the device reports",
    "environment": "hash of the installed versions",
    "simulated": "true if the hardware is simulated: exclude such rows from comparisons",
    "function": "public dotted name",
    "case": "the case's id, `function/name`",
    "target_id": "internal",
    "case_id": "internal",
    "suite": "name of the suite; two rows are comparable only if they have the same revision of the suite",
}
"""Comments on columns that have the same meaning in every view."""


OF_A_FUNCTION = (
    *("campaign_id", "suite", "revision", "framework", "version", "device", "hardware"),
    *("function", "environment", "simulated", "target_id"),
)
"""The columns that identify a function on a target in a campaign."""


def common_comments(*columns: str) -> dict[str, str]:
    return {name: COMMON_COMMENTS[name] for name in columns}


OUTCOME_ROWS = View(
    "outcome_rows",
    "One row per outcome, the single accepted result of a job. Late reports are excluded.",
    common_comments(
        "campaign_id",
        "revision",
        "framework",
        "version",
        "device",
        "hardware",
        "environment",
        "simulated",
        "function",
        "case",
        "target_id",
        "case_id",
    )
    | {
        "job_id": "the job; primary key",
        "campaign": "name of the campaign",
        "suite": "name of the suite; two rows are comparable if they have the same revision of the suite, or the same "
        "`case_digest`",
        "device_class": "`cpu`, `gpu`, `tpu`, `other`",
        "run": "number of the run",
        "attempt": "number of the accepted attempt",
        "host_only": "true if the runner's catalogue declares that the function never touches a device",
        "verdict": "passed, failed, skipped or incomplete; a case that fell back to the host counts as passed",
        "verdict_on_device": "the verdict on the device: as `verdict`, except that a fallback counts as failed, and a "
        "pass without proof of placement counts as unknown; null if `host_only`",
        "cause": "the reason why the outcome did not pass; null if passed",
        "cause_on_device": "as `cause`, except that a case that passed by falling back has the cause "
        "`placement`; null if `host_only`",
        "rule": "the rule that gave the cause; `overridden` if a person set it",
        "ending": "the ending that the runner observed",
        "placement": "on_device, fell_back, host_only or unknown",
        "init_ms": "time to initialize the device in the process that ran the case",
        "cold_ms": "time of the first call of the case, including compilation and, if `position` is 0, work that a "
        "process does only once",
        "steady_ms": "median time of a call, over the samples after warm-up",
        "iqr_ms": "interquartile range of the samples after warm-up",
        "samples": "number of samples after warm-up",
        "lock_wait_ms": "wait for the host's timing lock, which no other time includes",
        "position": "number of cases that ran before this one in the same process",
        "duration_s": "duration of the whole case, which the timeout limits",
        "exception": "qualified type of the exception",
        "message": "message of the exception",
        "mismatch": "which value was wrong, and by how much",
        "signal": "signal that ended the process",
        "exit_code": "exit code of a process that exited",
        "right_at": "if values are wrong only by rounding: the float type whose rounding explains every "
        "difference, such as `float16`; otherwise null",
        "fallbacks": "operations that silently ran on the host, each with the number of executions",
        "devices": "devices of the input and output arrays",
        "log_bytes": "size of the output that the case printed, in bytes",
        "runner_id": "the runner; null if the outcome was imported from a bundle",
        "host": "the machine",
        "fingerprint": "the machine and the installation that produced the outcome",
        "finished_at": "time when the outcome was stored; if imported from a bundle, time when the case finished",
        "overridden_by": "the person who overrode the cause; null if nobody did",
        "overridden_why": "the reason that the person who overrode the cause gave",
        "overridden_at": "time when a person overrode the cause",
        "case_digest": "digest of everything that decides the case's result. A case with equal digests in two "
        "revisions of the suite is the same case; null if the runner reports no digest",
        "executed": "number of executions that were counted on the device; null if not counted",
        "refuses": "true if the case expects an error, so that a pass proves nothing about the device",
        "low_ms": "level of the run: the 5 % quantile of its samples",
        "noisy": f"true if `contended`, or if `steady_ms` is more than {NOISY:g} times `low_ms`",
        "contended": "true if, in most samples, threads waited for a core that other processes used. Then `low_ms` is "
        "longer than the call's own time by an unknown amount",
        "operation": "the framework operation that failed, or the first operation that gave a wrong value",
        "after_others": "set if the case failed in a process that had run other cases, and was then repeated alone. "
        "The row has the second result: `failed_alike` if both runs failed in the same way, otherwise "
        "`failed_otherwise`, also if the second run passed. Null if the case was not repeated",
        "judged_by": "source of the expected values: `numpy`: NumPy or SciPy (independent); `decomposition`: the "
        "library's reference implementation, which computes the function by other operations (independent); "
        "`reference`: the function's own tests; "
        "`differences`: finite differences, for a gradient; `float64`: the same function on the CPU in float64; "
        "`itself`: the same function on the CPU in the same type; `form`: there are no expected values, and only the "
        "shape and dtype of the result are checked; null if the suite does not declare a source",
        "input_kinds": "kinds of the case's inputs, such as `empty 0-dim`; null if the suite does not declare them",
        "options": "how the case calls its function: the kind of the case, the dtypes of arrays, and for each call the "
        "number of positional arguments, the keywords with values, and the receiver of a method; null if the runner "
        "does not report this",
        "said": "the error text that pages show: the first of mismatch, message, signal, reason and ending that "
        "exists; null if passed",
        "contended_share": "share of all samples, including discarded ones, in which threads waited for a core; "
        "null if not counted",
        "unproven": "why the placement is unknown; null if the placement is known, or if the runner gives no reason",
        "case_class": "forward, gradient or sixteen_bit (float16 or bfloat16, without a gradient)",
    },
    f"""\
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
       coalesce(o.proof -> 'fallbacks', '{{}}') AS fallbacks,
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
       v.created_at AS overridden_at,
       c.digest AS case_digest,
       -- A count between two numbers is one, whatever a runner says.
       CASE WHEN o.proof -> 'executed' BETWEEN '0' AND '9223372036854775807'
            THEN (o.proof -> 'executed')::bigint END AS executed,
       c.tags @> '["REFUSES"]' AS refuses,
       {_indent(low("o"), 7)} AS low_ms,
       o.contended OR o.steady_ms > {NOISY} * {_indent(low("o"), 7)} AS noisy,
       o.contended,
       o.evidence ->> 'operation' AS operation,
       o.evidence ->> 'after_others' AS after_others,
       c.judged_by,
       c.inputs AS input_kinds,
       c.options,
       {_indent(failure_text("o"), 7)} AS said,
       o.contended_share,
       o.proof ->> 'unproven' AS unproven,
       {_indent(case_class("c"), 7)} AS case_class
  FROM outcomes o
  JOIN campaigns p ON p.id = o.campaign_id
  JOIN targets t ON t.id = o.target_id
  JOIN cases c ON c.id = o.case_id
  JOIN suites s ON s.id = c.suite_id
  LEFT JOIN fingerprints f ON f.id = o.fingerprint_id
  LEFT JOIN overrides v ON v.job_id = o.job_id
""".replace("REFUSES", REFUSES),
)


_HEAD = """\
SELECT n.campaign_id,
       s.name AS suite,
       s.revision,
       t.framework,
       t.version,
       t.device,
       t.hardware"""
"""The first columns of a view ``n`` for a target ``t`` and a suite ``s``."""


def cases_measured(outcomes: str) -> str:
    """SQL for a case's latencies on a target, from rows of ``outcomes``. All other latencies and ratios are computed
    from these.

    ``OFFSET 0`` makes PostgreSQL read the samples of an outcome once, instead of once for each computed column.
    """
    return f"""\
SELECT o.campaign_id,
       o.target_id,
       o.case_id,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.cold_ms) AS cold_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.cold_ms) FILTER (WHERE o.position = 0) AS first_cold_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.cold_ms) FILTER (WHERE o.position > 0) AS later_cold_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) AS steady_ms,
       min(l.low_ms) AS low_ms,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.steady_ms) > {NOISY} * min(l.low_ms)
           OR bool_and(o.contended) FILTER (WHERE l.low_ms IS NOT NULL) AS noisy,
       bool_and(o.contended) FILTER (WHERE l.low_ms IS NOT NULL)
           OR (array_agg(l.low_ms ORDER BY l.low_ms))[2] > {ALIKE} * min(l.low_ms) AS unconfirmed,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY o.iqr_ms) AS iqr_ms,
       avg(o.cold_ms) AS mean_cold_ms,
       sum(coalesce(cardinality(o.samples_ms), 0)) AS samples,
       count(*) AS runs,
       min(o.fingerprint_id) AS fingerprint_id
  FROM {outcomes} o
 CROSS JOIN LATERAL (SELECT {low("o")} AS low_ms OFFSET 0) l
  JOIN cases h ON h.id = o.case_id
 WHERE o.verdict = 'passed'
   AND (o.placement = 'on_device' OR h.host_only IS NOT NULL)
   AND (o.cold_ms IS NOT NULL OR o.steady_ms IS NOT NULL)
 GROUP BY o.campaign_id, o.target_id, o.case_id"""


def case_latencies(outcomes: str) -> str:
    """SQL for the view ``case_latencies``, from rows of ``outcomes``."""
    return f"""\
{_HEAD},
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
       n.fingerprint_id,
       n.low_ms,
       n.noisy,
       n.first_cold_ms,
       n.later_cold_ms,
       n.unconfirmed
  FROM ({_indent(cases_measured(outcomes), 8)}) n
  JOIN targets t ON t.id = n.target_id
  JOIN cases c ON c.id = n.case_id
  JOIN suites s ON s.id = c.suite_id
"""


def function_latencies(latencies: str) -> str:
    """SQL for a function's latencies on a target, computed from the latencies of its cases."""
    return f"""\
{_HEAD},
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
       n.target_id,
       n.low_ms,
       n.noisy,
       n.first_cold_ms,
       n.later_cold_ms,
       n.unconfirmed,
       n.second_shape_ms
  FROM (SELECT r.campaign_id,
               r.target_id,
               c.suite_id,
               c.function,
               bool_and(c.host_only IS NOT NULL) AS host_only,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.low_ms) AS low_ms,
               count(*) FILTER (WHERE r.noisy) AS noisy,
               CASE WHEN count(r.unconfirmed) > 0
                    THEN 2 * count(*) FILTER (WHERE r.unconfirmed) >= count(r.low_ms) END AS unconfirmed,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.first_cold_ms) AS first_cold_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.later_cold_ms) AS later_cold_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.cold_ms)
                   FILTER (WHERE c.tags @> '["{RECOMPILED}"]') AS second_shape_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.cold_ms) AS cold_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.steady_ms) AS steady_ms,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY r.iqr_ms) AS iqr_ms,
               sum(r.samples)::bigint AS samples,
               count(*) AS cases,
               sum(r.runs)::bigint AS runs
          FROM {latencies} r
          JOIN cases c ON c.id = r.case_id
         GROUP BY r.campaign_id, r.target_id, c.suite_id, c.function) n
  JOIN targets t ON t.id = n.target_id
  JOIN suites s ON s.id = n.suite_id"""


def cpu_bases(latencies: str) -> str:
    """SQL for the CPU target that each target's latencies are compared with, from rows of ``case_latencies``."""
    return f"""\
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
                  FROM {latencies} here
                  JOIN {latencies} cpu ON cpu.campaign_id = here.campaign_id AND cpu.case_id = here.case_id
                 WHERE here.device <> 'cpu' AND cpu.device = 'cpu'
                   AND cpu.framework = here.framework AND cpu.version = here.version
                   AND NOT here.simulated AND NOT cpu.simulated AND NOT here.host_only
                 GROUP BY here.campaign_id, here.target_id, here.fingerprint_id, cpu.target_id, cpu.fingerprint_id) m
          LEFT JOIN fingerprints f ON f.id = m.fingerprint_id
          LEFT JOIN fingerprints g ON g.id = m.cpu_fingerprint_id
         GROUP BY m.campaign_id, m.target_id, m.cpu_target_id) n
 ORDER BY n.campaign_id, n.target_id, n.same_host DESC, n.same_hardware DESC, n.same_environment DESC,
          n.common_cases DESC, n.cpu_target_id"""


def ratios(latencies: str, bases: str) -> str:
    """SQL for the ratios of a function's latency to its latency on the CPU, from ``case_latencies`` and
    ``cpu_bases``."""
    return f"""\
SELECT here.campaign_id,
       here.suite,
       here.revision,
       here.framework,
       here.version,
       here.device,
       here.hardware,
       here.environment,
       here.function,
       exp(avg(ln(here.low_ms / cpu.low_ms))) AS ratio,
       count(*) AS cases,
       cpu.hardware AS cpu_hardware,
       here.target_id,
       cpu.target_id AS cpu_target_id
  FROM {latencies} here
  JOIN {bases} base ON base.campaign_id = here.campaign_id AND base.target_id = here.target_id
  JOIN {latencies} cpu ON cpu.campaign_id = base.campaign_id AND cpu.target_id = base.cpu_target_id
                          AND cpu.case_id = here.case_id
 WHERE here.low_ms > 0 AND cpu.low_ms > 0 AND NOT here.host_only
 GROUP BY here.campaign_id, here.suite, here.revision, here.framework, here.version, here.device, here.hardware,
          here.environment, here.function, cpu.hardware, here.target_id, cpu.target_id"""


_CASE_VERDICTS = f"""\
SELECT r.*,
       c.suite_id,
       c.function,
       c.host_only IS NOT NULL AS host_only,
       c.refuses,
       c.inputs,
       c.judged_by,
       c.case_class,
       CASE WHEN r.failed > r.accepted THEN 'failed'
            WHEN r.accepted > 0 THEN 'accepted'
            WHEN r.passed > 0 THEN CASE WHEN c.refuses THEN 'refused' ELSE 'passed' END
            WHEN r.incomplete > 0 THEN 'incomplete'
            ELSE 'skipped' END AS verdict,
       -- Here is decided what counts on the device. Only what was proven there passed there; without
       -- proof a case is neither, and in no total. A failure is one wherever it was.
       CASE WHEN r.failed > r.accepted THEN 'failed'
            WHEN r.accepted > 0 THEN 'accepted'
            WHEN r.passed > 0 THEN
                 CASE WHEN c.refuses THEN 'refused'
                      WHEN r.fell_back > 0 THEN 'failed'
                      WHEN r.passed = r.on_device THEN 'passed'
                      WHEN c.host_only IS NULL THEN 'unknown' END
            WHEN r.incomplete > 0 THEN 'incomplete'
            ELSE 'skipped' END AS verdict_on_device
  FROM (SELECT o.campaign_id,
               o.target_id,
               o.case_id,
               count(*) FILTER (WHERE o.verdict = 'passed') AS passed,
               count(*) FILTER (WHERE o.verdict = 'failed') AS failed,
               count(*) FILTER (WHERE o.cause = 'SILENTLY_ACCEPTED') AS accepted,
               count(*) FILTER (WHERE o.verdict = 'incomplete') AS incomplete,
               count(*) FILTER (WHERE o.verdict = 'passed' AND o.placement = 'fell_back') AS fell_back,
               count(*) FILTER (WHERE o.verdict = 'passed' AND o.placement = 'on_device') AS on_device,
               bool_and(coalesce(o.rule, '') = 'needs-another-device')
                   FILTER (WHERE o.verdict = 'failed') AS of_another_device,
               -- mode() takes the first of equals, in the order of bytes.
               mode() WITHIN GROUP (ORDER BY coalesce(o.cause, 'unknown') COLLATE "C")
                   FILTER (WHERE o.verdict = 'failed' AND o.cause IS DISTINCT FROM 'SILENTLY_ACCEPTED') AS cause,
               mode() WITHIN GROUP (ORDER BY
                       CASE WHEN o.verdict = 'passed' THEN 'placement'
                            ELSE coalesce(o.cause, 'unknown') END COLLATE "C")
                   FILTER (WHERE o.verdict = 'failed' AND o.cause IS DISTINCT FROM 'SILENTLY_ACCEPTED'
                              OR o.verdict = 'passed' AND o.placement = 'fell_back') AS cause_on_device,
               mode() WITHIN GROUP (ORDER BY o.cause COLLATE "C")
                   FILTER (WHERE o.verdict IN ('skipped', 'incomplete') OR o.cause = 'SILENTLY_ACCEPTED')
                   AS not_counted_cause,
               count(*) FILTER (WHERE o.cause = 'LOWERED') AS lowered,
               count(*) FILTER (WHERE o.cause = 'NOT_LOWERED') AS not_lowered,
               mode() WITHIN GROUP (ORDER BY (o.evidence ->> 'operation') COLLATE "C")
                   FILTER (WHERE o.cause = 'NOT_LOWERED') AS missing_lowering
          FROM (SELECT campaign_id, target_id, case_id, verdict, placement, rule, cause, evidence FROM outcomes
                 UNION ALL
                -- A job that was cancelled has no outcome, and its case misses a run.
                SELECT j.campaign_id, j.target_id, j.case_id, 'incomplete', 'unknown', NULL, 'CANCELLED', NULL
                  FROM campaign_targets t
                  JOIN jobs j ON j.campaign_id = t.campaign_id AND j.target_id = t.target_id
                 WHERE t.cancelled > 0 AND j.state = 'cancelled') o
         GROUP BY o.campaign_id, o.target_id, o.case_id) r
  JOIN (SELECT id, suite_id, function, host_only, tags @> '["REFUSES"]' AS refuses, inputs, judged_by,
               {_indent(case_class("cases"), 15)} AS case_class
          FROM cases) c ON c.id = r.case_id"""
"""SQL for a case's verdicts on a target over its runs. Every count of a function is computed from them."""


def _sums(rule: CountingRule) -> str:
    """The columns of a rule in ``FUNCTION_SUMS``, computed from the verdicts of cases."""

    def where(verdict: str) -> str:
        return f"FILTER (WHERE {rule.verdict_column} = '{verdict}' AND {rule.cases})"

    counts = (f"count(*) {where(word)} AS {rule.name}_{word}" for word in ("passed", "failed", "unknown", "incomplete"))
    cause = f"mode() WITHIN GROUP (ORDER BY {rule.cause_column}) {where('failed')} AS {rule.name}_cause"
    return ",\n       ".join((*counts, cause))


FUNCTION_SUMS = (
    (
        f"""\
SELECT campaign_id,
       target_id,
       suite_id,
       function,
       bool_and(host_only) AS host_only,
       {f",{chr(10)}       ".join(map(_sums, RULES))},
       count(*) FILTER (WHERE verdict = 'refused') AS refused,
       count(*) FILTER (WHERE verdict = 'accepted') AS accepted,
       count(*) FILTER (WHERE verdict = 'skipped') AS skipped,
       count(*) FILTER (WHERE verdict = 'incomplete') AS incomplete,
       count(*) FILTER (WHERE failed > 0 AND passed > 0) AS flaky,
       count(*) FILTER (WHERE fell_back > 0 AND (failed > 0 OR NOT refuses)) AS fell_back,
       count(*) FILTER (WHERE cause = 'unknown') AS unknown_cause,
       count(*) FILTER (WHERE cause = 'HOST_WORK') AS host_work,
       count(*) FILTER (WHERE of_another_device) AS of_another_device,
       CASE WHEN count(*) FILTER (WHERE not_lowered > 0) > 0 THEN 'NOT_LOWERED'
            ELSE mode() WITHIN GROUP (ORDER BY not_counted_cause)
                     FILTER (WHERE verdict IN ('skipped', 'incomplete', 'accepted')) END AS not_counted_cause,
       count(*) FILTER (WHERE lowered > 0 AND not_lowered = 0) AS lowered,
       count(*) FILTER (WHERE not_lowered > 0) AS not_lowered,
       CASE WHEN count(*) FILTER (WHERE not_lowered > 0) > 0 THEN 'NOT_LOWERED'
            WHEN count(*) FILTER (WHERE lowered > 0) > 0 THEN 'LOWERED' END AS lowering,
       mode() WITHIN GROUP (ORDER BY missing_lowering) AS missing_lowering,
       array_agg(DISTINCT inputs) FILTER (WHERE verdict = 'failed' AND inputs IS NOT NULL) AS failed_inputs,
       array_agg(DISTINCT inputs) FILTER (WHERE verdict = 'passed' AND inputs IS NOT NULL) AS passed_inputs
  FROM ({_indent(_CASE_VERDICTS, 8)}) case_verdicts
 GROUP BY campaign_id, target_id, suite_id, function"""
    )
    .replace("REFUSES", REFUSES)
    .replace("SILENTLY_ACCEPTED", Cause.silently_accepted)
    .replace("HOST_WORK", Cause.host_work)
    .replace("CANCELLED", Cause.cancelled)
    .replace("NOT_LOWERED", Cause.not_lowered)
    .replace("LOWERED", Cause.lowered)
)
"""SQL for the sums over a function's cases on a target, by every counting rule."""


def _counts(rule: CountingRule) -> dict[str, str]:
    """SQL expressions for a rule's counts over a row ``n`` of ``FUNCTION_SUMS``: the fields of ``Counts``.

    A function is neither a success nor a complete failure while the result of a case is missing.
    """
    passes, failures, unknown, incomplete, cause = (
        f"n.{rule.name}_{word}" for word in ("passed", "failed", "unknown", "incomplete", "cause")
    )
    verdict = (
        f"CASE WHEN {passes} + {failures} < {rule.least_cases} THEN 'unknown' "
        f"WHEN {failures} = 0 THEN CASE WHEN {incomplete} = 0 THEN 'success' ELSE 'unknown' END "
        f"WHEN {passes} + {incomplete} = 0 THEN 'complete' ELSE 'partial' END"
    )
    expressions = {
        "verdict": verdict,
        "passed": passes,
        "failed": failures,
        "total": f"{passes} + {failures}",
        "unknown": unknown,
        "cause": cause,
    }
    if not rule.on_device:
        return expressions
    return {name: f"CASE WHEN NOT n.host_only THEN {value} END" for name, value in expressions.items()}


def _counts_as_json(rule: CountingRule) -> str:
    pairs = ", ".join(f"'{name}', {value}" for name, value in _counts(rule).items())
    counts = f"jsonb_build_object({pairs})"
    return f"'{rule.name}', {f'CASE WHEN NOT n.host_only THEN {counts} END' if rule.on_device else counts}"


COUNTS_BY_RULE = f"jsonb_strip_nulls(jsonb_build_object({', '.join(map(_counts_as_json, RULES))}))"
"""SQL for the counts of a row ``n`` of ``FUNCTION_SUMS``, by the names of the rules that give it a verdict."""

_ANYWHERE, _ON_DEVICE, _WITHOUT_HOST_WORK, _INDEPENDENT = map(
    _counts, (ANYWHERE, ON_DEVICE, WITHOUT_HOST_WORK, INDEPENDENT)
)


FUNCTION_VERDICTS = View(
    "function_verdicts",
    """One row per function, target and campaign, with the sums over the cases of the function. Only runs that passed or
    failed are counted. A case passed if all its counted runs passed, and failed if one of them failed. A case without
    a counted run is excluded. A case that expects an error and gets it counts only as refused; a case that returns a
    result although the host raises an error counts only as accepted. All counts are numbers of cases. A function
    without outcomes has no row, unless its campaign was cancelled. Targets that differ only in their environment have
    separate rows.""",
    common_comments(*OF_A_FUNCTION)
    | {
        "host_only": "true if the runner's catalogue declares that the function never touches a device",
        "verdict": "success: every case passed; complete: every case failed; partial: some failed; unknown: none "
        "failed and some are incomplete, or `total` is 0. A fallback counts as passed, as in the study",
        "verdict_on_device": "as `verdict`, over the cases of `total_on_device`: a fallback counts as failed, and a "
        "pass without proof of placement is not counted; null if `host_only`",
        "passed": "cases that passed in all counted runs, except cases that expect an error",
        "failed": "cases with a failed run, except those in `accepted`",
        "total": "cases with a counted run: passed + failed",
        "skipped": "cases that were skipped in all runs: the framework's version lacks the function, or the case does "
        "not apply to the target",
        "incomplete": "cases without a counted run, but with an incomplete run: the environment or the infrastructure "
        "failed, or the run was cancelled",
        "cause": "the most frequent cause of the failed cases. The cause of a case is the most frequent cause "
        "of its failed runs. Ties are resolved alphabetically",
        "passed_on_device": "cases that passed on the device in all counted runs, with proof; null if `host_only`",
        "failed_on_device": "as `failed`, except that a fallback counts as failed; null if `host_only`",
        "cause_on_device": "as `cause`, over the cases of `failed_on_device`; a fallback has the cause `placement`; "
        "null if `host_only`",
        "not_counted_cause": "the most frequent cause of skipped and incomplete cases (removed, environment, …); "
        "`not_lowered` if any case has no lowering",
        "flaky": "cases with counted runs that passed and counted runs that failed; `failed` includes these cases",
        "fell_back": "cases with a run that passed by falling back to the host",
        "total_on_device": "`passed_on_device` + `failed_on_device`; null if `host_only`",
        "unknown_placement": "cases that passed without a fallback, but in at least one run without proof of "
        "placement. `passed_on_device` and `failed_on_device` exclude these cases; null if `host_only`",
        "unknown_cause": "failed cases with cause `unknown`",
        "refused": "cases that expect an error, and passed in all counted runs. No other count includes these cases",
        "host_work": "failed cases with cause `host_work`, because the function works with data sets, strings, tables, "
        "files or prints",
        "verdict_without_host_work": "as `verdict`, without failed cases with cause `host_work`",
        "of_another_device": "failed cases that need a device of another kind than the target's (rule "
        "`needs-another-device`)",
        "lowered": "cases that were lowered for the target's platform and not run. Of the other counts, only `skipped` "
        "includes these cases",
        "not_lowered": "cases with an operation that has no lowering. Of the other counts, only `skipped` includes "
        "these cases",
        "lowering": "`not_lowered` if a case has no lowering, otherwise `lowered`; null on targets that run cases",
        "missing_lowering": "the most frequent operation without a lowering",
        "verdict_independent": "as `verdict`, over cases whose expected values come from an independent "
        "reference (numpy, decomposition)",
        "cause_independent": "as `cause`, over cases with an independent reference",
        "passed_independent": "as `passed`, over cases with an independent reference",
        "failed_independent": "as `failed`, over cases with an independent reference",
        "total_independent": "`passed_independent` + `failed_independent`",
        "failed_inputs": "kinds of the inputs of failed cases, each combination once; null if the suite does not "
        "declare them",
        "passed_inputs": "kinds of the inputs of passed cases, each combination once; null if the suite does not "
        "declare them",
        "accepted": "cases that returned a result although the host raises an error (cause `silently_accepted`). No "
        "other count includes these cases",
    },
    f"""\
{_HEAD},
       n.function,
       n.host_only,
       {_ANYWHERE["verdict"]} AS verdict,
       {_ON_DEVICE["verdict"]} AS verdict_on_device,
       {_ANYWHERE["passed"]} AS passed,
       {_ANYWHERE["failed"]} AS failed,
       {_ANYWHERE["total"]} AS total,
       n.skipped,
       n.incomplete,
       {_ANYWHERE["cause"]} AS cause,
       {_ON_DEVICE["passed"]} AS passed_on_device,
       {_ON_DEVICE["failed"]} AS failed_on_device,
       {_ON_DEVICE["cause"]} AS cause_on_device,
       n.not_counted_cause,
       n.flaky,
       n.fell_back,
       t.environment,
       t.simulated,
       n.target_id,
       {_ON_DEVICE["total"]} AS total_on_device,
       {_ON_DEVICE["unknown"]} AS unknown_placement,
       n.unknown_cause,
       n.refused,
       n.host_work,
       {_WITHOUT_HOST_WORK["verdict"]} AS verdict_without_host_work,
       n.of_another_device,
       n.lowered,
       n.not_lowered,
       n.lowering,
       n.missing_lowering,
       {_INDEPENDENT["verdict"]} AS verdict_independent,
       {_INDEPENDENT["cause"]} AS cause_independent,
       {_INDEPENDENT["passed"]} AS passed_independent,
       {_INDEPENDENT["failed"]} AS failed_independent,
       {_INDEPENDENT["total"]} AS total_independent,
       n.failed_inputs,
       n.passed_inputs,
       n.accepted
  FROM ({_indent(FUNCTION_SUMS, 8)}) n
  JOIN targets t ON t.id = n.target_id
  JOIN suites s ON s.id = n.suite_id
""",
)


def _counts_as_row(rule: CountingRule) -> str:
    return f"('{rule.name}', {', '.join(_counts(rule).values())})"


FUNCTION_COUNTS = View(
    "function_counts",
    """One row per function, target, campaign and counting rule: the verdict and the counts that the rule gives.
    function_verdicts has the counts of some rules side by side. If a rule gives a function no verdict, the function
    has no row for this rule. For example, on_device gives none to a function that never touches a device.""",
    common_comments(*OF_A_FUNCTION)
    | {
        "rule": "name of the counting rule",
        "verdict": "success: all cases that the rule counts passed; complete: all failed; partial: some failed; "
        "unknown: none failed and some are incomplete, or `total` is less than the rule requires",
        "cause": "the most frequent cause of failed cases; ties are resolved alphabetically",
        "passed": "cases that passed, of those that the rule counts",
        "failed": "cases that failed, of those that the rule counts",
        "total": "`passed` + `failed`",
        "unknown": "cases that passed without proof of placement. `passed` and `failed` exclude these cases",
    },
    f"""\
{_HEAD},
       t.environment,
       t.simulated,
       n.function,
       k.rule,
       k.verdict,
       k.cause,
       k.passed,
       k.failed,
       k.total,
       k.unknown,
       n.target_id
  FROM ({_indent(FUNCTION_SUMS, 8)}) n
  JOIN targets t ON t.id = n.target_id
  JOIN suites s ON s.id = n.suite_id
 CROSS JOIN LATERAL (VALUES
       {f",{chr(10)}       ".join(map(_counts_as_row, RULES))}
       ) k (rule, {", ".join(_counts(ANYWHERE))})
 WHERE k.verdict IS NOT NULL
""",
)


FUNCTION_LATENCIES = View(
    "function_latencies",
    """One row per function, target and campaign with a measurement. A run counts if it passed and is proven to have run
    on the device, or if its function is host_only. Each time is a median over the cases of the function. For low_ms,
    the time of a case is that of its best run. For the other times, the time of a case is the median over its runs. Two
    rows can contain different cases. So compute the ratio of two devices from case_latencies, over the cases that both
    devices measured, and not from these medians.""",
    common_comments(*OF_A_FUNCTION)
    | {
        "host_only": "true if the runner's catalogue declares that the function never touches a device; such "
        "functions have no latency ratio",
        "cold_ms": "time of the first call of a case, including compilation, at any position in a process: "
        "`first_cold_ms` and `later_cold_ms` together",
        "steady_ms": "time of a call after warm-up; the time of a run is the median of its samples",
        "iqr_ms": "interquartile range of a run's samples: the variation within a process, not between runs",
        "samples": "number of samples from which `steady_ms` is computed, over all cases and runs",
        "cases": "number of cases with a measured run",
        "runs": "number of measured runs of all cases",
        "low_ms": "level of a call after warm-up: the 5 % quantile of the case's best run",
        "noisy": f"number of cases whose `steady_ms` is more than {NOISY:g} times their `low_ms`",
        "first_cold_ms": "time of the first call of the first case of a process, including work that a process does "
        "only once; null if not measured",
        "later_cold_ms": "time of the first call of a case that ran after other cases in its process",
        "unconfirmed": "true if at least half of the cases with a `low_ms` are unconfirmed (see "
        "`case_latencies`); null if this is unknown for all cases",
        "second_shape_ms": "time of the first call with arrays of a second shape, in a process that has already run "
        "the function; null if not measured",
    },
    function_latencies(f"({_indent(cases_measured('outcomes'), 16)})"),
)

CASE_LATENCIES = View(
    "case_latencies",
    """One row per case, target and campaign with a measurement, over the runs of the case. A run counts if it passed
    and is proven to have run on the device, or if its function is host_only.""",
    common_comments(*OF_A_FUNCTION, "case", "case_id")
    | {
        "host_only": "true if the runner's catalogue declares that the function never touches a device; such "
        "functions have no latency ratio",
        "cold_ms": "time of the first call, including compilation, at any position in a process (`first_cold_ms` and "
        "`later_cold_ms` together); median over the runs",
        "steady_ms": "time of a call after warm-up; median over the runs",
        "iqr_ms": "interquartile range of a run's samples; median over the runs",
        "mean_cold_ms": "time of the first call; mean over the runs, as in the study",
        "samples": "number of samples from which `steady_ms` is computed, over all runs",
        "runs": "number of measured runs",
        "fingerprint_id": "fingerprint of one of the runs: the machine and the installation",
        "low_ms": "level of the case: the 5 % quantile of its best run's samples",
        "noisy": f"true if `steady_ms` is more than {NOISY:g} times `low_ms`",
        "first_cold_ms": "time of the first call, over the runs in which the case was the first of its process; "
        "includes work that a process does only once",
        "later_cold_ms": "time of the first call, over the runs in which the process had run other cases before",
        "unconfirmed": f"true if `low_ms` is unconfirmed: {UNCONFIRMED}; null if there is a single run and its "
        "threads did not wait",
    },
    case_latencies("outcomes"),
)


CPU_BASES = View(
    "cpu_bases",
    """One row per target and campaign: the CPU target with which the latencies of the target are compared. The two
    targets have the same version of the framework, neither is simulated, and they have measured at least one case in
    common. If several CPU targets qualify, the order of preference is: same host, same hardware, same environment, most
    cases in common, oldest.""",
    common_comments("campaign_id", "target_id")
    | {
        "cpu_target_id": "the CPU target",
        "common_cases": "number of cases that both targets measured, of functions that are not `host_only`",
    },
    cpu_bases("case_latencies"),
)


FUNCTION_RATIOS = View(
    "function_ratios",
    """One row per function, target and campaign with a case that was measured on the target and on its CPU target
    (cpu_bases): the ratio of the times of a call after warm-up. Functions that are host_only have no row.""",
    common_comments(
        "campaign_id",
        "suite",
        "revision",
        "framework",
        "version",
        "device",
        "hardware",
        "environment",
        "function",
        "target_id",
    )
    | {
        "ratio": "the slowdown: for each common case, `low_ms` on the target is divided by `low_ms` on the CPU target; "
        "`ratio` is the geometric mean of these quotients",
        "cases": "number of common cases",
        "cpu_hardware": "hardware of the CPU target",
        "cpu_target_id": "`target_id` of the CPU target",
    },
    ratios("case_latencies", "cpu_bases"),
)

VIEWS = (
    OUTCOME_ROWS,
    FUNCTION_VERDICTS,
    FUNCTION_COUNTS,
    FUNCTION_LATENCIES,
    CASE_LATENCIES,
    CPU_BASES,
    FUNCTION_RATIOS,
)
"""The views in the order of creation."""


def define(connection: Connection) -> None:
    """Create or replace the views, unless they were made from the same text."""
    statements = [statement for view in VIEWS for statement in view.statements()]
    sha256 = hashlib.sha256("\n".join(statements).encode()).hexdigest()
    if connection.scalar(select(view_definitions.c.sha256)) == sha256:
        return
    for statement in statements:
        connection.exec_driver_sql(statement)
    connection.execute(delete(view_definitions))
    connection.execute(insert(view_definitions).values(sha256=sha256))
