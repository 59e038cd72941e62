"""A recording: the distinct framework calls of a user's command, as data (``docs/reference/recording.md``).

``portolan-runner record`` writes it, a runner replays it as a suite, and ``portolan assess --run`` reads it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue

from protocol.limits import CaseName, Count, ExitCode, Line, Lines, Moment, Name, Seconds, Total
from protocol.model import Message
from protocol.recording_format import (
    FORMAT,
    GRADIENT_SUFFIX,
    LARGEST,
    MAX_ARRAYS,
    MAX_BASE64,
    MAX_CALLS,
    MAX_DIMENSIONS,
    MAX_SITES,
)

Direction = Literal["to_host", "to_device"]
BASE64 = r"^[A-Za-z0-9+/]*={0,2}$"
End = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
"""The lowest or highest of an array's random values."""
Places = Annotated[list[Count], Field(max_length=MAX_ARRAYS)]
"""Indexes of arrays. The arrays in the arguments are counted first, then those in the options."""


class RecordingMark(BaseModel):
    """The members of a recording that every version of the format has. Readers check them first."""

    type: Literal["portolan-recording"]
    format: int = Field(ge=1)
    portolan: str


class RecordedSite(Message):
    """The innermost line of the user's own code when a call was made."""

    file: Line
    """The file's path: relative to the command's working directory if the file is inside it, absolute if not."""
    line: Count
    count: Total


Sites = Annotated[list[RecordedSite], Field(max_length=MAX_SITES)]


class ArrayEntry(Message):
    """An input array of a call. It has either ``values``, or a range from ``low`` to ``high`` for random values from a
    seed."""

    dtype: Name
    shape: Annotated[list[Count], Field(max_length=MAX_DIMENSIONS)]
    low: End = 0.0
    high: End = 1.0
    values: Annotated[str, Field(max_length=MAX_BASE64, pattern=BASE64)] | None = None
    """The array's bytes, compressed by zlib, in base64."""


class RecordedGradient(Message):
    """How the program took the gradients of a call."""

    wanted: Places
    """The arrays with respect to which the call is differentiated."""
    results: Annotated[list[ArrayEntry | None], Field(max_length=MAX_ARRAYS)]
    """For each array that the call returns, its weight in the differentiated sum; null if the array has no gradient."""


class CallEntry(Message):
    """One distinct call. It stands for all calls that are equal except for the values of floating-point arrays and
    numbers."""

    function: CaseName
    name: Name
    """The case's name. Together with the function it is the case's id: ``torch.cumsum/float32-1f0e9b2c``."""
    dtype: Name
    call: JsonValue
    """The arguments and options, written as in frozen cases, with a placeholder for each array."""
    arrays: Annotated[list[ArrayEntry], Field(max_length=MAX_ARRAYS)]
    changes: Places
    """The indexes of the arrays that the call changed."""
    is_random: bool
    """Whether the call drew random numbers. If so, only the form of its result is compared."""
    gradient: RecordedGradient | None
    """How the program took gradients of the calls; null if it made no backward pass through them."""
    count: Total
    seconds: Seconds
    """The total time of all these calls on the CPU, without the time of the recorder."""
    sites: Sites

    @property
    def case(self) -> str:
        return f"{self.function}/{self.name}"

    @property
    def cases(self) -> list[str]:
        """The ids of the cases of the suite that a runner makes from the recording."""
        return [self.case, *([f"{self.case}{GRADIENT_SUFFIX}"] if self.gradient else [])]


class AcceptedRecording(Message):
    """The response to ``POST /v1/recordings``: the suite that the recording becomes on the runner."""

    suite: Name


class Crossing(Message):
    """A call that moves values between host and device, or that would do so if the recorded program ran on a device."""

    function: CaseName
    direction: Direction
    sites: Sites


class LeftOut(Message):
    """Calls that were not recorded, with the reason."""

    function: CaseName
    reason: Line
    sites: Sites


class Recording(Message):
    """The complete content of a recording file."""

    type: Literal["portolan-recording"] = "portolan-recording"
    format: Literal[1] = FORMAT
    portolan: Name
    framework: Name
    version: Name
    """The framework's version, without a build suffix."""
    target: Name | None = None
    """The device that arrays claimed to be on during the recording; null for the CPU."""
    command: Lines
    folder: Line
    """The working directory of the command."""
    recorded_at: Moment
    seconds: Seconds
    """Seconds from the command's start to its end."""
    exit_code: ExitCode | None
    """The command's exit code. A negative number is the signal that ended the command. Null if it was killed at its
    deadline."""
    notes: Lines
    """Sentences about what could not be recorded."""
    calls: Annotated[list[CallEntry], Field(max_length=MAX_CALLS)]
    """The calls, in the order of their first occurrence."""
    crossings: Annotated[list[Crossing], Field(max_length=MAX_CALLS)]
    left_out: Annotated[list[LeftOut], Field(max_length=MAX_CALLS)]
