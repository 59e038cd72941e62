"""Makes text from unknown sources safe to print, so that no character moves the cursor, changes a color or reverses the
writing direction.

Names, messages and the output of cases come from runners. An escape sequence in such text could overwrite lines, rename
the window or send input in the user's place. Each such character is printed as its JSON escape, such as ``\u001b``. So
the output for people and the output for programs agree. Standard library only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, cast

_ACTIVE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # C0, except tab and newline; a carriage return overwrites its line
    "\x80-\x9f"  # C1, whose 9b begins an escape sequence too
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # characters that change the direction of writing
    "\u2028\u2029"  # line ends that most programs do not treat as such
    "\ud800-\udfff"  # surrogates, which are not characters
    "]"
)


def terminal_text(text: str) -> str:
    """The text with each control character replaced by a visible escape."""
    return text if text.isascii() and text.isprintable() else _ACTIVE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class TerminalStream:
    """A text stream that escapes control characters. ``raw`` is the stream to which it writes."""

    def __init__(self, raw: TextIO) -> None:
        self.raw = raw

    def write(self, text: str) -> int:
        self.raw.write(terminal_text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


@contextmanager
def terminal_streams() -> Iterator[None]:
    """During the block, escape the control characters of everything that is printed."""
    out, err = (cast(TextIO, TerminalStream(raw_stream(stream))) for stream in (sys.stdout, sys.stderr))
    with redirect_stdout(out), redirect_stderr(err):
        yield


def raw_stream(stream: TextIO) -> TextIO:
    """The underlying stream, for writers that send their own escape sequences."""
    return stream.raw if isinstance(stream, TerminalStream) else stream
