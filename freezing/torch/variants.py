"""Freeze the variants of the suite: its cases with other inputs (NaN, large values, other sizes and dtypes, refusals).

python -m freezing.torch.variants FOLDER [--only KIND] [--titles PATTERN] [--merge | --add]

The variants of each operator, module and optimizer are drawn into a file in FOLDER/KIND. If the file exists, they are
not drawn again, so you can continue an interrupted freeze. ``--only`` draws one kind. ``--titles`` draws only the
operators, modules and optimizers whose titles match the regular expression; their file names stay the same. With
``--merge``, nothing is drawn, and the files in FOLDER become the suite's file of variants. With ``--add``, nothing is
drawn, and the files in FOLDER are added to the suite's variants. The cases from which variants are made stay unchanged.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from freezing.common.determined import ROUNDED_ELSEWHERE, SECOND_ORDER_TOLERANCES, with_one_result
from freezing.common.gate import GatedFunction, SampleGate
from freezing.common.kinds import kinds_of, plain_values
from freezing.common.parts import Reason, add_variants, draw_missing, merge_variants, write_part
from freezing.common.restart import fix_hashes
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
from freezing.torch.one_signed import NEGATIVE, ONE_SIGNED, reduces
from freezing.torch.one_signed import variants_of as one_signed_variants
from protocol.enums import GRADIENT, NON_FINITE, REFUSES, WRONG_ON_HOST, Judge
from runners.suite.frozen import Pack, PackWriter, packs_in
from runners.torch import FRAMEWORK

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
LIMIT_S = 120
"""The time limit for the variants of one kind of one operator."""
LIMITS_S: Mapping[str, int] = {SIZED_LARGE: 30}
"""Shorter limits for kinds where slow operators are not worth the time."""
LARGE_MEMORY = 4 << 30
"""The maximum number of bytes that a process may allocate for ``sized-large`` variants. Otherwise an outer product of
large arrays could use all memory of the machine."""
NOT_LARGE = frozenset({"torch.optim.LBFGS"})
"""Classes without large arrays. LBFGS stops if two losses are nearly equal. Losses are sums over all elements, so the
order of additions decides."""
MOST_TRIED = 4
"""The maximum number of cases of a function that are tried for one variant."""
MOST_TRIED_LARGE = 3
"""The same limit for ``sized-large``, whose calls are slow."""
DTYPES = "dtypes"
"""The kind of variants in another dtype. It exists only on the command line."""
NAN_GRADIENT = "nan-gradient"
"""The kind of gradients at a NaN. It exists only on the command line; the cases have the tags of ``non-finite``."""
OVERLAPPING_GRADIENT = "overlapping-gradient"
"""The kind of gradients through views whose elements share memory. It exists only on the command line; the cases have
the tag ``overlapping``."""
INT16 = "int16"
"""The kind of variants of integer calls in int16. It exists only on the command line."""
OF_MODULES = ("buffers", "module-gradient", "module-second-order")
"""The kinds that only modules have. They exist only on the command line. ``module_kinds.py`` draws them, with its own
limits."""
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
    ONE_SIGNED: (4, 1),
    WRONG_ON_HOST: (1, 1),
}
"""The maximum numbers of cases of each kind: of the first public name of an operator, and of each other name and of the
gradient."""
OF_GRADIENTS = frozenset({SECOND_ORDER, NAN_GRADIENT, OVERLAPPING_GRADIENT})
"""Kinds that only gradients have."""
WITHOUT_GRADIENTS = frozenset({REFUSES, NON_FINITE})
"""Kinds that gradients do not have. If the forward pass refuses a call, the gradient adds nothing. A slope at infinity
is a product of infinity and zero, so the order of operations decides."""
INDEPENDENT = frozenset(judge for judge in Judge if judge.is_independent)
"""The references for NaN and infinity. The same function in float64 is not one of them, because it handles these values
in the same way."""
BY_MODE = (NON_FINITE, TAILS, SIZED_ODD, ONE_SIGNED)
"""The kinds in which each mode of a function has its own cases."""
MOST_MODES = 4
WAY_TAGS = frozenset({GRADIENT, "module", "optimizer", "train", "eval"})
WHOLE = "int32"
KINDS_OF: Mapping[str, Collection[str]] = {
    DTYPES: ("",),
    SIZED_LARGE: (SIZED_LARGE, SIZED_ROWS),
    OVERLAPPING_GRADIENT: (OVERLAPPING,),
}
"""Maps a kind on the command line to the kinds of its variants, if they differ."""


@dataclass(frozen=True)
class BaseFunction:
    """A function, whose samples the gate checks, and its cases, from which the variants of one kind are made."""

    subject: GatedFunction
    cases: Sequence[dict[str, Any]]
    is_first: bool
    """Whether this is the first public name of the operator."""
    is_gradient: bool = False

    @property
    def modes(self) -> Sequence[BaseFunction]:
        """This function once for each mode, at most ``MOST_MODES`` times. A mode is a set of texts among the arguments,
        such as ``mean`` for a reduction."""
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for case in self.cases:
            texts = sorted(
                word for word in plain_values(json.loads(case["call"])) if re.search(r"\.\w+ [a-z_]{2,}$", word)
            )
            groups[" ".join(texts)].append(case)
        return [dataclasses.replace(self, cases=cases) for cases in list(groups.values())[:MOST_MODES]]


class FrozenCases:
    """The frozen cases with compared values, by function."""

    def __init__(self, pack: Pack, variants: Iterable[Mapping[str, Any]] = ()) -> None:
        self.pack = pack
        self._variants = {(case["function"], case["name"]) for case in variants}
        self._by_function: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for case in pack.cases:
            if case["kind"] == "value":
                self._by_function[case["function"]].append(case)

    def of(self, function: str, pattern: str) -> list[dict[str, Any]]:
        """Return the cases of a function whose names match. Cases with usual shapes come first, then float32."""
        cases = [case for case in self._by_function[function] if re.fullmatch(pattern, case["name"])]
        unusual = {"empty", "0-dim", "strided"}
        return sorted(cases, key=lambda case: (bool(unusual & set(case["tags"])), case["dtype"] != "float32"))

    def has_negative(self, case: Mapping[str, Any]) -> bool:
        """Whether the suite has the variant of a case in which all numbers are negative."""
        return (case["function"], f"{case['name']}-negative") in self._variants

    def dtypes_of(self, base: BaseFunction) -> set[str]:
        """Return the dtypes of the function's cases. For a gradient, return the dtypes of its own cases, and the small
        integers."""
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
        """Make a sample of the changed call of a case, and add its arrays to the pack."""
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
"""Yields the functions of an operator, module or optimizer for which variants of a kind are drawn."""


def _inputs(tree: Mapping[str, Any]) -> Any:
    """Return the parts of a written call that are inputs of the function, without a module's state and the weights of
    results."""
    parts = tree["tuple"]
    if tree.get("way") == "forward":
        return parts[3]
    return parts[:3] if tree.get("way") == "steps" else parts[:2]


def _dtype_of(array: Any, dtype_kept: str, before: str, after: str) -> str:
    """Return the new dtype of an array: the new dtype of the case if the array had the old one, otherwise the array's
    own."""
    if array.dtype.kind == "f" and "float" in dtype_kept:
        return after if dtype_kept == before else dtype_kept
    return str(array.dtype)


def variants_of(kind: str) -> list[Variant]:
    from freezing.torch.large import LARGE_OF_TORCH
    from freezing.torch.views import OF_TORCH

    if kind == NAN_GRADIENT:
        return [variant for variant in VARIANTS if variant.name == NAN]
    if kind == INT16:
        return [Variant(INT16, "", _is_whole, lambda call, rng: in_dtype(INT16, call))]
    return [
        variant for variant in (*OF_TORCH, *VARIANTS, *LARGE_OF_TORCH) if variant.kind in KINDS_OF.get(kind, (kind,))
    ]


def _is_whole(call: Call) -> bool:
    return bool(call.integers) and not call.floats and call.dtype in ("int32", "int64")


def freeze(kind: str, base_cases: FrozenCases, functions_of: Draw, path: Path) -> None:
    """Draw and judge the variants of one kind of an operator, module or optimizer into a file."""
    from freezing.torch.large import has_own_variants

    pack = PackWriter()
    left_out: list[Reason] = []
    for one in functions_of(kind, base_cases):
        if kind == WRONG_ON_HOST:
            left_out += _draw_wrong(one, base_cases, pack)
            continue
        if kind == SIZED_LARGE and one.subject.name in NOT_LARGE:
            continue
        if kind == ONE_SIGNED and not reduces(one.subject.name):
            continue
        gate = SampleGate(one.subject, pack, large=kind in (SIZED_ODD, SIZED_LARGE), judges=_judges(kind, one))
        for of_mode in one.modes if kind in BY_MODE else [one]:
            most = len(gate.cases) + KEPT[kind][0 if one.is_first else 1]
            if kind == ONE_SIGNED:
                _admit_one_signed(gate, of_mode, most, base_cases, pack)
                continue
            for place, variant in enumerate(variants_of(kind)):
                if len(gate.cases) == most:
                    break
                if kind == SIZED_LARGE and variant in VARIANTS and has_own_variants(one.subject.name):
                    continue
                samples = _samples(gate, of_mode, variant, place, base_cases, pack)
                if kind == SIZED_LARGE:
                    samples = gate.with_small_results(islice(samples, MOST_TRIED_LARGE))
                if kind in ROUNDED_ELSEWHERE:
                    samples = with_one_result(gate, one.subject, samples, pack)
                if kind == SECOND_ORDER:
                    samples = with_one_result(gate, one.subject, samples, pack, tolerances=SECOND_ORDER_TOLERANCES)
                _admit_first(gate, variant, samples)
        pack.cases += gate.cases
        left_out += [(one.subject.name, *reason) for reason in gate.left_out]
    write_part(pack, left_out, path)


def _admit_one_signed(
    gate: SampleGate, base: BaseFunction, most: int, base_cases: FrozenCases, pack: PackWriter
) -> None:
    """Admit the one-signed variants of the function's first cases, one for each end of their names."""
    ends: set[str] = set()
    for case in base.cases[:MOST_TRIED]:
        for end, new_call in one_signed_variants(base.subject.name, base_cases.call(case)):
            name = f"{case['name']}-{end}"
            # A variant from the tails has the same inputs.
            if end in ends or (end == NEGATIVE and base_cases.has_negative(case)) or len(gate.cases) == most:
                continue
            samples = iter([base_cases.sample(case, new_call, name, (ONE_SIGNED,), pack)])
            before = len(gate.cases)
            gate.admit(list(with_one_result(gate, base.subject, samples, pack)), 1)
            if len(gate.cases) > before:
                ends.add(end)


