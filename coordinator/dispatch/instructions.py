"""The instructions that a runner's state machine gives to its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.dispatch.leases import Key, Lease

FELL_SILENT = "the runner fell silent"
"""Why a job that had not started was requeued. Its runner may come back and still have it."""

SERVES_ANOTHER = (
    "it also holds jobs of another coordinator: remove it here or there, or restart it if those jobs are nobody's"
)
"""Why a runner is quarantined. Portolan does not stop jobs of another installation."""

LossReason = Literal[
    "restarted",
    "silent",
    "stopped by somebody else",
    "stopped before its deadline",
    "no longer there",
    "its end was not reported",
]


@dataclass(frozen=True)
class Instruction:
    """One action for the session."""


@dataclass(frozen=True)
class Claim(Instruction):
    """Lease up to ``limit`` queued jobs; answer with a ``ClaimedEvent``, also for none."""

    limit: int


@dataclass(frozen=True)
class Post(Instruction):
    """Send these jobs to the runner; answer with a ``PostedEvent``."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Stop(Instruction):
    """DELETE this attempt on the runner, which still reports that it finished."""

    key: Key


@dataclass(frozen=True)
class GiveBack(Instruction):
    """Requeue these jobs, which never started.

    If ``refused``, this counts as a refusal: a job that runners refuse or do not begin is requeued only so often.
    """

    keys: tuple[Key, ...]
    reason: str
    refused: bool = False


@dataclass(frozen=True)
class Lose(Instruction):
    """Count these started attempts as lost."""

    keys: tuple[Key, ...]
    reason: LossReason


@dataclass(frozen=True)
class TimeOut(Instruction):
    """Record a timeout: the job is past its deadline on the coordinator's clock, and its runner does not end it."""

    key: Key
    elapsed_s: float


@dataclass(frozen=True)
class Quarantine(Instruction):
    """Leave the runner alone for so many seconds, and end the session."""

    seconds: float
    reason: str
