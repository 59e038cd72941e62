"""The channel between supervisor, zygote and child: JSON messages over a socket, one message per line.

This module defines the form of messages and the blocking end of the channel, for zygote and child. The supervisor's end
is in ``loop_channel.py``. The message that requests a fork carries file descriptors (``SCM_RIGHTS``).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any, NoReturn

from protocol.lines import EndlessLineError, LineReader
from runners.errors import ChannelLostError

MAX_LINE = 8 << 20
"""The maximum length of a message in bytes. If one end sends a longer message, the other closes the channel."""
CHANNEL_LOST = 74
"""Exit code of a child that can no longer report (EX_IOERR)."""
ENDLESS, NOT_JSON, NO_OBJECT = UNREADABLE = (
    "a message has no end",
    "a message is not JSON",
    "a message is not an object",
)
"""The reasons why this end closes a channel that the other end has left open."""
READ = 1 << 16

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """Encode a message as one line. Raises ``ValueError`` for NaN and infinity, which JSON does not have."""
    return _ENCODER.encode(message).encode() + b"\n"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


# Made once, because ``json.dumps`` and ``json.loads`` with options make an encoder or decoder for each message.
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)


class MessageReader:
    """Makes complete messages from the bytes that arrive."""

    def __init__(self, longest: int = MAX_LINE) -> None:
        self._lines = LineReader(longest)

    def feed(self, data: bytes) -> Iterator[Message]:
        try:
            lines = self._lines.feed(data)
        except EndlessLineError as error:
            raise ChannelLostError(ENDLESS) from error
        for line in lines:
            try:
                message = _DECODER.decode(line.decode())
            except ValueError as error:
                raise ChannelLostError(NOT_JSON) from error
            if not isinstance(message, dict):
                raise ChannelLostError(NO_OBJECT)
            yield message


class Channel:
    """The blocking end of a channel, for zygote and child."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._socket = connection
        self._reader = MessageReader()
        self._ready: list[Message] = []
        self._descriptors: list[int] = []
        self._held = b""
        self._identity = self._look()

    def send(self, message: Message) -> None:
        # A case may have closed this descriptor and opened a file that got the same number.
        if self._look() != self._identity:
            raise ChannelLostError("the channel's file descriptor was closed")
        lines, self._held = self._held + encode(message), b""
        try:
            self._socket.sendall(lines)
        except OSError as error:
            raise ChannelLostError(str(error)) from error

    def hold(self, message: Message) -> None:
        """Hold a message until the next one is sent, because each message that arrives alone wakes the other end."""
        self._held += encode(message)

    def receive(self) -> Message | None:
        """Wait for the next message and return it, or None if the other end is gone."""
        while not self._ready:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, READ, 16)
            except OSError:
                return None
            self._descriptors.extend(descriptors)
            if not data:
                return None
            self._ready.extend(self._reader.feed(data))
        return self._ready.pop(0)

    @property
    def has_message(self) -> bool:
        """Whether ``receive`` would return a message without reading the socket."""
        return bool(self._ready)

    @property
    def has_arrived(self) -> bool:
        """Whether a message has begun to arrive, so that ``receive`` need not wait for the other end."""
        if self._ready:
            return True
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    def take_descriptors(self, count: int) -> list[int]:
        descriptors, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return descriptors

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _look(self) -> tuple[int, int] | None:
        try:
            status = os.fstat(self._socket.fileno())
        except OSError:
            return None
        return status.st_dev, status.st_ino
