"""A watched run: what became of a user's command on the device itself, as data; ``portolan-runner watch`` writes it."""

from typing import Annotated, Literal

from pydantic import Field

from protocol.limits import CaseName, ExitCode, Line, Lines, Moment, Name, Seconds
from protocol.model import Message
from protocol.recording import Sites
from protocol.recording_format import MAX_CALLS

FORMAT: Literal[1] = 1
"""Counts up when an older reader could not read what is written."""


class WatchedEvent(Message):
    """Calls of a function that ended alike."""

    function: CaseName
    kind: Literal["fell_back", "raised"]
    said: Line
    """The operation that ran on the host, or the error."""
    sites: Sites


class WatchedRun(Message):
    """The whole of a file."""

    type: Literal["portolan-watched-run"] = "portolan-watched-run"
    format: Literal[1] = FORMAT
    portolan: Name
    framework: Name
    version: Name
    """Of the framework, without its build."""
    device: Name
    command: Lines
    watched_at: Moment
    seconds: Seconds
    """From the command's start to its end, with the import of the framework and the start of the device."""
    exit_code: ExitCode | None
    """Of the command; negative: the signal that ended it; null: it was killed before its end."""
    notes: Lines
    """Sentences on what could not be watched."""
    events: Annotated[list[WatchedEvent], Field(max_length=MAX_CALLS)]
    """In the order in which they came first."""
