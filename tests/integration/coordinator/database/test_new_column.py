"""A new column of an outcome, as CONTRIBUTING.md describes it, in a copy: it works, and changes no more files."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tests.checkout import copy_project, files_of

MIGRATION = '''\
"""How the device felt."""

import sqlalchemy as sa
from alembic import op

revision = "later"
down_revision = "LATEST"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("outcomes", sa.Column("mood", sa.Integer(), comment="how the device felt"))


def downgrade() -> None:
    raise NotImplementedError
'''
UPGRADE = "import asyncio, sys; from coordinator.migration import upgrade; asyncio.run(upgrade(sys.argv[1]))"
TYPE = "from coordinator.results.outcomes.parquet import _TYPES; print(_TYPES['mood'])"
HEAD = "from coordinator.migration import head; print(head())"


async def test_it_is_in_the_view_the_files_and_on_the_page(database: str, tmp_path: Path) -> None:
    with copy_project(tmp_path) as checkout:
        share = '    Column("contended_share", Double, comment="share of all samples taken in which they waited"),\n'
        checkout.replace(
            "coordinator/database/tables.py",
            share,
            f'{share}    Column("mood", Integer, comment="how the device felt"),\n',
        )
        latest = checkout.run("-c", HEAD).strip()
        (checkout.root / "migrations/versions/later_mood.py").write_text(MIGRATION.replace("LATEST", latest))
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
        assert len(checkout.changes()) == files_of("A column, from the database to the page")
