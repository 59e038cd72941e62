"""Names of enrolled runners."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "runners",
        sa.Column("name", sa.Text(), nullable=True, comment="under which it enrolled; null if a person registered it"),
    )
    op.create_index(
        "uq_runners_name_live", "runners", ["name"], unique=True, postgresql_where=sa.text("state <> 'removed'")
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
