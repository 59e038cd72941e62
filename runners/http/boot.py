"""A boot of a runner: the processes of its cases and the log of its events, which begin and end together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runners.http.description import SuiteIndex, index
from runners.isolation.events import EventLog
from runners.isolation.supervisor import Supervisor


@dataclass(frozen=True)
class Offer:
    """The catalogue of a boot as it is sent, and its index.

    Nothing keeps the catalogue itself: ten thousand cases are 20 MB as objects, for as long as the runner serves.
    """

    catalogue: bytes
    suites: Mapping[str, SuiteIndex]


@dataclass(frozen=True)
class Boot:
    """One boot of a runner."""

    supervisor: Supervisor
    log: EventLog

    async def open(self) -> Offer:
        """Import the framework. The device is not touched. Raises ``FrameworkError``."""
        catalogue = await self.supervisor.open()
        return Offer(catalogue.model_dump_json().encode(), index(catalogue))
