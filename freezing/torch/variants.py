"""Freeze the variants of the suite: its cases with other inputs (NaN, large values, other sizes and dtypes, refusals).

python -m freezing.torch.variants FOLDER [--only KIND] [--titles PATTERN] [--merge | --add]

The variants of each operator, module and optimizer stand in a file of their own in FOLDER/KIND until all are there, so
an interrupted freeze goes on there. ``--only`` draws one kind, and ``--titles`` the operators, modules and optimizers
whose titles have the regular expression; they keep their file names. ``--merge`` draws nothing: what is in FOLDER
becomes the suite's file of variants. ``--add`` draws nothing either: what is in FOLDER is added to the variants that
the suite has. The cases that they are made of are not drawn again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import resource
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

from freezing.common.determined import ROUNDED_ELSEWHERE, with_one_result
from freezing.common.gate import GatedFunction, SampleGate
from freezing.common.hashes import fix_hashes
from freezing.common.kinds import kinds_of, plain_values
from freezing.common.parts import Reason, add_variants, draw_missing, merge_variants, write_part
from freezing.common.samples import Sample
from freezing.common.variants import (
    NAN,
    OFFSET,
    OVERLAPPING,
    SECOND_ORDER,
    SIZED_LARGE,
    SIZED_ODD,
    SIZED_ROWS,
    TAILS,
    VARIANTS,
    Call,
    Variant,
    in_dtype,
    slots,
)
from protocol.enums import GRADIENT, NON_FINITE, REFUSES, Judge
from runners.suite.frozen import PACK, Pack, PackWriter
from runners.torch import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
LIMIT_S = 120
"""For the variants of one kind of one operator."""
LIMITS_S: Mapping[str, int] = {SIZED_LARGE: 30}
"""The same of kinds of which fewer operators are worth the time."""
LARGE_MEMORY = 4 << 30
"""Bytes that a process which draws ``sized-large`` may add: an outer product of large arrays would take the host's."""
NOT_LARGE = frozenset({"torch.nn.RNN", "torch.nn.GRU", "torch.nn.LSTM", "torch.optim.LBFGS"})
"""Classes without large arrays. A row is a step of a recurrence, and a compiler that unrolls it does not end. LBFGS
stops where two losses are nearly equal, which are sums over all elements, so the order of additions decides."""
MOST_TRIED = 4
"""Cases of a function of which one variant is made, until one is admitted."""
MOST_TRIED_LARGE = 3
"""The same of ``sized-large``, whose calls are slow."""
DTYPES = "dtypes"
"""The kind of the variants in another dtype, on the command line alone."""
NAN_GRADIENT = "nan-gradient"
"""The kind of the gradients at a NaN, on the command line alone; their tags are those of ``non-finite``."""
OVERLAPPING_GRADIENT = "overlapping-gradient"
"""The kind of the gradients by views whose elements share memory, on the command line alone; tagged ``overlapping``."""
INT16 = "int16"
"""The kind of the variants of whole numbers in int16, on the command line alone."""
OF_MODULES = ("buffers", "module-gradient")
"""The kinds of modules alone, on the command line; ``module_kinds.py`` draws them, each as many as it says."""
KEPT: Mapping[str, tuple[int, int]] = {
    REFUSES: (3, 2),
    NON_FINITE: (2, 1),
    TAILS: (3, 1),
    DTYPES: (4, 4),
    SIZED_ODD: (1, 0),
    SIZED_LARGE: (1, 0),
    OFFSET: (1, 1),
    OVERLAPPING: (1, 0),
    SECOND_ORDER: (0, 1),
    NAN_GRADIENT: (0, 1),
    OVERLAPPING_GRADIENT: (0, 1),
    INT16: (1, 0),
}
"""Variants of a kind that are kept: of the first name of an operator, and of each of its others and its gradient."""
OF_GRADIENTS = frozenset({SECOND_ORDER, NAN_GRADIENT, OVERLAPPING_GRADIENT})
"""Kinds that only gradients have."""
WITHOUT_GRADIENTS = frozenset({REFUSES, NON_FINITE})
"""Kinds that no gradient has: what the forward pass refuses is refused with and without a gradient, and a slope at
infinity is a product of infinity and zero, in whichever order it is computed."""
SECOND_ORDER_SHARE = (2, 5)
"""Of the gradients of so many of so many operators the second order is drawn, as about half have one that is not zero.

An operator's own name decides, so a larger share has the operators of a smaller one.
"""
INDEPENDENT = frozenset(judge for judge in Judge if judge.is_independent)
"""The only judges of NaN and infinity: the same function in float64 shares what it makes of these."""
BY_MODE = (NON_FINITE, TAILS, SIZED_ODD)
"""Kinds of which each mode of a function has its own cases."""
MOST_MODES = 4
WAY_TAGS = frozenset({GRADIENT, "module", "optimizer", "train", "eval"})
WHOLE = "int32"
KINDS_OF: Mapping[str, Collection[str]] = {
    DTYPES: ("",),
    SIZED_LARGE: (SIZED_LARGE, SIZED_ROWS),
    OVERLAPPING_GRADIENT: (OVERLAPPING,),
}
"""The kinds of the variants that a kind on the command line draws, where these are not that one."""


