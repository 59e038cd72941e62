"""Freeze the suite ``pairs`` of torch: operators that follow each other in programs.

    python -m freezing.torch.pairs FOLDER [--merge]

Each pair is drawn in a separate process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freezing.common.gate import GatedFunction
from freezing.common.pair_suite import DrawPart, PairSuite, main
from freezing.common.parts import draw_missing
from runners.torch import FRAMEWORK
from runners.torch.frozen import ON_HOST
from runners.torch.pairs import FrozenPair

if TYPE_CHECKING:
    from freezing.torch.operators import OperatorFunction

LIMIT_S = 60
"""The time limit for drawing one pair."""


def begin() -> str:
    import torch
    from runners.torch.devices import version

    torch.set_num_threads(1)
    return version()


@lru_cache(maxsize=1)
def operators() -> dict[str, OperatorFunction]:
    """Return the functions of all operators by public name. If operators share a name, the first one counts."""
    from freezing.torch.operators import functions_of
    from torch.testing._internal.common_methods_invocations import op_db

    functions: dict[str, OperatorFunction] = {}
    for op in op_db:
        for function in functions_of(op):
            if function.left_open is None and function.name.rpartition(".")[2] not in ON_HOST:
                functions.setdefault(function.name, function)
    return functions


def call(written: str, second: GatedFunction, arrays: Sequence[Any]) -> Any:
    return FrozenPair(written).program(second.call, arrays, second.device.handle)()


def draw_all(folder: Path, titles: Sequence[str], draw: DrawPart) -> None:
    draw_missing(folder, titles, lambda number, path: draw(titles[number], path), limit_s=LIMIT_S)


PAIRS = PairSuite(
    FRAMEWORK, begin, lambda name: operators()[name], call, draw_all, is_taken=lambda name: name in operators()
)

if __name__ == "__main__":
    raise SystemExit(main(PAIRS, sys.argv[1:]))
