"""Recordings as sources: the calls that a command made, as call sites with known arguments. This module does no I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from coordinator.assess.sites import AssessedSource, Certainty, Site, Use
from coordinator.errors import AssessmentError
from coordinator.results.conditions import UNKNOWN_VALUE, CallSite
from protocol.model import first_fault
from protocol.recording import CallEntry, Recording, RecordingMark
from protocol.recording_format import FORMAT

SUFFIX = ".json"
"""The suffix of the files of recordings."""
_MAKE = "portolan-runner record"


def read_recording(content: bytes, name: str) -> Recording:
    """Read a recording. Raises ``AssessmentError`` with one line that names the file."""
    try:
        mark = RecordingMark.model_validate_json(content)
    except ValidationError:
        raise AssessmentError(f"{name} is not a recording of Portolan: create one with `{_MAKE}`") from None
    if mark.format > FORMAT:
        raise AssessmentError(
            f"{name} has format {mark.format} (made by portolan {mark.portolan}), and this portolan reads formats up "
            f"to {FORMAT}: upgrade portolan"
        )
    try:
        return Recording.model_validate_json(content)
    except ValidationError as error:
        raise AssessmentError(
            f"{name} was changed and is not a valid recording ({first_fault(error)}): create it again with `{_MAKE}`"
        ) from None


def source_of(recording: Recording) -> AssessedSource:
    """The recorded calls as a source, with a site for each call and line."""
    sites = tuple(site for call in recording.calls for site in sites_of(call))
    return AssessedSource(sites, files=len({site.path for site in sites}))


def sites_of(call: CallEntry) -> Iterator[Site]:
    """A site for each line of the user's code that made the call. If no line is recorded, yields nothing."""
    site = _call_site(call)
    dtypes = frozenset(array.dtype for array in call.arrays)
    for place in call.sites:
        if place.file:
            yield Site(
                place.file, place.line, 0, call.function, Certainty.recorded, Use.called, site, "", dtypes=dtypes
            )


def _call_site(call: CallEntry) -> CallSite:
    """The number of arguments and the plain values of a recorded call, in the same form as for a call in a source."""
    written_call: Any = call.call
    match written_call:
        case {"tuple": [list(arguments), {"mapping": list(options)}, *_]}:
            of_method = call.function.split(".")[-2][:1].isupper()
            own_arguments = [_plain(argument) for argument in arguments[of_method:]]
            plain = {number: value for number, value in enumerate(own_arguments, 1) if value is not UNKNOWN_VALUE}
            return CallSite(len(own_arguments), {str(name): _plain(value) for name, value in options}, plain)
        case _:
            raise AssessmentError(
                f"the recording's call {call.case} has no arguments: create the recording again with `{_MAKE}`"
            )


def _plain(value: Any) -> Any:
    """An argument's value as a JSON type; unknown for arrays and other objects."""
    if isinstance(value, list):
        members = [_plain(member) for member in value]
        return UNKNOWN_VALUE if UNKNOWN_VALUE in members else members
    if isinstance(value, Mapping):
        return _plain(value["tuple"]) if "tuple" in value else UNKNOWN_VALUE
    return value
