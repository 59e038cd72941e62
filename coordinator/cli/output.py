"""The output of a command: plain columns, JSON, or a file that is written atomically."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from pydantic_core import to_json

from coordinator.operating_system.atomic_files import replacing

# Rich takes as long to import as two requests, and many commands print only a line or two. So it is imported only where
# it is needed.
if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def console_of(output: Path | None) -> Iterator[Console]:
    """Yield the console of stdout, or of a file."""
    from coordinator.cli.terminal_console import console

    if output is None:
        yield console()
        return
    text = io.StringIO()
    yield console(text)
    with writing(output) as sink:
        sink.write(text.getvalue().encode())


@contextmanager
def writing(output: Path | None, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield stdout, or a file that is written atomically.

    A device or a pipe is written to directly. For a symbolic link, the file that it points to is replaced.
    """
    if output is None and sys.stdout.isatty():
        # On a terminal, output of a case must not send control sequences. A pipe gets every byte unchanged.
        yield cast(BinaryIO, _Shown())
        sys.stdout.flush()
        return
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if output.exists() and (not output.is_file() or output.absolute().is_relative_to("/dev")):
        # The links under /dev lead to whatever file a descriptor is open on.
        with open(output, "wb") as stream:
            yield stream
        return
    with suppress(FileNotFoundError):
        output.stat()  # raises for links that lead in a circle
    with replacing(output.resolve(), mode) as sink:
        yield sink


def require_folder(output: Path | None) -> None:
    """Raise ``FileNotFoundError`` for a file in a folder that does not exist, before any work is done for the file."""
    if output is not None and not output.absolute().parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output))


class _Shown(io.RawIOBase):
    """A binary stream that decodes its bytes and prints them as text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        print(self._decoder.decode(bytes(piece)).replace("\r\n", "\n"), end="")
        return len(piece)


def print_columns(head: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Print rows in plain columns. If there are no rows, print the sentence ``empty``."""
    if not rows:
        print(empty)
        return
    from rich.table import Table

    from coordinator.cli.terminal_console import console

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in head:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_json(value: Any) -> None:
    print(to_json(value, indent=2).decode())