def _draw_wrong(base: BaseFunction, base_cases: FrozenCases, pack: PackWriter) -> list[Reason]:
    """Add the case that the CPU gets wrong, if there is one, and return the reasons for calls that are left out."""
    from freezing.torch.wrong_on_host import DTYPE, MOST_BASES, OF_TAILS, search

    calls = []
    for case in [case for case in base.cases if case["dtype"] == DTYPE][:MOST_BASES]:
        call = base_cases.call(case)
        sample = base_cases.sample(case, call, case["name"], (), pack)
        new_calls = [(variant, variant.of(call)) for variant in OF_TAILS]
        samples = [
            base_cases.sample(case, new_call, f"{case['name']}-{variant.name}", variant.tags, pack)
            for variant, new_call in new_calls
            if new_call is not None
        ]
        calls.append((sample, samples))
    cases, reasons = search(base.subject, calls, pack)
    pack.cases += cases
    return [(base.subject.name, *reason) for reason in reasons]


def _judges(kind: str, base: BaseFunction) -> frozenset[Judge]:
    """Return the kinds of references to use; empty for all kinds."""
    if base.is_gradient:
        # Differences at NaN or large values are NaN, or have large rounding errors.
        return frozenset({Judge.float64}) if kind in (NAN_GRADIENT, TAILS) else frozenset()
    return INDEPENDENT if kind == NON_FINITE else frozenset()


