"""A boot of a runner: the processes of cases and the event log. Both begin and end with the boot."""

from __future__ import annotations

from dataclasses import dataclass

from runners.isolation.events import EventLog
from runners.isolation.supervisor import Supervisor


@dataclass(frozen=True)
class Boot:
    """One boot of a runner."""

    supervisor: Supervisor
    log: EventLog
