"""A job in flight: how far it has got on its runner, and by when it must have ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.dispatch.messages import Lease

GRACE_S = 10.0
"""Past its deadline by this much, the coordinator stops a job that the runner has not."""
LOCK_WAIT_S = 3600.0
"""The wait for the timing lock is on no deadline, up to this: four others on the host may hold it for 900 s each."""


@dataclass
class Flight:
    lease: Lease
    phase: Literal["claimed", "posted", "started"]
    started_at: float | None = None
    elapsed_s: float = 0.0
    """What the runner's own clock said last."""
    waited_s: float = 0.0
    """For the timing lock, by the runner's last word; on nobody's deadline, up to ``LOCK_WAIT_S``."""
    stopped: float | None = None
    revoked: bool = False
    absent_since: float | None = None
    """Since when heartbeats have shown no sign of it."""

    def absent_s(self, now: float) -> float:
        return 0.0 if self.absent_since is None else now - self.absent_since

    def ran_s(self, now: float) -> float:
        """For how long it has run on our own clock, the wait for the timing lock taken off."""
        since = now if self.started_at is None else self.started_at
        return now - since - min(self.waited_s, LOCK_WAIT_S)

    def is_overdue(self, now: float) -> bool:
        """Whichever clock says so first. The runner's own can only shorten what ours allows."""
        longest_s = self.lease.timeout_s + GRACE_S
        return self.phase == "started" and max(self.ran_s(now), self.elapsed_s) > longest_s


def of_lease(lease: Lease, now: float, before: Flight | None = None) -> Flight:
    """What is known of a lease that the database names; ``before`` is what was known until the stream broke."""
    if before is not None and before.started_at is not None:
        return before
    if not lease.started:
        return Flight(lease, "claimed")
    # It may have ended long ago, and the stream is about to tell.
    return Flight(lease, "started", started_at=now - min(lease.ran_s, lease.timeout_s))
