"""What a scripted runner does wrong at the moment: one switch for each bug that a runner may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from protocol.jobs import JobStatus

Event = dict[str, Any]
Spoil = Callable[[Event], bytes]
"""Makes the line that is sent instead of the event's own."""


@dataclass
class Script:
    """All off is a runner that keeps its contract."""

    answer_after_s: float = 0.0
    answer_status: int | None = None
    """Every request is answered with this status."""
    receipt: JobStatus | None = None
    """Every job that is posted gets this receipt, and none is taken."""
    starts: bool = True
    """Off: jobs are taken, and never begun."""
    heartbeats: bool = True
    speaks: bool = True
    """Off: streams stay open and carry nothing."""
    closes_after_events: int | None = None
    """Every stream ends after so many lines."""
    elapsed: Callable[[float], float] = field(default=lambda elapsed_s: elapsed_s)
    """What heartbeats make of the time that a job has been running."""
    kills: bool = True
    """Off: a job past its deadline goes on, whoever stops it."""
    acknowledges: bool = True
    """Off: acknowledgements are refused."""
    claims_boot: str | None = None
    """What it says its boot is, if not the true one."""
    loses_finishes: int = 0
    """So many of the next jobs end and are never reported."""
    doubles_finishes: int = 0
    """So many of the next finishes are followed by another one of the same attempt."""
    spoils: list[Spoil] = field(default_factory=list)
    """For the next finishes, one each."""
