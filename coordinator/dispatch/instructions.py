"""The instructions that a runner's state machine gives to its session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coordinator.dispatch.leases import Key, Lease

FELL_SILENT = "the runner fell silent"
"""The reason for requeuing a job that had not started on a silent runner. The runner may come back and still have the
job."""

SERVES_ANOTHER = (
    "it also holds jobs of another coordinator: remove the runner from one of the two coordinators, "
    "or restart the runner if nobody needs those jobs"
)
"""The reason for quarantining a runner. Portolan does not stop jobs of another installation."""

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
    """One action that the session must take."""


@dataclass(frozen=True)
class Claim(Instruction):
    """Lease up to ``limit`` queued jobs. The session answers with a ``ClaimedEvent``, even if no job could be
    leased."""

    limit: int


@dataclass(frozen=True)
class Post(Instruction):
    """Send these jobs to the runner. The session answers with a ``PostedEvent``."""

    leases: tuple[Lease, ...]


@dataclass(frozen=True)
class Stop(Instruction):
    """Send a DELETE for this attempt to the runner. The runner still reports the end of the attempt."""

    key: Key


@dataclass(frozen=True)
class GiveBack(Instruction):
    """Requeue these jobs, which never started. If ``refused``, this counts as a refusal; a job is requeued only a few
    times after refusals."""

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
    """Record a timeout. The job is past its deadline on the coordinator's clock, and its runner has not ended it."""

    key: Key
    elapsed_s: float


@dataclass(frozen=True)
class Quarantine(Instruction):
    """Do not contact the runner for this number of seconds, and end the session."""

    seconds: float
    reason: str
