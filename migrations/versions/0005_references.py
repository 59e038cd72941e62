"""Published figures to set campaigns beside."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reference_sources",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("citation", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False, comment="of the data files that it was loaded from"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_reference_sources")),
        comment="published figures to set campaigns beside; loaded when the schema is brought up to date",
    )
    published(
        "reference_targets",
        text("framework"),
        text("version"),
        text("device", "the study's word: gpu-t4"),
        text("device_class"),
        text("hardware"),
        comment="where published figures come from",
    )
    published(
        "reference_functions",
        text("framework"),
        text("function", "as printed"),
        sa.Column("strata", sa.ARRAY(sa.Text()), nullable=False, comment="top20; decile10 (rarest) to decile100"),
        whole("subtests"),
        comment="functions that were tested",
    )
    published(
        "reference_latencies",
        text("framework"),
        text("function", "as printed"),
        text("device"),
        sa.Column("milliseconds", sa.Double(), nullable=True, comment="mean; null: not published"),
        comment="latency of each tested function on each device",
    )
    published(
        "reference_counts",
        text("framework"),
        text("device"),
        whole("partial"),
        whole("complete"),
        whole("success"),
        whole("total", "as printed; the others need not add up to it"),
        comment="functions by verdict",
    )
    published(
        "reference_rates",
        text("figure", "table-1, table-3"),
        text("framework"),
        text("device"),
        real("pass_pct"),
        real("partial_pct"),
        real("complete_pct"),
        comment="functions by verdict, in percent as printed",
    )
    published(
        "reference_failures",
        text("framework"),
        text("device"),
        text("stratum", "top20 or all"),
        real("failed_pct"),
        comment="functions that failed in part or completely, in percent as printed",
    )
    published(
        "reference_speedups",
        text("framework"),
        text("older"),
        text("newer"),
        real("factor"),
        real("functions_pct", "at least factor times faster on the newer device"),
        comment="functions that newer hardware made faster, in percent as printed",
    )
    published(
        "reference_caveats",
        sa.Column("figures", sa.ARRAY(sa.Text()), nullable=False, comment="that it touches: table-8, figure-7, names"),
        sa.Column("framework", sa.Text(), nullable=True, comment="null: all"),
        sa.Column("device", sa.Text(), nullable=True, comment="null: all"),
        text("sentence"),
        comment="what is wrong in the figures, to be said beside them",
    )


def published(name: str, *columns: sa.Column, comment: str) -> None:
    op.create_table(
        name,
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        *columns,
        sa.ForeignKeyConstraint(
            ["reference"], ["reference_sources.name"], name=op.f(f"fk_{name}_reference"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("reference", "number", name=op.f(f"pk_{name}")),
        comment=comment,
    )


def text(name: str, comment: str | None = None) -> sa.Column:
    return sa.Column(name, sa.Text(), nullable=False, comment=comment)


def whole(name: str, comment: str | None = None) -> sa.Column:
    return sa.Column(name, sa.Integer(), nullable=False, comment=comment)


def real(name: str, comment: str | None = None) -> sa.Column:
    return sa.Column(name, sa.Double(), nullable=False, comment=comment)


def downgrade() -> None:
    raise NotImplementedError("take a backup before an upgrade; there is no way back down")
