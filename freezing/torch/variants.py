"""Freeze the variants of the suite: its cases with other inputs (NaN, large values, other sizes and dtypes, refusals).

python -m freezing.torch.variants FOLDER [--only KIND] [--merge]

The variants of each operator, module and optimizer stand in a file of their own in FOLDER/KIND until all are there, so
an interrupted freeze goes on there. ``--only`` draws one kind. ``--merge`` draws nothing: what is in FOLDER becomes the
suite's file of variants. The cases that they are made of are not drawn again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from freezing.common.gate import Gate, Subject
from freezing.common.hashes import fix_hashes
from freezing.common.kinds import kinds_of
from freezing.common.parts import Reason, draw_missing, merge_variants, write_part
from freezing.common.samples import Sample
from freezing.common.variants import (
    NON_FINITE,
    SIZED_LARGE,
    SIZED_ODD,
    TAILS,
    VARIANTS,
    Call,
    Variant,
    in_dtype,
    slots,
)
from protocol.enums import GRADIENT, REFUSES, Judge
from runners.suite.frozen import PACK, Pack, PackWriter
from runners.torch import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
LIMIT_S = 120
"""For the variants of one kind of one operator."""
MOST_TRIED = 4
"""Cases of a function of which one variant is made, until one is admitted."""
DTYPES = "dtypes"
"""The kind of the variants in another dtype, on the command line alone."""
KEPT: Mapping[str, tuple[int, int]] = {
    NON_FINITE: (2, 1),
    TAILS: (3, 1),
    SIZED_ODD: (1, 0),
    SIZED_LARGE: (1, 0),
    REFUSES: (3, 1),
    DTYPES: (4, 4),
}
"""Variants of a kind that are kept: of the first name of an operator, and of each of its others."""
INDEPENDENT = frozenset(judge for judge in Judge if judge.is_independent)
"""The only judges of NaN, infinity and large values: the same function in float64 shares what it makes of these."""
WAY_TAGS = frozenset({GRADIENT, "module", "optimizer", "train", "eval"})
WHOLE = "int32"


@dataclass(frozen=True)
class Varied:
    """A function under the gate, and the cases that its variants are made of."""

    subject: Subject
    cases: Sequence[dict[str, Any]]
    is_first: bool
    """Whether it is the first name of its operator, or another."""


class Bases:
    """The frozen cases by function, those whose values are compared."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._by_function: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for case in pack.cases:
            if case["kind"] == "value":
                self._by_function[case["function"]].append(case)

    def of(self, function: str, pattern: str) -> list[dict[str, Any]]:
        """The cases of a function whose names match, those first that are likely to show most."""
        cases = [case for case in self._by_function[function] if re.fullmatch(pattern, case["name"])]
        return sorted(cases, key=lambda case: bool({"empty", "0-dim", "strided"} & set(case["tags"])))

    def dtypes_of(self, function: str) -> set[str]:
        return {case["dtype"] for case in self._by_function[function]}

    def call(self, case: Mapping[str, Any]) -> Call:
        written = json.loads(case["call"])
        return Call(
            f"{case['function']}/{case['name']}",
            case["dtype"],
            frozenset(case["tags"]),
            tuple(self.pack.array(digest) for digest in case["arrays"]),
            written,
            frozenset(slot["array"] for slot in slots(_inputs(written))),
        )

    def sample(
        self, case: Mapping[str, Any], changed: Call, name: str, tags: Collection[str], pack: PackWriter
    ) -> Sample:
        """The changed call of a case as the gate takes it, with its arrays in the pack."""
        digests = tuple(
            pack.add(array, _dtype_of(array, self.pack.dtype(digest), case["dtype"], changed.dtype))
            for array, digest in zip(changed.arrays, case["arrays"])
        )
        shapes = [changed.arrays[number].shape for number in sorted(changed.inputs)]
        strided = any("strides" in slot for slot in slots(changed.written))
        kinds = kinds_of(shapes, changed.dtype, strided=strided)
        return Sample(
            name,
            changed.dtype,
            json.dumps(changed.written, separators=(",", ":")),
            digests,
            (*kinds, *(tag for tag in case["tags"] if tag in WAY_TAGS), *tags),
            sum(array.size for array in changed.arrays),
        )


def _inputs(written: Mapping[str, Any]) -> Any:
    """The parts of a written call that are the function's inputs: not a module's state, nor the weights of results."""
    parts = written["tuple"]
    if written.get("way") == "forward":
        return parts[3]
    return parts[:3] if written.get("way") == "steps" else parts[:2]


def _dtype_of(array: Any, kept: str, before: str, after: str) -> str:
    """The dtype of a changed array: that of the case if it had it, its own otherwise."""
    if array.dtype.kind == "f" and "float" in kept:
        return after if kept == before else kept
    return str(array.dtype)


