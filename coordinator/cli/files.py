"""Where a command writes: stdout, or a file that appears only once it is whole."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from coordinator.atomic_files import replacing


@contextmanager
def writing(output: Path | None) -> Iterator[BinaryIO]:
    """Stdout, or a file that appears only once it is whole."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with replacing(output) as sink:
        yield sink


@contextmanager
def writing_text(output: Path | None) -> Iterator[TextIO]:
    """The same, for text."""
    if output is None:
        yield sys.stdout
        return
    with writing(output) as sink:
        text = io.TextIOWrapper(sink, encoding="utf-8")
        yield text
        text.flush()
        # Else it would close the file before it is renamed.
        text.detach()
