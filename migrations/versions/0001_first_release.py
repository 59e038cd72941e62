"""The schema of the first release."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


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
            sa.Enum(
                "off", "quick", "steady", "paper", name="timing", native_enum=False, create_constraint=True, length=24
            ),
            nullable=False,
        ),
        sa.Column(
            "timed_cases",
            sa.Enum("all", "representative", name="timed_cases", native_enum=False, create_constraint=True, length=24),
            server_default="all",
            nullable=False,
            comment="representative: one case a function is timed, and the others run for their verdict",
        ),
        sa.Column(
            "verdicts_first",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="run 1 is not timed, so that all verdicts are known before anything is timed",
        ),
        sa.Column("rerun_of", sa.Integer(), nullable=True),
        sa.Column(
            "sample",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="that its functions are: how it was drawn, and what its suite has no case of",
        ),
        sa.Column(
            "not_charted",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'[]'"),
            nullable=False,
            comment="functions that were asked for, by name or glob, and of which its suite has no case on its targets",
        ),
        sa.Column(
            "state",
            sa.Enum("running", "done", "cancelled", name="state", native_enum=False, create_constraint=True, length=24),
            server_default="running",
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "imported_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when it came in a bundle; null if it was dispatched",
        ),
        sa.Column(
            "bundle_sha256", sa.Text(), nullable=True, comment="of the bundle that it came in: each is stored once"
        ),
        sa.Column(
            "created_by", sa.Text(), nullable=True, comment="the name of the caller who submitted or imported it"
        ),
        sa.CheckConstraint("runs between 1 and 100", name=op.f("ck_campaigns_runs")),
        sa.CheckConstraint("timeout_s > 0 and timeout_s <= 14400", name=op.f("ck_campaigns_timeout")),
        sa.ForeignKeyConstraint(["rerun_of"], ["campaigns.id"], name=op.f("fk_campaigns_rerun_of")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
        sa.UniqueConstraint("bundle_sha256", name=op.f("uq_campaigns_bundle_sha256")),
    )
    op.create_table(
        "fingerprints",
        sa.Column("id", sa.Text(), nullable=False, comment="first 16 hex digits of the SHA-256 of the body"),
        sa.Column("body", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fingerprints")),
    )
    op.create_table(
        "reference_sources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False, comment="of the data files that it was loaded from"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_reference_sources")),
        comment="published figures to set campaigns beside; loaded when the schema is brought up to date",
    )
    op.create_table(
        "suites",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column(
            "origin",
            sa.Enum("runner", "bundle", name="origin", native_enum=False, create_constraint=True, length=24),
            server_default="runner",
            nullable=False,
            comment="runner: what runners serve, whole; bundle: what bundles brought, perhaps a part, never dispatched",
        ),
        sa.Column("digest", sa.Text(), nullable=False, comment="of the list of its cases, which never change"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suites")),
    )
    op.create_index(
        "uq_suites_bundled",
        "suites",
        ["name", "framework", "revision", "digest"],
        unique=True,
        postgresql_where=sa.text("origin = 'bundle'"),
    )
    op.create_index(
        "uq_suites_served",
        "suites",
        ["name", "framework", "revision"],
        unique=True,
        postgresql_where=sa.text("origin = 'runner'"),
    )
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column(
            "version_numbers",
            sa.ARRAY(sa.Numeric()),
            sa.Computed(
                "string_to_array(btrim(regexp_replace(version, '[^0-9]+', '.', 'g'), '.'), '.')::numeric[]",
                persisted=True,
            ),
            nullable=True,
            comment="the numbers in the version, which order it: 2.9 before 2.10",
        ),
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
        "view_definitions",
        sa.Column("sha256", sa.Text(), nullable=False, comment="of the statements in coordinator/database/views.py"),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_view_definitions")),
        comment="which text the views of this database were made from; one row",
    )
    op.create_table(
        "signing_keys",
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("purpose", name=op.f("pk_signing_keys")),
        comment="secrets that coordinators on this database share, made by the first that needs one",
    )
    op.create_table(
        "submissions",
        sa.Column(
            "created_by", sa.Text(), nullable=False, comment="the submitter's name; empty if nobody's name is known"
        ),
        sa.Column("key", sa.Text(), nullable=False, comment="drawn by the client, and the same when it asks again"),
        sa.Column("request_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("campaign_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_submissions_campaign_id")),
        sa.PrimaryKeyConstraint("created_by", "key", name=op.f("pk_submissions")),
        comment="the campaign of each submission that has a key, so that to submit it again makes no second one",
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
        sa.Column(
            "reclassifications",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="times that outcomes got another cause",
        ),
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
        sa.Column(
            "digest",
            sa.Text(),
            nullable=True,
            comment="of all that decides its result, under any revision; null if its runner has none",
        ),
        sa.Column(
            "options",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="how it calls its function: dtypes, arguments, keywords; null if its runner has none",
        ),
        sa.Column(
            "judged_by",
            sa.Text(),
            sa.Computed(
                "CASE WHEN tags @> '[\"form-only\"]' THEN 'form'"
                " WHEN tags @> '[\"judged-by-numpy\"]' THEN 'numpy'"
                " WHEN tags @> '[\"judged-by-decomposition\"]' THEN 'decomposition'"
                " WHEN tags @> '[\"judged-by-reference\"]' THEN 'reference'"
                " WHEN tags @> '[\"judged-by-differences\"]' THEN 'differences'"
                " WHEN tags @> '[\"judged-by-float64\"]' THEN 'float64'"
                " WHEN tags @> '[\"judged-by-itself\"]' THEN 'itself' END",
                persisted=True,
            ),
            nullable=True,
            comment="the reference of its expected values, by its tags: such as numpy or float64",
        ),
        sa.Column(
            "inputs",
            sa.Text(),
            sa.Computed(
                "nullif(ltrim(CASE WHEN tags @> '[\"plain\"]' THEN ' plain' ELSE '' END"
                " || CASE WHEN tags @> '[\"empty\"]' THEN ' empty' ELSE '' END"
                " || CASE WHEN tags @> '[\"0-dim\"]' THEN ' 0-dim' ELSE '' END"
                " || CASE WHEN tags @> '[\"broadcast\"]' THEN ' broadcast' ELSE '' END"
                " || CASE WHEN tags @> '[\"strided\"]' THEN ' strided' ELSE '' END"
                " || CASE WHEN tags @> '[\"no-array\"]' THEN ' no-array' ELSE '' END), '')",
                persisted=True,
            ),
            nullable=True,
            comment="the kinds of its inputs, by its tags: empty 0-dim",
        ),
        sa.Column(
            "representative",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="its function is timed by it where not all cases are",
        ),
        sa.ForeignKeyConstraint(["suite_id"], ["suites.id"], name=op.f("fk_cases_suite_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cases")),
        sa.UniqueConstraint("suite_id", "name", name=op.f("uq_cases_suite_id_name")),
    )
    op.create_index("ix_cases_suite_id_function", "cases", ["suite_id", "function"], unique=False)
    op.create_table(
        "matrices",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("done", sa.Integer(), nullable=False, comment="outcomes that it was made from"),
        sa.Column(
            "reclassifications",
            sa.Integer(),
            nullable=False,
            comment="times that outcomes had got another cause by then",
        ),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("took_s", sa.Double(), nullable=False, comment="to make it"),
        sa.Column("definition", sa.Text(), nullable=False, comment="digest of what its figures are defined by"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrices_campaign_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign_id", name=op.f("pk_matrices")),
        comment="how far each campaign's rows of matrix_cells are",
    )
    op.create_table(
        "matrix_cells",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("target_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("module", sa.Text(), nullable=False, comment="the function's name without its last part"),
        sa.Column("ratio_to_cpu", sa.Double(), nullable=True),
        sa.Column("ratio_cases", sa.BigInteger(), nullable=True),
        sa.Column("cpu_target_id", sa.BigInteger(), nullable=True),
        sa.Column("cold_ms", sa.Double(), nullable=True),
        sa.Column("first_cold_ms", sa.Double(), nullable=True),
        sa.Column("later_cold_ms", sa.Double(), nullable=True),
        sa.Column("low_ms", sa.Double(), nullable=True),
        sa.Column("steady_ms", sa.Double(), nullable=True),
        sa.Column("noisy", sa.BigInteger(), nullable=True),
        sa.Column("unconfirmed", sa.Boolean(), nullable=True),
        sa.Column("iqr_ms", sa.Double(), nullable=True),
        sa.Column("samples", sa.BigInteger(), nullable=True),
        sa.Column("host_only", sa.Boolean(), nullable=False),
        sa.Column("counts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("skipped", sa.BigInteger(), nullable=False),
        sa.Column("incomplete", sa.BigInteger(), nullable=False),
        sa.Column("flaky", sa.BigInteger(), nullable=False),
        sa.Column("fell_back", sa.BigInteger(), nullable=False),
        sa.Column("not_counted_cause", sa.Text(), nullable=True),
        sa.Column("unknown_cause", sa.BigInteger(), nullable=False),
        sa.Column("host_work", sa.BigInteger(), nullable=False),
        sa.Column("lowered", sa.BigInteger(), nullable=False),
        sa.Column("not_lowered", sa.BigInteger(), nullable=False),
        sa.Column("lowering", sa.Text(), nullable=True),
        sa.Column("missing_lowering", sa.Text(), nullable=True),
        sa.Column("of_another_device", sa.BigInteger(), nullable=False),
        sa.Column("failed_inputs", sa.ARRAY(sa.Text()), nullable=True),
        sa.Column("passed_inputs", sa.ARRAY(sa.Text()), nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_cells_campaign_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_matrix_cells_target_id")),
        sa.PrimaryKeyConstraint("campaign_id", "framework", "function", "target_id", name=op.f("pk_matrix_cells")),
        comment="function_verdicts, function_counts, function_latencies and function_ratios, kept for pages that "
        "cannot wait for them",
    )
    op.create_index("ix_matrix_cells_framework_function", "matrix_cells", ["framework", "function"], unique=False)
    op.create_table(
        "matrix_latencies",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("target_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("host_only", sa.Boolean(), nullable=False),
        sa.Column(
            "cases",
            sa.ARRAY(sa.Integer()),
            nullable=False,
            comment="cases measured, in the order of their names; a case of two revisions has the id of its first",
        ),
        sa.Column("low_ms", sa.ARRAY(sa.Double()), nullable=False, comment="of each of these cases"),
        sa.Column("first_cold_ms", sa.ARRAY(sa.Double()), nullable=False, comment="of each of these cases"),
        sa.Column("mean_cold_ms", sa.ARRAY(sa.Double()), nullable=False, comment="of each of these cases"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_latencies_campaign_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_matrix_latencies_target_id")),
        sa.PrimaryKeyConstraint("campaign_id", "framework", "function", "target_id", name=op.f("pk_matrix_latencies")),
        comment="case_latencies, kept a row a function and target for reports that cannot wait for them",
    )
    op.create_table(
        "matrix_rows",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("module", sa.Text(), nullable=False, comment="the function's name without its last part"),
        sa.Column(
            "judges",
            sa.ARRAY(sa.Text()),
            nullable=False,
            comment="references that judged its cases; null: the suite is silent",
        ),
        sa.Column("judged_cases", sa.ARRAY(sa.Integer()), nullable=False, comment="cases that each of them judged"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_rows_campaign_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign_id", "framework", "function", name=op.f("pk_matrix_rows")),
        comment="the functions that each campaign's rows of matrix_cells are of",
    )
    op.create_table(
        "matrix_targets",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("target_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("cpu_target_id", sa.Integer(), nullable=True, comment="the target of cpu_bases"),
        sa.Column(
            "on_device",
            sa.Integer(),
            nullable=False,
            comment="cases that passed, by where all of their runs are known to be",
        ),
        sa.Column(
            "fell_back",
            sa.Integer(),
            nullable=False,
            comment="cases that passed, by where all of their runs are known to be",
        ),
        sa.Column(
            "unknown",
            sa.Integer(),
            nullable=False,
            comment="cases that passed, by where all of their runs are known to be",
        ),
        sa.Column(
            "host_only",
            sa.Integer(),
            nullable=False,
            comment="cases that passed, by where all of their runs are known to be",
        ),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_targets_campaign_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_matrix_targets_target_id")),
        sa.PrimaryKeyConstraint("campaign_id", "target_id", name=op.f("pk_matrix_targets")),
        comment="the targets of each campaign: cpu_bases, and placements of outcome_rows added up",
    )
    op.create_table(
        "reference_caveats",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("figures", sa.ARRAY(sa.Text()), nullable=False, comment="that it touches: table-8, figure-7, names"),
        sa.Column("framework", sa.Text(), nullable=True, comment="null: all"),
        sa.Column("device", sa.Text(), nullable=True, comment="null: all"),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_caveats_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_caveats")),
        comment="what is wrong in the figures, to be said beside them",
    )
    op.create_table(
        "reference_counts",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("partial", sa.Integer(), nullable=False),
        sa.Column("complete", sa.Integer(), nullable=False),
        sa.Column("success", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False, comment="as printed; the others need not add up to it"),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_counts_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_counts")),
        comment="functions by verdict",
    )
    op.create_table(
        "reference_failures",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False, comment="top20 or all"),
        sa.Column("failed_pct", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_failures_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_failures")),
        comment="functions that failed in part or completely, in percent as printed",
    )
    op.create_table(
        "reference_functions",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False, comment="as printed"),
        sa.Column("strata", sa.ARRAY(sa.Text()), nullable=False, comment="top20; decile10 (rarest) to decile100"),
        sa.Column("subtests", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_functions_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_functions")),
        comment="functions that were tested",
    )
    op.create_table(
        "reference_latencies",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False, comment="as printed"),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("milliseconds", sa.Double(), nullable=True, comment="mean; null: not published"),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_latencies_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_latencies")),
        comment="latency of each tested function on each device",
    )
    op.create_table(
        "reference_rates",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("figure", sa.Text(), nullable=False, comment="table-1, table-3"),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False),
        sa.Column("pass_pct", sa.Double(), nullable=False),
        sa.Column("partial_pct", sa.Double(), nullable=False),
        sa.Column("complete_pct", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_rates_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_rates")),
        comment="functions by verdict, in percent as printed",
    )
    op.create_table(
        "reference_speedups",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("older", sa.Text(), nullable=False),
        sa.Column("newer", sa.Text(), nullable=False),
        sa.Column("factor", sa.Double(), nullable=False),
        sa.Column(
            "functions_pct", sa.Double(), nullable=False, comment="at least factor times faster on the newer device"
        ),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_speedups_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_speedups")),
        comment="functions that newer hardware made faster, in percent as printed",
    )
    op.create_table(
        "reference_targets",
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("device", sa.Text(), nullable=False, comment="the study's word: gpu-t4"),
        sa.Column("device_class", sa.Text(), nullable=False),
        sa.Column("hardware", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f("fk_reference_targets_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f("pk_reference_targets")),
        comment="where published figures come from",
    )
    op.create_table(
        "installation",
        sa.Column("id", sa.SmallInteger(), server_default=sa.text("1"), autoincrement=False, nullable=False),
        sa.Column("mark", sa.Text(), nullable=False, comment="begins the token of every lease"),
        sa.Column(
            "cluster", sa.Text(), nullable=False, comment="its database cluster's identifier, and its own in there"
        ),
        sa.Column("directory", sa.Text(), nullable=True, comment="of an embedded database: its path and inode"),
        sa.CheckConstraint("id = 1", name=op.f("ck_installation_single")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_installation")),
        comment="in one row: where this database was when it was last used; elsewhere it is a copy",
    )
    op.create_table(
        "runners",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=True, comment="under which it enrolled; null if a person registered it"),
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
        sa.Column(
            "strikes", sa.Integer(), server_default=sa.text("0"), nullable=False, comment="times in a row it misbehaved"
        ),
        sa.Column("quarantined_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True, comment="why it is not online"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["fingerprint_id"], ["fingerprints.id"], name=op.f("fk_runners_fingerprint_id")),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_runners_target_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runners")),
    )
    op.create_index(
        "uq_runners_boot_id_live", "runners", ["boot_id"], unique=True, postgresql_where=sa.text("state <> 'removed'")
    )
    op.create_index(
        "uq_runners_name_live", "runners", ["name"], unique=True, postgresql_where=sa.text("state <> 'removed'")
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
        sa.Column(
            "refused",
            sa.SmallInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="times that a runner would not take it, or never began it",
        ),
        sa.Column("runner_id", sa.Integer(), nullable=True),
        sa.Column("token", sa.Text(), nullable=True, comment="of the present lease, and part of its id on the wire"),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_jobs_runner_id")),
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
            comment="what arrived after the job had gone on without it, or a second time",
        ),
        sa.Column("token", sa.Text(), nullable=True, comment="of its lease"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_attempts_job_id")),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_attempts_runner_id")),
        sa.PrimaryKeyConstraint("job_id", "attempt", name=op.f("pk_attempts")),
    )
    op.create_index(
        "ix_attempts_silent",
        "attempts",
        ["runner_id", "boot_id"],
        unique=False,
        postgresql_where=sa.text("\"end\" = 'lost' AND reason IN ('silent', 'the runner fell silent')"),
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
                "lowered",
                "not_lowered",
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
                "host_work",
                "compile",
                "crash",
                "unknown",
                "removed",
                "not_applicable",
                "not_this_device",
                "lowered",
                "not_lowered",
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
        sa.Column(
            "contended",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
            comment="threads waited in most samples for a core that others had",
        ),
        sa.Column(
            "contended_share", sa.Double(), nullable=True, comment="share of all samples taken in which they waited"
        ),
        sa.Column("lock_wait_ms", sa.Double(), nullable=True),
        sa.Column(
            "position", sa.Integer(), nullable=True, comment="cases that ran in the same process before this one"
        ),
        sa.Column("duration_s", sa.Double(), nullable=False),
        sa.Column("evidence", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("log_tail", sa.Text(), nullable=True),
        sa.Column("log_bytes", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "(init_ms = 0 or init_ms between 1e-12 and 1e+12) and (cold_ms = 0 or cold_ms between 1e-12 and "
            "1e+12) and (steady_ms = 0 or steady_ms between 1e-12 and 1e+12) and iqr_ms between 0 and 1e+12 "
            "and lock_wait_ms between 0 and 1e+12 and duration_s between 0 and 1e+09 and calls_per_sample >= "
            "0 and position >= 0 and log_bytes >= 0",
            name=op.f("ck_outcomes_measurable"),
        ),
        sa.ForeignKeyConstraint(["fingerprint_id"], ["fingerprints.id"], name=op.f("fk_outcomes_fingerprint_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_outcomes_job_id")),
        sa.ForeignKeyConstraint(["runner_id"], ["runners.id"], name=op.f("fk_outcomes_runner_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_outcomes")),
    )
    op.create_index("ix_outcomes_campaign_id_job_id", "outcomes", ["campaign_id", "job_id"], unique=False)
    op.create_index(
        "ix_outcomes_failed",
        "outcomes",
        ["campaign_id", "finished_at", "job_id"],
        unique=False,
        postgresql_where=sa.text("verdict = 'failed'"),
    )
    op.create_table(
        "overrides",
        sa.Column("job_id", sa.BigInteger(), autoincrement=False, nullable=False),
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
                "host_work",
                "compile",
                "crash",
                "unknown",
                "removed",
                "not_applicable",
                "not_this_device",
                "lowered",
                "not_lowered",
                "environment",
                "infrastructure",
                "cancelled",
                name="cause",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "was_verdict",
            sa.Enum(
                "passed",
                "failed",
                "skipped",
                "incomplete",
                name="was_verdict",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column(
            "was_cause",
            sa.Enum(
                "type",
                "not_implemented",
                "timeout",
                "memory",
                "precision",
                "assertion",
                "placement",
                "host_work",
                "compile",
                "crash",
                "unknown",
                "removed",
                "not_applicable",
                "not_this_device",
                "lowered",
                "not_lowered",
                "environment",
                "infrastructure",
                "cancelled",
                name="was_cause",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=True,
        ),
        sa.Column("was_rule", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["outcomes.job_id"], name=op.f("fk_overrides_job_id")),
        sa.PrimaryKeyConstraint("job_id", name=op.f("pk_overrides")),
        comment="causes that a person named; the outcome bears them, what it was before is kept here",
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="of the person or program that it is for"),
        sa.Column(
            "role",
            sa.Enum(
                "viewer",
                "submitter",
                "operator",
                "admin",
                name="role",
                native_enum=False,
                create_constraint=True,
                length=24,
            ),
            nullable=False,
        ),
        sa.Column("prefix", sa.Text(), nullable=False, comment="its readable part"),
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="of the whole token, which is kept nowhere"),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True, comment="to the minute"),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("sha256", name=op.f("uq_tokens_sha256")),
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="of the cookie's value"),
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False, comment="of the token for which it stands"),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sessions")),
        comment="of the pages; the token of a coordinator's file is in no table, so there is no foreign key",
    )
    op.create_table(
        "login_links",
        sa.Column("sha256", sa.LargeBinary(), nullable=False, comment="of the link's secret"),
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False, comment="of the token for which it stands"),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_login_links")),
        comment="that sign in once; gone when used",
    )
    op.create_table(
        "audit_entries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("who", sa.Text(), nullable=False, comment="name of the caller"),
        sa.Column("kind", sa.Text(), nullable=False, comment="token, session, anonymous, runner"),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("token_id", sa.Integer(), nullable=True, comment="null for the token of a coordinator's file"),
        sa.Column("address", sa.Text(), nullable=False, comment="from where, as the connection said"),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=True, comment="where the answer led, such as what was made"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entries")),
        comment="changes and refused requests; a trigger refuses to change or delete one",
    )
    op.create_index("ix_audit_entries_who_id", "audit_entries", ["who", "id"], unique=False)
    op.execute("""
        CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'entries of the audit are added and never changed or deleted'
                  USING ERRCODE = 'insufficient_privilege';
        END $$
    """)
    op.execute("""
        CREATE TRIGGER audit_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
           FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()
    """)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
