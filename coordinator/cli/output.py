"""The output of a command: the terminal, plain columns, JSON, or a file that appears only once it is whole."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

from pydantic_core import to_json
from rich.console import Console
from rich.table import Table

from coordinator.atomic_files import replacing

WIDTH_OF_A_PIPE = 200
"""A file or a pipe has no width; nothing should be folded for it."""


def console(stream: IO[str] | None = None) -> Console:
    stream = stream or sys.stdout
    return Console(
        file=stream,
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
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as sink:
        yield sink


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