def _admit_first(gate: SampleGate, variant: Variant, samples: Iterator[Sample]) -> None:
    """Pass samples through the gate until it admits one."""
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
    """Yield a variant of a few of the function's cases. Each variant begins with another case."""
    if not variant.kind and variant.name in base_cases.dtypes_of(base):
        return
    first = place % max(1, len(base.cases))
    tries = 0
    for case in [*base.cases[first:], *base.cases[:first]]:
        call, name = base_cases.call(case), case["name"]
        new_call = variant.of(call)
        if new_call is None and variant.refuses and call.floats and not call.integers:
            # Make an integer call, because some refusals (such as a division by zero) exist only for integers.
            whole, name = in_dtype(WHOLE, call), f"{name}-{WHOLE}"
            if gate.refusal(base_cases.sample(case, whole, name, (), pack)) is None:
                new_call = variant.of(whole)
        if new_call is not None:
            yield base_cases.sample(case, new_call, f"{name}-{variant.name}", variant.tags, pack)
            tries += 1
        if tries == MOST_TRIED:
            return


def operator(op: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    """Yield each public name of an operator, and its gradient, with their cases."""
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
    if gradient is None or kind in WITHOUT_GRADIENTS:
        return
    backward = SecondOrderGradient(gradient.function) if kind == SECOND_ORDER else gradient
    yield BaseFunction(backward, base_cases.of(gradient.name, f"{pattern}-gradient"), False, is_gradient=True)


def module(info: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    from freezing.torch.modules import ModuleClass

    subject = ModuleClass(info)
    yield BaseFunction(subject, base_cases.of(subject.name, ".*"), True)


def optimizer(info: Any, kind: str, base_cases: FrozenCases) -> Iterator[BaseFunction]:
    from freezing.torch.optimizers import OptimizerClass

    subject = OptimizerClass(info)
    if kind in (REFUSES, OFFSET, OVERLAPPING):
        # A gradient of another shape or dtype is refused by the parameters, not by the optimizer. The parameters are
        # copies, so they cannot be views.
        return
    yield BaseFunction(subject, base_cases.of(subject.name, ".*"), True)


def parts() -> list[tuple[str, Draw]]:
    """Return everything that has variants: a title, and a function that yields the functions with their cases."""
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
    """Draw the parts of these kinds whose title matches and that have no file in the folder yet."""
    import torch
    from freezing.torch import module_kinds

    torch.set_num_threads(1)
    every = parts()
    packs = packs_in(SUITE)
    base_cases = FrozenCases(packs.packs[0], packs.cases)
    # Read the arrays before this process forks, so that no child has to read them.
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
    """Call ``freeze`` in a process that ends afterwards. Its memory is limited if arrays are large."""
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
