"""Loads the reference that ships with Portolan."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.errors import UnknownNameError
from coordinator.reference import reader, store
from coordinator.reference.models import PAPER, Reference


def load(connection: Connection) -> None:
    """Load the reference's data files into the database, unless it has the same data."""
    sha256 = reader.digest()
    if store.digest(connection, PAPER) != sha256:
        store.replace(connection, reader.read(), sha256)


async def find(connection: AsyncConnection, name: str) -> Reference:
    reference = await store.read(connection, name)
    if reference is None:
        names = ", ".join(await store.names(connection)) or "none (`portolan db upgrade` loads them)"
        raise UnknownNameError(f"there is no reference {name!r}; choose one of: {names}")
    return reference
