"""The supervisor's handle of one forked process: its channel, its output and its events.

``slot_state.py`` decides which cases the process gets, and what its end means.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Sequence

from runners.isolation import memory
from runners.isolation.channel import Message
from runners.isolation.loop_channel import LoopChannel, OutputPipe
from runners.isolation.slot_events import ChannelLostEvent, ExitedEvent, MessageEvent, Output

KEEP_OUTPUT = 64 << 10

Hear = Callable[[MessageEvent | ChannelLostEvent | ExitedEvent], None]


class Child:
    """One forked process. Calls ``hear`` for every message of the process, for the loss of its channel, and for its
    exit."""

    def __init__(self, number: int, connection: socket.socket, outputs: Sequence[int], room: str, hear: Hear) -> None:
        self.number = number
        self.pid = 0
        self.room = room
        self.found_alone_at: int | None = None
        """The machine's newest pid at the last check for leftover processes that found none."""
        self.gone = asyncio.Event()
        self.status: int | None = None
        """The wait status after its end; None if its zygote died with it."""
        self.channel = LoopChannel(connection, self._take, self._lose)
        self._hear = hear
        self._kernel_kills: int | None = None
        """How many processes the kernel had killed for lack of memory before this child's first case."""
        # Two pipes, because the next case may already print while the output of the current case is read.
        self._outputs = [OutputPipe(output, KEEP_OUTPUT) for output in outputs]

    @property
    def died_with_zygote(self) -> bool:
        return self.gone.is_set() and self.status is None

    def send(self, message: Message) -> None:
        self.channel.send(message)

    def give(self, order: Message, turn: int) -> None:
        """Send the order for the case of this turn, and discard old output in the turn's pipe."""
        if turn == 0:
            self._kernel_kills = memory.kernel_kills()
        self._outputs[turn % 2].take()
        self.channel.send(order)

    def take_output(self, turn: int) -> Output:
        """Return the output of this turn since the last call."""
        return self._outputs[turn % 2].take()

    def kernel_has_killed(self) -> bool:
        """Whether the kernel has killed processes for lack of memory since the first case, possibly this one."""
        return self._kernel_kills is not None and memory.kernel_kills() > self._kernel_kills

    def note_end(self, status: int | None) -> None:
        """Report the end of the process, after reading all messages that it had sent."""
        self.channel.drain()
        self.channel.close()
        self.status = status
        self.gone.set()
        self._hear(ExitedEvent(time.monotonic(), self.number, status))

    def dispose(self) -> None:
        self.channel.close()
        for output in self._outputs:
            output.drain()
            output.close()

    def _take(self, message: Message) -> None:
        self._hear(MessageEvent(time.monotonic(), self.number, message))

    def _lose(self, reason: str) -> None:
        self._hear(ChannelLostEvent(time.monotonic(), self.number, reason))
