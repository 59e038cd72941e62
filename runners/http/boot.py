"""A boot of a runner: the processes of its cases and its event log, which begin and end together."""

from __future__ import annotations

from dataclasses import dataclass

from runners.isolation.events import EventLog
from runners.isolation.supervisor import Supervisor


@dataclass(frozen=True)
class Boot:
    """One boot of a runner."""

    supervisor: Supervisor
    log: EventLog
