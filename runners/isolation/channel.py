"""The channel between supervisor, zygote and child: JSON messages, one a line, over a socket.

The form of a message is here, and the blocking end that zygote and child have; the supervisor's is in
``loop_channel.py``. File descriptors travel beside a message (``SCM_RIGHTS``) when a child is forked.
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
"""Maximum length of a message. A sender of a longer one loses its channel."""
CHANNEL_LOST = 74
"""Exit code of a child that can no longer report (EX_IOERR)."""
ENDLESS, NOT_JSON, NO_OBJECT = UNREADABLE = (
    "a message has no end",
    "a message is not JSON",
    "a message is not an object",
)
"""Why this side closes a channel that the other end has not closed."""
READ = 1 << 16

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """Encode a message as one line. Raises ``ValueError`` for NaN and infinity, which JSON does not have."""
    return _ENCODER.encode(message).encode() + b"\n"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


# Made once: ``json.dumps`` and ``json.loads`` make one for each message whenever an option is given.
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse)


class MessageReader:
    """Bytes in, complete messages out."""

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
    """The blocking end, in zygote and child."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        self._socket = connection
        self._reader = MessageReader()
        self._ready: list[Message] = []
        self._descriptors: list[int] = []
        self._held = b""
        self._identity = self._look()

    def send(self, message: Message) -> None:
        # A case may have closed every descriptor, and opened files of its own in their place.
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
        """The next message, or None if the other end is gone."""
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
        """Whether ``receive`` would answer without reading."""
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