@dataclass(frozen=True)
class BaseFunction:
    """A function under the gate, and the cases that its variants of one kind are made of."""

    subject: GatedFunction
    cases: Sequence[dict[str, Any]]
    is_first: bool
    """Whether it is the first name of its operator, or another."""
    is_gradient: bool = False

    @property
    def modes(self) -> Sequence[BaseFunction]:
        """The function once for each set of texts among its options, such as a mode of reduction: the first few."""
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for case in self.cases:
            texts = sorted(
                word for word in plain_values(json.loads(case["call"])) if re.search(r"\.\w+ [a-z_]{2,}$", word)
            )
            groups[" ".join(texts)].append(case)
        return [dataclasses.replace(self, cases=cases) for cases in list(groups.values())[:MOST_MODES]]


class FrozenCases:
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
        unusual = {"empty", "0-dim", "strided"}
        return sorted(cases, key=lambda case: (bool(unusual & set(case["tags"])), case["dtype"] != "float32"))

    def dtypes_of(self, base: BaseFunction) -> set[str]:
        """The dtypes that a function has cases in; a gradient those that have one at all, and no whole numbers."""
        if base.is_gradient:
            return {case["dtype"] for case in base.cases} | {"int8", "uint8"}
        return {case["dtype"] for case in self._by_function[base.subject.name]}

    def call(self, case: Mapping[str, Any]) -> Call:
        tree = json.loads(case["call"])
        return Call(
            f"{case['function']}/{case['name']}",
            case["dtype"],
            frozenset(case["tags"]),
            tuple(self.pack.array(digest) for digest in case["arrays"]),
            tree,
            frozenset(slot["array"] for slot in slots(_inputs(tree))),
        )

    def sample(
        self, case: Mapping[str, Any], new_call: Call, name: str, tags: Collection[str], pack: PackWriter
    ) -> Sample:
        """The new call of a case as the gate takes it, with its arrays in the pack."""
        digests = tuple(
            pack.add(array, _dtype_of(array, self.pack.dtype(digest), case["dtype"], new_call.dtype))
            for array, digest in zip(new_call.arrays, case["arrays"])
        )
        shapes = [new_call.arrays[number].shape for number in sorted(new_call.inputs)]
        has_strides = any("strides" in slot for slot in slots(new_call.written))
        kinds = kinds_of(shapes, new_call.dtype, has_strides=has_strides)
        return Sample(
            name,
            new_call.dtype,
            json.dumps(new_call.written, separators=(",", ":")),
            digests,
            (*kinds, *(tag for tag in case["tags"] if tag in WAY_TAGS), *tags),
            sum(array.size for array in new_call.arrays),
        )


Draw = Callable[[str, FrozenCases], Iterator[BaseFunction]]
"""Gives the functions of an operator, module or optimizer of which there are variants of a kind."""


def _inputs(tree: Mapping[str, Any]) -> Any:
    """The parts of a written call that are the function's inputs: not a module's state, nor the weights of results."""
    parts = tree["tuple"]
    if tree.get("way") == "forward":
        return parts[3]
    return parts[:3] if tree.get("way") == "steps" else parts[:2]


