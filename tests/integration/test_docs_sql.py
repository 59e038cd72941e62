"""The SQL of the documentation runs as it stands, and the views have the columns that it lists."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from coordinator.database.views import VIEWS, View

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```sql" in page.read_text())


def queries(page: Path) -> list[str]:
    return re.findall(r"^```sql\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_every_query_runs_as_it_stands(page: Path, database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        for query in queries(page):
            assert await connection.fetch(query) == []
    finally:
        await connection.close()


def test_the_page_about_reading_has_queries() -> None:
    assert len(queries(DOCS / "how-to" / "read-the-database.md")) >= 8


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
async def test_the_reference_lists_the_columns_of_each_view_in_their_order(view: View, database: str) -> None:
    name = view.name
    section = (DOCS / "reference" / "database.md").read_text().split(f"## {name}\n")[1].split("\n## ")[0]
    connection = await asyncpg.connect(database)
    try:
        rows = await connection.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position", name
        )
    finally:
        await connection.close()
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [row["column_name"] for row in rows]
