"""Freeze the suite ``pairs``: functions of JAX that follow each other in programs, drawn from the cases of ``library``.

python -m freezing.jax.pairs FOLDER [--merge]

The pairs are drawn many in one process, each into a file in FOLDER, so an interrupted freeze goes on there. ``--merge``
draws nothing: what is in FOLDER becomes the suite.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from freezing.common.hashes import fix_hashes
from freezing.common.pairs import PairSubject, PlainCases, draw_pair, most_followed
from freezing.common.parts import merge
from freezing.jax.variants import draw_in_turn
from runners.jax import FRAMEWORK
from runners.jax.pairs import FrozenPair
from runners.suite.frozen import PACK, Pack

SUITES = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites"


def pair_of(first: str, second: str) -> PairSubject:
    """Two functions as the gate takes them together, compiled as one."""
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(second)

    def program(written: str, arrays: Sequence[Any]) -> Any:
        return FrozenPair(written).program(function.call, arrays, function.device.handle)()

    return PairSubject(JaxFunction(first), function, program)


def draw(folder: Path) -> None:
    # Once, and not in each of the children.
    import freezing.jax.functions  # noqa: F401
    from freezing.jax.references import import_followed

    cases = PlainCases(Pack(SUITES / "library" / PACK))
    cases.pack.arrays  # noqa: B018
    pairs = {f"{first} {second}": (first, second) for first, second in most_followed(FRAMEWORK.name, cases)}
    import_followed(name for pair in pairs.values() for name in pair)
    draw_in_turn(folder, list(pairs), lambda title, path: draw_pair(pair_of(*pairs[title]), cases, path))


def main() -> int:
    parser = argparse.ArgumentParser("python -m freezing.jax.pairs")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args()
    fix_hashes("freezing.jax.pairs", sys.argv[1:])
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        import jax

        merge(options.folder, SUITES / "pairs", FRAMEWORK.name, jax.__version__, has_quick_form=False)
    else:
        draw(options.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
