"""Freeze the suite ``library``: draw the cases of every public function, and merge them into the suite's two files.

python -m freezing.tensorflow SURFACE FOLDER [--merge]

SURFACE is the file that ``portolan-runner enumerate tensorflow`` wrote for the same release. Each function has a file
in FOLDER. A function whose file exists is not drawn again, so you can continue an interrupted freeze. One process draws
the functions one after the other. Some raw operations crash the process if their inputs are unusual. Then a new process
continues without that call.

With ``--merge``, no function is drawn. The files in FOLDER are merged, and the other functions are listed as not drawn
yet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from freezing.common.gate import SampleGate
from freezing.common.parts import Reason, merge, write_part
from freezing.common.restart import begin
from freezing.tensorflow.in_turn import deadly_reasons, draw_in_turn, parts_of
from runners.suite.frozen import PackWriter
from runners.tensorflow import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
MERGE = "--merge"
MOST_CASES = (5, 2)
"""The maximum numbers of cases of a function: in the first dtype that it accepts, and in the second."""
MOST_CASES_OF_RAW = (3, 1)
"""These numbers for a raw operation. They are lower because other functions call most raw operations."""


def freeze_function(name: str, path: Path, deadly: Collection[str], note: Callable[[str], object]) -> None:
    """Draw and judge the samples of one function into a file. Skip the ``deadly`` ones, which crash the process."""
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.samples import Sampler, dtypes_of

    function = PublicFunction(name)
    pack = PackWriter()
    gate = SampleGate(function, pack)
    sampler = Sampler(function, pack, deadly, note)
    limits = list(MOST_CASES_OF_RAW if function.by_keyword else MOST_CASES)
    sample_count = 0
    for dtype in dtypes_of(name):
        if limits:
            before = len(gate.cases)
            samples = sampler.draw(dtype).samples
            sample_count += len(samples)
            gate.admit(samples, limits[0])
            limits = limits[len(gate.cases) > before :]
    pack.cases += gate.cases
    left_out: list[Reason] = [(name, *reason) for reason in gate.left_out]
    left_out += deadly_reasons(name, deadly)
    if not sampler.tried:
        left_out.append((name, "", "no recipe", ", ".join(function.parameters)))
    elif not sample_count:
        left_out.append((name, "", "no recipe fits", f"{sampler.tried} were tried; the last {sampler.refused}"))
    write_part(pack, left_out, path)


def find_unasked(names: Iterable[str]) -> Iterator[Reason]:
    """Yield the functions that are not drawn at all, with the reasons."""
    from freezing.tensorflow.definitions import unfit
    from freezing.tensorflow.functions import ASKED
    from runners.tensorflow.left_open import is_random

    for name in names:
        home, _, own = name.rpartition(".")
        if home not in ASKED:
            yield home, own, "a module without recipes", ""
        elif reason := unfit(name, is_random):
            yield name, "", "not a function of arrays", reason


def freeze(surface: Path, folder: Path, suite: Path, *, drawing: bool) -> None:
    """Merge the files in the folder into the suite. With ``drawing``, first draw every function without a file."""
    import tensorflow as tf
    from freezing.tensorflow.functions import ASKED, public_names

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    names = public_names(surface)
    left_out = list(find_unasked(names))
    refused_names = {owner if not sample else f"{owner}.{sample}" for owner, sample, _, _ in left_out}
    names_to_draw = [
        name for home in ASKED for name in names if name.rpartition(".")[0] == home and name not in refused_names
    ]
    if drawing:
        draw_in_turn(folder, names_to_draw, freeze_function)
    left_out += [
        (name, "", "not drawn yet", "") for name, path in parts_of(folder, names_to_draw).items() if not path.exists()
    ]
    merge(folder, suite, FRAMEWORK.name, tf.__version__, left_out)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2 or list(arguments[2:]) not in ([], [MERGE]):
        print(f"usage: python -m freezing.tensorflow SURFACE FOLDER [{MERGE}]", file=sys.stderr)
        return 2
    begin(FRAMEWORK, "freezing.tensorflow", arguments)
    freeze(Path(arguments[0]), Path(arguments[1]), SUITE, drawing=MERGE not in arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
