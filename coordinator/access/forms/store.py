"""The key of form tokens. It is in the database, so that coordinators that share it accept each other's pages."""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

PURPOSE = "forms"


async def kept_key(connection: AsyncConnection, fresh: bytes) -> bytes:
    """Return the stored key. If there is none, store ``fresh`` and return it."""
    await connection.execute(
        text("INSERT INTO signing_keys (purpose, key) VALUES (:purpose, :key) ON CONFLICT DO NOTHING"),
        {"purpose": PURPOSE, "key": fresh},
    )
    result = await connection.execute(
        text("SELECT key FROM signing_keys WHERE purpose = :purpose"), {"purpose": PURPOSE}
    )
    return bytes(result.scalar_one())
