"""The number of rows of a table that PostgreSQL reads for a statement, according to its plan."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine


async def rows_read(owner: AsyncEngine, statement: str, values: dict[str, Any], table: str) -> float:
    async with owner.connect() as connection:
        explained = await connection.execute(text(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"), values)
        plan = explained.scalar_one()[0]["Plan"]
    reads = [node for node in _nodes(plan) if node.get("Relation Name") == table]
    assert reads
    return sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in reads)


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(deeper for child in node.get("Plans", []) for deeper in _nodes(child))]
