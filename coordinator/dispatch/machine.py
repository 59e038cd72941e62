"""What to do next with one runner: a pure state machine. Events in, instructions out, no I/O.

One ``RunnerMachine`` stands for one runner that this coordinator owns. It knows which jobs
are in flight there, keeps a bounded number ahead so that the device never waits for the
network, enforces deadlines from the coordinator's own clock, and decides what becomes of
jobs when the runner restarts or falls silent. Times are seconds on a monotonic clock and
come with the events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MAX_AHEAD = 512
"""Jobs in flight per runner at most; refilled at half. Only a runner that does hundreds a second
gets as many: a POST, a claim and a finish cost nearly the same however many jobs share them."""
MAX_CLAIM = 256
"""Half of it, so that one batch is claimed while the one before is posted, run and reported."""
MIN_AHEAD = 4
FAST_REFILL_S = 1.0
"""A refill that was used up sooner than this doubles what is kept ahead,"""
SLOW_REFILL_S = 10.0
"""and one that lasted longer halves it, so that the tail of a campaign is not hoarded."""
GRACE_S = 10.0
"""Past its deadline by this much, the coordinator stops a job that the runner has not."""
SILENCE_S = 30.0
"""Without a word for this long, a runner is silent: its attempts are lost."""
FIRST_QUARANTINE_S = 10.0
LONGEST_QUARANTINE_S = 3600.0


class Key(NamedTuple):
    """One attempt of one job."""

    job: int
    attempt: int


@dataclass(frozen=True)
class Lease:
    """A job that this runner holds, as the database has it."""

    key: Key
    timeout_s: float
    started: bool = False


# Events


@dataclass(frozen=True)
class Adopted:
    """What the database says a runner holds, before it has been reached: silence counts from now."""

    now: float
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Connected:
    """The runner answers, and this is what the database says it holds."""

    now: float
    same_boot: bool
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Claimed:
    now: float
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Posted:
    """The runner took these (queued, or known already), refused those for want of room."""

    now: float
    accepted: tuple[Key, ...]
    full: tuple[Key, ...] = ()
    refused: tuple[Key, ...] = ()
    """It does not know the case, or has a newer attempt: not for this runner."""


@dataclass(frozen=True)
class StartSeen:
    now: float
    key: Key


@dataclass(frozen=True)
class FinishSeen:
    now: float
    key: Key


@dataclass(frozen=True)
class Beat:
    now: float
    running: tuple[tuple[Key, float], ...]
    """What runs, and for how many seconds on the runner's clock."""


@dataclass(frozen=True)
class Disconnected:
    now: float
    reason: str


@dataclass(frozen=True)
class Cancelled:
    now: float
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Woken:
    """There may be new work."""

    now: float


@dataclass(frozen=True)
class Tick:
    now: float


Event = Adopted | Connected | Claimed | Posted | StartSeen | FinishSeen | Beat | Disconnected | Cancelled | Woken | Tick

# Instructions


@dataclass(frozen=True)
class Claim:
    """Lease up to ``limit`` queued jobs; answer with ``Claimed``, however few."""

    limit: int


@dataclass(frozen=True)
class Post:
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Stop:
    """DELETE this attempt on the runner; it still reports that it finished."""

    key: Key


@dataclass(frozen=True)
class GiveBack:
    """To the queue again, uncounted: these never started."""

    keys: tuple[Key, ...]
    reason: str


@dataclass(frozen=True)
class Lose:
    """These had started: the attempt is lost, and counted."""

    keys: tuple[Key, ...]
    reason: Literal["restarted", "silent"]


@dataclass(frozen=True)
class TimeOut:
    """Past its deadline on both clocks, and its runner does not end it: a timeout."""

    key: Key
    elapsed_s: float


@dataclass(frozen=True)
class Quarantine:
    seconds: float
    reason: str


Instruction = Claim | Post | Stop | GiveBack | Lose | TimeOut | Quarantine


