"""The kept matrix has a cell's counts by counting rule in one column, where each rule had its own."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COUNTS = ("skipped", "incomplete", "flaky", "fell_back", "unknown_cause", "ratio_cases", "cpu_target_id", "noisy",
          "lowered", "not_lowered", "of_another_device", "host_work")  # fmt: skip
WITH_DEFAULT = ("lowered", "not_lowered", "of_another_device", "host_work")
COMMENTS = {
    "cpu_target_id": "the target that ratio_to_cpu is against",
    "noisy": "cases whose median parts from their level",
    "lowering": "lowered or not_lowered, where programs are lowered and not run",
}
"""Of columns; REST says of each what it is."""
TABLE = (
    "function_verdicts, function_latencies and function_ratios, kept for pages that cannot wait for them",
    "function_verdicts, function_counts, function_latencies and function_ratios, kept for pages that cannot wait for "
    "them",
)

# What a rule's columns did not keep is what it follows from, or nothing until the matrix is made anew.
KEEP = """
UPDATE matrix_cells SET counts = jsonb_strip_nulls(jsonb_build_object(
    'anywhere', jsonb_build_object(
        'verdict', verdict, 'passed', passed, 'failed', failed, 'total', total, 'unknown', 0, 'cause', cause),
    'on_device', CASE WHEN NOT host_only THEN jsonb_build_object(
        'verdict', verdict_on_device, 'passed', passed_on_device, 'failed', total_on_device - passed_on_device,
        'total', total_on_device, 'unknown', unknown_placement, 'cause', cause_on_device) END,
    'without_host_work', jsonb_build_object(
        'verdict', coalesce(verdict_without_host_work, verdict), 'passed', passed, 'failed', failed - host_work,
        'total', total - host_work, 'unknown', 0),
    'independent', jsonb_build_object(
        'verdict', coalesce(verdict_independent, 'unknown'), 'passed', passed_independent,
        'failed', total_independent - passed_independent, 'total', total_independent, 'unknown', 0,
        'cause', cause_independent)))
"""
RESTORE = """
UPDATE matrix_cells SET
    verdict = counts #>> '{anywhere,verdict}',
    passed = (counts #>> '{anywhere,passed}')::int,
    failed = (counts #>> '{anywhere,failed}')::int,
    total = (counts #>> '{anywhere,total}')::int,
    cause = counts #>> '{anywhere,cause}',
    verdict_on_device = counts #>> '{on_device,verdict}',
    passed_on_device = (counts #>> '{on_device,passed}')::int,
    total_on_device = (counts #>> '{on_device,total}')::int,
    unknown_placement = (counts #>> '{on_device,unknown}')::int,
    cause_on_device = counts #>> '{on_device,cause}',
    verdict_without_host_work = counts #>> '{without_host_work,verdict}',
    verdict_independent = counts #>> '{independent,verdict}',
    passed_independent = (counts #>> '{independent,passed}')::int,
    total_independent = (counts #>> '{independent,total}')::int,
    cause_independent = counts #>> '{independent,cause}'
"""
TEXTS = ("verdict", "cause", "verdict_on_device", "cause_on_device", "verdict_independent", "cause_independent",
         "verdict_without_host_work")  # fmt: skip
INTEGERS = ("passed", "failed", "total", "passed_on_device", "total_on_device", "unknown_placement",
            "passed_independent", "total_independent")  # fmt: skip
REQUIRED = ("verdict", "passed", "failed", "total", "passed_independent", "total_independent")


def upgrade() -> None:
    op.add_column("matrix_cells", sa.Column("counts", postgresql.JSONB(), nullable=True))
    op.execute(KEEP)
    op.alter_column("matrix_cells", "counts", nullable=False)
    # One statement, and so one time that the table is written anew.
    changes = [
        *(f"DROP COLUMN {name}" for name in (*TEXTS, *INTEGERS)),
        *(f"ALTER COLUMN {name} DROP DEFAULT" for name in WITH_DEFAULT),
        *(f"ALTER COLUMN {name} TYPE bigint" for name in COUNTS),
    ]
    op.execute(f"ALTER TABLE matrix_cells {', '.join(changes)}")
    for name, comment in COMMENTS.items():
        op.alter_column("matrix_cells", name, comment=None, existing_comment=comment)
    op.create_table_comment("matrix_cells", TABLE[1], existing_comment=TABLE[0])


def downgrade() -> None:
    op.create_table_comment("matrix_cells", TABLE[0], existing_comment=TABLE[1])
    for name, comment in COMMENTS.items():
        op.alter_column("matrix_cells", name, comment=comment)
    changes = [
        *(f"ALTER COLUMN {name} TYPE integer" for name in COUNTS),
        *(f"ALTER COLUMN {name} SET DEFAULT 0" for name in WITH_DEFAULT),
    ]
    op.execute(f"ALTER TABLE matrix_cells {', '.join(changes)}")
    for name in TEXTS:
        op.add_column("matrix_cells", sa.Column(name, sa.Text(), nullable=True))
    for name in INTEGERS:
        op.add_column("matrix_cells", sa.Column(name, sa.Integer(), nullable=True))
    op.execute(RESTORE)
    for name in REQUIRED:
        op.alter_column("matrix_cells", name, nullable=False)
    for name in ("passed_independent", "total_independent"):
        op.alter_column("matrix_cells", name, server_default=sa.text("0"))
    op.drop_column("matrix_cells", "counts")
    # Kept by the definition of the later version: to be made anew by the earlier one.
    op.execute("UPDATE matrices SET definition = ''")
