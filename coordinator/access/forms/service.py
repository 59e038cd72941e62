"""Reads the key of form tokens once per process, when the first page needs it."""

from __future__ import annotations

from secrets import token_bytes

from sqlalchemy.ext.asyncio import AsyncEngine

from coordinator.access.forms.store import kept_key

KEY_BYTES = 32


class FormKey:
    """Reads the key once: ``await form_key.get()``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._key: bytes | None = None

    async def get(self) -> bytes:
        if self._key is None:
            async with self._engine.begin() as connection:
                self._key = await kept_key(connection, token_bytes(KEY_BYTES))
        return self._key
