"""The output of a command: the terminal, plain columns, JSON, or a file that appears only once it is whole."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, cast

from pydantic_core import to_json
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from coordinator.atomic_files import replacing
from protocol.terminal import raw_stream, terminal_text

WIDTH_OF_A_PIPE = 200
"""A file or a pipe has no width; nothing should be folded for it."""


class TerminalConsole(Console):
    """Writes escape sequences of its own, and shows those that stand in what it is given."""

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


@contextmanager
def console_of(output: Path | None) -> Iterator[Console]:
    """Yield the console of stdout, or of a file."""
    if output is None:
        yield console()
        return
    text = io.StringIO()
    yield console(text)
    with writing(output) as sink:
        sink.write(text.getvalue().encode())


@contextmanager
def writing(output: Path | None) -> Iterator[BinaryIO]:
    """Yield stdout, or a file that appears only once it is whole."""
    if output is None and sys.stdout.isatty():
        # For a person, who is not to be written to by what a case printed; a pipe gets every byte as it is.
        yield cast(BinaryIO, _Shown())
        sys.stdout.flush()
        return
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as sink:
        yield sink


class _Shown(io.RawIOBase):
    """Bytes of a file, printed as text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        print(self._decoder.decode(bytes(piece)).replace("\r\n", "\n"), end="")
        return len(piece)


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Plain columns on stdout; a sentence instead if there is no row."""
    if not rows:
        print(empty)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(value: Any) -> None:
    print(to_json(value, indent=2).decode())