def _dtype_of(array: Any, dtype_kept: str, before: str, after: str) -> str:
    """The dtype of a changed array: that of the case if it had it, its own otherwise."""
    if array.dtype.kind == "f" and "float" in dtype_kept:
        return after if dtype_kept == before else dtype_kept
    return str(array.dtype)


def variants_of(kind: str) -> list[Variant]:
    from freezing.torch.views import OF_TORCH

    if kind == NAN_GRADIENT:
        return [variant for variant in VARIANTS if variant.name == NAN]
    if kind == INT16:
        return [Variant(INT16, "", _is_whole, lambda call, rng: in_dtype(INT16, call))]
    return [variant for variant in (*OF_TORCH, *VARIANTS) if variant.kind in KINDS_OF.get(kind, (kind,))]


def _is_whole(call: Call) -> bool:
    return bool(call.integers) and not call.floats and call.dtype in ("int32", "int64")


def freeze(kind: str, base_cases: FrozenCases, functions_of: Draw, path: Path) -> None:
    """Draw and judge the variants of one kind of an operator, module or optimizer, into a file of its own."""
    pack = PackWriter()
    left_out: list[Reason] = []
    for one in functions_of(kind, base_cases):
        if kind == SIZED_LARGE and one.subject.name in NOT_LARGE:
            continue
        gate = SampleGate(one.subject, pack, large=kind in (SIZED_ODD, SIZED_LARGE), judges=_judges(kind, one))
        for of_mode in one.modes if kind in BY_MODE else [one]:
            most = len(gate.cases) + KEPT[kind][0 if one.is_first else 1]
            for place, variant in enumerate(variants_of(kind)):
                if len(gate.cases) == most:
                    break
                samples = _samples(gate, of_mode, variant, place, base_cases, pack)
                if kind == SIZED_LARGE:
                    samples = gate.with_small_results(islice(samples, MOST_TRIED_LARGE))
                if kind in ROUNDED_ELSEWHERE:
                    samples = with_one_result(gate, one.subject, samples, pack)
                _admit_first(gate, variant, samples)
        pack.cases += gate.cases
        left_out += [(one.subject.name, *reason) for reason in gate.left_out]
    write_part(pack, left_out, path)


def _judges(kind: str, base: BaseFunction) -> frozenset[Judge]:
    """The judges that are asked; all of them where there are none."""
    if base.is_gradient:
        # Differences of a pass that meets NaN or large values are themselves NaN or rounded.
        return frozenset({Judge.float64}) if kind in (NAN_GRADIENT, TAILS) else frozenset()
    return INDEPENDENT if kind == NON_FINITE else frozenset()


def _admit_first(gate: SampleGate, variant: Variant, samples: Iterator[Sample]) -> None:
    """Admit the first of the samples that the gate takes."""
    before = len(gate.cases)
    for sample in samples:
        if variant.refuses:
            gate.admit_refused([sample], 1)
        else:
            gate.admit([sample], 1)
        if len(gate.cases) > before:
            return


def _samples(
    gate: SampleGate, base: BaseFunction, variant: Variant, place: int, base_cases: FrozenCases, pack: PackWriter
) -> Iterator[Sample]:
    """A variant of a few of a function's cases; each variant begins with another case."""
    if not variant.kind and variant.name in base_cases.dtypes_of(base):
        return
    first = place % max(1, len(base.cases))
    tries = 0
    for case in [*base.cases[first:], *base.cases[:first]]:
        call, name = base_cases.call(case), case["name"]
        new_call = variant.of(call)
        if new_call is None and variant.refuses and call.floats and not call.integers:
            # What is refused of whole numbers, such as a division by zero, where no case has any.
            whole, name = in_dtype(WHOLE, call), f"{name}-{WHOLE}"
            if gate.refusal(base_cases.sample(case, whole, name, (), pack)) is None:
                new_call = variant.of(whole)
        if new_call is not None:
            yield base_cases.sample(case, new_call, f"{name}-{variant.name}", variant.tags, pack)
            tries += 1
        if tries == MOST_TRIED:
            return


