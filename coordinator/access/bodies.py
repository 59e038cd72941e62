"""Limits on request bodies: bytes, seconds, nesting and number of values.

The middleware reads a body completely, and then passes it on in one piece. Only the body of a bundle upload is
streamed, with its own byte limit.
"""

from __future__ import annotations

import asyncio

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from coordinator.access.caller import Caller
from coordinator.access.json_scan import require_few_fields, require_modest_json
from coordinator.access.requests import BUNDLES, RECORDINGS
from coordinator.configuration.bounds import Bounds
from coordinator.errors import BodyTimeoutError, PortolanError, TooLargeError
from coordinator.http.problems import problem
from coordinator.http.routers import API


class BodyBounds:
    """ASGI middleware that enforces the limits. For a request without a body, it reads only the headers."""

    def __init__(self, app: ASGIApp, bounds: Bounds) -> None:
        self._app = app
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (length := _declared_length(scope)) == 0:
            await self._app(scope, receive, send)
            return
        try:
            if scope["path"] == BUNDLES:
                receive = _Timed(receive, self._bounds.bundle_seconds)
            else:
                receive = await self._whole(scope, receive, length)
        except PortolanError as error:
            # The server discards the rest of the body, so the client can read this response.
            await problem(Request(scope), error.status, error.title, str(error))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _whole(self, scope: Scope, receive: Receive, length: int | None) -> Receive:
        """Read the whole body, and return a ``receive`` that replays it."""
        bounds = self._bounds
        caller: Caller = scope["state"]["caller"]
        most, seconds, members = bounds.body_bytes, bounds.body_seconds, bounds.json_members
        if not caller.may_change:
            most, seconds = bounds.stranger_body_bytes, bounds.stranger_body_seconds
        elif RECORDINGS.fullmatch(scope["path"]):
            most, members = bounds.recording_bytes, bounds.recording_members
        _require_size(length or 0, most)
        pieces, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return _Replayed(message, receive)
                    piece = message.get("body", b"")
                    size += len(piece)
                    _require_size(size, most)
                    pieces.append(piece)
                    if not message.get("more_body", False):
                        break
        except TimeoutError as error:
            raise BodyTimeoutError(_too_slow(seconds)) from error
        body = b"".join(pieces)
        # The path decides, as in the guard, because a content type can be written in several ways.
        if scope["path"].startswith(API):
            require_modest_json(body, members, bounds.json_depth)
        else:
            require_few_fields(body, members)
        return _Replayed({"type": "http.request", "body": body, "more_body": False}, receive)


class _Replayed:
    """Replays the message that was read, then passes on the messages that follow."""

    def __init__(self, message: Message, receive: Receive) -> None:
        self._message: Message | None = message
        self._receive = receive

    async def __call__(self) -> Message:
        message, self._message = self._message, None
        return message or await self._receive()


class _Timed:
    """A streamed body, which must arrive within a total time."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._until = asyncio.get_running_loop().time() + seconds
        self._whole = False

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError as error:
            raise BodyTimeoutError(_too_slow(self._seconds)) from error
        self._whole = not message.get("more_body", False)
        return message


def _declared_length(scope: Scope) -> int | None:
    """The length of the body according to the headers; None if the body is chunked, 0 if there is none."""
    length = 0
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            length = int(value[:20])
        elif name == b"transfer-encoding":
            return None
    return length


def _require_size(size: int, most: int) -> None:
    if size > most:
        raise TooLargeError(f"the body is larger than {most:,} bytes: send less at a time")


def _too_slow(seconds: float) -> str:
    return f"the body did not arrive within {seconds:g} s: send it again over a faster connection"
