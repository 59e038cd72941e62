"""The cost of a second shape as a column of the matrix."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The stored matrix is filled anew, because the definition of its figures is another.
    op.add_column("matrix_cells", sa.Column("second_shape_ms", sa.Double(), nullable=True))


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
