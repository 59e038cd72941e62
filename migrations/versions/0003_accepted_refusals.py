"""The ending and the cause of a call that a device accepts and the host refuses, and its column in the matrix."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_ENDINGS = (
    "returned",
    "raised",
    "mismatched",
    "accepted",
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
)
_CAUSES = (
    "type",
    "not_implemented",
    "timeout",
    "memory",
    "precision",
    "assertion",
    "silently_accepted",
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
)


def upgrade() -> None:
    for table, column, words in (
        ("outcomes", "ending", _ENDINGS),
        ("outcomes", "cause", _CAUSES),
        ("overrides", "cause", _CAUSES),
        ("overrides", "was_cause", _CAUSES),
    ):
        op.drop_constraint(op.f(f"ck_{table}_{column}"), table, type_="check")
        op.create_check_constraint(op.f(f"ck_{table}_{column}"), table, sa.column(column).in_(words))
    # The kept matrix is made anew, because the definition of its figures is another.
    op.add_column("matrix_cells", sa.Column("accepted", sa.BigInteger(), server_default="0", nullable=False))
    op.alter_column("matrix_cells", "accepted", server_default=None)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
