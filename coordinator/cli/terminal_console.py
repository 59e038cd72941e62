"""The terminal for commands that draw with rich: columns, colors and bars."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from protocol.terminal import raw_stream, terminal_text

WIDTH_OF_A_PIPE = 200
"""The width of a file or a pipe, large enough that nothing is wrapped."""


class TerminalConsole(Console):
    """A console that writes its own escape sequences, and makes escape sequences in texts visible."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=terminal_text(segment.text))


def console(stream: IO[str] | None = None) -> Console:
    stream = stream or sys.stdout
    return TerminalConsole(
        file=raw_stream(cast(TextIO, stream)),
        width=None if stream.isatty() else WIDTH_OF_A_PIPE,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
