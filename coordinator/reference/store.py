"""The references in the database. This module contains all of their SQL.

References have their own tables (``reference_counts``, …), separate from the tables of campaigns, because no runner
produced their results.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database import tables
from coordinator.reference.models import Reference

TABLES = {
    "targets": tables.reference_targets,
    "functions": tables.reference_functions,
    "latencies": tables.reference_latencies,
    "counts": tables.reference_counts,
    "rates": tables.reference_rates,
    "failures": tables.reference_failures,
    "speedups": tables.reference_speedups,
    "caveats": tables.reference_caveats,
}
"""The table for each field of a reference. The columns have the names of the fields of its items."""


def digest(connection: Connection, name: str) -> str | None:
    """The digest of the data from which this reference was loaded; None if the reference is not loaded."""
    source = tables.reference_sources
    stored_digest: str | None = connection.scalar(select(source.c.sha256).where(source.c.name == name))
    return stored_digest


def replace(connection: Connection, reference: Reference, sha256: str) -> None:
    """Replace the loaded reference, with one statement per table, in the caller's transaction."""
    source = tables.reference_sources
    connection.execute(delete(source).where(source.c.name == reference.name))
    connection.execute(insert(source).values(name=reference.name, citation=reference.citation, sha256=sha256))
    for field, table in TABLES.items():
        rows = [
            {"reference": reference.name, "number": number, **asdict(row)}
            for number, row in enumerate(getattr(reference, field), 1)
        ]
        connection.execute(insert(table), rows)


async def names(connection: AsyncConnection) -> list[str]:
    rows = await connection.scalars(select(tables.reference_sources.c.name).order_by(tables.reference_sources.c.name))
    return list(rows)


async def read(connection: AsyncConnection, name: str) -> Reference | None:
    source = tables.reference_sources
    citation = await connection.scalar(select(source.c.citation).where(source.c.name == name))
    if citation is None:
        return None
    fields: dict[str, Any] = {"name": name, "citation": citation}
    for field, table in TABLES.items():
        rows = await connection.execute(select(table).where(table.c.reference == name).order_by(table.c.number))
        fields[field] = [dict(row) for row in rows.mappings()]
    return Reference(**fields)
