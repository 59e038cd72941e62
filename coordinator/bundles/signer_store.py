"""The keys that sign bundles, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from coordinator.database.tables import campaigns, signers


async def list_signers(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """All keys, including revoked ones, newest first."""
    return (await connection.execute(select(signers).order_by(signers.c.id.desc()))).all()


async def signer_of_key(connection: AsyncConnection, key: str) -> Row[Any] | None:
    return (await connection.execute(select(signers).where(signers.c.key == key))).one_or_none()


async def add_signer(connection: AsyncConnection, name: str, key: str, by: str) -> Row[Any]:
    row: Row[Any] = (
        await connection.execute(insert(signers).values(name=name, key=key, added_by=by).returning(signers))
    ).one()
    return row


async def revoke_signer(connection: AsyncConnection, signer_id: int, by: str) -> Row[Any] | None:
    """Revoke the key and return it, even if it was already revoked; None if there is no such key."""
    await connection.execute(
        update(signers)
        .where(signers.c.id == signer_id, signers.c.revoked_at.is_(None))
        .values(revoked_at=func.now(), revoked_by=by)
    )
    return (await connection.execute(select(signers).where(signers.c.id == signer_id))).one_or_none()


async def name_signer(connection: AsyncConnection, campaign_id: int, signer_id: int) -> None:
    """Store which key signed a campaign's bundle, unless this is already stored."""
    await connection.execute(
        update(campaigns)
        .where(campaigns.c.id == campaign_id, campaigns.c.signer_id.is_(None))
        .values(signer_id=signer_id)
    )
