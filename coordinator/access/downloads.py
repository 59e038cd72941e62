"""Holds a download slot while a large file is sent. The slot is released when the response has been sent."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import Depends

from coordinator.access.caller import CurrentCaller
from coordinator.http.context import Context


async def _room(context: Context, caller: CurrentCaller) -> AsyncIterator[None]:
    async with context.downloads.hold(caller.name):
        yield


ROOM_FOR_DOWNLOAD = Depends(_room)
"""A dependency for routes that respond with a large file."""
