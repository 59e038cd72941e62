"""Keys whose signatures of bundles are trusted, and the signer of an imported campaign."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "signers",
        sa.Column("id", sa.Integer(), sa.Identity(always=False), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="of the laboratory or person whose key it is"),
        sa.Column("key", sa.Text(), nullable=False, comment="public, as OpenSSH writes it, without a comment"),
        sa.Column("added_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_signers")),
        sa.UniqueConstraint("key", name=op.f("uq_signers_key")),
        comment="keys that sign bundles; a revoked one stays, so that it is not trusted again",
    )
    op.add_column(
        "campaigns",
        sa.Column("signer_id", sa.Integer(), nullable=True, comment="of its bundle; null if that was not signed"),
    )
    op.create_foreign_key(op.f("fk_campaigns_signer_id"), "campaigns", "signers", ["signer_id"], ["id"])


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
