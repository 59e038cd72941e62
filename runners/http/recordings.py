"""Accepts recordings over HTTP, if the runner was started with ``--accept-recordings``.

A recording is data, and the rule in ``suite/recording/rule.py`` must allow each of its calls. An accepted recording
becomes an additional suite of the runner's next boot, which begins immediately. If this boot fails, the runner
continues without the recording. The files are deleted when the runner ends.
"""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from protocol.recording import AcceptedRecording, Recording
from runners.errors import BusyError, RefusedRequestError
from runners.suite.recording import rule

MAX_RECORDING = 16 << 20
"""Maximum size of a recording in a request, in bytes. A larger recording must be named when the runner is started
(``--suite``)."""
MOST_RECORDINGS = 20
"""Maximum number of recordings of one runner; each adds its cases to the catalogue."""


class RecordingInbox:
    """The recordings that a runner has accepted, over all of its boots."""

    def __init__(self, framework: str, folder: Path) -> None:
        self._framework = framework
        self._folder = folder
        self._served: dict[str, Path] = {}
        self._accepted: str | None = None
        """The name of the suite that the next boot adds."""
        self.accepted = asyncio.Event()
        """Set when a recording is accepted, and cleared when a boot with the recording has begun."""

    def take(self, recording: Recording, *, is_busy: bool) -> AcceptedRecording:
        """Accept a recording for the next boot. Raises ``RefusedRequestError`` if the recording is refused."""
        if recording.framework != self._framework:
            raise RefusedRequestError(
                f"this runner serves {self._framework}, but the recording is of {recording.framework}: "
                f"send it to a runner of {recording.framework}"
            )
        for call in recording.calls:
            if (refusal := rule.call_refusal(self._framework, call.function, call.call)) is not None:
                raise RefusedRequestError(
                    f"a recording may not contain the call {call.case} ({refusal}): remove it from the recording"
                )
        if not recording.calls:
            raise RefusedRequestError(
                "the recording has no calls to replay: read the reasons in left_out of its file, "
                "or record another command"
            )
        content = recording.model_dump_json().encode()
        suite = f"recording_{hashlib.sha256(content).hexdigest()[:8]}"
        if suite in self._served:
            return AcceptedRecording(suite=suite)
        if is_busy:
            raise BusyError("the runner has jobs: send the recording when the runner is idle")
        if self.accepted.is_set():
            raise BusyError("the runner is starting with another recording: send the recording again later")
        if len(self._served) >= MOST_RECORDINGS:
            raise RefusedRequestError(f"the runner has {MOST_RECORDINGS} recordings: restart it to remove them")
        self._file(suite).write_bytes(content)
        self._accepted = suite
        self.accepted.set()
        return AcceptedRecording(suite=suite)

    @property
    def paths(self) -> tuple[str, ...]:
        """The recordings' files, which a boot serves as suites."""
        files = [*self._served.values(), *([self._file(self._accepted)] if self._accepted else [])]
        return tuple(map(str, files))

    def keep(self) -> None:
        """Record that a boot has begun with all recordings."""
        if self._accepted is not None:
            self._served[self._accepted] = self._file(self._accepted)
        self._forget()

    def drop(self) -> str | None:
        """Remove the recording that was accepted last, because a boot with it failed. Returns the name of its suite;
        None if no recording was removed."""
        suite = self._accepted
        self._forget()
        return suite

    def _forget(self) -> None:
        self._accepted = None
        self.accepted.clear()

    def _file(self, suite: str) -> Path:
        return self._folder / f"{suite}.json"
