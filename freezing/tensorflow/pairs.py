"""Freeze the suite ``pairs``: functions of TensorFlow that follow each other in programs, made of cases of ``library``.

    python -m freezing.tensorflow.pairs FOLDER [--merge]

Many pairs are drawn in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from freezing.common.gate import GatedFunction
from freezing.common.pair_suite import DrawPart, PairSuite, main
from freezing.tensorflow.in_turn import draw_in_turn
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.pairs import FrozenPair


def begin() -> str:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return str(tf.__version__)


def function(name: str) -> GatedFunction:
    from freezing.tensorflow.functions import PublicFunction

    return PublicFunction(name)


def call(written: str, second: GatedFunction, arrays: Sequence[Any]) -> Any:
    return FrozenPair(written).program(second.call, arrays)()


def draw_all(folder: Path, titles: Sequence[str], draw: DrawPart) -> None:
    draw_in_turn(folder, titles, lambda title, path, deadly, note: draw(title, path))


PAIRS = PairSuite(FRAMEWORK, begin, function, call, draw_all)

if __name__ == "__main__":
    raise SystemExit(main(PAIRS, sys.argv[1:]))
