"""Campaigns that came in a bundle."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "campaigns",
        sa.Column(
            "imported_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="when it came in a bundle; null if it was dispatched",
        ),
    )
    op.add_column(
        "campaigns",
        sa.Column(
            "bundle_sha256",
            sa.Text(),
            nullable=True,
            comment="of the bundle that it came in: each is stored once",
        ),
    )
    op.create_unique_constraint("uq_campaigns_bundle_sha256", "campaigns", ["bundle_sha256"])


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
