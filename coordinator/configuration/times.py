"""The times that a coordinator waits: for runners, for its ownership of them, for its long tasks. Pure.

One object of them is made from the settings of the process and passed down, so that a test, or somebody with a slow
network, changes a time for one coordinator. Limits of requests are in ``bounds.py``; those of the connection to
PostgreSQL stand in ``database/``.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.configuration.backoff import Backoff
from coordinator.configuration.named_seconds import parse_named_seconds
from coordinator.configuration.variables import TIMES
from coordinator.errors import SettingError


@dataclass(frozen=True)
class Times:
    """Every time in seconds, with its default and its reason. ``PORTOLAN_TIMES`` changes them by name."""

    # Runners

    silence_s: float = 30.0
    """Without any sign of a runner; then it is silent, and its attempts are lost. Heartbeats come within 10 s, so
    two may be missing."""
    stream_silence_s: float = 25.0
    """Without an event or heartbeat on an open stream; then a new stream is requested. Less than ``silence_s``, so
    that one broken connection is no silence."""
    start_s: float = 180.0
    """Until a runner that has jobs and runs none starts one. It takes up to 120 s to prime its device, and some for
    making a process. Longer, and it has forgotten them."""
    absent_s: float = 12.0
    """Until a heartbeat names a job that the runner took. Two heartbeats at the least lie in it, and one that left
    before the job came cannot do it alone."""
    full_pause_s: float = 5.0
    """Before a runner with a full queue is asked again. Its queue holds another client's jobs, which are being
    stopped."""
    grace_s: float = 10.0
    """From a job's deadline to DELETE, and from there to a timeout."""
    lock_wait_s: float = 3600.0
    """Maximum wait for the timing lock, which does not count for a deadline. Four others on the host may hold it
    for 900 s each."""
    quarantine_s: float = 10.0
    """Length of a quarantine; doubles."""
    longest_quarantine_s: float = 3600.0
    elsewhere_s: float = 30.0
    """Before a runner that serves another coordinator is checked again."""
    answer_s: float = 10.0
    """For the next part of a runner's answer."""
    whole_answer_s: float = 30.0
    """For the whole answer."""
    probe_s: float = 30.0
    """For a runner's description and catalogue."""
    reconnect_s: float = 0.1
    """Before reconnecting to a runner; doubles."""
    longest_reconnect_s: float = 2.0

    # What a coordinator does again and again

    tick_s: float = 1.0
    """Between checks of the deadlines of a runner's jobs."""
    poll_s: float = 2.0
    """Between polls for work that was not announced. NOTIFY announces work, so this only catches what it missed."""
    sweep_s: float = 15.0
    """Between comparisons of jobs in flight with leases in the database."""
    renew_s: float = 5.0
    """Between renewals of ownership and leases; less than both. Some may fail before either ends."""

    # Ownership

    ownership_s: float = 30.0
    """Without a renewal; then another coordinator may serve the runner. A killed coordinator's runners wait for it."""
    lease_s: float = 120.0
    """Without a renewal of a job's lease. Several owners of the runner may come and go in it."""

    # The outcome writer

    store_apart_s: float = 0.1
    """Between batches of reports that can wait. A batch costs nearly the same however many reports it has, and
    cases of half a millisecond report all the time."""
    store_retry_s: float = 0.05
    """Before a batch is stored again; doubles."""
    longest_store_retry_s: float = 5.0
    stuck_s: float = 30.0
    """For a batch to finish; then `GET /readyz` fails. A batch is stored in milliseconds."""

    # Long tasks

    restart_s: float = 0.5
    """Before a long-running task that ended is restarted; doubles."""
    longest_restart_s: float = 30.0
    longest_away_s: float = 2.0
    """Maximum of that pause while the database is unreachable. Afterwards work is to go on soon, and trying costs
    little."""
    settled_s: float = 5.0
    """Until a restarted task counts as running."""
    fault_s: float = 60.0
    """During which `GET /readyz` fails after a statement failed because the database's disk is full. Nothing tells
    that the next one would not fail."""

    def __post_init__(self) -> None:
        for shorter, longer in _ORDER:
            if not getattr(self, shorter) < getattr(self, longer):
                raise SettingError(
                    f"{TIMES}: {shorter} is {getattr(self, shorter):g} and {longer} {getattr(self, longer):g}: "
                    f"give a {shorter} that is less"
                )

    @classmethod
    def parse(cls, text: str) -> Times:
        """``silence_s=3, sweep_s=1.5``. Raises ``SettingError``."""
        return parse_named_seconds(cls, text, TIMES)

    @property
    def quarantine(self) -> Backoff:
        """The length of a quarantine, after so many strikes in a row."""
        return Backoff(self.quarantine_s, self.longest_quarantine_s)

    @property
    def reconnect(self) -> Backoff:
        return Backoff(self.reconnect_s, self.longest_reconnect_s)

    @property
    def store_retry(self) -> Backoff:
        return Backoff(self.store_retry_s, self.longest_store_retry_s)

    @property
    def restart(self) -> Backoff:
        return Backoff(self.restart_s, self.longest_restart_s)

    @property
    def restart_away(self) -> Backoff:
        return Backoff(self.restart_s, self.longest_away_s)


_ORDER = (("renew_s", "ownership_s"), ("renew_s", "lease_s"))
"""Pairs of which the first must be less: an owner that renews too seldom loses what it owns, with nobody at fault."""

DEFAULT_TIMES = Times()
