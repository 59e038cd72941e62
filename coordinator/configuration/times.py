"""The waiting times of a coordinator: for answers of runners, for renewals of ownership, for long-running tasks.

One ``Times`` is made from the process's settings and passed down, so that a test, or a user with a slow network, can
change a time for one coordinator only. Limits on requests are in ``bounds.py``. Time limits of the PostgreSQL
connection are in ``database/``.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.configuration.backoff import Backoff
from coordinator.configuration.named_seconds import parse_named_seconds
from coordinator.configuration.variables import TIMES
from coordinator.errors import SettingError


@dataclass(frozen=True)
class Times:
    """Waiting times in seconds, each with its default and its reason. ``PORTOLAN_TIMES`` changes single times by
    name."""

    # Runners

    silence_s: float = 30.0
    """A runner that sends nothing for this time is silent, and its attempts are lost. Heartbeats come at least every 10
    s, so two may be missing."""
    stream_silence_s: float = 25.0
    """If an open stream brings no event or heartbeat for this time, the coordinator opens a new stream. The time is
    less than ``silence_s``, so that one broken connection does not make a runner silent."""
    start_s: float = 180.0
    """A runner that has jobs but runs no job must start a job within this time. Priming the device takes up to
    120 s, and starting a process takes some more. A runner that takes longer than this time has forgotten its jobs."""
    absent_s: float = 12.0
    """If a runner has accepted a job, a heartbeat must list the job within this time. At least two heartbeats come in
    this time, so that no job is lost because of a single heartbeat that was sent before the job arrived."""
    full_pause_s: float = 5.0
    """Pause before the coordinator sends jobs again to a runner whose queue was full. The queue holds jobs of another
    client, which have to be stopped first."""
    grace_s: float = 10.0
    """Time from the deadline of a job until the coordinator sends DELETE to the runner, and from the DELETE until the
    coordinator stores the outcome as a timeout."""
    lock_wait_s: float = 3600.0
    """Up to this time, a wait for the timing lock does not count towards the deadline of a job. Four other runners on
    the host may hold the lock for 900 s each."""
    quarantine_s: float = 10.0
    """First and longest length of a quarantine; each further quarantine is twice as long."""
    longest_quarantine_s: float = 3600.0
    elsewhere_s: float = 30.0
    """Pause before a runner that also serves another coordinator is checked again."""
    answer_s: float = 10.0
    """Maximum wait for the next part of a runner's answer."""
    whole_answer_s: float = 30.0
    """Maximum time until a runner's answer is complete."""
    probe_s: float = 30.0
    """Maximum time to read a runner's description and catalogue."""
    reconnect_s: float = 0.1
    """First and longest pause before reconnecting to a runner; each further pause is twice as long."""
    longest_reconnect_s: float = 2.0

    # Periodic work

    tick_s: float = 1.0
    """Interval between checks of the deadlines of a runner's jobs."""
    poll_s: float = 2.0
    """Interval between polls of the database for new work, in case an announcement was lost. NOTIFY announces all
    work."""
    sweep_s: float = 15.0
    """Interval between comparisons of the jobs at a runner with the leases in the database."""
    renew_s: float = 5.0
    """Interval between renewals of ownership and leases; must be less than `ownership_s` and `lease_s`. So some
    renewals may fail before the ownership or a lease ends."""

    # Ownership

    ownership_s: float = 30.0
    """The ownership of a runner ends this long after its last renewal; then another coordinator may serve the runner.
    The runners of a coordinator that was killed wait this long for another one."""
    lease_s: float = 120.0
    """The lease of a job ends this long after its last renewal. The time is long enough for several changes of the
    runner's owner."""

    # The outcome writer

    store_apart_s: float = 0.1
    """Interval between batches of reports that can wait, which are the reports of runners with many jobs. The cost of
    a batch hardly depends on its number of reports, and short cases (half a millisecond) report all the time."""
    store_retry_s: float = 0.05
    """First and longest pause before a batch that could not be stored is tried again; each further pause is twice
    as long."""
    longest_store_retry_s: float = 5.0
    stuck_s: float = 30.0
    """Maximum time to store a batch; after this time `GET /readyz` fails. A batch is stored in milliseconds."""

    # Long tasks

    restart_s: float = 0.5
    """First and longest pause before a long-running task that ended is restarted; each further pause is twice as
    long."""
    longest_restart_s: float = 30.0
    longest_away_s: float = 2.0
    """Longest pause before a task is restarted while the database is unreachable. When the database answers again,
    work must continue soon, and an attempt costs little."""
    settled_s: float = 5.0
    """A restarted task counts as running after this time."""
    fault_s: float = 60.0
    """`GET /readyz` fails for this time after a statement failed because the database's disk is full. Nothing
    shows whether the next statement would succeed."""

    def __post_init__(self) -> None:
        for shorter, longer in _ORDER:
            if not getattr(self, shorter) < getattr(self, longer):
                raise SettingError(
                    f"{TIMES}: {shorter} is {getattr(self, shorter):g} and {longer} {getattr(self, longer):g}: "
                    f"give a {shorter} that is less"
                )

    @classmethod
    def parse(cls, text: str) -> Times:
        """Parse a text such as ``silence_s=3, sweep_s=1.5``. Raises ``SettingError``."""
        return parse_named_seconds(cls, text, TIMES)

    @property
    def quarantine(self) -> Backoff:
        """The backoff for quarantines: their length as a function of the number of consecutive failures of a runner."""
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
"""Pairs of times of which the first must be less. An owner that renews too seldom loses its runners and leases."""

DEFAULT_TIMES = Times()
