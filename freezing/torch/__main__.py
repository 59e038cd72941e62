"""Freeze the suite ``library``: draw every operator, module and optimizer that torch tests, and merge the cases.

python -m freezing.torch FOLDER

Each of them has a file in FOLDER. If the file exists, it is not drawn again, so you can continue an interrupted freeze.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from freezing.common.gate import GatedFunction, SampleGate
from freezing.common.parts import Reason, draw_missing, merge, write_cases
from freezing.common.restart import begin
from freezing.common.samples import Drawn
from runners.suite.frozen import PackWriter
from runners.torch import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"


def freeze_operator(op: Any, path: Path) -> None:
    """Draw and judge the samples of one operator, and their gradients, into a file."""
    from freezing.torch import gradients
    from freezing.torch.operators import KEPT, functions_of
    from freezing.torch.samples import draw, dtypes_of

    pack = PackWriter()
    left_out: list[Reason] = []
    functions = list(functions_of(op))
    gates: list[tuple[str, SampleGate]] = []

    def admit(what: str, draw: Callable[[], Drawn], taking: Iterable[tuple[GatedFunction, int]]) -> None:
        """Draw samples, and pass them through a gate for each function in ``taking``, with its limit of cases."""
        try:
            draws = draw()
        except Exception as error:
            left_out.append((title_of(op), what, "its generator raises", f"{type(error).__name__}: {str(error)[:160]}"))
            return
        kind = "a sample that cannot be frozen"
        left_out.extend((title_of(op), name, kind, detail) for name, detail in draws.left_out)
        for subject, most in taking:
            gates.append((subject.name, SampleGate(subject, pack)))
            gates[-1][1].admit(draws.samples, most)

    if not functions:
        left_out.append((title_of(op), "", "no public name", op.name))
    for place, dtype in enumerate(dtypes_of(op)):
        admit(
            dtype,
            lambda dtype=dtype: draw(op, dtype, pack),  # type: ignore[misc]
            [(function, KEPT[function.style][place]) for function in functions],
        )
    gradient = gradients.gradient_of(op, functions)
    if gradient is not None:
        function = gradient.function.call
        admit(gradients.KIND, lambda: gradients.draw(op, function, pack), [(gradient, gradients.KEPT)])
    write_cases(pack, gates, path, left_out)


def title_of(op: Any) -> str:
    return f"{op.name} {op.variant_test_name}".strip()


def parts() -> list[tuple[str, Callable[[Path], None]]]:
    """Return the title of each operator, module and optimizer, and a function that draws it into a file."""
    from freezing.torch import modules, optimizers
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    return [
        *((title_of(op), partial(freeze_operator, op)) for op in op_db),
        *((modules.name_of(info), partial(modules.freeze, info)) for info in module_db),
        *((optimizers.name_of(info), partial(optimizers.freeze, info)) for info in optim_db),
    ]


def freeze(folder: Path, suite: Path) -> None:
    """Draw every part that has no file in the folder yet, and merge the folder into the suite."""
    import torch
    from runners.torch.devices import version
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_num_threads(1)
    all_parts = parts()
    draw_missing(folder, [title for title, _ in all_parts], lambda number, path: all_parts[number][1](path))
    aliases = [(op.name, alias.name, "an alias", f"charted as {op.name}") for op in op_db for alias in op.aliases]
    merge(folder, suite, FRAMEWORK.name, version(), aliases)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m freezing.torch FOLDER", file=sys.stderr)
        return 2
    begin(FRAMEWORK, "freezing.torch", arguments)
    freeze(Path(arguments[0]), SUITE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
