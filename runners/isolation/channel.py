"""The channel between supervisor, zygote and child: JSON messages, one a line, over a socket.

Both ends are here: blocking for zygote and child, driven by the event loop for the
supervisor. File descriptors travel beside a message (``SCM_RIGHTS``) when a child is forked.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from runners.errors import ChannelLostError

MAX_LINE = 8 << 20
"""No message is longer; whoever sends more has lost its mind and loses its channel."""
CHANNEL_LOST = 74
"""Exit code of a child that can no longer report (EX_IOERR)."""
ENDLESS, NOT_JSON, NO_OBJECT = UNREADABLE = (
    "a message has no end",
    "a message is not JSON",
    "a message is not an object",
)
"""Why a channel is given up that the other end has not closed."""
_READ = 1 << 16

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One line. Raises ``ValueError`` for NaN and infinity, which JSON cannot say."""
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


class Lines:
    """Bytes in, complete messages out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[Message]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise ChannelLostError(ENDLESS)
        for line in lines:
            try:
                message = json.loads(line, parse_constant=_refuse)
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
        self._lines = Lines()
        self._ready: list[Message] = []
        self._descriptors: list[int] = []
        self._identity = self._look()

    def send(self, message: Message) -> None:
        # A case may have closed every descriptor, and opened files of its own in their place.
        if self._look() != self._identity:
            raise ChannelLostError("the channel's file descriptor was closed")
        try:
            self._socket.sendall(encode(message))
        except OSError as error:
            raise ChannelLostError(str(error)) from error

    def receive(self) -> Message | None:
        """The next message, or None if the other end is gone."""
        while not self._ready:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, _READ, 16)
            except OSError:
                return None
            self._descriptors.extend(descriptors)
            if not data:
                return None
            self._ready.extend(self._lines.feed(data))
        return self._ready.pop(0)

    @property
    def has_message(self) -> bool:
        """Whether ``receive`` would answer without reading."""
        return bool(self._ready)

    def take_descriptors(self, count: int) -> list[int]:
        taken, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return taken

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()

    def _look(self) -> tuple[int, int] | None:
        try:
            seen = os.fstat(self._socket.fileno())
        except OSError:
            return None
        return seen.st_dev, seen.st_ino


class LoopChannel:
    """The supervisor's end. ``on_message`` is called from the event loop, ``on_end`` once."""

    def __init__(
        self, connection: socket.socket, on_message: Callable[[Message], None], on_end: Callable[[str], None]
    ) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._lines = Lines()
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._loop.add_reader(connection, self._read)

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Messages to a child are short and answered one by one, so the socket's buffer holds them."""
        try:
            socket.send_fds(self._socket, [encode(message)], list(descriptors))
        except OSError as error:
            self._end(f"cannot be written to ({error})")

    def drain(self) -> None:
        """Read what has arrived: called when the process is known to be gone."""
        while self._open and self._read():
            pass

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def _read(self) -> bool:
        try:
            data = self._socket.recv(_READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end("was closed")
            return False
        try:
            for message in self._lines.feed(data):
                self._on_message(message)
        except ChannelLostError as error:
            self._end(str(error))
            return False
        return True

    def _end(self, reason: str) -> None:
        if self._open:
            self.close()
            self._on_end(reason)


class OutputPipe:
    """What a child prints: everything is read and counted, the tail of each case is kept."""

    def __init__(self, descriptor: int, keep: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._keep = keep
        self._tail = b""
        self._size = 0
        self._open = True
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._read)

    def take(self) -> tuple[bytes, int]:
        """Tail and size since the last call. Reads what the pipe held, and not for ever."""
        self.drain()
        taken = self._tail, self._size
        self._tail, self._size = b"", 0
        return taken

    def drain(self, limit: int = 1 << 20) -> None:
        """Read what has been printed so far."""
        end = self._size + limit
        while self._open and self._size < end and self._read():
            pass

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)
            with contextlib.suppress(OSError):
                os.close(self._descriptor)

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, 1 << 18)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self._size += len(data)
        self._tail = (self._tail + data)[-self._keep :]
        return True
