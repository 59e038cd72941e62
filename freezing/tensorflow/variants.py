"""Freeze the variants of the suite's cases, which have other inputs or other calls, into a separate file.

python -m freezing.tensorflow.variants FOLDER [--only KIND] [--missing] [--names FILE] [--merge | --add [--unfit FILE]]

The cases of each function and kind are drawn into a file in FOLDER/KIND. If the file exists, they are not drawn again,
so you can continue an interrupted freeze. With ``--merge``, nothing is drawn, and the files in FOLDER become the
suite's file of variants. With ``--add``, nothing is drawn, and the files in FOLDER are added to the suite's variants.

``--missing`` draws a function only if the suite neither has a variant of the kind nor lists a left-out one. ``--names``
draws the functions in a file, one per line and in this order. ``--seconds`` limits the processor time for one kind of
one function. ``--add --unfit FILE`` leaves out the cases whose ids are in a file. ``--add --again``
replaces variants of the suite by the new ones of the same function, kind and dtype.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freezing.common.gate import GatedFunction, SampleGate
from freezing.common.limits import MOST_ELEMENTS
from freezing.common.parts import LISTED, LISTED_VARIANTS, Reason, add_variants, merge_variants, write_part
from freezing.common.restart import fix_hashes
from freezing.common.samples import Sample
from freezing.common.second_shapes import keep_second_shapes
from freezing.common.variants import (
    INFINITY,
    MODERATE,
    NAN,
    SIZED_LARGE,
    SIZED_ODD,
    TAILS,
    VARIANTS,
    VAST,
    Call,
    Variant,
)
from freezing.common.wrong import WRONG
from freezing.tensorflow.__main__ import SUITE, freeze_function
from freezing.tensorflow.in_turn import CPU_LIMIT_S, PARTS, Draw, Note, deadly_reasons, draw_in_turn
from protocol.enums import FORM_ONLY, GRADIENT, JUDGED_BY, NON_FINITE, REFUSES, Judge
from runners.errors import LeftOutError, UnfreezableError
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, Pack, PackSet, PackWriter
from runners.suite.second_shapes import KEPT
from runners.tensorflow import FRAMEWORK

if TYPE_CHECKING:
    import numpy as np

    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import Derivative, DerivativeOrder

FORMULA, SECOND_ORDER = "formula", "second-order"
GRADIENT_THERE, GRADIENT_DTYPES = "gradient-there", "gradient-dtypes"
GRADIENT_DEFINED = "gradient-defined"
EMPTY, DTYPES, SIZES, NUMBERS = "empty", "dtypes", "sizes", "numbers"
ONE_NAN, ONE_VALUE = "one-nan", "one-value"
"""Further kinds, in addition to those of ``freezing.common.variants``: functions without a reference in a wider type,
second gradients, gradients at values that are not finite or large, gradients in 16 bits, gradients at NaN and in ties
as TensorFlow defines them, arrays without rows, other dtypes, both sizes, other
sizes together with other numbers in a call (with the tag ``sized-odd``), one NaN without a reference in NumPy, and one
large value everywhere for statistics."""
UNASKED = frozenset({"other-dtype"})
"""Variants that are not drawn, because TensorFlow decides about them in Python, before a device is used."""
INDEPENDENT = frozenset(judge for judge in Judge if judge.is_independent)
"""The references for NaN, infinity and large values. The same function in float64 is not one of them, because it
handles these values in the same way."""
PROMISES_NOTHING = re.compile(
    r"(?i)\w*r?fft\w*|i?m?dct|svd|qr|\w*eig\w*|chol\w*|lu|lu_\w+|\w*inv(erse)?|\w*det(erminant)?|\w*solve\w*"
    r"|expm|logm|sqrtm|matrix_(exponential|logarithm|square_root|rank)|lstsq"
    r"|\w*softmax_?cross_?entropy\w*|\w*contrast\w*"
)
"""Names of functions whose result is undefined for values that are not finite or very large. These are transforms and
factorizations. In the softmax cross entropy, a label of zero may or may not hide an infinite logit. The adjusted
contrast is undefined around an infinite mean."""
LEAVES_REFUSALS_OPEN = re.compile(
    r"solve|eigvalsh|lu_reconstruct|sparse_categorical_crossentropy|categorical_hinge|tensor_scatter_nd_(max|min)"
)
"""Names of functions with calls that other devices need not refuse: singular matrices, factors that do not fit, and
indices for which the documentation of a similar function leaves the result to each device."""
FOLLOWS_A_SHAPE = re.compile(r"^tf\.raw_ops\..*(Grad|Backprop)|_backprop_")
"""Names of gradients whose arrays must fit the shape, window and strides of another operation. The CPU does not check
this, so with larger numbers only the CPU would accept the calls."""
ALIKE = "alike"
"""The variant with one value everywhere."""
STATISTICS = re.compile(
    r"(?i)moments|variance|std$|stdev|standardiz|_norm(_|$)|normali[sz]|batch_?norm|layer_?norm|ssim|cov$|contrast"
)
"""Functions that subtract a mean or divide by a norm. For one value everywhere, the difference from the mean is zero,
which the function in float64 also shows."""
MOST_DIFFERENTIATED = 3
"""The maximum number of cases of a function that are differentiated at one group of unusual values."""
MOST_BASES = 2
"""The maximum number of cases of a function that are tried for one variant."""
MOST_NAN_BASES = 5
"""The same for the kind ``one-nan``, for the same reason."""
MOST_NUMBERED_BASES = 3
"""The same for the kind ``numbers``. Each case is another mode of the call (such as a way to resize), so all that pass
are kept."""


def _with_one_zero(call: Call, rng: np.random.Generator) -> Call:
    number = call.floats[0]
    array = call.arrays[number].copy()
    array.reshape(-1)[rng.integers(array.size)] = 0
    return call.having({number: array})


ONE_ZERO = Variant("zero-inside", "", lambda call: bool(call.floats), _with_one_zero)


class Bases:
    """The cases from which variants are made: the frozen cases, and the cases that a formula judges.

    The cases with formulas are in the folder where they were drawn. If the folder has none, variants are only added to
    a suite, and these cases are read from the suite's file of variants.
    """

    def __init__(self, folder: Path) -> None:
        frozen = Pack(SUITE / PACK)
        parts = list(map(Pack, sorted((folder / FORMULA).glob(PARTS))))
        variants = Pack(SUITE / VARIANTS_PACK) if not parts and (SUITE / VARIANTS_PACK).exists() else None
        self._packs = PackSet([frozen, *parts, *([variants] if variants else [])])
        self._cases: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self.non_finite: set[str] = set()
        """The functions with a case that is not finite, except gradients."""
        cases = [*frozen.cases, *(case for part in parts for case in part.cases)]
        for case in [*cases, *(variants.cases if variants else [])]:
            if kind_of(case["name"]) is None:
                self._cases[case["function"]].append(case)
            elif NON_FINITE in case["tags"] and GRADIENT not in case["tags"]:
                self.non_finite.add(case["function"])

    @property
    def functions(self) -> list[str]:
        return sorted(self._cases)

    def of(self, function: str) -> Sequence[Mapping[str, Any]]:
        return self._cases[function]

    def calls(self, function: str, *, of_form: bool = False) -> list[tuple[Mapping[str, Any], Call]]:
        """Return the calls from which variants are made: float32 first, then plain ones, then large ones. With
        ``of_form``, also return calls of which only the form is compared."""
        from freezing.tensorflow.varied import call_of

        by_size = sorted(
            (case for case in self.of(function) if case["kind"] == "value" or (of_form and FORM_ONLY in case["tags"])),
            key=lambda case: (case["dtype"] != "float32", "plain" not in case["tags"], -self._elements(case)),
        )
        return [(case, call_of(case, self._packs)) for case in by_size]

    def copy_cases(self, function: str, pack: PackWriter) -> Iterator[Mapping[str, Any]]:
        """Yield the cases of a function, plain ones first, and add their arrays to the pack."""
        for case in sorted(self.of(function), key=lambda case: "plain" not in case["tags"]):
            for digest in case["arrays"]:
                pack.add(self._packs.array(digest), self._packs.dtype(digest))
            yield case

    def _elements(self, case: Mapping[str, Any]) -> int:
        return sum(self._packs.array(digest).size for digest in case["arrays"])


def kind_of(name: str) -> str | None:
    """Return the kind of the variant with this name, as on the command line. None if the name belongs to a case from
    which variants are made."""
    if name.endswith(f"-{WRONG}"):
        return WRONG
    for end, kind in _kinds_by_name().items():
        if name.endswith(f"-{end}"):
            if kind != GRADIENT:
                return kind
            # What is differentiated may be a variant itself.
            base_kind = kind_of(name[: -len(end) - 1])
            by_base = {None: GRADIENT, DTYPES: GRADIENT_DTYPES, GRADIENT_DEFINED: GRADIENT_DEFINED}
            return by_base.get(base_kind, GRADIENT_THERE)
    return None


@cache
def _kinds_by_name() -> Mapping[str, str]:
    from freezing.tensorflow.varied import NAN_INSIDE, NO_ROWS, NUMBER_VARIANTS, SIZED, TIED

    sizes = {SIZED_ODD: SIZES, SIZED_LARGE: SIZES}
    return {
        **{
            variant.name: sizes.get(variant.kind, variant.kind or DTYPES)
            for variant in (*VARIANTS, *SIZED, VAST, MODERATE)
        },
        **{variant.name: NUMBERS for variant in NUMBER_VARIANTS},
        **{variant.name: ONE_NAN for variant in NAN_INSIDE},
        NO_ROWS.name: EMPTY,
        TIED.name: GRADIENT_DEFINED,
        ONE_ZERO.name: GRADIENT_THERE,
        GRADIENT: GRADIENT,
        SECOND_ORDER: SECOND_ORDER,
    }


@cache
def bases_in(folder: Path) -> Bases:
    return Bases(folder)


@dataclass(frozen=True)
class Most:
    """The maximum numbers of cases of a function, and of a raw operation. Most functions call raw operations."""

    of_function: int
    of_raw: int

    def of(self, *, is_raw: bool) -> int:
        return self.of_raw if is_raw else self.of_function


MOST: Mapping[str, Most] = {
    NON_FINITE: Most(1, 1),
    TAILS: Most(2, 1),
    SIZED_ODD: Most(1, 1),
    SIZED_LARGE: Most(1, 1),
    NUMBERS: Most(3, 2),
    EMPTY: Most(1, 1),
    ONE_NAN: Most(4, 2),
    ONE_VALUE: Most(2, 1),
    REFUSES: Most(3, 1),
}


def kinds_of_case(case: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of a case that describe its inputs."""
    return tuple(tag for tag in case["tags"] if not tag.startswith(JUDGED_BY) and tag not in (QUICK, FORM_ONLY))