def variants_of(kind: str) -> list[Variant]:
    return [variant for variant in VARIANTS if variant.kind == ("" if kind == DTYPES else kind)]


def freeze(kind: str, varied: Callable[[Bases], Iterator[Varied]], path: Path) -> None:
    """Draw and judge the variants of one kind of an operator, module or optimizer, into a file of its own."""
    bases = Bases(Pack(SUITE / PACK))
    pack = PackWriter()
    left_out: list[Reason] = []
    for one in varied(bases):
        judges = INDEPENDENT if kind in (NON_FINITE, TAILS) and not _is_gradient(one) else ()
        gate = Gate(one.subject, pack, large=kind in (SIZED_ODD, SIZED_LARGE), judges=judges)
        most = KEPT[kind][0 if one.is_first else 1]
        for place, variant in enumerate(variants_of(kind)):
            if len(gate.cases) == most:
                break
            _admit(gate, variant, _samples(one, variant, place, bases, pack))
        pack.cases += gate.cases
        left_out += [(one.subject.name, *reason) for reason in gate.left_out]
    write_part(pack, left_out, path)


def _is_gradient(varied: Varied) -> bool:
    return any(GRADIENT in case["tags"] for case in varied.cases)


def _admit(gate: Gate, variant: Variant, samples: Sequence[Sample]) -> None:
    if variant.refuses:
        gate.admit_refused(samples, 1)
    else:
        gate.admit(samples, 1)


def _samples(varied: Varied, variant: Variant, place: int, bases: Bases, pack: PackWriter) -> list[Sample]:
    """A variant of a few of a function's cases; each variant begins with another case."""
    if not variant.kind and variant.name in bases.dtypes_of(varied.subject.name):
        return []
    samples: list[Sample] = []
    first = place % max(1, len(varied.cases))
    for case in [*varied.cases[first:], *varied.cases[:first]]:
        call = bases.call(case)
        changed = variant.of(call)
        if changed is not None:
            samples.append(bases.sample(case, changed, f"{case['name']}-{variant.name}", variant.tags, pack))
        elif variant.refuses and call.floats and not call.integers:
            whole = variant.of(in_dtype(WHOLE, call))
            if whole is not None:
                name = f"{case['name']}-{WHOLE}-{variant.name}"
                samples.append(bases.sample(case, whole, name, variant.tags, pack))
        if len(samples) == MOST_TRIED:
            break
    return samples


def operator(op: Any, bases: Bases) -> Iterator[Varied]:
    """The names of an operator, and its gradient, with their cases."""
    from freezing.torch import gradients
    from freezing.torch.operators import charted
    from freezing.torch.samples import prefix_of

    functions = list(charted(op))
    pattern = rf"{re.escape(prefix_of(op, 'DTYPE'))}-\d+(-strided)?".replace("DTYPE", r"[a-z]+\d*")
    for place, function in enumerate(functions):
        if function.left_open is None:
            yield Varied(function, bases.of(function.name, pattern), place == 0)
    gradient = gradients.differentiated(op, functions)
    if gradient is not None:
        yield Varied(gradient, bases.of(gradient.name, f"{pattern}-gradient"), False)


def module(info: Any, bases: Bases) -> Iterator[Varied]:
    from freezing.torch.modules import ModuleClass

    subject = ModuleClass(info)
    yield Varied(subject, bases.of(subject.name, ".*"), True)


def optimizer(info: Any, bases: Bases) -> Iterator[Varied]:
    from freezing.torch.optimizers import OptimizerClass

    subject = OptimizerClass(info)
    yield Varied(subject, bases.of(subject.name, ".*"), True)


def parts() -> list[tuple[str, Callable[[Bases], Iterator[Varied]]]]:
    """All of which there are variants: a title, and the functions with their cases."""
    from freezing.torch import modules, optimizers
    from freezing.torch.__main__ import title_of
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db
    from torch.testing._internal.common_optimizers import optim_db

    return [
        *((title_of(op), partial(operator, op)) for op in op_db),
        *((modules.name_of(info), partial(module, info)) for info in module_db),
        *((optimizers.name_of(info), partial(optimizer, info)) for info in optim_db),
    ]


def draw(folder: Path, kinds: Sequence[str]) -> None:
    """Draw the parts of these kinds that have no file in the folder yet."""
    import torch

    torch.set_num_threads(1)
    every = parts()
    for kind in kinds:
        draw_missing(
            folder / kind,
            [title for title, _ in every],
            lambda number, path, kind=kind: freeze(kind, every[number][1], path),  # type: ignore[misc]
            limit_s=LIMIT_S,
        )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m freezing.torch.variants")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=list(KEPT))
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args(arguments)
    fix_hashes("freezing.torch.variants", arguments)
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        from runners.torch.devices import version

        merge_variants(options.folder, SUITE, FRAMEWORK.name, version())
    else:
        draw(options.folder, [options.only] if options.only else list(KEPT))
    return 0


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
