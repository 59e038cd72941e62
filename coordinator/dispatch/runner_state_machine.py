"""The state machine of one runner: events in, instructions out, no I/O.

A ``RunnerState`` knows which jobs are in flight on a runner that this coordinator owns. It keeps a bounded number of
jobs queued at the runner, so that the device never waits for the network. It enforces deadlines by the coordinator's
own clock, and decides what happens to jobs when the runner restarts or falls silent. Times are seconds on a monotonic
clock and come with the events.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.configuration.times import Times
from coordinator.dispatch.events import (
    AdoptedEvent,
    ClaimedEvent,
    ConnectedEvent,
    DisconnectedEvent,
    Event,
    FinishedEvent,
    HeartbeatEvent,
    PostedEvent,
    PostingEvent,
    RevokedEvent,
    StartedEvent,
    StopAnsweredEvent,
    StoppedEvent,
    StrayLeasesEvent,
    TickEvent,
    UnreadableLineEvent,
    WakeEvent,
)
from coordinator.dispatch.instructions import (
    FELL_SILENT,
    SERVES_ANOTHER,
    Claim,
    GiveBack,
    Instruction,
    Lose,
    LossReason,
    Post,
    Quarantine,
    Stop,
    TimeOut,
)
from coordinator.dispatch.leases import Flight, Key, Lease, resume_flight

MAX_AHEAD = 512
"""The maximum number of jobs in flight per runner. They are refilled at half of this number. Only a runner that
finishes hundreds of jobs per second gets so many, because a POST, a claim and a finish cost nearly the same for any
number of jobs."""
MAX_CLAIM = 256
"""The maximum number of jobs per claim: half of ``MAX_AHEAD``, so that one batch is claimed while the previous one
runs."""
# These jobs wait at the runner, so that it does not wait for a round trip after each job.
MIN_AHEAD = 4
PLENTY = 64
"""Only a runner that finishes tens of jobs per second has this number of jobs in flight, and not at the end of a
campaign."""
FAST_REFILL_S = 1.0
"""If the runner needs less than this time for a batch of new jobs, the number of jobs that are queued ahead is
doubled."""
SLOW_REFILL_S = 10.0
"""If the runner needs more than this time for a batch of new jobs, the number of jobs that are queued ahead is halved,
so that no runner keeps the last jobs of a campaign for itself."""
UNREADABLE_LIMIT = 8
FRUITLESS_LIMIT = 5


@dataclass
class RunnerState:
    """The state of one runner. ``handle`` is the only way to change it. ``queue_limit`` is the limit that the runner
    reports."""

    queue_limit: int
    strikes: int = 0
    times: Times = field(default_factory=Times)
    mark: str = ""
    """The prefix of the tokens of this installation's leases."""
    cautious: bool = False
    """Whether to wait for the runner's first heartbeat before claiming. This is so if the runner last served another
    installation."""
    serves_another: bool = False
    """Whether the runner was seen running jobs of another installation. This coordinator then stops serving it."""
    online: bool = False
    ahead: int = 8
    _flights: dict[Key, Flight] = field(default_factory=dict)
    _claiming: bool = False
    _drained: bool = False
    """Whether the last claim returned fewer jobs than requested. If so, no more jobs are queued until a wake event."""
    _last_claim: float | None = None
    _last_heard: float = float("-inf")
    _progress_at: float | None = None
    """The time at which the runner last started or ended one of our jobs, or at which the first job was sent to it."""
    _full_since: float | None = None
    """The time since which the runner's queue has been full although it has none of our jobs."""
    _paused_until: float = float("-inf")
    _unreadable: int = 0
    """The number of unreadable events since a job last finished."""
    _fruitless: int = 0
    """The number of consecutive sessions that the runner ended before one of our jobs made progress."""

    @property
    def in_flight(self) -> frozenset[Key]:
        return frozenset(self._flights)

    @property
    def has_plenty(self) -> bool:
        """Whether so many jobs are in flight that handling their events a little later delays no job."""
        return len(self._flights) >= PLENTY

    @property
    def is_idle(self) -> bool:
        """Whether the runner has no work. It then claims again only when it is woken."""
        return self.online and self._drained and not self.serves_another

    @property
    def started(self) -> frozenset[Key]:
        return frozenset(key for key, flight in self._flights.items() if flight.phase == "started")

    @property
    def room(self) -> int:
        """The number of jobs that may be claimed now."""
        return min(MAX_CLAIM, max(0, min(self.ahead, self.queue_limit) - len(self._flights)))

    def ran_too_long(self, key: Key, duration_s: float) -> bool:
        """Whether this attempt was stopped because of its deadline, and had also passed the deadline on the runner's
        clock."""
        flight = self._flights.get(key)
        return flight is not None and flight.stopped is not None and duration_s >= flight.lease.timeout_s

    def wants(self, key: Key) -> bool:
        """Whether this coordinator still waits for the result of this attempt."""
        flight = self._flights.get(key)
        return flight is not None and not flight.revoked

    def is_foreign(self, key: Key) -> bool:
        """Whether another installation gave the runner this attempt."""
        return key not in self._flights and not (key.job and key.token.startswith(self.mark))

    def handle(self, event: Event) -> list[Instruction]:
        match event:
            case AdoptedEvent(now, leases):
                self._last_heard = self._progress_at = now
                self._flights = {lease.key: resume_flight(lease, now) for lease in leases}
                return []
            case ConnectedEvent():
                return self._on_connected(event)
            case ClaimedEvent(now, leases):
                return self._on_claimed(now, leases)
            case StrayLeasesEvent(now, leases):
                return self._adopt_strays(now, leases)
            case PostingEvent(now, keys):
                return self._on_posting(now, keys)
            case PostedEvent():
                return self._on_posted(event)
            case StartedEvent(now, key):
                return self._on_started(now, key)
            case FinishedEvent(now, key):
                return self._on_finished(now, key)
            case StoppedEvent(now, key):
                return self._on_stopped(now, key)
            case StopAnsweredEvent(now, key):
                return self._on_stop_answered(now, key)
            case UnreadableLineEvent(now, key, reason):
                return self._on_unreadable(now, key, reason)
            case HeartbeatEvent(now, running, queued):
                times_by_key = {key: (elapsed_s, waited_s) for key, elapsed_s, waited_s in running}
                return self._on_heartbeat(now, times_by_key, queued)
            case DisconnectedEvent(_, reason, fruitless):
                return self._on_disconnected(reason, fruitless)
            case RevokedEvent(_, keys):
                return self._on_revoked(keys)
            case WakeEvent(now):
                self._drained = False
                return self._refill(now)
            case TickEvent(now):
                return self._on_tick(now)
        raise TypeError(f"no rule handles {event!r}")

    def _on_connected(self, event: ConnectedEvent) -> list[Instruction]:
        self.online, self._last_heard = True, event.now
        self._claiming = self._drained = False
        before, self._flights = self._flights, {}
        if self._progress_at is None or not before:
            self._progress_at = event.now
        if not event.same_boot:
            return [*self._on_restart(event.leases), *self._refill(event.now)]
        for lease in event.leases:
            # A broken stream does not extend a deadline.
            self._flights[lease.key] = resume_flight(lease, event.now, before.get(lease.key))
        # Whether the last POST before the break arrived is unknown; posting again changes nothing.
        unsure = tuple(lease for lease in event.leases if not lease.started)
        posts: list[Instruction] = [Post(unsure)] if unsure else []
        return [*posts, *self._unanswered_stops(), *self._refill(event.now)]

    def _unanswered_stops(self) -> list[Instruction]:
        """Return instructions to repeat the DELETEs that the runner had not answered before the break, because they may
        not have arrived."""
        return [
            Stop(key)
            for key, flight in self._flights.items()
            if flight.stopped is not None and flight.stop_answered is None
        ]

    def _on_restart(self, leases: tuple[Lease, ...]) -> list[Instruction]:
        """Handle a new boot: all attempts of the old boot are lost.

        If no attempt is known to have started, the job at the head of the queue counts as started. Otherwise a job that
        kills its runner before the started event is sent would be requeued forever.
        """
        if not leases:
            return []
        started_keys = tuple(lease.key for lease in leases if lease.started) or (leases[0].key,)
        waiting = tuple(lease.key for lease in leases if lease.key not in started_keys)
        # A single restart can have any reason. If a second one follows before a job has finished, the runner pauses.
        self.strikes += 1
        out: list[Instruction] = [Lose(started_keys, "restarted")]
        if waiting:
            out.append(GiveBack(waiting, "the runner restarted"))
        if self.strikes > 1:
            self.online = False
            pause_s = self.times.quarantine.pause_s(self.strikes - 1)
            out.append(Quarantine(pause_s, "the runner restarted again while a job ran"))
        return out

    def _on_claimed(self, now: float, leases: tuple[Lease, ...]) -> list[Instruction]:
        self._claiming = False
        if not leases:
            self._drained = True
            self._last_claim = None  # this claim does not show how fast the runner is
            return []
        # The claim was running when the runner restarted. Nothing was posted, so no job counts as lost.
        if not self.online or self.serves_another:
            return [GiveBack(tuple(lease.key for lease in leases), "the runner went offline")]
        for lease in leases:
            self._flights[lease.key] = Flight(lease, "claimed")
        return [Post(leases), *self._refill(now)]

    def _adopt_strays(self, now: float, leases: tuple[Lease, ...]) -> list[Instruction]:
        """Add leases that the session did not know, for example after a break. Jobs that are not known to run are
        posted."""
        if not self.online:
            return []
        if not self._flights:
            self._progress_at = now
        unknown = [lease for lease in leases if lease.key not in self._flights]
        self._flights.update((lease.key, resume_flight(lease, now)) for lease in unknown)
        waiting = tuple(lease for lease in unknown if not lease.started)
        return [Post(waiting)] if waiting else []

    def _on_posting(self, now: float, keys: tuple[Key, ...]) -> list[Instruction]:
        if not any(flight.sent for flight in self._flights.values()):
            self._progress_at = now
        for key in keys:
            if (flight := self._flights.get(key)) is not None:
                flight.sent = True
        return []

    def _on_posted(self, event: PostedEvent) -> list[Instruction]:
        for key in event.accepted:
            flight = self._flights.get(key)
            # Its start may have arrived before the answer to the POST.
            if flight is not None and flight.phase == "claimed":
                flight.phase = "posted"
        refused_keys = tuple(key for key in event.refused if self._flights.pop(key, None))
        full = tuple(key for key in event.full if self._flights.pop(key, None))
        out = self._on_full(event.now, full)
        if refused_keys:
            out.append(GiveBack(refused_keys, f"the runner refused the job: {event.status}", refused=True))
            out.append(self._reject_catalogue(event.status))
        return out

    def _on_full(self, now: float, keys: tuple[Key, ...]) -> list[Instruction]:
        """Handle a full queue. A queue that is full of our jobs is normal. If another client's jobs fill the queue, the
        runner has some time before it is quarantined."""
        if any(flight.phase != "claimed" for flight in self._flights.values()):
            self._full_since = None
            if keys:
                self.ahead = max(MIN_AHEAD, self.ahead // 2)
            return [GiveBack(keys, "the runner's queue was full")] if keys else []
        if not keys:
            return []
        self.ahead = MIN_AHEAD
        self._full_since = now if self._full_since is None else self._full_since
        if now - self._full_since <= self.times.start_s:
            self._paused_until = now + self.times.full_pause_s
            return [GiveBack(keys, "the runner's queue was full of other jobs")]
        self._full_since = None
        back = GiveBack(keys, "the runner's queue stayed full of other jobs", refused=True)
        return [back, self._strike("the runner's queue stays full of other jobs")]

    def _on_started(self, now: float, key: Key) -> list[Instruction]:
        self._last_heard = now
        flight = self._flights.get(key)
        if flight is None:
            return self._let_go() if self.is_foreign(key) else [Stop(key)]
        self._note_progress(now)
        if flight.started_at is None:
            flight.phase, flight.started_at = "started", now
        return []

    def _on_finished(self, now: float, key: Key) -> list[Instruction]:
        self._last_heard = now
        if self.is_foreign(key):
            return self._let_go()
        if self._flights.pop(key, None) is not None:
            self._note_progress(now)
            self.strikes = self._unreadable = 0
        return self._refill(now)

    def _let_go(self) -> list[Instruction]:
        """Release the runner to another installation after the jobs that it runs for us have ended (see
        ``_on_tick``)."""
        self.serves_another = True
        waiting = tuple(key for key, flight in self._flights.items() if flight.phase != "started")
        stops: list[Instruction] = [Stop(key) for key in waiting if self._flights[key].sent]
        for key in waiting:
            del self._flights[key]
        return [*stops, GiveBack(waiting, SERVES_ANOTHER)] if waiting else []

    def _on_stopped(self, now: float, key: Key) -> list[Instruction]:
        self._last_heard = now
        flight = self._flights.pop(key, None)
        if flight is None:
            return []
        self._note_progress(now)
        reason: LossReason = "stopped by somebody else" if flight.stopped is None else "stopped before its deadline"
        return [Lose((key,), reason), *self._refill(now)]

    def _on_stop_answered(self, now: float, key: Key) -> list[Instruction]:
        if (flight := self._flights.get(key)) is not None and flight.stopped is not None:
            flight.stop_answered = now
        return []

    def _note_progress(self, now: float) -> None:
        self._progress_at, self._fruitless = now, 0

    def _on_unreadable(self, now: float, key: Key | None, reason: str) -> list[Instruction]:
        """Handle an unreadable line. The job that the line names ends with an error. A runner that keeps sending
        unreadable lines is quarantined."""
        self._last_heard = now
        self._unreadable += 1
        out: list[Instruction] = []
        if key is not None and self._flights.pop(key, None) is not None:
            self._progress_at = now
            out.append(Stop(key))
        if self._unreadable >= UNREADABLE_LIMIT:
            self._unreadable = 0
            return [*out, self._strike(f"the runner's events cannot be read: {reason}")]
        return [*out, *self._refill(now)]

    def _on_heartbeat(
        self, now: float, times_by_key: dict[Key, tuple[float, float]], queue_length: int
    ) -> list[Instruction]:
        """Compare the jobs that the heartbeat names with the jobs in flight."""
        self._last_heard = now
        unknown = [key for key in times_by_key if key not in self._flights]
        out: list[Instruction] = [Stop(key) for key in unknown if not self.is_foreign(key)]
        if any(map(self.is_foreign, unknown)):
            out += self._let_go()
        for key, flight in self._flights.items():
            if key in times_by_key:
                self._fruitless = 0
                self._seen_running(now, flight, *times_by_key[key])
            elif flight.phase == "claimed" or (flight.phase == "posted" and queue_length > 0):
                flight.absent_since = None
            elif flight.absent_since is None:
                flight.absent_since = now
        # The first heartbeat has shown whether the runner still has jobs of another installation.
        was_cautious, self.cautious = self.cautious, False
        missing_keys = [key for key, flight in self._flights.items() if flight.absent_s(now) > self.times.absent_s]
        started_keys = tuple(key for key in missing_keys if self._flights[key].phase == "started")
        waiting = tuple(key for key in missing_keys if key not in started_keys)
        for key in missing_keys:
            del self._flights[key]
        if started_keys:
            out.append(Lose(started_keys, "no longer there"))
        if waiting:
            out.append(GiveBack(waiting, "the runner accepted the job and no longer has it", refused=True))
        return [*out, *(self._refill(now) if missing_keys or was_cautious else [])]

    @staticmethod
    def _seen_running(now: float, flight: Flight, elapsed_s: float, waited_s: float) -> None:
        flight.absent_since, flight.named_at = None, now
        if flight.started_at is None:
            flight.phase, flight.started_at = "started", now - min(elapsed_s, flight.lease.timeout_s)
        flight.elapsed_s = elapsed_s
        # A wait can only grow, whatever the runner reports, so that no deadline moves closer.
        flight.waited_s = max(flight.waited_s, waited_s)

    def _on_disconnected(self, reason: str, fruitless: bool) -> list[Instruction]:
        self.online = False
        self._fruitless += fruitless
        if self._fruitless < FRUITLESS_LIMIT:
            return []
        self._fruitless = 0
        return [self._strike(reason)]

    def _on_revoked(self, keys: tuple[Key, ...]) -> list[Instruction]:
        out: list[Instruction] = []
        for key in keys:
            flight = self._flights.get(key)
            if flight is None or flight.revoked:
                continue
            if flight.sent:
                flight.revoked = True
                out.append(Stop(key))
            else:
                del self._flights[key]
        return out

    def _on_tick(self, now: float) -> list[Instruction]:
        if self._flights and now - self._last_heard > self.times.silence_s:
            return self._give_up_silent_runner()
        waits_s = 0.0 if self._progress_at is None else now - self._progress_at
        has_sent_jobs = any(flight.sent for flight in self._flights.values())
        if has_sent_jobs and not self.started and waits_s > self.times.start_s:
            return self._give_up_stalled_runner(now)
        overdue = [key for key, flight in self._flights.items() if flight.is_overdue(now, self.times)]
        out = [instruction for key in overdue for instruction in self._past_deadline(now, key)]
        if self.serves_another and self.online and not self._flights:
            self.online = False
            return [*out, Quarantine(self.times.elsewhere_s, SERVES_ANOTHER)]
        return [*out, *self._refill(now)]

    def _past_deadline(self, now: float, key: Key) -> list[Instruction]:
        """End the job that is past its deadline: as a timeout, or as a lost attempt.

        The job is a timeout if the runner reports it as running after its deadline. The attempt is lost if the runner
        has answered the request to end the job (DELETE), and later events neither name the job as running nor end it.
        Then the report of the job's end was probably lost, and it is not known how long the case ran.
        """
        flight = self._flights[key]
        if flight.stopped is None:
            flight.stopped = now
            return [Stop(key)]
        if now <= flight.stopped + self.times.grace_s:
            return []
        if flight.named_at > flight.stopped:
            del self._flights[key]
            time_out = TimeOut(key, max(flight.ran_s(now, self.times), flight.elapsed_s))
            return [time_out, self._strike("the runner did not end a job past its deadline")]
        # A runner that does not answer the DELETE gets more time, but not unlimited time.
        told_at = flight.stopped + self.times.silence_s if flight.stop_answered is None else flight.stop_answered
        if self._last_heard <= told_at + self.times.grace_s + self.times.absent_s:
            return []
        del self._flights[key]
        lose = Lose((key,), "its end was not reported")
        return [lose, self._strike("the runner did not report the end of a job that the coordinator stopped")]

    def _give_up_stalled_runner(self, now: float) -> list[Instruction]:
        """Handle a runner that accepts jobs and starts none. The first of these jobs may be the reason, so this job
        counts as refused."""
        sent_keys = [key for key, flight in self._flights.items() if flight.sent]
        head, *others = [*sent_keys, *(key for key in self._flights if key not in sent_keys)]
        self._flights.clear()
        self._progress_at = now
        why = f"the runner did not start the job within {self.times.start_s:g} s"
        out: list[Instruction] = [Stop(key) for key in sent_keys]
        out.append(GiveBack((head,), why, refused=True))
        if others:
            out.append(GiveBack(tuple(others), why))
        return [*out, self._strike(f"the runner accepted jobs and started none within {self.times.start_s:g} s")]

    def _give_up_silent_runner(self) -> list[Instruction]:
        started_keys = tuple(key for key, flight in self._flights.items() if flight.phase == "started")
        waiting = tuple(key for key in self._flights if key not in started_keys)
        self._flights.clear()
        out: list[Instruction] = []
        if started_keys:
            out.append(Lose(started_keys, "silent"))
        if waiting:
            out.append(GiveBack(waiting, FELL_SILENT))
        return [*out, self._strike(f"the runner was silent for {self.times.silence_s:g} s")]

    def _strike(self, reason: str) -> Quarantine:
        self.online = False
        self.strikes += 1
        return Quarantine(self.times.quarantine.pause_s(self.strikes), reason)

    def _reject_catalogue(self, status: str) -> Quarantine:
        """Quarantine the runner for the shortest time, without doubling. Refused jobs go last, and a longer quarantine
        would delay the other jobs."""
        self.online = False
        reason = f"the runner refuses jobs that its catalogue offers ({status})"
        return Quarantine(self.times.quarantine.pause_s(1), reason)

    def _refill(self, now: float) -> list[Instruction]:
        ahead = min(self.ahead, self.queue_limit)
        if not self.online or self._claiming or self._drained or len(self._flights) > ahead // 2:
            return []
        if self.serves_another or self.cautious or now < self._paused_until:
            return []
        if self._last_claim is not None and now - self._last_claim < FAST_REFILL_S:
            self.ahead = min(MAX_AHEAD, self.ahead * 2)
        elif self._last_claim is not None and now - self._last_claim > SLOW_REFILL_S:
            self.ahead = max(MIN_AHEAD, self.ahead // 2)
        if not self.room:
            return []
        self._claiming, self._last_claim = True, now
        return [Claim(self.room)]
