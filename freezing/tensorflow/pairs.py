"""Freeze the suite ``pairs`` of TensorFlow: functions that follow each other in programs.

    python -m freezing.tensorflow.pairs FOLDER [--merge]

One process draws many pairs, one after the other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from freezing.common.gate import GatedFunction
from freezing.common.pair_suite import DrawPart, PairSuite, main
from freezing.common.pairs import PairSubject
from freezing.tensorflow.in_turn import draw_in_turn
from runners.errors import LeftOutError
from runners.suite.device import Device
from runners.suite.frozen import form
from runners.tensorflow import FRAMEWORK
from runners.tensorflow.pairs import FrozenPair


class TensorFlowPair(PairSubject):
    """Two functions of TensorFlow as one program, for the gate."""

    def require_program(self, call: str, arrays: Sequence[Any]) -> None:
        """Raise ``LeftOutError`` if a graph returns a result of another form on the host than an eager call.

        Values are not compared, because a graph may round differently. The forms differ if a function needs the value
        of an eager tensor and returns None in a graph. A graph that raises is accepted: the host has no kernel for some
        dtypes that a compiler supports.
        """
        program = FrozenPair(call).program(self.second.call, arrays)
        try:
            in_graph = self.device.to_host(graph_device().compiled(program)())
        except Exception:
            return
        if form(in_graph) != form(self.device.to_host(program())):
            raise LeftOutError("another result in a graph", json.dumps(form(in_graph)))


@cache
def graph_device() -> Device:
    """Return the host as a primed device that runs every call in a graph. Arrays of any size are graph arguments."""
    from runners.tensorflow.devices import Graph

    device = Graph()
    device.prime()
    return device


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


PAIRS = PairSuite(FRAMEWORK, begin, function, call, draw_all, kind=TensorFlowPair)

if __name__ == "__main__":
    raise SystemExit(main(PAIRS, sys.argv[1:]))
