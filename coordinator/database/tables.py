"""The tables, as SQLAlchemy Core. Migrations are generated from them; the views are in ``views.py``.

The views and their columns are a public promise; these tables are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any, get_args

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    Enum,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from coordinator.figures.cell import Figures
from coordinator.figures.counting import Counted
from protocol.enums import (
    FORM_ONLY,
    JUDGED_BY,
    Cause,
    Ending,
    InputKind,
    Judge,
    Placement,
    TimedCases,
    TimingPolicy,
    Verdict,
)
from protocol.limits import LEAST_MILLISECONDS, MAX_MILLISECONDS, MAX_SECONDS

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

JOB_STATES = ("queued", "leased", "running", "done", "cancelled")
CAMPAIGN_STATES = ("running", "done", "cancelled")
SUITE_ORIGINS = ("runner", "bundle")
ROLES = ("viewer", "submitter", "operator", "admin")
RUNNER_STATES = ("online", "offline", "quarantined", "removed")


def _words(name: str, values: Iterable[str]) -> Enum:
    """A text column with a check constraint, so that adding a word needs only a small migration."""
    return Enum(*map(str, values), name=name, native_enum=False, create_constraint=True, length=24)


def _now() -> Column[object]:
    return Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now())


def _count(name: str, type_: type[Any] = Integer, comment: str | None = None) -> Column[Any]:
    """A column that counts, from 0."""
    return Column(name, type_, nullable=False, server_default=text("0"), comment=comment)


def _flag(name: str, comment: str | None = None) -> Column[Any]:
    """A column that is false unless a row says otherwise."""
    return Column(name, Boolean, nullable=False, server_default=text("false"), comment=comment)


def _plain_columns(type_: type[Any], *names: str) -> list[Column[Any]]:
    """Columns of one type that are never null and need no comment."""
    return [Column(name, type_, nullable=False) for name in names]


def _when_tagged(tag: str, value: str) -> str:
    """SQL for the branch of a CASE for cases with a tag."""
    return f"WHEN tags @> '[\"{tag}\"]' THEN '{value}'"


# Derived from the tags once, when a case is stored, because the views read them for every outcome.
JUDGE_BY_TAG = {FORM_ONLY: Judge.form, **{f"{JUDGED_BY}{judge}": judge for judge in Judge if judge is not Judge.form}}
_JUDGED_BY = f"CASE {' '.join(_when_tagged(tag, judge) for tag, judge in JUDGE_BY_TAG.items())} END"
_KINDS = " || ".join(f"CASE {_when_tagged(kind, f' {kind}')} ELSE '' END" for kind in InputKind)
_INPUTS = f"nullif(ltrim({_KINDS}), '')"

targets = Table(
    "targets",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    *_plain_columns(Text, "framework", "version"),
    Column(
        "version_numbers",
        ARRAY(Numeric),
        Computed(
            "string_to_array(btrim(regexp_replace(version, '[^0-9]+', '.', 'g'), '.'), '.')::numeric[]",
            persisted=True,
        ),
        comment="the numbers in the version, which order it: 2.9 before 2.10",
    ),
    *_plain_columns(Text, "device", "device_class", "hardware", "environment"),
    _flag("simulated"),
    Column("notes", JSONB, nullable=False, server_default=text("'[]'")),
    UniqueConstraint("framework", "version", "device", "hardware", "environment"),
)

fingerprints = Table(
    "fingerprints",
    metadata,
    Column("id", Text, primary_key=True, comment="first 16 hex digits of the SHA-256 of the body"),
    Column("body", JSONB, nullable=False),
    _now(),
)

suites = Table(
    "suites",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    *_plain_columns(Text, "name", "framework", "revision"),
    Column(
        "origin",
        _words("origin", SUITE_ORIGINS),
        nullable=False,
        server_default="runner",
        comment="runner: what runners serve, whole; bundle: what bundles brought, perhaps a part, never dispatched",
    ),
    Column("digest", Text, nullable=False, comment="of the list of its cases, which never change"),
    _count("drawn_cases", comment="its cases that were drawn from what the host computes"),
    _count("wrong_on_host", comment="of these: the cases that the host was wrong in when they were drawn"),
    Column(
        "timing",
        _words("timing", TimingPolicy),
        comment="the policy of a campaign that asks for none, as its runners said last; null if they do not say",
    ),
    Column(
        "timed_cases",
        _words("timed_cases", TimedCases),
        comment="the timed cases of a campaign that does not choose them, likewise",
    ),
    _now(),
    Index("uq_suites_served", "name", "framework", "revision", unique=True, postgresql_where=text("origin = 'runner'")),
    Index(
        "uq_suites_bundled",
        *("name", "framework", "revision", "digest"),
        unique=True,
        postgresql_where=text("origin = 'bundle'"),
    ),
)

cases = Table(
    "cases",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("suite_id", ForeignKey("suites.id"), nullable=False),
    Column("name", Text, nullable=False, comment="the case's id in its suite"),
    Column("function", Text, nullable=False),
    Column("host_only", Text, comment="why the function never touches a device, or null"),
    Column("tags", JSONB, nullable=False, server_default=text("'[]'")),
    Column("position", Integer, nullable=False, comment="order within the suite's catalogue"),
    Column("digest", Text, comment="of all that decides its result, under any revision; null if its runner has none"),
    Column(
        "options", JSONB, comment="how it calls its function: dtypes, arguments, keywords; null if its runner has none"
    ),
    Column(
        "judged_by",
        Text,
        Computed(_JUDGED_BY, persisted=True),
        comment="the reference of its expected values, by its tags: such as numpy or float64",
    ),
    Column(
        "inputs",
        Text,
        Computed(_INPUTS, persisted=True),
        comment="the kinds of its inputs, by its tags: empty 0-dim",
    ),
    _flag("representative", "its function is timed by it where not all cases are"),
    UniqueConstraint("suite_id", "name"),
    Index("ix_cases_suite_id_function", "suite_id", "function"),
)

installation = Table(
    "installation",
    metadata,
    Column("id", SmallInteger, primary_key=True, autoincrement=False, server_default=text("1")),
    Column("mark", Text, nullable=False, comment="begins the token of every lease"),
    Column("cluster", Text, nullable=False, comment="its database cluster's identifier, and its own in there"),
    Column("directory", Text, comment="of an embedded database: its path and inode"),
    CheckConstraint("id = 1", name="single"),
    comment="in one row: where this database was when it was last used; elsewhere it is a copy",
)

runners = Table(
    "runners",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", Text, comment="under which it enrolled; null if a person registered it"),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False, comment="sent to the runner as its bearer token"),
    Column("target_id", ForeignKey("targets.id"), nullable=False),
    Column("fingerprint_id", ForeignKey("fingerprints.id"), nullable=False),
    *_plain_columns(Integer, "device_count", "slots", "queue_limit"),
    Column("state", _words("state", RUNNER_STATES), nullable=False),
    Column("boot_id", Text, nullable=False),
    _count("cursor", BigInteger, comment="last stored event of the boot"),
    Column("owner", Text, comment="the coordinator that alone posts, reads and acknowledges"),
    Column("owner_until", DateTime(timezone=True)),
    Column("last_seen", DateTime(timezone=True)),
    _count("strikes", comment="times in a row it misbehaved"),
    Column("quarantined_until", DateTime(timezone=True)),
    Column("reason", Text, comment="why it is not online"),
    _now(),
    Index("uq_runners_url_live", "url", unique=True, postgresql_where=text("state <> 'removed'")),
    Index("uq_runners_boot_id_live", "boot_id", unique=True, postgresql_where=text("state <> 'removed'")),
    Index("uq_runners_name_live", "name", unique=True, postgresql_where=text("state <> 'removed'")),
)

runner_suites = Table(
    "runner_suites",
    metadata,
    Column("runner_id", ForeignKey("runners.id", ondelete="CASCADE"), primary_key=True),
    Column("suite_id", ForeignKey("suites.id"), primary_key=True),
)

campaigns = Table(
    "campaigns",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    *_plain_columns(Text, "name", "suite"),
    Column("selectors", JSONB, nullable=False),
    Column("functions", JSONB, nullable=False),
    Column("runs", SmallInteger, nullable=False),
    Column("timeout_s", Double, nullable=False),
    Column("timing", _words("timing", TimingPolicy), nullable=False),
    Column(
        "timed_cases",
        _words("timed_cases", TimedCases),
        nullable=False,
        server_default="all",
        comment="representative: one case a function is timed, and the others run for their verdict",
    ),
    _flag("verdicts_first", "run 1 is not timed, so that all verdicts are known before anything is timed"),
    Column("rerun_of", ForeignKey("campaigns.id")),
    Column("sample", JSONB, comment="that its functions are: how it was drawn, and what its suite has no case of"),
    Column(
        "not_charted",
        JSONB,
        nullable=False,
        server_default=text("'[]'"),
        comment="functions that were asked for, by name or glob, and of which its suite has no case on its targets",
    ),
    Column("state", _words("state", CAMPAIGN_STATES), nullable=False, server_default="running"),
    _now(),
    Column("finished_at", DateTime(timezone=True)),
    Column("imported_at", DateTime(timezone=True), comment="when it came in a bundle; null if it was dispatched"),
    Column("bundle_sha256", Text, unique=True, comment="of the bundle that it came in: each is stored once"),
    Column("signer_id", ForeignKey("signers.id"), comment="of its bundle; null if that was not signed"),
    Column("created_by", Text, comment="the name of the caller who submitted or imported it"),
    CheckConstraint("runs between 1 and 100", name="runs"),
    CheckConstraint("timeout_s > 0 and timeout_s <= 14400", name="timeout"),
    CheckConstraint("not verdicts_first or (runs >= 2 and timing <> 'off')", name="verdicts_first"),
)

campaign_targets = Table(
    "campaign_targets",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id"), primary_key=True),
    Column("target_id", ForeignKey("targets.id"), primary_key=True),
    Column("suite_id", ForeignKey("suites.id"), nullable=False),
    Column("total", Integer, nullable=False),
    *map(_count, ("done", "passed", "failed", "skipped", "incomplete", "cancelled")),
    _count("reclassifications", comment="times that outcomes got another cause"),
    comment="what takes part, and its counters; kept by the statements that move jobs",
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    # No foreign keys: checking one costs 5 s per million jobs. Jobs are written with their row of campaign_targets,
    # in one transaction, and the rows that they refer to are deleted after them.
    *_plain_columns(Integer, "campaign_id", "target_id", "case_id"),
    Column("run", SmallInteger, nullable=False),
    Column("priority", Integer, nullable=False, comment="smaller goes first"),
    Column("state", _words("state", JOB_STATES), nullable=False, server_default="queued"),
    _count("attempt", SmallInteger),
    _count("lost", SmallInteger, comment="attempts lost after they started"),
    _count("refused", SmallInteger, comment="times that a runner would not take it, or never began it"),
    Column("runner_id", ForeignKey("runners.id")),
    Column("token", Text, comment="of the present lease, and part of its id on the wire"),
    Column("lease_until", DateTime(timezone=True)),
    UniqueConstraint("campaign_id", "target_id", "case_id", "run"),
    Index("ix_jobs_queued", "target_id", "priority", "id", postgresql_where=text("state = 'queued'")),
    Index("ix_jobs_lease", "runner_id", "lease_until", postgresql_where=text("lease_until IS NOT NULL")),
)

attempts = Table(
    "attempts",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True),
    Column("attempt", SmallInteger, primary_key=True),
    Column("runner_id", ForeignKey("runners.id"), nullable=False),
    Column("boot_id", Text, nullable=False),
    Column("leased_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("started_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Column("end", _words("end", ["finished", "lost", "cancelled", "late"])),
    Column("reason", Text),
    Column("late_outcome", JSONB, comment="what arrived after the job had gone on without it, or a second time"),
    Column("token", Text, comment="of its lease"),
    Index(
        "ix_attempts_silent",
        "runner_id",
        "boot_id",
        postgresql_where=text("\"end\" = 'lost' AND reason IN ('silent', 'the runner fell silent')"),
    ),
)

# The limits are those of protocol/limits.py. NaN is greater than every number here, and null passes. It is one
# constraint, because this table is on the hot path.
_MEASURABLE = f"""\
{
    " and ".join(
        f"({name} = 0 or {name} between {LEAST_MILLISECONDS:g} and {MAX_MILLISECONDS:g})"
        for name in ("init_ms", "cold_ms", "steady_ms")
    )
} and iqr_ms between 0 and {MAX_MILLISECONDS:g} and lock_wait_ms between 0 and {MAX_MILLISECONDS:g} \
and duration_s between 0 and {MAX_SECONDS:g} and calls_per_sample >= 0 and position >= 0 and log_bytes >= 0"""

outcomes = Table(
    "outcomes",
    metadata,
    Column("job_id", ForeignKey("jobs.id"), primary_key=True, autoincrement=False),
    Column("attempt", SmallInteger, nullable=False),
    # The values are those of the job, so no foreign keys are needed.
    *_plain_columns(Integer, "campaign_id", "target_id", "case_id"),
    Column("run", SmallInteger, nullable=False),
    Column("runner_id", ForeignKey("runners.id")),
    Column("fingerprint_id", ForeignKey("fingerprints.id")),
    Column("verdict", _words("verdict", Verdict), nullable=False),
    Column("ending", _words("ending", Ending), nullable=False),
    Column("cause", _words("cause", Cause)),
    Column("rule", Text, comment="which rule named the cause"),
    Column("placement", _words("placement", Placement), nullable=False),
    Column("proof", JSONB, nullable=False, server_default=text("'{}'")),
    Column("init_ms", Double),
    Column("cold_ms", Double),
    Column("steady_ms", Double, comment="median of samples_ms"),
    Column("iqr_ms", Double),
    Column("samples_ms", ARRAY(Double)),
    Column("calls_per_sample", Integer),
    _flag("contended", "threads waited in most samples for a core that others had"),
    Column("contended_share", Double, comment="share of all samples taken in which they waited"),
    Column("lock_wait_ms", Double),
    Column("position", Integer, comment="cases that ran in the same process before this one"),
    Column("duration_s", Double, nullable=False),
    Column("evidence", JSONB),
    Column("log_tail", Text),
    Column("log_bytes", BigInteger),
    Column("finished_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint(_MEASURABLE, name="measurable"),
    Index("ix_outcomes_campaign_id_job_id", "campaign_id", "job_id"),
    Index(
        "ix_outcomes_failed",
        "campaign_id",
        "finished_at",
        "job_id",
        postgresql_where=text("verdict = 'failed'"),
    ),
)

overrides = Table(
    "overrides",
    metadata,
    Column("job_id", ForeignKey("outcomes.job_id"), primary_key=True, autoincrement=False),
    Column("cause", _words("cause", Cause), nullable=False),
    *_plain_columns(Text, "author", "why"),
    _now(),
    Column("was_verdict", _words("was_verdict", Verdict), nullable=False),
    Column("was_cause", _words("was_cause", Cause)),
    Column("was_rule", Text),
    comment="causes that a person named; the outcome bears them, what it was before is kept here",
)

view_definitions = Table(
    "view_definitions",
    metadata,
    Column("sha256", Text, primary_key=True, comment="of the statements in coordinator/database/views.py"),
    comment="which text the views of this database were made from; one row",
)

submissions = Table(
    "submissions",
    metadata,
    Column("created_by", Text, primary_key=True, comment="the submitter's name; empty if nobody's name is known"),
    Column("key", Text, primary_key=True, comment="drawn by the client, and the same when it asks again"),
    Column("request_sha256", LargeBinary, nullable=False),
    Column("campaign_id", ForeignKey("campaigns.id"), nullable=False),
    comment="the campaign of each submission that has a key, so that to submit it again makes no second one",
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("purpose", Text, primary_key=True),
    Column("key", LargeBinary, nullable=False),
    comment="secrets that coordinators on this database share, made by the first that needs one",
)

matrices = Table(
    "matrices",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("done", Integer, nullable=False, comment="outcomes that it was made from"),
    Column("reclassifications", Integer, nullable=False, comment="times that outcomes had got another cause by then"),
    Column("made_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("took_s", Double, nullable=False, comment="to make it"),
    Column("definition", Text, nullable=False, comment="digest of what its figures are defined by"),
    comment="how far each campaign's rows of matrix_cells are",
)

matrix_rows = Table(
    "matrix_rows",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("framework", Text, primary_key=True),
    Column("function", Text, primary_key=True),
    Column("module", Text, nullable=False, comment="the function's name without its last part"),
    Column(
        "judges", ARRAY(Text), nullable=False, comment="references that judged its cases; null: the suite is silent"
    ),
    Column("judged_cases", ARRAY(Integer), nullable=False, comment="cases that each of them judged"),
    comment="the functions that each campaign's rows of matrix_cells are of",
)

matrix_targets = Table(
    "matrix_targets",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("target_id", ForeignKey("targets.id"), primary_key=True, autoincrement=False),
    Column("cpu_target_id", Integer, comment="the target of cpu_bases"),
    *(
        Column(name, Integer, nullable=False, comment="cases that passed, by where all of their runs are known to be")
        for name in ("on_device", "fell_back", "unknown", "host_only")
    ),
    comment="the targets of each campaign: cpu_bases, and placements of outcome_rows added up",
)

matrix_latencies = Table(
    "matrix_latencies",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("framework", Text, primary_key=True),
    Column("function", Text, primary_key=True),
    Column("target_id", ForeignKey("targets.id"), primary_key=True, autoincrement=False),
    Column("host_only", Boolean, nullable=False),
    Column(
        "cases",
        ARRAY(Integer),
        nullable=False,
        comment="cases measured, in the order of their names; a case of two revisions has the id of its first",
    ),
    *(
        Column(name, ARRAY(Double), nullable=False, comment="of each of these cases")
        for name in ("low_ms", "first_cold_ms", "mean_cold_ms")
    ),
    comment="case_latencies, kept a row a function and target for reports that cannot wait for them",
)

_FIGURE_TYPES: dict[Any, Any] = {
    bool: Boolean,
    int: BigInteger,
    float: Double,
    str: Text,
    list[str]: ARRAY(Text),
    Counted: JSONB,
}
"""The column type for each type of a published value. Counts and latencies have the same types as in the views."""


def _figure(name: str, annotation: Any) -> Column[Any]:
    nullable = NoneType in get_args(annotation)
    type_ = next(type_ for type_ in get_args(annotation) if type_ is not NoneType) if nullable else annotation
    return Column(name, _FIGURE_TYPES[type_], nullable=nullable)


matrix_cells = Table(
    "matrix_cells",
    metadata,
    Column("campaign_id", ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("framework", Text, primary_key=True),
    Column("function", Text, primary_key=True),
    Column("target_id", ForeignKey("targets.id"), primary_key=True, autoincrement=False),
    Column("module", Text, nullable=False, comment="the function's name without its last part"),
    *(_figure(name, field.annotation) for name, field in Figures.model_fields.items()),
    Index("ix_matrix_cells_framework_function", "framework", "function"),
    comment="function_verdicts, function_counts, function_latencies and function_ratios, kept for pages that cannot "
    "wait for them",
)


def _published_table(name: str, *columns: Column[Any], comment: str) -> Table:
    """The table for one kind of published data. ``number`` counts the publications in their order."""
    return Table(
        name,
        metadata,
        Column("reference", ForeignKey("reference_sources.name", ondelete="CASCADE"), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        *columns,
        comment=comment,
    )


reference_sources = Table(
    "reference_sources",
    metadata,
    Column("name", Text, primary_key=True),
    Column("citation", Text, nullable=False),
    Column("sha256", Text, nullable=False, comment="of the data files that it was loaded from"),
    comment="published figures to set campaigns beside; loaded when the schema is brought up to date",
)

reference_targets = _published_table(
    "reference_targets",
    *_plain_columns(Text, "framework", "version"),
    Column("device", Text, nullable=False, comment="the study's word: gpu-t4"),
    *_plain_columns(Text, "device_class", "hardware"),
    comment="where published figures come from",
)

reference_functions = _published_table(
    "reference_functions",
    Column("framework", Text, nullable=False),
    Column("function", Text, nullable=False, comment="as printed"),
    Column("strata", ARRAY(Text), nullable=False, comment="top20; decile10 (rarest) to decile100"),
    Column("subtests", Integer, nullable=False),
    comment="functions that were tested",
)

reference_latencies = _published_table(
    "reference_latencies",
    Column("framework", Text, nullable=False),
    Column("function", Text, nullable=False, comment="as printed"),
    Column("device", Text, nullable=False),
    Column("milliseconds", Double, comment="mean; null: not published"),
    comment="latency of each tested function on each device",
)

reference_counts = _published_table(
    "reference_counts",
    *_plain_columns(Text, "framework", "device"),
    *_plain_columns(Integer, "partial", "complete", "success"),
    Column("total", Integer, nullable=False, comment="as printed; the others need not add up to it"),
    comment="functions by verdict",
)

reference_rates = _published_table(
    "reference_rates",
    Column("figure", Text, nullable=False, comment="table-1, table-3"),
    *_plain_columns(Text, "framework", "device"),
    *_plain_columns(Double, "pass_pct", "partial_pct", "complete_pct"),
    comment="functions by verdict, in percent as printed",
)

reference_failures = _published_table(
    "reference_failures",
    *_plain_columns(Text, "framework", "device"),
    Column("stratum", Text, nullable=False, comment="top20 or all"),
    Column("failed_pct", Double, nullable=False),
    comment="functions that failed in part or completely, in percent as printed",
)

reference_speedups = _published_table(
    "reference_speedups",
    *_plain_columns(Text, "framework", "older", "newer"),
    Column("factor", Double, nullable=False),
    Column("functions_pct", Double, nullable=False, comment="at least factor times faster on the newer device"),
    comment="functions that newer hardware made faster, in percent as printed",
)

reference_caveats = _published_table(
    "reference_caveats",
    Column("figures", ARRAY(Text), nullable=False, comment="that it touches: table-8, figure-7, names"),
    Column("framework", Text, comment="null: all"),
    Column("device", Text, comment="null: all"),
    Column("sentence", Text, nullable=False),
    comment="what is wrong in the figures, to be said beside them",
)

signers = Table(
    "signers",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", Text, nullable=False, comment="of the laboratory or person whose key it is"),
    Column("key", Text, nullable=False, unique=True, comment="public, as OpenSSH writes it, without a comment"),
    Column("added_by", Text, nullable=False),
    _now(),
    Column("revoked_at", DateTime(timezone=True)),
    Column("revoked_by", Text),
    comment="keys that sign bundles; a revoked one stays, so that it is not trusted again",
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Integer, Identity(), primary_key=True),
    Column("name", Text, nullable=False, comment="of the person or program that it is for"),
    Column("role", _words("role", ROLES), nullable=False),
    Column("prefix", Text, nullable=False, comment="its readable part"),
    Column("sha256", LargeBinary, nullable=False, unique=True, comment="of the whole token, which is kept nowhere"),
    Column("created_by", Text, nullable=False),
    _now(),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("last_used_at", DateTime(timezone=True), comment="to the minute"),
    Column("revoked_at", DateTime(timezone=True)),
    Column("revoked_by", Text),
)

sessions = Table(
    "sessions",
    metadata,
    Column("sha256", LargeBinary, primary_key=True, comment="of the cookie's value"),
    Column("token_sha256", LargeBinary, nullable=False, comment="of the token for which it stands"),
    _now(),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    comment="of the pages; the token of a coordinator's file is in no table, so there is no foreign key",
)

login_links = Table(
    "login_links",
    metadata,
    Column("sha256", LargeBinary, primary_key=True, comment="of the link's secret"),
    Column("token_sha256", LargeBinary, nullable=False, comment="of the token for which it stands"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    comment="that sign in once; gone when used",
)

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("who", Text, nullable=False, comment="name of the caller"),
    Column("kind", Text, nullable=False, comment="token, session, anonymous, runner"),
    Column("role", Text),
    Column("token_id", Integer, comment="null for the token of a coordinator's file"),
    Column("address", Text, nullable=False, comment="from where, as the connection said"),
    Column("method", Text, nullable=False),
    Column("route", Text),
    Column("path", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("detail", Text, comment="where the answer led, such as what was made"),
    Index("ix_audit_entries_who_id", "who", "id"),
    comment="changes and refused requests; a trigger refuses to change or delete one",
)
