"""The supervisor's ends of a child's channel and of its output pipe. The event loop drives both."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Sequence

from runners.errors import ChannelLostError
from runners.isolation.channel import MAX_LINE, READ, Message, MessageReader, encode


class LoopChannel:
    """The supervisor's end of a channel. The event loop calls ``on_message`` for each message, and ``on_end`` once.

    If the other end sends a message of more than ``longest`` bytes, the channel is closed.
    """

    def __init__(
        self,
        connection: socket.socket,
        on_message: Callable[[Message], None],
        on_end: Callable[[str], None],
        longest: int = MAX_LINE,
    ) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._messages = MessageReader(longest)
        self._on_message = on_message
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._loop.add_reader(connection, self._read)

    def send(self, message: Message, descriptors: Sequence[int] = ()) -> None:
        """Send a message without waiting. Messages to a child are short and few, so they fit the socket's buffer."""
        try:
            socket.send_fds(self._socket, [encode(message)], list(descriptors))
        except OSError as error:
            self._end(f"cannot be written to ({error})")

    def drain(self) -> None:
        """Read everything that has arrived. Called when the process has ended."""
        while self._open and self._read():
            pass

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def _read(self) -> bool:
        try:
            data = self._socket.recv(READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end("was closed")
            return False
        try:
            for message in self._messages.feed(data):
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
    """The output of a child. Everything is read and counted, but only the tail of each case's output is kept."""

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
        """Return the tail and the size of the output since the last call. Reads a limited amount, so it always ends."""
        self.drain()
        piece = self._tail, self._size
        self._tail, self._size = b"", 0
        return piece

    def drain(self, limit: int = 1 << 20) -> None:
        """Read the output that the pipe holds, up to about ``limit`` bytes."""
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
