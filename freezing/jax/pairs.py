"""Freeze the suite ``pairs`` of JAX: functions that follow each other in programs.

    python -m freezing.jax.pairs FOLDER [--merge]

One process draws many pairs, one after the other. Each pair is compiled as one program.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from freezing.common.gate import GatedFunction
from freezing.common.pair_suite import DrawPart, PairSuite, main
from freezing.jax.variants import draw_in_turn
from runners.jax import FRAMEWORK
from runners.jax.pairs import FrozenPair


def begin() -> str:
    import jax

    return str(jax.__version__)


def function(name: str) -> GatedFunction:
    from freezing.jax.functions import JaxFunction

    return JaxFunction(name)


def call(written: str, second: GatedFunction, arrays: Sequence[Any]) -> Any:
    return FrozenPair(written).program(second.call, arrays, second.device.handle)()


def draw_all(folder: Path, titles: Sequence[str], draw: DrawPart) -> None:
    # Import here, so that no child has to.
    import freezing.jax.functions  # noqa: F401
    from freezing.jax.references import import_followed

    import_followed(name for title in titles for name in title.split())
    draw_in_turn(folder, titles, draw)


PAIRS = PairSuite(FRAMEWORK, begin, function, call, draw_all)

if __name__ == "__main__":
    raise SystemExit(main(PAIRS, sys.argv[1:]))
