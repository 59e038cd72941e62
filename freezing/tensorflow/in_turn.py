"""Draw functions one after the other in one process. If a call crashes the process, continue in a new one.

One process per function would be too slow, because TensorFlow takes a second to start. Some raw operations crash the
process if their inputs are unusual. The next process continues without that input.
"""

from __future__ import annotations

import json
import os
import signal
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from freezing.common.parts import ENDS, Reason, drawn_apart, write_part
from runners.suite.frozen import Pack, PackWriter

CPU_LIMIT_S = 60
"""The limit of processor time for one function. Most functions take one second."""
ELAPSED_LIMIT_S = 900
"""The limit of elapsed time for one function. It is high, for a busy machine."""
PARTS = "[0-9]" * 10 + ".npz"
"""The pattern of the files' names."""
MOST_DEADLY = 12
"""A function is given up if more than this many of its inputs crash the process."""

Note = Callable[[str], object]
"""Is called with the name of each input before the input is tried."""
Draw = Callable[[str, Path, Collection[str], Note], None]
"""Draws the cases of a function into a file, without the inputs that crash the process."""


def draw_in_turn(folder: Path, names: Sequence[str], draw: Draw, *, limit_s: int = CPU_LIMIT_S) -> None:
    """Draw every function that has no file in the folder yet, each in so many seconds of the processor's time."""
    folder.mkdir(parents=True, exist_ok=True)
    note, run = folder / "now.json", folder / "run.npz"
    deadly: dict[str, list[str]] = defaultdict(list)
    while missing := {name: path for name, path in parts_of(folder, names).items() if not path.exists()}:
        drawn_apart(
            "run",
            run,
            lambda unfinished: _draw_all(missing, deadly, note, unfinished, draw, limit_s),
            limit_s=ELAPSED_LIMIT_S,
        )
        reasons = Pack(run).about["left_out"]
        if not reasons:
            return
        name, sample_name = json.loads(note.read_text())
        if not sample_name or len(deadly[name]) == MOST_DEADLY:
            write_part(PackWriter(), [(name, sample_name, *reasons[0][2:])], missing[name])
        deadly[name].append(sample_name)


def parts_of(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Return the path of each function's file. It depends only on the function's name."""
    return {name: folder / f"{zlib.crc32(name.encode()):010}.npz" for name in names}


def deadly_reasons(name: str, deadly: Collection[str]) -> list[Reason]:
    return [(name, sample_name, ENDS, "") for sample_name in deadly]


def _draw_all(
    parts: Mapping[str, Path], deadly: Mapping[str, list[str]], note: Path, run: Path, draw: Draw, limit_s: int
) -> None:
    from runners.tensorflow.devices import Cpu

    Cpu().prime()
    for name, path in parts.items():
        signal.alarm(ELAPSED_LIMIT_S)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        partial_file = path.with_suffix(".part.npz")

        def note_sample(sample_name: str, name: str = name) -> None:
            note.write_text(json.dumps([name, sample_name]))

        note_sample("")
        draw(name, partial_file, deadly.get(name, []), note_sample)
        os.replace(partial_file, path)
        print(name, flush=True)
    write_part(PackWriter(), [], run)