@dataclass
class _Flight:
    lease: Lease
    phase: Literal["claimed", "posted", "started"]
    deadline: float | None = None
    stopped: float | None = None


def _phase(lease: Lease) -> Literal["claimed", "started"]:
    return "started" if lease.started else "claimed"


def quarantine_s(misbehaved: int) -> float:
    """10 s for the first time, doubling up to an hour."""
    return min(FIRST_QUARANTINE_S * 2.0 ** max(misbehaved - 1, 0), LONGEST_QUARANTINE_S)


@dataclass
class RunnerMachine:
    """``handle`` is the only way to change it. ``queue_limit`` is the runner's own."""

    queue_limit: int
    misbehaved: int = 0
    online: bool = False
    ahead: int = 8
    _flights: dict[Key, _Flight] = field(default_factory=dict)
    _claiming: bool = False
    _drained: bool = False
    """The last claim brought less than it asked for: nothing is queued until something wakes us."""
    _last_claim: float | None = None
    _last_heard: float = float("-inf")

    @property
    def in_flight(self) -> frozenset[Key]:
        return frozenset(self._flights)

    @property
    def started(self) -> frozenset[Key]:
        return frozenset(key for key, flight in self._flights.items() if flight.phase == "started")

    @property
    def room(self) -> int:
        """How many more may be claimed at once."""
        return min(MAX_CLAIM, max(0, min(self.ahead, self.queue_limit) - len(self._flights)))

    def overdue(self, key: Key) -> bool:
        """Whether this attempt was told to stop because it was past its deadline."""
        flight = self._flights.get(key)
        return flight is not None and flight.stopped is not None

    def handle(self, event: Event) -> list[Instruction]:
        match event:
            case Adopted(now, leases):
                self._last_heard = now
                self._flights = {lease.key: _Flight(lease, _phase(lease)) for lease in leases}
                return []
            case Connected():
                return self._connected(event)
            case Claimed(now, leases):
                return self._claimed(now, leases)
            case Posted():
                return self._posted(event)
            case StartSeen(now, key):
                return self._start_seen(now, key)
            case FinishSeen(now, key):
                return self._finish_seen(now, key)
            case Beat(now, running):
                return self._beat(now, dict(running))
            case Disconnected():
                self.online = False
                return []
            case Cancelled(_, keys):
                return [Stop(key) for key in keys if key in self._flights]
            case Woken(now):
                self._drained = False
                return self._refill(now)
            case Tick(now):
                return self._tick(now)

    def _connected(self, event: Connected) -> list[Instruction]:
        self.online, self._last_heard = True, event.now
        self._claiming = self._drained = False
        self._flights.clear()
        if not event.same_boot:
            return [*self._restarted(event.leases), *self._refill(event.now)]
        for lease in event.leases:
            self._flights[lease.key] = _Flight(lease, _phase(lease))
            if lease.started:
                self._flights[lease.key].deadline = event.now + lease.timeout_s + GRACE_S
        # Whether the last POST before the break arrived is unknown; posting again changes nothing.
        unsure = tuple(lease for lease in event.leases if not lease.started)
        posts: list[Instruction] = [Post(unsure)] if unsure else []
        return [*posts, *self._refill(event.now)]

    def _restarted(self, leases: tuple[Lease, ...]) -> list[Instruction]:
        """A new boot: all attempts of the old one are gone.

        If none is known to have started, the head of the queue counts as started: a job that
        kills its runner before the event gets out must not go round for ever.
        """
        if not leases:
            return []
        started = tuple(lease.key for lease in leases if lease.started) or (leases[0].key,)
        waiting = tuple(lease.key for lease in leases if lease.key not in started)
        self.misbehaved += 1
        out: list[Instruction] = [Lose(started, "restarted")]
        if waiting:
            out.append(GiveBack(waiting, "the runner restarted"))
        if self.misbehaved > 1:
            self.online = False
            out.append(Quarantine(quarantine_s(self.misbehaved - 1), "it restarted again while a job ran"))
        return out

    def _claimed(self, now: float, leases: tuple[Lease, ...]) -> list[Instruction]:
        self._claiming = False
        if not leases:
            self._drained = True
            return []
        if not self.online:
            return [GiveBack(tuple(lease.key for lease in leases), "the runner went away")]
        for lease in leases:
            self._flights[lease.key] = _Flight(lease, "claimed")
        return [Post(leases), *self._refill(now)]

    def _posted(self, event: Posted) -> list[Instruction]:
        for key in event.accepted:
            flight = self._flights.get(key)
            if flight is not None and flight.phase == "claimed":
                flight.phase = "posted"
        back = tuple(key for key in (*event.full, *event.refused) if self._flights.pop(key, None))
        if event.full:
            self.ahead = max(MIN_AHEAD, self.ahead // 2)
        reason = "the runner's queue was full" if event.full else "the runner refused it"
        return [GiveBack(back, reason)] if back else []

    def _start_seen(self, now: float, key: Key) -> list[Instruction]:
        self._last_heard = now
        flight = self._flights.get(key)
        if flight is not None:
            flight.phase = "started"
            flight.deadline = now + flight.lease.timeout_s + GRACE_S
        return []

    def _finish_seen(self, now: float, key: Key) -> list[Instruction]:
        self._last_heard = now
        self.misbehaved = 0
        self._flights.pop(key, None)
        return self._refill(now)

    def _beat(self, now: float, running: dict[Key, float]) -> list[Instruction]:
        """A heartbeat knows better than our clock: waiting for the timing lock is not charged."""
        self._last_heard = now
        for key, elapsed_s in running.items():
            flight = self._flights.get(key)
            if flight is not None:
                flight.phase = "started"
                flight.deadline = now + flight.lease.timeout_s - elapsed_s + GRACE_S
        return []

    def _tick(self, now: float) -> list[Instruction]:
        if self._flights and now - self._last_heard > SILENCE_S:
            return self._silent()
        out: list[Instruction] = []
        for key, flight in list(self._flights.items()):
            if flight.deadline is None or now <= flight.deadline:
                continue
            if flight.stopped is None:
                flight.stopped = now
                out.append(Stop(key))
            elif now > flight.stopped + GRACE_S:
                del self._flights[key]
                self.misbehaved += 1
                out.append(TimeOut(key, now - flight.deadline + GRACE_S + flight.lease.timeout_s))
                out.append(Quarantine(quarantine_s(self.misbehaved), "it did not end a job past its deadline"))
                self.online = False
        return [*out, *self._refill(now)]

    def _silent(self) -> list[Instruction]:
        started = tuple(key for key, flight in self._flights.items() if flight.phase == "started")
        waiting = tuple(key for key in self._flights if key not in started)
        self._flights.clear()
        self.online = False
        self.misbehaved += 1
        out: list[Instruction] = []
        if started:
            out.append(Lose(started, "silent"))
        if waiting:
            out.append(GiveBack(waiting, "the runner fell silent"))
        return [*out, Quarantine(quarantine_s(self.misbehaved), f"it was silent for {SILENCE_S:.0f} s")]

    def _refill(self, now: float) -> list[Instruction]:
        ahead = min(self.ahead, self.queue_limit)
        if not self.online or self._claiming or self._drained or len(self._flights) > ahead // 2:
            return []
        if self._last_claim is not None and now - self._last_claim < FAST_REFILL_S:
            self.ahead = min(MAX_AHEAD, self.ahead * 2)
        elif self._last_claim is not None and now - self._last_claim > SLOW_REFILL_S:
            self.ahead = max(MIN_AHEAD, self.ahead // 2)
        if not self.room:
            return []
        self._claiming, self._last_claim = True, now
        return [Claim(self.room)]
