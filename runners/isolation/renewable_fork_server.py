"""The fork server of a supervisor, which is started again after it died.

It also checks the device once, to decide whether processes may be forked while a case runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from protocol.enums import DeviceClass
from runners.errors import FrameworkBrokenError, NoScratchError
from runners.isolation.child import Child, Hear
from runners.isolation.fork_server import ForkServer, Interpreter
from runners.isolation.offer import Offer
from runners.isolation.slot_events import ChannelLostEvent, ExitedEvent, MessageEvent
from runners.isolation.slot_state import PRIME_LIMIT_S

ROOM_LIMIT_S = 900.0
"""How long a new zygote waits for a disk that is full or cannot be written to, before the runner ends."""
ROOM_POLL_S = 1.0


class RenewableForkServer:
    """Holds the present fork server."""

    def __init__(self, framework: str, device: str, interpreter: Interpreter | None) -> None:
        self._framework = framework
        self._device = device
        self._interpreter = interpreter
        self._server = self._new_server()
        self._revisions: dict[str, str] = {}
        """The revision of every suite in the catalogue."""
        self.failure = ""
        """Why no process can be forked any more; None while forking is possible."""
        self.overlap = False
        """Whether a process may be created and primed while another one runs a case."""
        self.on_death: Callable[[], None] = lambda: None
        """Called when a zygote has ended, and with it every process forked from it."""

    async def start(self) -> Offer:
        """Import the framework; returns what it offers. Raises ``FrameworkBrokenError``."""
        offer = await self._server.start()
        self._revisions = _revisions(offer)
        return offer

    async def renew(self) -> None:
        """Start a new zygote in place of the current one, which is killed if it is alive.

        Raises ``FrameworkBrokenError`` if the framework can no longer be imported, or if a suite has changed: its cases
        would run under the revision in the catalogue, which is no longer theirs.
        """
        await self._server.close()
        self.on_death()
        try:
            if _revisions(await self._start_with_room()) != self._revisions:
                raise FrameworkBrokenError("a suite's source has changed since the runner started; start it again")
        except FrameworkBrokenError as error:
            self.failure = str(error)
            raise

    async def _start_with_room(self) -> Offer:
        """Start a new server, as soon as its temporary files have room."""
        give_up_at = time.monotonic() + ROOM_LIMIT_S
        while True:
            server = self._new_server()
            try:
                return await server.start()
            except NoScratchError:
                if time.monotonic() > give_up_at:
                    raise
                await asyncio.sleep(ROOM_POLL_S)
            finally:
                # One that cannot start is to be closed, too.
                self._server = server

    async def fork(self, number: int, hear: Hear) -> Child:
        """Fork a child. Raises ``FrameworkBrokenError``, after ``on_death`` if the zygote has ended."""
        server = self._server
        try:
            return await server.fork(number, hear)
        except FrameworkBrokenError:
            await server.mourn()
            raise

    async def end(self, child: Child) -> None:
        """Kill a child and its descendants; return when they are gone, after ``on_death`` if the zygote has ended."""
        if child.died_with_zygote:
            child.dispose()
            return
        server = self._server
        await server.end(child)
        await server.mourn()

    def is_surely_alone(self, child: Child) -> bool:
        return self._server.is_surely_alone(child)

    async def has_orphans(self, child: Child) -> bool:
        return await self._server.has_orphans(child)

    async def describe(self) -> dict[str, Any]:
        """The description of the device, from a throwaway child, because looking at a device may initialize it."""
        events: asyncio.Queue[MessageEvent | ChannelLostEvent | ExitedEvent] = asyncio.Queue()
        child = await self._server.fork(0, events.put_nowait)
        event = None
        try:
            child.send({"type": "describe"})
            async with asyncio.timeout(PRIME_LIMIT_S):
                event = await events.get()
        except TimeoutError:
            pass
        finally:
            await self._server.end(child)
        name = f"{self._framework}/{self._device}"
        if event is None:
            raise FrameworkBrokenError(f"{name}: the device did not answer within {PRIME_LIMIT_S:g} s")
        if not isinstance(event, MessageEvent):
            raise FrameworkBrokenError(f"{name}: the process that looked for the device ended")
        message = event.message
        if message["type"] == "unavailable":
            raise FrameworkBrokenError(f"{name} is not available here: {message['reason']}")
        description: dict[str, Any] = message["description"]
        # On the host a second process can be primed beside the first; an accelerator may be exclusive.
        self.overlap = description["device_class"] == DeviceClass.cpu
        return description

    async def close(self) -> None:
        await self._server.close()

    def _new_server(self) -> ForkServer:
        return ForkServer(self._framework, self._device, lambda: self.on_death(), self._interpreter)


def _revisions(offer: Offer) -> dict[str, str]:
    return {name: suite.revision for name, suite in offer.suites.items()}
