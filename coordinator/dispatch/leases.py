"""A lease: one attempt of one job, assigned to one boot of one runner, with its progress on the runner. No I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from coordinator.configuration.times import Times


class Key(NamedTuple):
    """One attempt of one job, as it was leased to one boot of one runner.

    ``token`` is random for each claim and is part of the job's id on the wire. So an id identifies its lease, and stays
    unique across copies and restores of this database, even if it is restored while a coordinator runs.
    """

    job: int
    attempt: int
    token: str = ""

    @property
    def wire_id(self) -> str:
        """The job's id in the runner API. For a job of another coordinator, ``token`` contains the whole id."""
        return f"{self.token}.{self.job}" if self.job else self.token

    @classmethod
    def of_wire(cls, id: str, attempt: int) -> Key:
        """The attempt that an id of the runner API names. An id that this coordinator cannot have made is given job
        0."""
        token, dot, number = id.rpartition(".")
        ours = dot and token and number.isascii() and number.isdecimal() and len(number) < 19
        if ours and not number.startswith("0") and 0 < attempt < 2**15:
            return cls(int(number), attempt, token)
        return cls(0, attempt, id)


def log_fields(key: Key | None) -> dict[str, int]:
    """The log fields that identify an attempt; empty for a job of another coordinator."""
    return {"job": key.job, "attempt": key.attempt} if key and key.job else {}


@dataclass(frozen=True)
class Lease:
    """A job that this runner holds, according to the database."""

    key: Key
    timeout_s: float
    started: bool = False
    ran_s: float = 0.0
    """The seconds that the job has been running, by the database's clock."""


@dataclass
class Flight:
    """A leased job in flight: claimed, posted, started. Times are seconds on the coordinator's monotonic clock."""

    lease: Lease
    phase: Literal["claimed", "posted", "started"]
    sent: bool = False
    """Whether the POST of the job has begun. Before the POST, the runner cannot have the job."""
    started_at: float | None = None
    elapsed_s: float = 0.0
    """Seconds that the job has run, according to the runner's latest heartbeat."""
    waited_s: float = 0.0
    """Seconds that the job has waited for the timing lock, according to the runner's latest heartbeat. Up to
    ``Times.lock_wait_s``, they do not count towards the deadline."""
    named_at: float = float("-inf")
    """The time at which a heartbeat last reported the job as running."""
    stopped: float | None = None
    """The time at which the coordinator decided to send a DELETE because of the deadline; None before."""
    stop_answered: float | None = None
    """The time at which the runner answered the DELETE of the job; None before."""
    revoked: bool = False
    absent_since: float | None = None
    """The time since which heartbeats have reported the job neither as running nor as queued."""

    def absent_s(self, now: float) -> float:
        return 0.0 if self.absent_since is None else now - self.absent_since

    def ran_s(self, now: float, times: Times) -> float:
        """The seconds that the job has run on the coordinator's clock, without its wait for the timing lock."""
        since = now if self.started_at is None else self.started_at
        return now - since - min(self.waited_s, times.lock_wait_s)

    def is_overdue(self, now: float, times: Times) -> bool:
        """Whether the job is past its deadline on the coordinator's or the runner's clock. The runner's clock can only
        shorten the limit."""
        longest_s = self.lease.timeout_s + times.grace_s
        return self.phase == "started" and max(self.ran_s(now, times), self.elapsed_s) > longest_s


def resume_flight(lease: Lease, now: float, before: Flight | None = None) -> Flight:
    """The flight for a lease in the database. ``before`` is the flight before the stream broke."""
    if before is not None and before.started_at is not None:
        return before
    if not lease.started:
        return Flight(lease, "claimed", sent=before is None or before.sent)
    # The job may have ended already, with its finished event still in the stream.
    return Flight(lease, "started", sent=True, started_at=now - min(lease.ran_s, lease.timeout_s))
