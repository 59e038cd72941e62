"""Drawing functions one after the other in one process, and in another where a call ends it.

A process of its own for each would take longer than all that is drawn: TensorFlow takes a second to begin. Some raw
operations end the process that gives them odd inputs; the next one goes on without that input.
"""

from __future__ import annotations

import json
import os
import signal
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from freezing.common.parts import Reason, drawn_apart, write_part
from runners.suite.frozen import Pack, PackWriter

LIMIT_S = 60
"""Of the processor's time, for one function: a second is usual."""
WAITED_S = 900
"""For one function on a busy machine."""
PARTS = "[0-9]" * 10 + ".npz"
"""The pattern of the files' names."""
MOST_DEADLY = 12
"""Inputs that may end the process before a function is given up."""

Note = Callable[[str], object]
"""Hears of each input before it is tried."""
Draw = Callable[[str, Path, Collection[str], Note], None]
"""Draws a function's part into a file, without the inputs that end the process."""


def draw_in_turn(folder: Path, names: Sequence[str], draw: Draw, *, limit_s: int = LIMIT_S) -> None:
    """Draw every function that has no file in the folder yet, each in so many seconds of the processor's time."""
    folder.mkdir(parents=True, exist_ok=True)
    note, run = folder / "now.json", folder / "run.npz"
    deadly: dict[str, list[str]] = defaultdict(list)
    while missing := {name: path for name, path in parts_of(folder, names).items() if not path.exists()}:
        drawn_apart(
            "run", run, lambda unfinished: _draw_all(missing, deadly, note, unfinished, draw, limit_s), limit_s=WAITED_S
        )
        reasons = Pack(run).about["left_out"]
        if not reasons:
            return
        name, sample_name = json.loads(note.read_text())
        if not sample_name or len(deadly[name]) == MOST_DEADLY:
            write_part(PackWriter(), [(name, sample_name, *reasons[0][2:])], missing[name])
        deadly[name].append(sample_name)


def parts_of(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """The file of each function, which is the same whatever others are asked for."""
    return {name: folder / f"{zlib.crc32(name.encode()):010}.npz" for name in names}


def deadly_reasons(name: str, deadly: Collection[str]) -> list[Reason]:
    return [(name, sample_name, "it ends the process", "") for sample_name in deadly]


def _draw_all(
    parts: Mapping[str, Path], deadly: Mapping[str, list[str]], note: Path, run: Path, draw: Draw, limit_s: int
) -> None:
    from runners.tensorflow.devices import Cpu

    Cpu().prime()
    for name, path in parts.items():
        signal.alarm(WAITED_S)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        partial_file = path.with_suffix(".part.npz")

        def note_sample(sample_name: str, name: str = name) -> None:
            note.write_text(json.dumps([name, sample_name]))

        note_sample("")
        draw(name, partial_file, deadly.get(name, []), note_sample)
        os.replace(partial_file, path)
        print(name, flush=True)
    write_part(PackWriter(), [], run)
