"""The reference in the database. All SQL of references.

Each reference has rows in tables of its own kind (``reference_counts``, …), never in those of
campaigns: nothing here was run by a runner.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database import tables
from coordinator.reference.models import (
    Caveat,
    PublishedCount,
    PublishedFailures,
    PublishedFunction,
    PublishedLatency,
    PublishedRate,
    PublishedSpeedup,
    PublishedTarget,
    Reference,
)

KINDS: dict[str, tuple[Table, type[Any]]] = {
    "targets": (tables.reference_targets, PublishedTarget),
    "functions": (tables.reference_functions, PublishedFunction),
    "latencies": (tables.reference_latencies, PublishedLatency),
    "counts": (tables.reference_counts, PublishedCount),
    "rates": (tables.reference_rates, PublishedRate),
    "failures": (tables.reference_failures, PublishedFailures),
    "speedups": (tables.reference_speedups, PublishedSpeedup),
    "caveats": (tables.reference_caveats, Caveat),
}
"""By the field of a reference: its table, and what a row is. Columns and fields have the same names."""

T = TypeVar("T")


def digest(connection: Connection, name: str) -> str | None:
    """Of the data that this reference was loaded from; None if it is not there."""
    source = tables.reference_sources
    found: str | None = connection.scalar(select(source.c.sha256).where(source.c.name == name))
    return found


def replace(connection: Connection, reference: Reference, sha256: str) -> None:
    """Put the reference in place of what was loaded before: one statement a table, in the caller's transaction."""
    source = tables.reference_sources
    connection.execute(delete(source).where(source.c.name == reference.name))
    connection.execute(insert(source).values(name=reference.name, citation=reference.citation, sha256=sha256))
    for field, (table, _) in KINDS.items():
        rows = [
            {"reference": reference.name, "number": number, **asdict(each)}
            for number, each in enumerate(getattr(reference, field), 1)
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
    parts = {field: await _all(connection, table, kind, name) for field, (table, kind) in KINDS.items()}
    return Reference(name=name, citation=citation, **parts)


async def _all(connection: AsyncConnection, table: Table, kind: type[T], name: str) -> tuple[T, ...]:
    wanted = [table.c[each.name] for each in fields(kind)]  # type: ignore[arg-type]
    rows = await connection.execute(select(*wanted).where(table.c.reference == name).order_by(table.c.number))
    return tuple(kind(*(tuple(each) if isinstance(each, list) else each for each in row)) for row in rows)
