"""A new column of an outcome or a cell, added in a copy as CONTRIBUTING.md describes, works and changes only the listed
files."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tests.checkout import Checkout, copy_project, files_of

MIGRATION = '''\
"""A new column."""

import sqlalchemy as sa
from alembic import op

revision = "later"
down_revision = "LATEST"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(NEW_COLUMN)


def downgrade() -> None:
    raise NotImplementedError
'''
OUTCOME_COLUMN = '"outcomes", sa.Column("mood", sa.Integer(), comment="how the device felt")'
CELL_COLUMN = '"matrix_cells", sa.Column("failed_twice", sa.BigInteger(), nullable=False)'
CHANGE = "A column, from the database to the page"
UPGRADE = "import asyncio, sys; from coordinator.migration import upgrade; asyncio.run(upgrade(sys.argv[1]))"
TYPE = "from coordinator.results.outcomes.parquet import _TYPES; print(_TYPES['mood'])"
HEAD = "from coordinator.migration import head; print(head())"


FIGURES = (
    "from coordinator.results.models import Cell; from coordinator.results.refresh_store import _VALUES; "
    "print('failed_twice' in Cell.model_fields, 'failed_twice' in _VALUES)"
)


def add_migration(checkout: Checkout, column: str) -> None:
    latest = checkout.run("-c", HEAD).strip()
    migration = MIGRATION.replace("LATEST", latest).replace("NEW_COLUMN", column)
    (checkout.root / "migrations/versions/later_column.py").write_text(migration)


async def test_it_is_in_the_view_the_files_and_on_the_page(database: str, tmp_path: Path) -> None:
    with copy_project(tmp_path) as checkout:
        share = '    Column("contended_share", Double, comment="share of all samples taken in which they waited"),\n'
        checkout.replace(
            "coordinator/database/tables.py",
            share,
            f'{share}    Column("mood", Integer, comment="how the device felt"),\n',
        )
        add_migration(checkout, OUTCOME_COLUMN)
        views = "coordinator/database/views.py"
        checkout.replace(
            views, " AS case_class\n  FROM outcomes o", " AS case_class,\n       o.mood\n  FROM outcomes o"
        )
        comment = '        "contended_share": "share of all samples, '
        checkout.replace(views, comment, f'        "mood": "how the device felt",\n{comment}')
        checkout.replace(
            "coordinator/results/outcomes/parquet.py", '        "executed",\n', '        "executed",\n        "mood",\n'
        )
        page = checkout.root / "coordinator/web/templates/outcome.html"
        level = "<dt>Level</dt>"
        page.write_text(page.read_text().replace(level, f"<dt>Mood</dt><dd>{{{{ row.mood }}}}</dd>\n{level}", 1))

        checkout.run("-c", UPGRADE, database)
        connection = await asyncpg.connect(database)
        assert await connection.fetch("select mood from outcome_rows") == []
        await connection.close()
        assert checkout.run("-c", TYPE) == "int64\n"
        checkout.run("-m", "alembic", "check", PORTOLAN_DATABASE_URL=database)
        assert len(checkout.changes()) == files_of(CHANGE)


async def test_a_column_of_a_cell_is_in_the_view_and_the_matrix(database: str, tmp_path: Path) -> None:
    with copy_project(tmp_path) as checkout:
        figure = "    flaky: int\n"
        checkout.replace(
            "coordinator/figures/cell.py",
            figure,
            f'{figure}    failed_twice: int\n    """Cases that failed twice."""\n',
        )
        add_migration(checkout, CELL_COLUMN)
        views = "coordinator/database/views.py"
        flaky = "       count(*) FILTER (WHERE failed > 0 AND passed > 0) AS flaky,\n"
        checkout.replace(views, flaky, f"{flaky}       count(*) FILTER (WHERE failed > 1) AS failed_twice,\n")
        last = "       n.accepted\n  FROM ("
        checkout.replace(views, last, last.replace("\n", ",\n       n.failed_twice\n", 1))
        comment = '        "flaky": "cases with counted runs that passed '
        checkout.replace(views, comment, f'        "failed_twice": "cases with two failed runs",\n{comment}')
        page = checkout.root / "coordinator/web/templates/function.html"
        label, cell = ', main_cause="Main cause")', "{{ latency_cells(columns, cell) }}"
        text = page.read_text()
        assert label in text
        assert cell in text
        text = text.replace(label, ', main_cause="Main cause", failed_twice=("Failed twice", "n"))', 1)
        page.write_text(
            text.replace(cell, f"<td{{{{ columns.failed_twice }}}}>{{{{ cell.failed_twice }}}}</td>{cell}", 1)
        )

        checkout.run("-c", UPGRADE, database)
        connection = await asyncpg.connect(database)
        assert (
            await connection.fetch("select v.failed_twice, m.failed_twice from function_verdicts v, matrix_cells m")
            == []
        )
        await connection.close()
        assert checkout.run("-c", FIGURES) == "True True\n"
        checkout.run("-m", "alembic", "check", PORTOLAN_DATABASE_URL=database)
        assert len(checkout.changes()) == files_of(CHANGE, " for a cell")
