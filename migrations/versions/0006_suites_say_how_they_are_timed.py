"""How the cases of a suite are timed where a campaign does not ask for anything, as its runners say."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_COLUMNS = {
    "timing": (
        ("off", "quick", "steady", "paper"),
        "the policy of a campaign that asks for none, as its runners said last; null if they do not say",
    ),
    "timed_cases": (
        ("all", "representative"),
        "the timed cases of a campaign that does not choose them, likewise",
    ),
}


def upgrade() -> None:
    for name, (words, comment) in _COLUMNS.items():
        op.add_column("suites", sa.Column(name, sa.String(24), comment=comment))
        op.create_check_constraint(op.f(f"ck_suites_{name}"), "suites", sa.column(name).in_(words))
    # Until now a campaign chose by the suite's name. A runner that is older than this says nothing of its own.
    op.execute(
        """
        UPDATE suites SET timing = 'off', timed_cases = 'representative'
         WHERE name IN ('docs', 'library', 'library_quick', 'pairs')
        """
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
