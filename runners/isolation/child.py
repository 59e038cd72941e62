"""The handle of one forked process: its channel, its output and one stream of its events.

It knows which cases it was given. Who decides that, and what its end means, stands in the supervisor.
"""

from __future__ import annotations

import asyncio
import math
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runners.isolation.attempts import Task
from runners.isolation.channel import Message
from runners.isolation.loop_channel import LoopChannel, OutputPipe

KEEP_OUTPUT = 64 << 10
FUNCTIONS_PER_CHILD = 32
"""Functions whose untimed cases one child runs: more save little, and what it has compiled stays in its memory."""


@dataclass(frozen=True, slots=True)
class ChildEvent:
    """An event of one child: a message from it, its end, or an order to end it."""

    kind: Literal["message", "exited", "channel_lost", "cancelled", "out_of_memory"]
    message: Message | None = None
    status: int | None = None
    reason: str = ""
    turn: int | None = None
    """The number of the child's case that the event is meant for; None: any."""


class Child:
    """The handle of one forked process: its channel, its output and its events."""

    def __init__(self, connection: socket.socket, outputs: Sequence[int], room: str) -> None:
        self.pid = 0
        self.room = room
        self.primed_ms: float | None = None
        self.turn = -1
        """The number of its present case; it is primed before the first."""
        self.begun = 0
        """Its cases that have begun; of a case ahead that may be before its turn."""
        self.task: Task | None = None
        """The task that it has, or had last."""
        self.functions = 0
        """The functions of which it has run cases."""
        self.has_idled = False
        """Whether it had nothing to do for a while: then it takes no other function on."""
        self.found_alone_at: int | None = None
        """The newest pid of the machine when it was last seen that nothing of its cases is left behind."""
        self.on_share = False
        """Whether its threads are held to a share of the cores, as cases run beside it."""
        self.ahead: Task | None = None
        """The task that was sent to it before its turn."""
        self.events: asyncio.Queue[ChildEvent] = asyncio.Queue()
        self.gone = asyncio.Event()
        self.status: int | None = None
        self.channel = LoopChannel(connection, self._received, self._lost)
        # Two pipes, so that the output of a case sent ahead is not taken for that of the case before it.
        self._outputs = [OutputPipe(output, KEEP_OUTPUT) for output in outputs]

    def send(self, message: Message) -> None:
        self.channel.send(message)

    def take_turn(self, task: Task) -> None:
        """Note that the next turn is this task's."""
        if self.task is None or self.task.group != task.group:
            self.functions += 1
        self.task = task
        self.turn += 1

    def admits(self, task: Task) -> bool:
        """Whether the task may run here after those before it."""
        if self.task is None:
            return True
        if task.group == self.task.group:
            # A cold time is that of a process that did nothing for another function.
            return task.is_untimed or self.functions == 1
        has_room = self.functions < FUNCTIONS_PER_CHILD and not self.has_idled
        return has_room and task.is_shareable_with(self.task)

    def give(self, order: Message, turn: int) -> None:
        """Send the order to run the case of that turn, and drop the output that was left in the pipe of the turn."""
        self._outputs[turn % 2].take()
        self.channel.send(order)

    def is_fit(self, task: Task | None = None) -> bool:
        """Whether the process has this task already and lives or began it, or has been idle since its last case.

        A case that ends its process may do so before its turn: that it did is its own outcome.
        """
        if self.ahead is not None:
            return self.ahead is task and (not self.gone.is_set() or self.begun > self.turn + 1)
        return not self.gone.is_set() and self.events.empty()

    async def next(self, limit_s: float) -> ChildEvent | None:
        """Wait for the next event; None if there is none in time."""
        if not self.events.empty():
            return self.events.get_nowait()
        try:
            async with asyncio.timeout(None if limit_s == math.inf else max(limit_s, 0.0)):
                return await self.events.get()
        except TimeoutError:
            return None

    def take_output(self) -> tuple[bytes, int]:
        """The output of this turn: its tail, and the size of the whole."""
        return self._outputs[self.turn % 2].take()

    def interrupt(self, kind: Literal["cancelled", "out_of_memory"], reason: str = "") -> None:
        """Add an event that ends the present case."""
        self.events.put_nowait(ChildEvent(kind, reason=reason, turn=self.turn))

    def ended(self, status: int | None) -> None:
        """Note that the process has ended, after the messages that it had sent before."""
        self.channel.drain()
        self.channel.close()
        self.status = status
        self.gone.set()
        self.events.put_nowait(ChildEvent("exited", status=status))

    def dispose(self) -> None:
        self.channel.close()
        for output in self._outputs:
            output.drain()
            output.close()

    def _received(self, message: Message) -> None:
        self.begun += message.get("type") == "begun"
        self.events.put_nowait(ChildEvent("message", message))

    def _lost(self, reason: str) -> None:
        self.events.put_nowait(ChildEvent("channel_lost", reason=reason))
