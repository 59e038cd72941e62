"""The watcher: runs a user's command on the device and counts each call that falls back to the host or raises.

It takes the place of a recorder, but stores no calls. Each call is watched like the call of a case, and the watcher
waits for its result. It cannot check values, because the program does not say which values are right.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from time import perf_counter
from typing import Any

from runners.suite.device import Device, Proof
from runners.suite.recording.book import Book
from runners.suite.recording.recorder import Caller, Options
from runners.suite.recording.sites import Sites
from runners.suite.trees import numbers_in

MOST_SAID = 300
"""The maximum number of characters of an error text."""


class Watcher:
    """Makes and watches the calls of a process on a device."""

    def __init__(self, book: Book, sites: Sites, device: Device, unwatched_names: Set[str]) -> None:
        """``unwatched_names`` has the last parts of the names of functions that are not watched. By some of these
        functions the program itself copies values to the host, and the others compute nothing."""
        self._book = book
        self._sites = sites
        self._device = device
        self._unwatched = unwatched_names
        self._is_on = True

    def stop(self) -> None:
        """Stop watching, for example in a process that the command has forked."""
        self._is_on = False

    def caller(self, func: Any, last: str, name: str | None) -> Caller:
        """Return a function that makes and watches calls of ``func`` (see ``Recorder.caller``)."""

        def watched(args: Sequence[Any], kwargs: Options) -> Any:
            if not self._is_on or last in self._unwatched:
                return func(*args, **(kwargs or {}))
            return self._call(func, name or last, args, kwargs or {})

        return watched

    def _call(self, func: Any, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make a call of the user's program, and count a fallback or an error."""
        site, proof = self._sites.of(sys._getframe(1)), Proof()
        try:
            with self._device.counting(proof):
                result = func(*args, **kwargs)
                self._device.wait(result)
                proof.returned = numbers_in(result)
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())}"
            self._book.raise_in(function, text[:MOST_SAID].encode(errors="replace").decode(), site)
            raise
        for operation in proof.fallbacks:
            self._book.fall_back(function, operation, site)
        if perf_counter() > self._book.tell_at:
            self._book.tell_counts()
        return result