def draw_gradients(name: str, path: Path, deadly: Collection[str], note: Note, *, kind: str) -> None:
    """Draw and judge the gradients of one function, from its float32 cases."""
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import FIRST, SECOND

    drawing = GradientDrawing(PublicFunction(name), SECOND if kind == SECOND_ORDER else FIRST, deadly, note)
    drawing.admit(drawing.repeat(bases_in(path.parent.parent)), 1)
    drawing.write(path)


def draw_gradients_there(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw and judge the gradients of one function at NaN, at infinity and at values from the tails, one of each."""
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import AT_LIMITS

    drawing = GradientDrawing(PublicFunction(name), AT_LIMITS, deadly, note)
    if not PROMISES_NOTHING.fullmatch(name.rpartition(".")[2]):
        by_name = {variant.name: variant for variant in VARIANTS}
        for group in ([by_name[NAN]], [by_name[INFINITY]], [VAST, MODERATE]):
            drawing.admit(drawing.vary(group, bases_in(path.parent.parent)), 1)
    drawing.write(path)


def draw_gradients_in_dtypes(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw and judge the gradients of one function in both 16-bit dtypes, with weights as large as possible."""
    from freezing.tensorflow import dtypes
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import FIRST, SCALES

    drawing = GradientDrawing(PublicFunction(name), FIRST, deadly, note)
    if not dtypes.JOINS.search(name.rpartition(".")[2]):
        by_name = {variant.name: variant for variant in VARIANTS}
        for dtype in dtypes.LOW_PRECISION:
            drawing.admit(drawing.vary([by_name[dtype]], bases_in(path.parent.parent)), 1, scales=SCALES)
    drawing.write(path)


def draw_gradients_defined(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw and judge the gradients of one function at NaN, and where several entries tie, as TensorFlow defines
    them."""
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import BY_DEFINITION
    from freezing.tensorflow.varied import TIED

    drawing = GradientDrawing(PublicFunction(name), BY_DEFINITION, deadly, note)
    if not PROMISES_NOTHING.fullmatch(name.rpartition(".")[2]):
        bases = bases_in(path.parent.parent)
        drawing.admit(drawing.vary([variant for variant in VARIANTS if variant.name == NAN], bases), 1)
        drawing.admit(drawing.vary([TIED], bases), 1, only_kinks=True)
    drawing.write(path)


def draw_wrong(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw the gradients and results of one function that the CPU gets wrong, if they were reviewed."""
    from freezing.tensorflow.functions import PublicFunction
    from freezing.tensorflow.gradients import AT_LIMITS, FIRST, SECOND
    from freezing.tensorflow.wrong_on_host import WRONG_GRADIENTS, WRONG_VALUES, wrong_case

    by_name = {variant.name: variant for variant in (*VARIANTS, ONE_ZERO)}
    orders = {INFINITY: AT_LIMITS, ONE_ZERO.name: FIRST, SECOND_ORDER: SECOND}
    bases, pack = bases_in(path.parent.parent), PackWriter()
    function = PublicFunction(name)
    reasons: list[Reason] = []
    for title in WRONG_GRADIENTS.get(name, ()):
        drawing = GradientDrawing(function, orders[title], deadly, note, pack)
        variant = by_name.get(title)
        drawing.admit_wrong(drawing.vary([variant], bases) if variant else drawing.repeat(bases))
        reasons += drawing.left_out
    for title in WRONG_VALUES.get(name, ()):
        for sample in vary(bases, name, by_name[title], deadly, pack):
            note(sample.name)
            case = wrong_case(function, sample, pack)
            if case:
                pack.cases.append(case)
                break
    write_part(pack, reasons, path)


class GradientDrawing:
    """The gradients of one function, and the reasons for those that are left out."""

    def __init__(
        self,
        function: PublicFunction,
        order: DerivativeOrder,
        deadly: Collection[str],
        note: Note,
        pack: PackWriter | None = None,
    ) -> None:
        self.pack = pack or PackWriter()
        self.left_out: list[Reason] = deadly_reasons(function.name, deadly)
        self._function = function
        self._order = order
        self._deadly = deadly
        self._note = note

    def repeat(self, bases: Bases) -> Iterator[Mapping[str, Any]]:
        """Yield the function's float32 cases, and add their arrays to the pack."""
        from freezing.tensorflow.gradients import DTYPE

        return (case for case in bases.copy_cases(self._function.name, self.pack) if case["dtype"] == DTYPE)

    def vary(self, variants: Sequence[Variant], bases: Bases) -> Iterator[Mapping[str, Any]]:
        """Yield the function's float32 calls with each of these variants, like frozen cases. Cases with few elements
        come first, because each element needs several calls."""
        from freezing.tensorflow.gradients import DTYPE
        from freezing.tensorflow.varied import sample_of

        calls = [(case, call) for case, call in bases.calls(self._function.name) if case["dtype"] == DTYPE]
        sizes = [sum(call.arrays[number].size for number in call.floats) for _, call in calls]
        fit = [pair for size, pair in zip(sizes, calls, strict=True) if 0 < size <= MOST_ELEMENTS]
        for variant in variants:
            for case, call in fit[:MOST_DIFFERENTIATED]:
                new_call = variant.of(call)
                if new_call is not None:
                    sample = sample_of(case, new_call, variant, self.pack)
                    yield {**vars(sample), "kind": "value", "tags": sample.kinds}

    def admit(
        self,
        cases: Iterable[Mapping[str, Any]],
        most: int,
        *,
        scales: Sequence[float] = (1,),
        only_kinks: bool = False,
    ) -> None:
        """Differentiate cases and judge the derivatives, until so many are admitted. Of the factors of the weights, the
        first with which the gate admits the derivative is used."""
        from freezing.tensorflow.gradients import Derivative

        derivative = Derivative(self._function, self._order)
        gate = SampleGate(derivative, self.pack)
        for case in cases:
            if len(gate.cases) == most:
                break
            for scale in scales:
                sample = self._differentiate(case, scale)
                if sample is None or (only_kinks and not self._has_kink(derivative, sample)):
                    break
                if _is_admitted(gate, derivative, sample, self.pack):
                    break
        self._keep(gate)

    def admit_wrong(self, cases: Iterable[Mapping[str, Any]]) -> None:
        """Differentiate cases, until the CPU gets one clearly wrong."""
        from freezing.tensorflow.gradients import DifferencesOnly
        from freezing.tensorflow.wrong_on_host import wrong_case

        derivative = DifferencesOnly(self._function, self._order)
        for case in cases:
            sample = self._differentiate(case)
            new_case = sample and wrong_case(derivative, sample, self.pack)
            if new_case:
                self.pack.cases.append(new_case)
                return

    def _differentiate(self, case: Mapping[str, Any], scale: float = 1) -> Sample | None:
        from freezing.tensorflow.gradients import sample_of

        title = case["name"]
        if case["kind"] != "value" or title in self._deadly:
            return None
        self._note(title)
        try:
            return sample_of(self._function, case, self._order, kinds_of_case(case), self.pack, scale=scale)
        except UnfreezableError as error:
            reason = str(error)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:120]
        self.left_out.append((self._function.name, f"{title}-{self._order.name}", "no gradient", reason))
        return None

    def _has_kink(self, derivative: Derivative, sample: Sample) -> bool:
        try:
            if derivative.has_kink(sample, self.pack):
                return True
            reason = "no entries compete, so ties have no effect"
        except Exception as error:  # the call needs its own dtype, or has no number as its result
            reason = f"{type(error).__name__}: {error}"[:120]
        self.left_out.append((self._function.name, sample.name, "no gradient", reason))
        return False

    def _keep(self, gate: SampleGate) -> None:
        self.pack.cases += gate.cases
        names = {case["name"] for case in gate.cases}
        self.left_out += [(self._function.name, *reason) for reason in gate.left_out if reason[0] not in names]

    def write(self, path: Path) -> None:
        """Write the cases, and for each change of the inputs the first left-out sample of each reason."""
        reasons: dict[Sequence[str], Reason] = {}
        for reason in self.left_out:
            reasons.setdefault((reason[2], *reason[1].split("-")[-2:]), reason)
        write_part(self.pack, list(reasons.values()), path)


def vary(
    bases: Bases,
    name: str,
    variant: Variant,
    deadly: Collection[str],
    pack: PackWriter,
    *,
    most: int = MOST_BASES,
    of_form: bool = False,
) -> Iterator[Sample]:
    """Yield the function's calls with this variant, from at most ``most`` cases."""
    from freezing.tensorflow.varied import sample_of

    count = 0
    for case, call in bases.calls(name, of_form=of_form):
        new_call = variant.of(call)
        if new_call is None or f"{case['name']}-{variant.name}" in deadly:
            continue
        yield sample_of(case, new_call, variant, pack)
        count += 1
        if count == most:
            return


def draw_variants(name: str, path: Path, deadly: Collection[str], note: Note, *, kinds: Sequence[str]) -> None:
    """Draw and judge the variants of these kinds of one function."""
    from freezing.tensorflow.formulas import formula_of
    from freezing.tensorflow.functions import PublicFunction

    function, pack = PublicFunction(name), PackWriter()
    bases = bases_in(path.parent.parent)
    left_out: list[Reason] = deadly_reasons(name, deadly)
    for kind in kinds:
        # A formula that loops over the elements takes minutes for large arrays.
        if kind == SIZED_LARGE and formula_of(name) is not None:
            continue
        # A function that takes too long for one large input also takes too long for others.
        if kind == SIZED_LARGE and any(sample_name.endswith("-large") for sample_name in deadly):
            continue
        if kind in (NON_FINITE, TAILS) and PROMISES_NOTHING.fullmatch(name.rpartition(".")[2]):
            continue
        if kind == REFUSES and LEAVES_REFUSALS_OPEN.search(name):
            continue
        if kind == NUMBERS and FOLLOWS_A_SHAPE.search(name):
            continue
        judges = INDEPENDENT if kind in (NON_FINITE, TAILS) else ()
        gate = SampleGate(function, pack, large=kind in (SIZED_ODD, SIZED_LARGE, NUMBERS), judges=judges)
        most = MOST[kind].of(is_raw=function.by_keyword)
        for variant in _of_kind(kind, bases.of(name)):
            if len(gate.cases) == most:
                break
            most_bases = MOST_NUMBERED_BASES if kind == NUMBERS else MOST_BASES
            for sample in vary(bases, name, variant, deadly, pack, most=most_bases):
                note(sample.name)
                is_admitted = _is_admitted(gate, function, sample, pack)
                if len(gate.cases) == most or (is_admitted and kind != NUMBERS):
                    break
        pack.cases += gate.cases
        left_out += [(name, *reason) for reason in gate.left_out]
    write_part(pack, left_out, path)


def draw_one_nan(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw calls of one function with one NaN in a large array, or if there is no such case and no other case that is
    not finite, with one NaN."""
    from freezing.tensorflow.spread import OF_NEIGHBORS, WithNan
    from freezing.tensorflow.varied import NAN_INSIDE

    function, pack = WithNan(name), PackWriter()
    bases = bases_in(path.parent.parent)
    gate = SampleGate(function, pack, large=True)
    own = name.rpartition(".")[2]
    is_finite = name not in bases.non_finite
    if not PROMISES_NOTHING.fullmatch(own):
        of_one = [variant for variant in VARIANTS if variant.name == NAN] if is_finite else []
        inside = NAN_INSIDE if is_finite or OF_NEIGHBORS.search(own) else []
        most = MOST[ONE_NAN].of(is_raw=function.by_keyword)
        calls: set[str] = set()
        for variant in (*inside, *of_one):
            if variant.name == NAN and gate.cases:
                break
            for sample in vary(bases, name, variant, deadly, pack, most=MOST_NAN_BASES):
                if len(gate.cases) == (1 if variant.name == NAN else most):
                    break
                # The same call with a NaN at another place shows nothing more.
                if sample.call not in calls:
                    note(sample.name)
                    if _is_admitted(gate, function, sample, pack):
                        calls.add(sample.call)
    pack.cases += gate.cases
    write_part(pack, [*deadly_reasons(name, deadly), *((name, *reason) for reason in gate.left_out)], path)


def draw_one_value(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw calls of one statistic with one large value everywhere. The function in float64 may judge them."""
    from freezing.tensorflow.functions import PublicFunction

    function, pack = PublicFunction(name), PackWriter()
    gate = SampleGate(function, pack, judges=[*INDEPENDENT, Judge.float64])
    if STATISTICS.search(name.rpartition(".")[2]):
        (alike,) = (variant for variant in VARIANTS if variant.name == ALIKE)
        for sample in vary(bases_in(path.parent.parent), name, alike, deadly, pack, most=MOST_NAN_BASES):
            if len(gate.cases) == MOST[ONE_VALUE].of(is_raw=function.by_keyword):
                break
            note(sample.name)
            _is_admitted(gate, function, sample, pack)
    pack.cases += gate.cases
    write_part(pack, [*deadly_reasons(name, deadly), *((name, *reason) for reason in gate.left_out)], path)


def draw_dtypes(name: str, path: Path, deadly: Collection[str], note: Note) -> None:
    """Draw and judge the calls of one function in 16 bits and in a small integer dtype."""
    from freezing.tensorflow import dtypes
    from freezing.tensorflow.functions import PublicFunction

    function, pack = PublicFunction(name), PackWriter()
    bases = bases_in(path.parent.parent)
    reasons: list[Reason] = []
    for trials in dtypes.groups_of(name, {case["dtype"] for case in bases.of(name)}):
        for trial in trials:
            gate = SampleGate(function, pack, judges=trial.judges)
            for sample in vary(bases, name, trial.variant, deadly, pack, most=dtypes.MOST_BASES, of_form=True):
                note(sample.name)
                if _is_admitted(gate, function, sample, pack):
                    if not dtypes.is_unchecked(gate.cases[-1], pack):
                        break
                    gate.cases.pop()
                    gate.left_out.append((sample.name, "no reference agrees", dtypes.BY_ITSELF))
            pack.cases += gate.cases
            reasons += [(name, *reason) for reason in gate.left_out]
            if gate.cases:
                break
    write_part(pack, [*deadly_reasons(name, deadly), *dtypes.first_reasons(reasons)], path)


def _is_admitted(gate: SampleGate, subject: GatedFunction, sample: Sample, pack: PackWriter) -> bool:
    from freezing.common.determined import ROUNDED_ELSEWHERE, require_determined

    if REFUSES in sample.kinds:
        return gate.admit_refused([sample], 1) == 1
    before = len(gate.cases)
    gate.admit([sample], 1)
    if len(gate.cases) == before:
        return False
    try:
        if ROUNDED_ELSEWHERE & set(sample.kinds):
            require_determined(subject, sample, pack, together=f"-{ALIKE}" in sample.name)
    except LeftOutError as error:
        gate.cases.pop()
        gate.left_out.append((sample.name, error.kind, str(error)))
        return False
    return True


def _of_kind(kind: str, cases: Sequence[Mapping[str, Any]]) -> list[Variant]:
    """Return the variants of a kind to draw for a function. Omit empty arrays that its cases have already."""
    from freezing.tensorflow.varied import NO_ROWS, NUMBER_VARIANTS, SIZED

    if kind == NUMBERS:
        return list(NUMBER_VARIANTS)
    if kind == EMPTY:
        return [] if any(EMPTY in case["tags"] for case in cases) else [NO_ROWS]
    return [variant for variant in (*VARIANTS, *SIZED) if variant.kind == kind and variant.name not in UNASKED]


DRAWS: Mapping[str, Draw] = {
    FORMULA: freeze_function,
    GRADIENT: partial(draw_gradients, kind=GRADIENT),
    SECOND_ORDER: partial(draw_gradients, kind=SECOND_ORDER),
    GRADIENT_THERE: draw_gradients_there,
    GRADIENT_DTYPES: draw_gradients_in_dtypes,
    GRADIENT_DEFINED: draw_gradients_defined,
    WRONG: draw_wrong,
    ONE_NAN: draw_one_nan,
    ONE_VALUE: draw_one_value,
    NON_FINITE: partial(draw_variants, kinds=[NON_FINITE]),
    TAILS: partial(draw_variants, kinds=[TAILS]),
    SIZES: partial(draw_variants, kinds=[SIZED_ODD, SIZED_LARGE]),
    NUMBERS: partial(draw_variants, kinds=[NUMBERS]),
    EMPTY: partial(draw_variants, kinds=[EMPTY]),
    DTYPES: draw_dtypes,
    REFUSES: partial(draw_variants, kinds=[REFUSES]),
}
"""Maps each kind to the function that draws these cases of one function."""


def asked_functions(kind: str, folder: Path) -> list[str]:
    """Return the functions for which a kind is drawn, raw operations last. The order is random, so that the first ones
    are a fair sample.

    A raw operation that a public function runs gets only variants in other dtypes.
    """
    from freezing.tensorflow.definitions import RAW
    from freezing.tensorflow.reached import functions_by_operation

    if kind == FORMULA:
        return without_float64()
    names = set(bases_in(folder).functions)
    if kind != DTYPES:
        names -= set(functions_by_operation())
    return sorted(names, key=lambda name: (name.startswith(f"{RAW}."), _number(name)))


def drawn_functions(kind: str) -> set[str]:
    """Return the functions for which the suite has a variant of this kind, or lists a left-out one."""
    list_path = SUITE / LISTED_VARIANTS
    names = [(case["function"], case["name"]) for case in Pack(SUITE / VARIANTS_PACK).cases]
    for owners in json.loads(list_path.read_text())["left_out"].values():
        for owner, samples in owners.items():
            # For some reasons, the list has only the number of samples.
            names += [(owner, sample_name) for sample_name in samples] if isinstance(samples, dict) else []
    return {function for function, name in names if kind_of(name) == kind}


def _number(name: str) -> int:
    return zlib.crc32(name.encode())


def without_float64() -> list[str]:
    """Return the functions that had no reference and no frozen case, and now have a formula or are compared only by
    form."""
    from freezing.tensorflow.formulas import formula_of
    from runners.tensorflow.left_open import NOT_UNIQUE, normalised

    frozen_names = {case["function"] for case in Pack(SUITE / PACK).cases}
    names_without_reference = json.loads((SUITE / LISTED).read_text())["left_out"]["no reference agrees"]
    return sorted(
        name
        for name in names_without_reference
        if name not in frozen_names and (formula_of(name) is not None or normalised(name) in NOT_UNIQUE)
    )


def chosen_functions(kind: str, folder: Path, *, only_missing: bool, names: Path | None) -> list[str]:
    """Return the functions to draw for a kind, in order."""
    asked = asked_functions(kind, folder)
    if names is not None:
        is_asked = set(asked)
        asked = [name for name in names.read_text().split() if name in is_asked]
    drawn = drawn_functions(kind) if only_missing else set()
    return [name for name in asked if name not in drawn]


def _role(case: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what only one variant can be: the variant of its kind and dtype of a function."""
    return case["function"], str(kind_of(case["name"])), case["dtype"]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m freezing.tensorflow.variants")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=list(DRAWS), action="append")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--names", type=Path)
    parser.add_argument("--unfit", type=Path)
    parser.add_argument("--seconds", type=int, default=CPU_LIMIT_S)
    whole = parser.add_mutually_exclusive_group()
    whole.add_argument("--merge", action="store_true")
    whole.add_argument("--add", action="store_true")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(arguments)
    fix_hashes("freezing.tensorflow.variants", arguments)
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if options.merge:
        merge_variants(options.folder, SUITE, FRAMEWORK.name, tf.__version__)
    elif options.add:
        from runners.tensorflow.frozen import call_of_arguments
        from runners.tensorflow.suites.library import FUNCTIONS

        keep_second_shapes(FUNCTIONS, SUITE / KEPT, call_of_arguments)
        unfit = options.unfit.read_text().split() if options.unfit else []
        add_variants(options.folder, SUITE, FRAMEWORK.name, unfit=unfit, role_of=_role if options.again else None)
    else:
        for kind in options.only or list(DRAWS):
            names = chosen_functions(kind, options.folder, only_missing=options.missing, names=options.names)
            draw_in_turn(options.folder / kind, names, DRAWS[kind], limit_s=options.seconds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