def operator(op: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    """The names of an operator, and its gradient, with their cases."""
    from freezing.torch.gradients import SecondOrderGradient, gradient_of
    from freezing.torch.operators import functions_of
    from freezing.torch.samples import prefix_of
    from freezing.torch.views import ThroughView, through_views

    functions = list(functions_of(op))
    pattern = rf"{re.escape(prefix_of(op, 'DTYPE'))}-\d+(-strided)?".replace("DTYPE", r"[a-z]+\d*")
    for place, function in enumerate(functions):
        if function.left_open is None and kind not in OF_GRADIENTS:
            own_cases = base_cases.of(function.name, pattern)
            if kind == OFFSET and function.in_place:
                yield BaseFunction(ThroughView(function), through_views(own_cases), place == 0)
            else:
                yield BaseFunction(function, own_cases, place == 0)
    gradient = gradient_of(op, functions)
    if gradient is None or kind in WITHOUT_GRADIENTS or (kind == SECOND_ORDER and not _has_second_order(op)):
        return
    backward = SecondOrderGradient(gradient.function) if kind == SECOND_ORDER else gradient
    yield BaseFunction(backward, base_cases.of(gradient.name, f"{pattern}-gradient"), False, is_gradient=True)


def _has_second_order(op: Any) -> bool:
    share, of = SECOND_ORDER_SHARE
    return crc32(op.name.encode()) % of < share


def module(info: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    from freezing.torch.modules import ModuleClass

    subject = ModuleClass(info)
    yield BaseFunction(subject, base_cases.of(subject.name, ".*"), True)


def optimizer(info: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    from freezing.torch.optimizers import OptimizerClass

    subject = OptimizerClass(info)
    if kind in (REFUSES, OFFSET, OVERLAPPING):
        # The parameters refuse a gradient of another shape or dtype, not the optimizer; and they are copies, no views.
        return
    yield BaseFunction(subject, base_cases.of(subject.name, ".*"), True)


def parts() -> list[tuple[str, Draw]]:
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


def draw(folder: Path, kinds: Sequence[str], titles: str = "") -> None:
    """Draw the parts of these kinds, with titles that match, that have no file in the folder yet."""
    import torch
    from freezing.torch import module_kinds

    torch.set_num_threads(1)
    every = parts()
    base_cases = FrozenCases(Pack(SUITE / PACK))
    # Read here, and not in each of the processes that are forked from this one.
    base_cases.pack.arrays  # noqa: B018
    for kind in kinds:
        if kind in OF_MODULES:
            drawings = module_kinds.parts(kind, base_cases)
        else:
            drawings = [(title, partial(_freeze_in, kind, base_cases, functions_of)) for title, functions_of in every]
        draw_missing(
            folder / kind,
            [title for title, _ in drawings],
            lambda number, path, drawings=drawings: drawings[number][1](path),  # type: ignore[misc]
            limit_s=LIMITS_S.get(kind, LIMIT_S),
            pattern=titles,
        )


def _freeze_in(kind: str, base_cases: FrozenCases, functions_of: Draw, path: Path) -> None:
    """``freeze`` in a process that ends with it, of which the memory is limited where arrays are large."""
    if kind == SIZED_LARGE:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + LARGE_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    freeze(kind, base_cases, functions_of, path)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m freezing.torch.variants")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=[*KEPT, *OF_MODULES])
    parser.add_argument("--titles", default="", metavar="PATTERN")
    whole = parser.add_mutually_exclusive_group()
    whole.add_argument("--merge", action="store_true")
    whole.add_argument("--add", action="store_true")
    options = parser.parse_args(arguments)
    fix_hashes("freezing.torch.variants", arguments)
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        from runners.torch.devices import version

        merge_variants(options.folder, SUITE, FRAMEWORK.name, version())
    elif options.add:
        add_variants(options.folder, SUITE, FRAMEWORK.name)
    else:
        draw(options.folder, [options.only] if options.only else [*KEPT, *OF_MODULES], options.titles)
    return 0


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
