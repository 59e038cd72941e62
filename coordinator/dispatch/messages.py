"""What the state machine of one runner hears and what it wants done: events in, instructions out.

Times are seconds on a monotonic clock of the coordinator and come with the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from protocol.jobs import JobStatus


class Key(NamedTuple):
    """One attempt of one job, as it was leased to one boot of one runner.

    ``token`` is drawn anew for every boot of every runner and for every time that a coordinator
    begins to serve it. It is part of the job's id on the wire, so an id is unique beyond this
    database, its copies and its restores, and names its lease by itself.
    """

    job: int
    attempt: int
    token: str = ""

    @property
    def wire_id(self) -> str:
        """The job's id in the runner API. A stranger's id is kept whole in ``token``."""
        return f"{self.token}.{self.job}" if self.job else self.token

    @classmethod
    def of_wire(cls, id: str, attempt: int) -> Key:
        """The attempt that an id of the runner API names; an id that cannot be ours becomes job 0."""
        token, dot, number = id.rpartition(".")
        ours = dot and token and number.isascii() and number.isdecimal() and len(number) < 19
        if ours and not number.startswith("0") and 0 < attempt < 2**15:
            return cls(int(number), attempt, token)
        return cls(0, attempt, id)


@dataclass(frozen=True)
class Lease:
    """A job that this runner holds, as the database has it."""

    key: Key
    timeout_s: float
    started: bool = False
    ran_s: float = 0.0
    """Since when it has been running, by the database's clock."""


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
class Strayed:
    """Jobs that the database says this runner holds, and of which nobody has heard for a while."""

    now: float
    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Posted:
    """The runner took these (queued, or known already), refused those for want of room."""

    now: float
    accepted: tuple[Key, ...]
    full: tuple[Key, ...] = ()
    refused: tuple[Key, ...] = ()
    """It does not know the case, has a newer attempt or another case under this id, or says nothing of it."""
    status: str = ""
    """What it said of the refused ones."""

    @classmethod
    def answered(cls, now: float, keys: Sequence[Key], status: Mapping[Key, JobStatus]) -> Posted:
        """What the runner answered to a batch; no word of a job is a refusal too."""
        taken = (JobStatus.queued, JobStatus.known)
        full = tuple(key for key in keys if status.get(key) is JobStatus.full)
        refused = tuple(key for key in keys if status.get(key) not in (*taken, JobStatus.full))
        said = ", ".join(sorted({str(status.get(key, "no answer")) for key in refused}))
        return cls(now, tuple(key for key in keys if status.get(key) in taken), full, refused, said)


@dataclass(frozen=True)
class StartSeen:
    now: float
    key: Key


@dataclass(frozen=True)
class FinishSeen:
    now: float
    key: Key


@dataclass(frozen=True)
class StopSeen:
    """The attempt ended because somebody had it stopped."""

    now: float
    key: Key


@dataclass(frozen=True)
class UnreadableSeen:
    """An event that cannot be read; ``key`` if it can be said which attempt it is about."""

    now: float
    key: Key | None
    reason: str


@dataclass(frozen=True)
class Beat:
    now: float
    running: tuple[tuple[Key, float, float], ...]
    """What runs, for how many seconds on the runner's clock, and for how many it waited for the timing lock."""
    queued: int = 0
    """How many jobs have not begun there."""


@dataclass(frozen=True)
class Disconnected:
    now: float
    reason: str
    fruitless: bool = False
    """The runner answered, but the conversation ended by its fault."""


@dataclass(frozen=True)
class Revoked:
    """Jobs that this runner holds and that are no longer its own: cancelled, or ended without it."""

    now: float
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Woken:
    """There may be new work."""

    now: float


@dataclass(frozen=True)
class Tick:
    now: float


Event = (
    Adopted
    | Connected
    | Claimed
    | Strayed
    | Posted
    | StartSeen
    | FinishSeen
    | StopSeen
    | UnreadableSeen
    | Beat
    | Disconnected
    | Revoked
    | Woken
    | Tick
)

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
    """To the queue again: these never started.

    Counted as refused, a job goes back only so often: its runners will not take it or never begin it.
    """

    keys: tuple[Key, ...]
    reason: str
    refused: bool = False


FELL_SILENT = "the runner fell silent"
"""Why a job that had not started went back; its runner may come back and have it still."""

LossReason = Literal["restarted", "silent", "stopped by somebody else", "no longer there"]


@dataclass(frozen=True)
class Lose:
    """These had started: the attempt is lost, and counted."""

    keys: tuple[Key, ...]
    reason: LossReason


@dataclass(frozen=True)
class TimeOut:
    """Past its deadline on the coordinator's clock, and its runner does not end it: a timeout."""

    key: Key
    elapsed_s: float


@dataclass(frozen=True)
class Quarantine:
    seconds: float
    reason: str


Instruction = Claim | Post | Stop | GiveBack | Lose | TimeOut | Quarantine
