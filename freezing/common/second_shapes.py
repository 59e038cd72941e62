"""Store which cases are combined into the cases with a second shape, so that additional cases do not change them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protocol.enums import RECOMPILED
from runners.suite.cases import Function
from runners.suite.second_shapes import KeptPair, Remake, kept_pairs, pair_of


def keep_second_shapes(functions: Sequence[Function], path: Path, remake: Remake) -> None:
    """Add the pairs of the functions to a file of kept pairs. Pairs that the file has already stay."""
    pairs = dict(kept_pairs(path))
    for function in functions:
        pair = pair_of([case for case in function.cases if RECOMPILED not in case.tags])
        if pair is not None and function.name not in pairs:
            first, second = (case.id.removeprefix(f"{function.name}/") for case in pair)
            prepare: Any = pair[1].prepare
            pairs[function.name] = KeptPair(first, second, remake(function, prepare) != prepare)
    lines = [f"{json.dumps(name)}: {json.dumps(pair)}" for name, pair in sorted(pairs.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
