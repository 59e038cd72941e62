"""What a runner reports of a finished attempt: observations, never a cause.

The runner says how the attempt ended and gives the evidence; the coordinator's rules name
the cause, so that a better rule can be applied to old outcomes without running them again.
"""

from pydantic import Field

from protocol.model import Message
from protocol.words import Ending, Placement, Verdict


class Evidence(Message):
    """What the cause is told from. All text is valid Unicode without NUL, cut to size."""

    exception: str | None = None
    """Qualified type name of the exception (``builtins.RuntimeError``)."""
    message: str | None = None
    frames: list[str] = Field(default_factory=list)
    """Innermost last: ``file:line function``."""
    stage: str | None = None
    """Where it happened: ``inputs``, ``call``, ``check``, ``placement``, ``samples``, ``prime``."""
    exit_code: int | None = None
    signal: str | None = None
    mismatch: str | None = None
    """Which value was wrong, and by how much."""
    right_at: str | None = None
    """The narrower float type at whose tolerance the values would have been right."""
    reason: str | None = None
    """A sentence, for skipped and harness failures."""


class PlacementProof(Message):
    """Where the arrays were, and what the framework did behind the caller's back."""

    devices: list[str] = Field(default_factory=list)
    """Devices of every array that went in or came out."""
    fallbacks: dict[str, int] = Field(default_factory=dict)
    """Operations that ran on the host although the target is a device, with their count."""


class Timing(Message):
    """Durations of one case, in milliseconds; ``None`` is *not measured*, never zero."""

    init_ms: float | None = None
    """Priming of the device in this child, before any clock."""
    cold_ms: float | None = None
    """First call of the case; on a compiling framework it holds the compilation."""
    samples_ms: list[float] = Field(default_factory=list)
    """Steady-state time of one call: each entry is one sample, already divided by its calls."""
    calls_per_sample: int = 1
    lock_wait_ms: float = 0.0
    position: int = 0
    """How many cases ran in this child before this one."""


class Outcome(Message):
    """The runner's report of one finished attempt."""

    verdict: Verdict
    ending: Ending
    placement: Placement = Placement.unknown
    proof: PlacementProof = Field(default_factory=PlacementProof)
    timing: Timing = Field(default_factory=Timing)
    evidence: Evidence | None = None
    duration_s: float = Field(ge=0)
    """From the beginning of this case in its child to its outcome; lock waits taken off."""
    log_tail: str = ""
    log_bytes: int = 0
    """How much the case printed; more than ``log_tail`` holds if it was cut."""
