"""Text for the terminal that several commands need: columns, durations, the widths of both."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.table import Table

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


def duration(seconds: float | None) -> str:
    """``850 ms``, ``12 s``, ``3 min 05 s``, ``2 h 10 min``."""
    if seconds is None:
        return "unknown"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def latency(ms: float | None) -> str:
    """Three figures and a unit: ``85.1 µs``, ``1.23 ms``, ``2.05 s``; a dash for what was not measured."""
    if ms is None:
        return "-"
    for factor, unit in ((1e3, "µs"), (1.0, "ms")):
        if ms * factor < 999.5:
            return f"{ms * factor:.3g} {unit}"
    seconds = ms / 1e3
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"


def plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
