"""Rows of the matrix, versions in their order, failures in theirs."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "targets",
        sa.Column(
            "version_numbers",
            sa.ARRAY(sa.Numeric()),
            sa.Computed(
                "string_to_array(btrim(regexp_replace(version, '[^0-9]+', '.', 'g'), '.'), '.')::numeric[]",
                persisted=True,
            ),
            comment="the numbers in the version, which order it: 2.9 before 2.10",
        ),
    )
    op.create_index(
        "ix_outcomes_failed",
        "outcomes",
        ["campaign_id", "finished_at", "job_id"],
        postgresql_where=sa.text("verdict = 'failed'"),
    )
    op.create_table(
        "matrix_rows",
        sa.Column("campaign_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("framework", sa.Text(), nullable=False),
        sa.Column("function", sa.Text(), nullable=False),
        sa.Column("module", sa.Text(), nullable=False, comment="the function's name without its last part"),
        sa.ForeignKeyConstraint(
            ["campaign_id"], ["campaigns.id"], name=op.f("fk_matrix_rows_campaign_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("campaign_id", "framework", "function", name=op.f("pk_matrix_rows")),
        comment="the functions that each campaign's rows of matrix_cells are of",
    )
    op.execute("""
        INSERT INTO matrix_rows (campaign_id, framework, function, module)
        SELECT DISTINCT campaign_id, framework, function, module FROM matrix_cells
    """)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
