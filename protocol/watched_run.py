"""The file that ``portolan-runner watch`` writes: what happened when a user's command ran on the device itself."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.limits import CaseName, ExitCode, Line, Lines, Moment, Name, Seconds
from protocol.model import Message
from protocol.recording import Sites
from protocol.recording_format import MAX_CALLS

FORMAT: Literal[1] = 1
"""The format version. A writer increases it when older readers cannot read its files."""


class WatchedEvent(Message):
    """Calls of one function that had the same result."""

    function: CaseName
    kind: Literal["fell_back", "raised"]
    said: Line
    """The operation that ran on the host, or the error."""
    sites: Sites


class WatchedRun(Message):
    """The complete content of the file."""

    type: Literal["portolan-watched-run"] = "portolan-watched-run"
    format: Literal[1] = FORMAT
    portolan: Name
    framework: Name
    version: Name
    """The framework's version, without a build suffix."""
    device: Name
    command: Lines
    watched_at: Moment
    seconds: Seconds
    """Seconds from the command's start to its end. The import of the framework and the start of the device are
    included."""
    exit_code: ExitCode | None
    """The command's exit code. A negative number is the signal that ended the command. Null if it was killed at its
    deadline."""
    notes: Lines
    """Sentences about parts that could not be watched."""
    events: Annotated[list[WatchedEvent], Field(max_length=MAX_CALLS)]
    """The calls, in the order of their first occurrence."""
