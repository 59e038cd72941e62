"""Freeze the suite ``pairs``: functions of TensorFlow that follow each other in programs, made of cases of ``library``.

python -m freezing.tensorflow.pairs FOLDER [--merge]

The pairs are drawn many in one process, each into a file in FOLDER, so an interrupted freeze goes on there. ``--merge``
draws nothing: what is in FOLDER becomes the suite.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from freezing.common.hashes import fix_hashes
from freezing.common.pairs import PairSubject, PlainCases, draw_pair, most_followed
from freezing.common.parts import merge
from freezing.tensorflow.in_turn import Note, draw_in_turn
from runners.suite.frozen import PACK, Pack
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.pairs import FrozenPair

SUITES = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites"


def pair_of(first: str, second: str) -> PairSubject:
    """Two functions as the gate takes them together."""
    from freezing.tensorflow.functions import PublicFunction

    function = PublicFunction(second)

    def program(written: str, arrays: Sequence[Any]) -> Any:
        return FrozenPair(written).program(function.call, arrays)()

    return PairSubject(PublicFunction(first), function, program)


def draw(folder: Path) -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    cases = PlainCases(Pack(SUITES / "library" / PACK))
    # Read here, and not in each of the processes that are forked from this one.
    cases.pack.arrays  # noqa: B018
    pairs = {f"{first} {second}": (first, second) for first, second in most_followed(FRAMEWORK.name, cases)}

    def draw_one(title: str, path: Path, deadly: Collection[str], note: Note) -> None:
        draw_pair(pair_of(*pairs[title]), cases, path)

    draw_in_turn(folder, list(pairs), draw_one)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m freezing.tensorflow.pairs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args(arguments)
    fix_hashes("freezing.tensorflow.pairs", arguments)
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        import tensorflow as tf

        merge(options.folder, SUITES / "pairs", FRAMEWORK.name, tf.__version__, has_quick_form=False)
    else:
        draw(options.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
