"""Every lease has a token, which makes ids unique beyond a database; refusals are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("jobs", sa.Column("token", sa.Text(), comment="of the present lease, and part of its id on the wire"))
    op.add_column(
        "jobs",
        sa.Column(
            "refused",
            sa.SmallInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="times that a runner would not take it, or never began it",
        ),
    )
    op.alter_column(
        "attempts",
        "late_outcome",
        comment="what arrived after the job had gone on without it, or a second time",
        existing_comment="what arrived after the job had gone on without it",
    )
    op.add_column("attempts", sa.Column("token", sa.Text(), comment="of its lease"))
    op.create_index(
        "ix_attempts_silent",
        "attempts",
        ["runner_id", "boot_id"],
        postgresql_where=sa.text("\"end\" = 'lost' AND reason IN ('silent', 'the runner fell silent')"),
    )
    # What runners hold was given to them under ids that mean nothing any more: they are told to stop it.
    op.execute("""
        WITH back AS (
            UPDATE jobs SET state = 'queued', runner_id = NULL, lease_until = NULL
             WHERE lease_until IS NOT NULL RETURNING id, attempt
        )
        UPDATE attempts a SET "end" = 'lost', ended_at = now(), reason = 'Portolan was upgraded'
          FROM back WHERE a.job_id = back.id AND a.attempt = back.attempt
    """)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
