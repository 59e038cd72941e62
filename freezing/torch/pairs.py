"""Freeze the suite ``pairs``: operators that follow each other in programs, drawn from the cases of ``library``.

python -m freezing.torch.pairs FOLDER [--merge]

Each pair is drawn in a process of its own into a file in FOLDER, so an interrupted freeze goes on there. ``--merge``
draws nothing: what is in FOLDER becomes the suite.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freezing.common.hashes import fix_hashes
from freezing.common.pairs import PairSubject, PlainCases, draw_pair, most_followed
from freezing.common.parts import draw_missing, merge
from runners.suite.frozen import PACK, Pack
from runners.torch import FRAMEWORK
from runners.torch.frozen import ON_HOST
from runners.torch.pairs import FrozenPair

if TYPE_CHECKING:
    from freezing.torch.operators import OperatorFunction

SUITES = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites"
LIMIT_S = 60
"""For one pair."""


@lru_cache(maxsize=1)
def operators() -> dict[str, OperatorFunction]:
    """The functions of operators by their public names; of operators of one name the first."""
    from freezing.torch.operators import functions_of
    from torch.testing._internal.common_methods_invocations import op_db

    functions: dict[str, OperatorFunction] = {}
    for op in op_db:
        for function in functions_of(op):
            if function.left_open is None and function.name.rpartition(".")[2] not in ON_HOST:
                functions.setdefault(function.name, function)
    return functions


def pair_of(first: str, second: str) -> PairSubject:
    """Two operators as the gate takes them together."""
    function = operators()[second]

    def program(written: str, arrays: Sequence[Any]) -> Any:
        return FrozenPair(written).program(function.call, arrays, function.device.handle)()

    return PairSubject(operators()[first], function, program)


def draw(folder: Path) -> None:
    import torch

    torch.set_num_threads(1)
    cases = PlainCases(Pack(SUITES / "library" / PACK))
    # Read here, and not in each of the processes that are forked from this one.
    cases.pack.arrays  # noqa: B018
    pairs = most_followed(FRAMEWORK.name, cases, operators().__contains__)
    draw_missing(
        folder,
        [" ".join(pair) for pair in pairs],
        lambda number, path: draw_pair(pair_of(*pairs[number]), cases, path),
        limit_s=LIMIT_S,
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m freezing.torch.pairs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args(arguments)
    fix_hashes("freezing.torch.pairs", arguments)
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        from runners.torch.devices import version

        merge(options.folder, SUITES / "pairs", FRAMEWORK.name, version(), has_quick_form=False)
    else:
        draw(options.folder)
    return 0


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
