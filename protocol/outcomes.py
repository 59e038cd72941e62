"""A runner's report about a finished attempt. It contains observations, and never a cause.

The runner reports how the attempt ended, with the evidence. The coordinator's rules decide the cause, so that improved
rules can be applied to stored outcomes without running the cases again.
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
    """The evidence from which rules decide the cause. All text is valid Unicode without NUL, and truncated to its
    limit."""

    exception: Line | None = None
    """The full type name of the exception (``builtins.RuntimeError``)."""
    message: LongText | None = None
    frames: Lines = Field(default_factory=list)
    """The stack frames, the innermost last: ``file:line function``."""
    stage: Line | None = None
    """The step at which the case failed: ``inputs``, ``call``, ``check``, ``placement``, ``samples``, ``prime``."""
    exit_code: ExitCode | None = None
    signal: Line | None = None
    mismatch: LongText | None = None
    """Which value was wrong, and by how much."""
    right_at: Line | None = None
    """The float type of lower precision whose tolerance the wrong values satisfy, such as ``float16``."""
    reason: LongText | None = None
    """A sentence that explains why the case was skipped, or how the harness failed."""
    operation: Line | None = None
    """The framework's name of the operation that failed (``aten::add``, ``MatMul``, ``dot_general``). For a wrong
    result, the first operation whose result differs from the host's result for the same inputs."""
    dtypes: Lines = Field(default_factory=list)
    """The dtypes of that operation's arrays, in order."""
    kernels: Kernels | None = None
    """For which dtypes the device has kernels or lowerings of this operation; ``None`` if this is unknown."""
    kernel_dtypes: Lines = Field(default_factory=list)
    """The dtypes for which the device is known to have a kernel."""
    on_host: Repetition | None = None
    """The result of the same call on the host. ``None`` if the call was not repeated on the host, or if the device is
    the host."""
    in_graph: Repetition | None = None
    """The result of the same call on the host in a graph, without the compiler. ``None`` if the call was not repeated
    in such a graph, or if the device does not compile whole calls."""
    in_float32: Repetition | None = None
    """The result of the same call on the device in float32. ``None`` if the call was not repeated in float32, or if
    float32 is the case's dtype."""
    after_others: Repetition | None = None
    """Whether the case failed in the same way before, in a process that had run other cases. If so, this outcome comes
    from a repetition in a new process. ``None`` if this outcome is not a repetition."""


class PlacementProof(Message):
    """Evidence for where the call ran: the devices of its arrays, the executions on the device, and the framework's
    silent fallbacks."""

    devices: Lines = Field(default_factory=list)
    """The devices of all input and output arrays."""
    fallbacks: dict[Line, Total] = Field(default_factory=dict, max_length=MAX_OPERATIONS)
    """Operations that ran on the host although the target is a device, each with its number of executions."""
    executed: Total | None = None
    """The number of executions on the device (compiled programs, kernels) in the call and in its traced repetition;
    ``None`` if the device's executions cannot be counted."""
    unproven: Unproven | None = None
    """The reason for an unknown placement. ``None`` if the placement is known, or if the runner gives no reason."""


class Timing(Message):
    """The durations of one case in milliseconds. ``None`` means *not measured*, and never zero."""

    init_ms: Milliseconds | None = None
    """The time for priming the device in this child process. All other times begin after priming."""
    cold_ms: Milliseconds | None = None
    """The time of the first call of the case. With a compiling framework it includes the compilation."""
    samples_ms: Annotated[list[Milliseconds], Field(max_length=MAX_SAMPLES)] = Field(default_factory=list)
    """The times of one call after warm-up, one for each sample. The time of a sample is divided by its number of
    calls."""
    calls_per_sample: Count = 1
    contended: bool = False
    """Whether, in most samples, threads of the case waited for a core that other processes used. If so, the samples
    also measure the load on the host. If enough samples have no such wait, the runner uses only these."""
    contended_share: Annotated[float, Field(ge=0, le=1)] | None = None
    """The share of samples in which threads waited for a core. Discarded samples are included. ``None`` if waits were
    not counted."""
    lock_wait_ms: Milliseconds = 0.0
    position: Count = 0
    """The number of cases that ran in this child process before this case."""


class Outcome(Message):
    """The runner's report of one finished attempt."""

    verdict: Verdict
    ending: Ending
    placement: Placement = Placement.unknown
    proof: PlacementProof = Field(default_factory=PlacementProof)
    timing: Timing = Field(default_factory=Timing)
    evidence: Evidence | None = None
    duration_s: Seconds
    """The seconds from the start of this case in its child process to its outcome. Waits for the timing lock are not
    included."""
    log_tail: LongText = ""
    log_bytes: Total = 0
    """The size of the case's whole output in bytes. ``log_tail`` contains only the end of the output."""
