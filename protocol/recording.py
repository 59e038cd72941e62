"""A recording: the distinct calls of a framework that a command made, as data; ``docs/reference/recording.md``.

``portolan-runner record`` writes one, a runner replays it as a suite, ``portolan assess --run`` reads it.
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
"""An end of a range that values are drawn from."""
Places = Annotated[list[Count], Field(max_length=MAX_ARRAYS)]
"""Of arrays, counted through the arguments and then the options."""


class RecordingMark(BaseModel):
    """The part of a recording that every format has, also later ones: it is read first."""

    type: Literal["portolan-recording"]
    format: int = Field(ge=1)
    portolan: str


class RecordedSite(Message):
    """The innermost line of the user's own code at a call."""

    file: Line
    """From the working directory of the command where it lies there, else the whole path."""
    line: Count
    count: Total


Sites = Annotated[list[RecordedSite], Field(max_length=MAX_SITES)]


class ArrayEntry(Message):
    """An array that goes into a call: drawn from a seed between ``low`` and ``high``, unless it has ``values``."""

    dtype: Name
    shape: Annotated[list[Count], Field(max_length=MAX_DIMENSIONS)]
    low: End = 0.0
    high: End = 1.0
    values: Annotated[str, Field(max_length=MAX_BASE64, pattern=BASE64)] | None = None
    """Its bytes, compressed by zlib, in base64."""


class RecordedGradient(Message):
    """How the gradients of a call are taken that the program took."""

    wanted: Places
    """The arrays to differentiate by."""
    results: Annotated[list[ArrayEntry | None], Field(max_length=MAX_ARRAYS)]
    """Of each array that the call returns the weight in the sum that is differentiated; null: it has no gradient."""


class CallEntry(Message):
    """Calls that differ in nothing but the values of their floating arrays and numbers."""

    function: CaseName
    name: Name
    """With the function the id of its case: ``torch.cumsum/float32-1f0e9b2c``."""
    dtype: Name
    call: JsonValue
    """Its arguments and options as frozen cases have them, with a slot for each array."""
    arrays: Annotated[list[ArrayEntry], Field(max_length=MAX_ARRAYS)]
    changes: Places
    """The arrays that the call has changed."""
    is_random: bool
    """Whether it drew random numbers, so that only the form of its result is compared."""
    gradient: RecordedGradient | None
    """Null: the program did not go backward through it."""
    count: Total
    seconds: Seconds
    """Of all of these calls on the CPU, with the recorder's own work left out."""
    sites: Sites

    @property
    def case(self) -> str:
        return f"{self.function}/{self.name}"

    @property
    def cases(self) -> list[str]:
        """The ids of its cases in the suite that the recording is."""
        return [self.case, *([f"{self.case}{GRADIENT_SUFFIX}"] if self.gradient else [])]


class AcceptedRecording(Message):
    """The answer to ``POST /v1/recordings``: the suite that the recording is at the runner that accepted it."""

    suite: Name


class Crossing(Message):
    """A call that carries values between host and device, or would where the arrays are on a device."""

    function: CaseName
    direction: Direction
    sites: Sites


class LeftOut(Message):
    """Calls that are not kept, with the reason."""

    function: CaseName
    reason: Line
    sites: Sites


class Recording(Message):
    """The whole of a file."""

    type: Literal["portolan-recording"] = "portolan-recording"
    format: Literal[1] = FORMAT
    portolan: Name
    framework: Name
    version: Name
    """Of the framework, without its build."""
    target: Name | None = None
    """The device that the arrays said they were on; null: the CPU."""
    command: Lines
    folder: Line
    """The working directory of the command."""
    recorded_at: Moment
    seconds: Seconds
    """From the command's start to its end."""
    exit_code: ExitCode | None
    """Of the command; negative: the signal that ended it; null: it was killed before its end."""
    notes: Lines
    """Sentences on what could not be recorded."""
    calls: Annotated[list[CallEntry], Field(max_length=MAX_CALLS)]
    """In the order of their first call."""
    crossings: Annotated[list[Crossing], Field(max_length=MAX_CALLS)]
    left_out: Annotated[list[LeftOut], Field(max_length=MAX_CALLS)]
