"""The report of a runner about a finished attempt: observations, never a cause.

The runner reports how the attempt ended and gives the evidence; the coordinator's rules name
the cause, so that a better rule can be applied to old outcomes without running them again.
"""

from typing import Annotated

from pydantic import Field

from protocol.enums import Ending, Kernels, Placement, Repetition, Unproven, Verdict
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
    operation: Line | None = None
    """The framework's own name of the operation that was in flight (``aten::add``, ``MatMul``, ``dot_general``); of a
    wrong result, of the first operation that computed otherwise than the host of the same inputs."""
    dtypes: Lines = Field(default_factory=list)
    """The dtypes of that operation's arrays, in order."""
    kernels: Kernels | None = None
    """The kernels or lowerings that the device has of it; ``None``: not known."""
    kernel_dtypes: Lines = Field(default_factory=list)
    """The dtypes for which it has one, as far as they are known."""
    on_host: Repetition | None = None
    """The same call on the host; ``None``: not repeated there, or the device is the host."""
    in_graph: Repetition | None = None
    """The same call on the host in a graph, without the compiler; ``None``: not repeated so, or the device compiles no
    call as a whole."""
    in_float32: Repetition | None = None
    """The same call on the device in float32; ``None``: not repeated, or the case's own dtype."""
    after_others: Repetition | None = None
    """How the case failed in a process that had run other cases before it, set against this outcome, which it had
    alone in a fresh one; ``None``: it did not fail there, or was not repeated."""


class PlacementProof(Message):
    """The devices of the arrays, the executions there, and the framework's fallbacks behind the caller's back."""

    devices: Lines = Field(default_factory=list)
    """Devices of every array that went in or came out."""
    fallbacks: dict[Line, Total] = Field(default_factory=dict, max_length=MAX_OPERATIONS)
    """Operations that ran on the host although the target is a device, with their count."""
    executed: Total | None = None
    """Executions on the device (compiled programs, kernels) in the call and in one more of it that is watched; ``None``
    if nothing counts them there."""
    unproven: Unproven | None = None
    """Why the placement is unknown; ``None`` where it is known, or the runner gives no reason."""


class Timing(Message):
    """Durations of one case, in milliseconds; ``None`` is *not measured*, never zero."""

    init_ms: Milliseconds | None = None
    """Priming of the device in this child, before any clock."""
    cold_ms: Milliseconds | None = None
    """First call of the case; on a compiling framework it holds the compilation."""
    samples_ms: Annotated[list[Milliseconds], Field(max_length=MAX_SAMPLES)] = Field(default_factory=list)
    """Steady-state time of one call: each entry is one sample, already divided by its calls."""
    calls_per_sample: Count = 1
    contended: bool = False
    """Whether threads of the case waited in most samples for a core that others had: then the host was measured with
    it. A sample in which they waited is left out where there are enough others."""
    contended_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of all samples taken, those left out among them, in which they waited; ``None``: nobody counted."""
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
