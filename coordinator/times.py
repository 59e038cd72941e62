"""The times that a coordinator waits: for runners, for its ownership of them, for its long tasks. Pure.

One object of them is made from the settings of the process and passed down, so that a test, or somebody with a slow
network, changes a time for one coordinator. Limits of requests are in ``bounds.py``; those of the connection to
PostgreSQL stand in ``database/``.
"""

from __future__ import annotations

from dataclasses import dataclass

from coordinator.backoff import Backoff
from coordinator.errors import SettingError
from coordinator.named_seconds import parse_named_seconds
from coordinator.variables import TIMES


@dataclass(frozen=True)
class Times:
    """Every time in seconds, with its default and its reason. ``PORTOLAN_TIMES`` changes them by name."""

    # Runners

    silence_s: float = 30.0
    """Without a word for this long, a runner is silent: its attempts are lost. Heartbeats come within 10 s, so two
    may be missing."""
    stream_silence_s: float = 25.0
    """A stream without even a heartbeat for this long is dead, and another is asked for. Less than ``silence_s``, so
    that one broken connection is no silence."""
    start_s: float = 180.0
    """A runner that holds jobs and none that runs begins one within this: 120 s to prime its device, and some
    for making a process. Longer, and it has forgotten them."""
    absent_s: float = 12.0
    """For this long heartbeats have named a job neither as running nor as waiting: the runner no longer has it.
    Two heartbeats at the least lie in it, and one that left before the job came cannot do it alone."""
    full_pause_s: float = 5.0
    """Wait before retrying a runner that is full of another client's jobs, which are being stopped."""
    grace_s: float = 10.0
    """Past its deadline by this much, a job that the runner has not ended is stopped by the coordinator; as long
    again, and it is a timeout."""
    lock_wait_s: float = 3600.0
    """The wait for the timing lock is on no deadline, up to this: four others on the host may hold it for 900 s
    each."""
    quarantine_s: float = 10.0
    """A runner that misbehaves is left alone for so long, which doubles up to ``longest_quarantine_s``."""
    longest_quarantine_s: float = 3600.0
    elsewhere_s: float = 30.0
    """How long a runner that also serves another coordinator is left alone."""
    answer_s: float = 10.0
    """A runner that is silent for longer than this before or in a plain answer is unreachable."""
    whole_answer_s: float = 30.0
    """So is one whose plain answer has not ended by then, however it trickles."""
    probe_s: float = 30.0
    """So is one that has not said by then what it is and what it offers."""
    reconnect_s: float = 0.1
    """Before a runner that broke off is asked again; it doubles up to ``longest_reconnect_s``."""
    longest_reconnect_s: float = 2.0

    # What a coordinator does again and again

    tick_s: float = 1.0
    """Between two looks at the deadlines of a runner's jobs, and at what is to be acknowledged."""
    poll_s: float = 2.0
    """Work is announced by NOTIFY; this only catches what an announcement missed."""
    sweep_s: float = 15.0
    """Interval between comparisons of the jobs in flight with the leases in the database."""
    renew_s: float = 5.0
    """Between two renewals of ownership and of leases: some may fail before either ends."""

    # Ownership

    ownership_s: float = 30.0
    """An owner that has not renewed for this long has lost its runners. A killed coordinator's runners wait for it."""
    lease_s: float = 120.0
    """The time that a lease holds without being renewed by the runner's owner: several owners may come and go in it."""

    # The outcome writer

    store_apart_s: float = 0.1
    """Batches begin so far apart unless one is due. A batch costs nearly the same however many reports it has, and
    cases of half a millisecond report all the time."""
    store_retry_s: float = 0.05
    """Before a batch is stored again that could not be; it doubles up to ``longest_store_retry_s``."""
    longest_store_retry_s: float = 5.0
    stuck_s: float = 30.0
    """A batch is stored in milliseconds; one that takes this long is a fault that ``GET /readyz`` shows."""

    # Long tasks

    restart_s: float = 0.5
    """Before a long task that ended is started again; it doubles up to ``longest_restart_s``."""
    longest_restart_s: float = 30.0
    longest_away_s: float = 2.0
    """The longest such pause while the database is away: afterwards work is to go on soon, and trying costs little."""
    settled_s: float = 5.0
    """A task that has run for so long since its last start is up."""
    fault_s: float = 60.0
    """After the last statement that failed because the database's disk is full, ``GET /readyz`` says so for this
    long: nothing tells that the next one would not fail."""

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
