"""Writes a bundle. The file has the name ``FILE.part`` until it is complete, and can be continued after an
interruption. Each outcome is one line and is written immediately, so that a killed runner loses at most the running
case. ``protocol/bundle.py`` describes the format.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from protocol.bundle import BundledOutcome, BundleEnd, BundleHeader
from protocol.enums import Verdict
from protocol.model import Message
from runners.errors import BundleWriteError

Run = tuple[str, int]
"""The id of a case, and the number of a run."""
_OPENING = b'{"type":"portolan-bundle",'


class BundleWriter:
    """A bundle that is being written. ``done`` has the case and the run of each outcome in the bundle."""

    def __init__(self, path: Path) -> None:
        """Reserve the bundle's file. Nothing is written to it yet."""
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.done: set[Run] = set()
        self.kept = 0
        """The number of outcomes from an earlier, interrupted run."""
        self.failing = 0
        self._digest = hashlib.sha256()
        self._stream = self._open()
        self._was_empty = not os.fstat(self._stream.fileno()).st_size

    def _open(self) -> BinaryIO:
        self._require_free()
        try:
            stream = os.fdopen(os.open(self.part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b")
        except OSError as error:
            raise BundleWriteError(f"{self.part} cannot be written: {error.strerror}; choose another --out") from error
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another run may have completed the bundle before this one got the lock.
            self._require_free()
        except BlockingIOError:
            stream.close()
            raise BundleWriteError(
                f"another run is writing {self.part}: wait for it, or choose another --out"
            ) from None
        except BundleWriteError:
            stream.close()
            raise
        return stream

    def _require_free(self) -> None:
        if self.path.exists():
            raise BundleWriteError(f"{self.path} exists already and is never overwritten: choose another --out")

    def begin(self, header: BundleHeader) -> None:
        """Write the header. If the file already begins with the same header, continue after its last complete
        outcome."""
        first = self._stream.readline()
        if not first.endswith(b"\n") and first[: len(_OPENING)] == _OPENING[: len(first)]:
            # The file is empty, or the runner was killed while it wrote the header.
            self._stream.seek(0)
            self._stream.truncate()
            self._write(header)
            return
        self._require_same(first, header)
        self._digest.update(first)
        end = len(first)
        for line, outcome in self._whole():
            self._digest.update(line)
            end += len(line)
            self._count(outcome)
        self.kept = len(self.done)
        self._stream.seek(end)
        self._stream.truncate()

    def _require_same(self, first: bytes, header: BundleHeader) -> None:
        try:
            earlier = BundleHeader.model_validate_json(first)
        except ValidationError:
            raise BundleWriteError(
                f"{self.part} is not an unfinished bundle of this version: remove this file, or choose another --out"
            ) from None
        changes = differences(earlier, header)
        if changes:
            raise BundleWriteError(
                f"{self.part} was begun with other settings ({'; '.join(changes)}): "
                "remove this file, choose another --out, or repeat the command with the settings of the file"
            )

    def _whole(self) -> Iterator[tuple[bytes, BundledOutcome]]:
        """Yield the outcomes up to the first line that is not a complete outcome.

        This line is the end of the bundle, or was truncated by a crash.
        """
        for line in self._stream:
            try:
                outcome = BundledOutcome.model_validate_json(line)
            except ValidationError:
                return
            if not line.endswith(b"\n") or (outcome.case, outcome.run) in self.done:
                return
            yield line, outcome

    def add(self, outcome: BundledOutcome) -> None:
        self._write(outcome)
        self._count(outcome)

    def _count(self, outcome: BundledOutcome) -> None:
        self.done.add((outcome.case, outcome.run))
        self.failing += outcome.outcome.verdict is Verdict.failed

    def complete(self) -> None:
        """Write the last line, and give the file its final name."""
        end = BundleEnd(outcomes=len(self.done), sha256=self._digest.hexdigest())
        self._write(end)
        os.fsync(self._stream.fileno())
        self._require_free()
        self.part.rename(self.path)

    def close(self) -> None:
        """Close the file. If this run created it and it has no outcomes, it is deleted."""
        if self._was_empty and not self.done:
            self.part.unlink(missing_ok=True)
        self._stream.close()

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, message: Message) -> None:
        line = message.model_dump_json().encode() + b"\n"
        try:
            self._stream.write(line)
            self._stream.flush()
        except OSError as error:
            raise BundleWriteError(
                f"{self.part} cannot be written: {error.strerror}; its outcomes are kept: repeat the command"
            ) from error
        self._digest.update(line)


def differences(earlier: BundleHeader, now: BundleHeader) -> list[str]:
    """Describe the differences that prevent two headers from sharing one bundle; empty if they can share it."""
    one, other = _comparable(earlier), _comparable(now)
    fields = [f"{name} {_short(one[name])}, now {_short(other[name])}" for name in one if one[name] != other.get(name)]
    if not fields and earlier.suite.cases != now.suite.cases:
        fields.append("other cases")
    return fields


def _comparable(header: BundleHeader) -> dict[str, Any]:
    """Return the header's values that must be equal, as a flat mapping.

    The boot and the start time are left out, because they differ at every start.
    """
    runner = header.runner.model_dump(mode="json", exclude={"boot_id", "fingerprint"})
    return {
        "suite": header.suite.name,
        "revision": header.suite.revision,
        "functions": header.functions,
        "runs": header.runs,
        "timeout_s": header.timeout_s,
        "timing": str(header.timing),
        "timed_cases": str(header.timed_cases),
        "portolan": header.portolan,
        **runner,
        **header.runner.fingerprint.model_dump(mode="json"),
    }


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
