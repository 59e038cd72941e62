"""Freeze the suite: every OpInfo in a process of its own, then one file of cases and one of what was left out.

python -m runners.torch.freezing FOLDER

Each operator's cases stand in a file of their own in FOLDER until all are there; an operator that has one is not drawn
again, so an interrupted freeze goes on there.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runners.suite.freezing.gate import Gate
from runners.suite.freezing.parts import Reason, draw_missing, merge, write_part
from runners.suite.frozen import PackWriter
from runners.torch import FRAMEWORK

SUITE = Path(__file__).resolve().parents[1] / "suites" / "library"


def freeze_operator(op: Any, path: Path) -> None:
    """Draw and judge one operator's samples into a file of its own."""
    from runners.torch.freezing.operators import KEPT, charted
    from runners.torch.freezing.samples import draw, dtypes_of

    pack = PackWriter()
    left_out: list[Reason] = []
    gates = [(function, Gate(function, pack)) for function in charted(op)]
    title = title_of(op)
    if not gates:
        left_out.append((title, "", "no public name", op.name))
    for place, dtype in enumerate(dtypes_of(op)):
        try:
            drawn = draw(op, dtype, pack)
        except Exception as error:
            left_out.append((title, dtype, "its generator raises", f"{type(error).__name__}: {str(error)[:160]}"))
            continue
        kind = "a sample that cannot be frozen"
        left_out += [(title, name, kind, detail) for name, detail in drawn.left_out]
        for function, gate in gates:
            gate.admit(drawn.samples, KEPT[function.style][place])
    for function, gate in gates:
        pack.cases += gate.cases
        left_out += [(function.name, *reason) for reason in gate.left_out]
    write_part(pack, left_out, path)


def title_of(op: Any) -> str:
    return f"{op.name} {op.variant_test_name}".strip()


def freeze(folder: Path, suite: Path) -> None:
    """Draw every operator that has no file in the folder yet, and put them together."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    from runners.torch.devices import version

    torch.set_num_threads(1)
    draw_missing(folder, [title_of(op) for op in op_db], lambda number, path: freeze_operator(op_db[number], path))
    aliases = [(op.name, alias.name, "an alias", f"charted as {op.name}") for op in op_db for alias in op.aliases]
    merge(folder, suite, FRAMEWORK.name, version(), aliases)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m runners.torch.freezing FOLDER", file=sys.stderr)
        return 2
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    freeze(Path(arguments[0]), SUITE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
