"""Freeze the suite ``library``: draw every public function in a separate process, and merge the cases into the suite.

python -m freezing.jax FOLDER SURFACE

SURFACE is the catalogue's file for the installed JAX (in ``coordinator/catalogue/data/surfaces``). Only names in this
file are charted. Every other name is listed with its reason. Each function has a file in FOLDER. A function whose file
exists is not drawn again, so you can continue an interrupted freeze.

Do not open JAX's backend before a process is forked. Otherwise its children would hang.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freezing.common.gate import SampleGate
from freezing.common.parts import Reason, draw_missing, drawn_apart, entries_of, merge, write_cases, write_part
from freezing.common.restart import begin
from freezing.common.samples import Sample
from runners.jax import FRAMEWORK
from runners.suite.frozen import Pack, PackWriter

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"


def freeze_function(name: str, harnesses: Path, path: Path) -> None:
    """Draw and judge the samples of one function into a file."""
    from freezing.jax.functions import KEPT, OF_HARNESSES, JaxFunction
    from freezing.jax.recipes import by_function
    from freezing.jax.samples import draw

    pack = PackWriter()
    gate = SampleGate(JaxFunction(name), pack)
    left_out: list[Reason] = []
    recipe = by_function().get(name)
    dtypes_taken = 0
    for dtype in recipe.dtypes if recipe else ():
        if dtypes_taken == len(KEPT):
            break
        assert recipe is not None
        try:
            draws = draw(name, recipe, dtype, pack)
        except Exception as error:
            left_out.append((name, dtype, "its recipe raises", f"{type(error).__name__}: {str(error)[:160]}"))
            continue
        left_out += [(name, sample, "a sample that cannot be frozen", detail) for sample, detail in draws.left_out]
        before = len(gate.cases)
        gate.admit(draws.samples, KEPT[dtypes_taken])
        dtypes_taken += len(gate.cases) > before
    for place, samples in enumerate(samples_of_harnesses(name, Pack(harnesses), pack).values()):
        gate.admit(samples, OF_HARNESSES[min(place, 1)])
    write_cases(pack, [(name, gate)], path, left_out)


def freeze_harnesses(entries: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the calls of JAX's own harnesses into a file, as samples that are not judged yet."""
    from freezing.jax.harnesses import public_objects, record
    from runners.jax.devices import Cpu

    pack = PackWriter()
    samples, left_out = record(public_objects(entries, Cpu().lookup), pack)
    for function, own_samples in samples.items():
        for sample in own_samples:
            pack.cases.append({**vars(sample), "function": function, "expected": []})
    write_part(pack, left_out, path)


def samples_of_harnesses(name: str, harnesses: Pack, pack: PackWriter) -> Mapping[str, list[Sample]]:
    """Return the samples of a function from the harnesses, by dtype, and copy their arrays into the pack."""
    by_dtype: dict[str, list[Sample]] = defaultdict(list)
    for case in harnesses.cases:
        if case["function"] != name:
            continue
        for digest in case["arrays"]:
            pack.add(harnesses.array(digest), harnesses.dtype(digest))
        sample = Sample(
            case["name"], case["dtype"], case["call"], tuple(case["arrays"]), tuple(case["kinds"]), case["elements"]
        )
        by_dtype[sample.dtype].append(sample)
    return by_dtype


def freeze(folder: Path, surface: Path, suite: Path) -> None:
    """Draw every function that has no file in the folder yet, and merge the folder into the suite."""
    import jax
    from freezing.jax.recipes import by_function
    from freezing.jax.references import import_followed
    from freezing.jax.uncharted import aliases, find_uncharted

    # Import here, so that none of the thousand children has to.
    import_followed(by_function())

    folder.mkdir(parents=True, exist_ok=True)
    entries = entries_of(surface)
    harnesses = folder / "harnesses.npz"
    if not harnesses.exists():
        drawn_apart("harnesses", harnesses, lambda path: freeze_harnesses(entries, path))
    pack = Pack(harnesses)
    candidates = {*by_function(), *(case["function"] for case in pack.cases)}
    functions = sorted(candidates & {entry["name"] for entry in entries})
    draw_missing(folder, functions, lambda number, path: freeze_function(functions[number], harnesses, path))
    left_out = [*pack.about["left_out"], *aliases(entries, functions), *find_uncharted(entries, functions)]
    left_out += [(name, "", "not public in this release", "") for name in sorted(candidates - {*functions})]
    merge(folder, suite, FRAMEWORK.name, jax.__version__, left_out)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("usage: python -m freezing.jax FOLDER SURFACE", file=sys.stderr)
        return 2
    begin(FRAMEWORK, "freezing.jax", arguments)
    freeze(Path(arguments[0]), Path(arguments[1]), SUITE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
