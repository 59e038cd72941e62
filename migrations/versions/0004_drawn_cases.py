"""How many cases of a suite were drawn from what the host computes: counted once, as a suite never changes."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_COLUMNS = {
    "drawn_cases": "its cases that were drawn from what the host computes",
    "wrong_on_host": "of these: the cases that the host was wrong in when they were drawn",
}


def upgrade() -> None:
    for name, comment in _COLUMNS.items():
        column = sa.Column(name, sa.Integer(), server_default=sa.text("0"), nullable=False, comment=comment)
        op.add_column("suites", column)
    op.execute(
        """
        UPDATE suites SET drawn_cases = n.drawn_cases, wrong_on_host = n.wrong_on_host
          FROM (SELECT suite_id,
                       count(*) FILTER (WHERE judged_by IS NOT NULL) AS drawn_cases,
                       count(*) FILTER (WHERE tags @> '["wrong-on-the-host"]') AS wrong_on_host
                  FROM cases GROUP BY suite_id) n
         WHERE n.suite_id = suites.id
        """
    )


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
