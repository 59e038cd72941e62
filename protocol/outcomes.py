"""The report of a runner about a finished attempt: observations, never a cause.

The runner reports how the attempt ended and gives the evidence; the coordinator's rules name
the cause, so that a better rule can be applied to old outcomes without running them again.
"""

from typing import Annotated

from pydantic import Field

from protocol.enums import Ending, Placement, Verdict
from protocol.limits import (
    MAX_OPERATIONS,
    MAX_SAMPLES,
    Count,
    ExitCode,
    Line,
    Lines,
    LongText,
    Milliseconds,
    Seconds,
    Total,
)
from protocol.model import Message


class Evidence(Message):
    """The evidence from which rules name the cause. All text is valid Unicode without NUL, cut to size."""

    exception: Line | None = None
    """Qualified type name of the exception (``builtins.RuntimeError``)."""
    message: LongText | None = None
    frames: Lines = Field(default_factory=list)
    """Innermost last: ``file:line function``."""
    stage: Line | None = None
    """Where it happened: ``inputs``, ``call``, ``check``, ``placement``, ``samples``, ``prime``."""
    exit_code: ExitCode | None = None
    signal: Line | None = None
    mismatch: LongText | None = None
    """Which value was wrong, and by how much."""
    right_at: Line | None = None
    """The narrower float type at whose tolerance the values would have been right."""
    reason: LongText | None = None
    """A sentence, for skipped and harness failures."""


class PlacementProof(Message):
    """The devices of the arrays, and the framework's fallbacks behind the caller's back."""

    devices: Lines = Field(default_factory=list)
    """Devices of every array that went in or came out."""
    fallbacks: dict[Line, Total] = Field(default_factory=dict, max_length=MAX_OPERATIONS)
    """Operations that ran on the host although the target is a device, with their count."""


class Timing(Message):
    """Durations of one case, in milliseconds; ``None`` is *not measured*, never zero."""

    init_ms: Milliseconds | None = None
    """Priming of the device in this child, before any clock."""
    cold_ms: Milliseconds | None = None
    """First call of the case; on a compiling framework it holds the compilation."""
    samples_ms: Annotated[list[Milliseconds], Field(max_length=MAX_SAMPLES)] = Field(default_factory=list)
    """Steady-state time of one call: each entry is one sample, already divided by its calls."""
    calls_per_sample: Count = 1
    lock_wait_ms: Milliseconds = 0.0
    position: Count = 0
    """How many cases ran in this child before this one."""


class Outcome(Message):
    """The runner's report of one finished attempt."""

    verdict: Verdict
    ending: Ending
    placement: Placement = Placement.unknown
    proof: PlacementProof = Field(default_factory=PlacementProof)
    timing: Timing = Field(default_factory=Timing)
    evidence: Evidence | None = None
    duration_s: Seconds
    """From the beginning of this case in its child to its outcome; lock waits taken off."""
    log_tail: LongText = ""
    log_bytes: Total = 0
    """How much the case printed; more than ``log_tail`` holds if it was cut."""
