"""Readers may rely on promised columns, so the columns equal those in a list that is changed only on purpose.

The list is ``promised_columns.txt``. ``docs/reference/database.md`` describes how it may be changed. ``test_views.py``
tests the meaning of the columns.
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import asyncpg
import pytest

from coordinator.database.views import VIEWS, View
from coordinator.reference.store import TABLES

PAGE = Path(__file__).resolve().parents[4] / "docs" / "reference" / "database.md"
PROMISED = [line.split() for line in (Path(__file__).parent / "promised_columns.txt").read_text().splitlines()]
NAMES = [name for name, _ in groupby(PROMISED, key=lambda each: each[0])]

SHORT = {"double precision": "double", "timestamp with time zone": "timestamptz"}
"""The types as the documentation writes them."""


async def columns(dsn: str, name: str) -> list[list[str]]:
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(
        "SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute"
        " WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        name,
    )
    await connection.close()
    return [[name, row["attname"], SHORT.get(row["type"], row["type"])] for row in rows]


def readable(rows: list[list[str]]) -> list[list[str]]:
    """The type as a reader sees it. Kinds of text are not distinguished."""
    return [[*names, "text" if type == "character varying" else type] for *names, type in rows]


# A view that is added far from here fails it.
@pytest.mark.every_change
def test_every_view_and_every_table_of_published_figures_is_promised() -> None:
    assert sorted(NAMES) == sorted([*(view.name for view in VIEWS), *(table.name for table in TABLES.values())])


@pytest.mark.parametrize("name", NAMES)
async def test_columns_and_their_types_are_as_promised(name: str, database: str) -> None:
    promise = [column for column in PROMISED if column[0] == name]
    actual = readable(await columns(database, name))
    assert actual[: len(promise)] == promise, f"{name} breaks a promise: make a view beside it, as in {PAGE.name}"
    assert actual == promise, f"{name} has new columns: list them in promised_columns.txt and {PAGE.name}"


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_the_reference_lists_the_columns_and_types_of_each_view_in_their_order(view: View) -> None:
    section = PAGE.read_text().split(f"## {view.name}\n")[1].split("\n## ")[0]
    documented_columns = re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.MULTILINE)
    assert [[view.name, *column] for column in documented_columns] == [
        column for column in PROMISED if column[0] == view.name
    ]
