"""The matrix, kept ready for pages."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaign_targets",
        sa.Column(
            "renamed",
            sa.Integer(),
            server_default=sa.text("0"),
            nullable=False,
            comment="times that causes were named anew",
        ),
    )
    op.create_index("ix_cases_suite_id_function", "cases", ["suite_id", "function"])
    op.create_table(
        "matrices",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("done", sa.Integer(), nullable=False, comment="outcomes that it was added up from"),
        sa.Column("renamed", sa.Integer(), nullable=False, comment="times that causes had been named anew by then"),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("took_s", sa.Double(), nullable=False, comment="to add it up"),
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
        sa.Column("host_only", sa.Boolean(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("verdict_on_device", sa.Text()),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("passed", "failed", "total", "skipped", "incomplete", "flaky", "fell_back")
        ),
        sa.Column("passed_on_device", sa.Integer()),
        sa.Column("cause", sa.Text()),
        sa.Column("cause_on_device", sa.Text()),
        sa.Column("not_counted_cause", sa.Text()),
        sa.Column("cold_ms", sa.Double()),
        sa.Column("steady_ms", sa.Double()),
        sa.Column("iqr_ms", sa.Double()),
        sa.Column("ratio_to_cpu", sa.Double()),
        sa.Column("ratio_cases", sa.Integer()),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_cells_campaign_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["target_id"], ["targets.id"], name=op.f("fk_matrix_cells_target_id")),
        sa.PrimaryKeyConstraint("campaign_id", "framework", "function", "target_id", name=op.f("pk_matrix_cells")),
        comment="function_verdicts and function_latencies of the campaigns, kept for pages that cannot wait for them",
    )
    op.create_index("ix_matrix_cells_framework_function", "matrix_cells", ["framework", "function"])


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
