"""Splits chunks of bytes into lines, for event streams and for the channel to a case's process.

Only ``\\n`` ends a line. ``str.splitlines`` would also split at U+2028 and U+0085, which may occur in a message.
Standard library only, because a framework's interpreter also uses this module.
"""

from __future__ import annotations


class EndlessLineError(ValueError):
    """Raised for a line that is longer than the reader allows."""


class LineReader:
    """Splits chunks into lines, and keeps an incomplete line until its end arrives."""

    def __init__(self, limit: int) -> None:
        """``limit`` is the maximum length of a line in bytes."""
        self._limit = limit
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk completes, without their line ends. Raises ``EndlessLineError``."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        # Only the rest is limited: a complete line is at most as long as the previous rest and one chunk.
        if len(self._rest) > self._limit:
            raise EndlessLineError
        return lines
