"""The fork servers of a supervisor: one at a time, begun anew when it has died, for all slots.

It also looks at the device, once: what that shows decides whether processes may be made beside a case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from protocol.catalogue import Catalogue
from protocol.enums import DeviceClass
from runners.errors import FrameworkBrokenError
from runners.isolation.fork_server import ForkServer, Interpreter

PRIME_LIMIT_S = 120.0


class Forks:
    """Holds the present fork server."""

    def __init__(self, framework: str, device: str, interpreter: Interpreter | None) -> None:
        self._framework = framework
        self._device = device
        self._interpreter = interpreter
        self._renewing = asyncio.Lock()
        self.server = self._new_server()
        self._revisions: dict[str, str] = {}
        """Of every suite in the catalogue."""
        self.failure = ""
        """Why no process can be forked any more, once that is so."""
        self.overlap = False
        """Whether a process may be made and primed while another runs a case."""
        self.on_death: list[Callable[[], None]] = []
        """Called when a zygote has ended, and with it every process forked from it."""

    async def start(self) -> Catalogue:
        """Import the framework; returns its catalogue. Raises ``FrameworkBrokenError``."""
        catalogue = await self.server.start()
        self._revisions = _revisions(catalogue)
        return catalogue

    async def renew(self, dead: ForkServer) -> None:
        """Begin with a new zygote in the place of that one, unless another slot has done so already.

        Raises ``FrameworkBrokenError`` if the framework cannot be imported any more, or a suite is another one now:
        its cases would run under the revision that the catalogue said.
        """
        async with self._renewing:
            if self.server is not dead:
                return
            await dead.close()
            self._died()
            server = self._new_server()
            try:
                if _revisions(await server.start()) != self._revisions:
                    raise FrameworkBrokenError("a suite's source has changed since the runner started; start it again")
            except FrameworkBrokenError as error:
                self.failure = str(error)
                raise
            finally:
                # One that cannot start is to be closed, too.
                self.server = server

    async def describe(self) -> dict[str, Any]:
        """The description of the device, from a throwaway child: to look may initialise it."""
        child = await self.server.fork()
        try:
            child.send({"type": "describe"})
            event = await child.next(PRIME_LIMIT_S)
        finally:
            await self.server.end(child)
        name = f"{self._framework}/{self._device}"
        if event is None:
            raise FrameworkBrokenError(f"{name}: the device did not answer within {PRIME_LIMIT_S:g} s")
        message = event.message
        if message is None:
            raise FrameworkBrokenError(f"{name}: the process that looked for the device ended ({event.kind})")
        if message["type"] == "unavailable":
            raise FrameworkBrokenError(f"{name} is not available here: {message['reason']}")
        description: dict[str, Any] = message["description"]
        # On the host a second process can be primed beside the first; an accelerator may be exclusive.
        self.overlap = description["device_class"] == DeviceClass.cpu
        return description

    async def close(self) -> None:
        await self.server.close()

    def _new_server(self) -> ForkServer:
        return ForkServer(self._framework, self._device, self._died, self._interpreter)

    def _died(self) -> None:
        for tell in self.on_death:
            tell()


def _revisions(catalogue: Catalogue) -> dict[str, str]:
    return {suite.name: suite.revision for suite in catalogue.suites}
