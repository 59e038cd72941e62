"""The fork server of a supervisor. If its zygote dies, a new one is started.

It also looks at the device once, to decide whether processes may be forked while a case runs.
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
"""How long a new zygote waits for space on a full or read-only disk. After that, the runner ends."""
ROOM_POLL_S = 1.0


class RenewableForkServer:
    """Holds the current fork server and replaces it."""

    def __init__(self, framework: str, device: str, interpreter: Interpreter | None) -> None:
        self._framework = framework
        self._device = device
        self._interpreter = interpreter
        self._server = self._new_server()
        self._revisions: dict[str, str] = {}
        """The revision of every suite in the catalogue."""
        self.failure = ""
        """Why no process can be forked any more; empty while forking is possible."""
        self.overlap = False
        """Whether a process may be created and primed while another one runs a case."""
        self.on_death: Callable[[], None] = lambda: None
        """Called when a zygote has ended, together with all processes forked from it."""

    async def start(self) -> Offer:
        """Import the framework and return the catalogue. Raises ``FrameworkBrokenError``."""
        offer = await self._server.start()
        self._revisions = _revisions(offer)
        return offer

    async def renew(self) -> None:
        """Start a new zygote in place of the current one, which is killed if it is alive.

        Raises ``FrameworkBrokenError`` if the framework can no longer be imported, or if a suite's source has changed.
        The outcomes of changed cases would be stored under the old revision in the catalogue.
        """
        await self._server.close()
        self.on_death()
        try:
            if _revisions(await self._start_with_room()) != self._revisions:
                raise FrameworkBrokenError(
                    "the source of a suite has changed since the runner started; start the runner again"
                )
        except FrameworkBrokenError as error:
            self.failure = str(error)
            raise

    async def _start_with_room(self) -> Offer:
        """Start a new server. If there is no space for its temporary files, wait and try again."""
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
                # Also kept if it cannot start, so that it is closed later.
                self._server = server

    async def fork(self, number: int, hear: Hear) -> Child:
        """Fork a child. Raises ``FrameworkBrokenError``; if the zygote has ended, ``on_death`` is called before."""
        server = self._server
        try:
            return await server.fork(number, hear)
        except FrameworkBrokenError:
            await server.mourn()
            raise

    async def end(self, child: Child) -> None:
        """Kill a child and its descendants, and wait until they are gone.

        If the zygote has ended, ``on_death`` is called before this returns.
        """
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
        """Describe the device. A throwaway child does it, because looking at a device may initialize it."""
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
            raise FrameworkBrokenError(
                f"{name}: the device did not answer within {PRIME_LIMIT_S:g} s; check that no other process uses it"
            )
        if not isinstance(event, MessageEvent):
            raise FrameworkBrokenError(
                f"{name}: the process that looked for the device ended; read the reason in its output"
            )
        message = event.message
        if message["type"] == "unavailable":
            raise FrameworkBrokenError(f"{name} is not available here: {message['reason']}")
        description: dict[str, Any] = message["description"]
        # On the host, two processes can use the device at once. An accelerator may allow only one.
        self.overlap = description["device_class"] == DeviceClass.cpu
        return description

    async def close(self) -> None:
        await self._server.close()

    def _new_server(self) -> ForkServer:
        return ForkServer(self._framework, self._device, lambda: self.on_death(), self._interpreter)


def _revisions(offer: Offer) -> dict[str, str]:
    return {name: suite.revision for name, suite in offer.suites.items()}
