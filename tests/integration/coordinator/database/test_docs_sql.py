"""The SQL of the documentation runs unchanged in a reader's role, also in a database without a campaign."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from coordinator.database.grants import READING
from tests.database_roles import as_role

DOCS = Path(__file__).resolve().parents[4] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```sql" in page.read_text())


def queries(page: Path) -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_every_query_runs_as_it_stands(page: Path, database: str) -> None:
    connection = await asyncpg.connect(as_role(database, READING))
    try:
        for query in queries(page):
            assert await connection.fetch(query) == []
    finally:
        await connection.close()


def test_the_page_about_reading_has_queries() -> None:
    assert len(queries(DOCS / "how-to" / "read-the-database.md")) >= 8
