"""The events that a runner's state machine handles: changes of the runner, its stream and its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coordinator.dispatch.leases import Key, Lease
from protocol.jobs import JobStatus


@dataclass(frozen=True)
class Event:
    """The base of all events. ``now`` is in seconds on the coordinator's monotonic clock."""

    now: float


@dataclass(frozen=True)
class AdoptedEvent(Event):
    """The coordinator took over the runner with these leases and has not connected yet. From now on, the runner's
    silence is measured."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class ConnectedEvent(Event):
    """The runner answers. ``leases`` are the runner's leases in the database."""

    same_boot: bool
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class ClaimedEvent(Event):
    """The result of a claim: these jobs, possibly none, are now leased to the runner."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class StrayLeasesEvent(Event):
    """The database contains leases of this runner that the state machine does not know."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class PostingEvent(Event):
    """These jobs are about to be sent. From now on the runner may have them."""

    keys: tuple[Key, ...]


@dataclass(frozen=True)
class PostedEvent(Event):
    """The runner answered a batch: it accepted some jobs (newly queued, or already known) and refused others."""

    accepted: tuple[Key, ...]
    full: tuple[Key, ...] = ()
    """Jobs refused because the runner's queue is full."""
    refused: tuple[Key, ...] = ()
    """Jobs that the runner refused for another reason: it does not know the case, or it has a newer attempt or another
    case with this id. Jobs that are missing in the answer are included."""
    status: str = ""
    """The statuses of the refused jobs, as text for people."""

    @classmethod
    def from_receipts(cls, now: float, keys: Sequence[Key], status: Mapping[Key, JobStatus]) -> PostedEvent:
        """Build the event from the answer to a batch. A job that is missing in the answer counts as refused."""
        acceptance = (JobStatus.queued, JobStatus.known)
        full = tuple(key for key in keys if status.get(key) is JobStatus.full)
        refused_keys = tuple(key for key in keys if status.get(key) not in (*acceptance, JobStatus.full))
        reasons = ", ".join(sorted({str(status.get(key, "no answer")) for key in refused_keys}))
        return cls(now, tuple(key for key in keys if status.get(key) in acceptance), full, refused_keys, reasons)


@dataclass(frozen=True)
class StartedEvent(Event):
    key: Key


@dataclass(frozen=True)
class FinishedEvent(Event):
    key: Key


@dataclass(frozen=True)
class StoppedEvent(Event):
    """Another client of the runner stopped the attempt before its deadline."""

    key: Key


@dataclass(frozen=True)
class StopAnsweredEvent(Event):
    """The runner answered the DELETE of this attempt. The finished event will follow."""

    key: Key


@dataclass(frozen=True)
class UnreadableLineEvent(Event):
    """A line of the stream cannot be read. ``key`` is the attempt that the line is about, if this can be recognized."""

    key: Key | None
    reason: str


@dataclass(frozen=True)
class HeartbeatEvent(Event):
    running: tuple[tuple[Key, float, float], ...]
    """For each running attempt, two times in seconds: how long it has run on the runner's clock, and how much of this
    time it waited for the timing lock."""
    queued: int = 0
    """The number of jobs that the runner holds and has not started."""


@dataclass(frozen=True)
class DisconnectedEvent(Event):
    reason: str
    fruitless: bool = False
    """Whether an answer of the runner, and not a failed connection, ended the session."""


@dataclass(frozen=True)
class RevokedEvent(Event):
    """The runner should no longer have these jobs: they were cancelled, or they have finished elsewhere."""

    keys: tuple[Key, ...]


@dataclass(frozen=True)
class WakeEvent(Event):
    """There may be new work."""


@dataclass(frozen=True)
class TickEvent(Event):
    """Time has passed."""
