"""The options of cases: how each calls its function."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002_case_options"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "cases",
        sa.Column(
            "options",
            postgresql.JSONB(astext_type=sa.Text()),
            nullable=True,
            comment="how it calls its function: dtypes, arguments, keywords; null if its runner has none",
        ),
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
