"""The share of samples in which threads waited for a core, and levels that no second run confirms."""

import sqlalchemy as sa
from alembic import op

revision = "0002_contended_share"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "outcomes",
        sa.Column(
            "contended_share", sa.Double(), nullable=True, comment="share of all samples taken in which they waited"
        ),
    )
    op.add_column(
        "matrix_cells",
        sa.Column("unconfirmed", sa.Boolean(), nullable=True, comment="whether no second run confirms low_ms"),
    )
    op.alter_column("outcomes", "contended", comment="threads waited in most samples for a core that others had")


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
