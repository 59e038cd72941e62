"""Keeps the host busy with endless loops. Each loop is a process that ends with the bench."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.place import process

LOOP = "while True: pass"


@contextlib.contextmanager
def busy(loops: int, place: Path) -> Iterator[None]:
    """Run this many loops during the block."""
    with contextlib.ExitStack() as running:
        for number in range(loops):
            running.enter_context(process([sys.executable, "-c", LOOP], place / f"loop-{number}.log"))
        yield
