"""Freeze the variants of the suite's cases: one file for each function, then one file for the suite.

python -m freezing.jax.variants FOLDER [--only KIND ...] [--names FILE] [--limit-s SECONDS]
python -m freezing.jax.variants FOLDER --merge | --add [--unfit FILE]

A variant is a frozen call that is made in another way or with other values. The variants of each function are drawn
into a file in FOLDER. A function is not drawn if its file exists, so you can continue an interrupted freeze, or if the
suite has variants of these kinds for it. ``--only`` draws only these kinds. With ``--merge``, nothing is drawn, and the
files in FOLDER become the suite's file of variants. With ``--add``, nothing is drawn, and the files in FOLDER are added
to the suite's variants, which stay as they are.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from freezing.common import domain, variants
from freezing.common.derivatives import LEAST_TOLERANCES
from freezing.common.determined import require_determined
from freezing.common.gate import ENOUGH, SampleGate
from freezing.common.numbered import NUMBER_VARIANTS
from freezing.common.parts import (
    ENDED,
    LISTED_VARIANTS,
    NOT_FINITE,
    Reason,
    add_variants,
    drawn_apart,
    merge_variants,
    write_part,
)
from freezing.common.restart import fix_hashes
from freezing.common.samples import Sample
from freezing.common.second_shapes import keep_second_shapes
from freezing.common.variants import SIZED_LARGE, SIZED_ODD, TAILS, Variant
from protocol.enums import GRADIENT, JUDGED_BY, NON_FINITE, WRONG_ON_HOST, Judge
from runners.errors import LeftOutError
from runners.jax import FRAMEWORK
from runners.jax.ways import JIT, SECOND_ORDER
from runners.suite.cases import seed_of
from runners.suite.frozen import PACK, VARIANTS_PACK, Pack, PackWriter
from runners.suite.second_shapes import KEPT

if TYPE_CHECKING:
    from freezing.jax.functions import JaxFunction
    from freezing.jax.tails import Observer

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
LIMIT_S = 120
"""The limit of processor time for one function. Most functions take two seconds."""
WAITED_S = 1_800
"""The limit of elapsed time for one function. It is long, because the machine may be busy."""
IN_TURN = 100
"""The number of functions that one process draws."""
DTYPES = "dtypes"
"""The kind of variants in another dtype. It exists only on the command line."""
GRADIENT_LIMITS, GRADIENT_DTYPES = f"{GRADIENT}-limits", f"{GRADIENT}-{DTYPES}"
"""The kinds of gradients at NaN and infinity, and of gradients in 16 bits."""
NUMBERS = "numbers"
"""The kind of other integers in a call, alone or together with longer arrays. Its cases have the tag ``sized-odd``."""
LOW_PRECISION, SMALL_INTEGERS = ("float16", "bfloat16"), ("int8", "uint8")
SMALL_DTYPES = frozenset({*LOW_PRECISION, *SMALL_INTEGERS})
FACTORIZATIONS = ("jax.numpy.linalg.", "jax.scipy.linalg.", "jax.lax.linalg.")
"""Modules whose functions get no NaN, infinity or values from the tails, because their results for these are not
defined."""
OF_NORM = re.compile(
    r"jax\.(numpy|scipy)\.fft\.|jax\.lax\.(fft|conv_|conv$)|jax\.scipy\.signal\.|.*\.(convolve|correlate)$"
)
"""Functions whose algorithms bound the error only relative to the largest number in the result, so small numbers may be
wrong."""
SPECIAL = "jax.scipy.special."
"""The functions whose tails are also drawn in float64, where SciPy is the reference."""
JOINS = re.compile(r"cum|prod|accumulate|associative_scan|(reduce|reduce_window|segment)_(sum|prod|mul|add)|logsumexp")
"""Functions that combine many elements. They have no variant in 16 bits, because each order of operations rounds in
another way."""
UNVARIED = frozenset({"eigvals", "funm", "logm", "sqrtm"})
"""Functions whose result is unique only for well-chosen matrices. For others, each library chooses the order of
eigenvalues or the branch of a root."""
MOST_TRIED = 3
"""The maximum number of samples of a function that are tried for one variant."""
SHARE_OF_NON_FINITE_GRADIENTS = 4
MOST_NUMBERED = 2
"""The maximum number of cases of a function for one variant of the kind ``numbers``. Their calls differ in more than
their arrays."""
MOST_GRADIENTS = 2
"""The maximum number of gradients of a function. Their calls differ in more than their arrays."""
IS_ZERO = "its gradient is zero"
DIFFERS = "the CPU and an independent reference differ, and nobody has looked at it"
UNFROZEN = "a sample that cannot be frozen"


Derive = Callable[[], "Sample | None"]
"""Makes a sample from another one. Returns None if this is not possible."""


class Drawing:
    """The cases of one function as samples from which variants are made, and the results so far."""

    def __init__(self, name: str, suite: Pack) -> None:
        from freezing.jax.derived import by_plainness, sample_of, settle

        self.name = name
        self.pack = PackWriter()
        self.left_out: list[Reason] = []
        cases = [case for case in suite.cases if case["function"] == name]
        for digest in {digest for case in cases for digest in case["arrays"]}:
            self.pack.add(suite.array(digest), suite.dtype(digest))
        samples = by_plainness([sample_of(case, self.pack) for case in cases])
        self.samples = [settle(sample, self.pack) for sample in samples if "empty" not in sample.kinds] or samples

    def admit(self, gate: SampleGate, derivations: Iterable[Derive], most: int) -> None:
        """Pass samples through the gate until it has ``most`` cases."""
        for derive in derivations:
            if len(gate.cases) == most:
                break
            try:
                sample = derive()
            except LeftOutError as error:
                self.left_out.append((self.name, "", error.kind, str(error)))
                continue
            except Exception as error:
                self.left_out.append((self.name, "", UNFROZEN, _line_of(error)))
                continue
            if sample is None:
                continue
            self._admit_one(gate, sample, most)
        self.keep(gate)

    def _admit_one(self, gate: SampleGate, sample: Sample, most: int) -> None:
        before = len(gate.cases)
        gate.admit([sample], most - before)
        if len(gate.cases) > before and self._shows_nothing(gate.cases[-1]):
            gate.cases.pop()
            gate.left_out.append((sample.name, IS_ZERO, ""))
        elif len(gate.cases) > before and SECOND_ORDER in sample.kinds and not self._is_finite(gate.cases[-1]):
            gate.cases.pop()
            gate.left_out.append((sample.name, NOT_FINITE, ""))
        elif len(gate.cases) > before and self._is_unchecked(gate.cases[-1]):
            gate.cases.pop()
            gate.left_out.append(
                (sample.name, "no reference agrees", "floats of small integers, by the CPU itself alone")
            )

    def keep(self, gate: SampleGate) -> None:
        self.left_out += [(self.name, *reason) for reason in gate.left_out]
        self.pack.cases += gate.cases

    def vary_samples(self, variants: Sequence[Variant], samples: Sequence[Sample]) -> Iterator[Derive]:
        """Yield, for each variant and each sample, a function that makes this variant of this sample."""
        from freezing.jax.derived import vary

        for variant in variants:
            for sample in samples:
                yield partial(vary, sample, variant, self.name, self.pack)

    def of_kind(self, kind: str) -> Iterator[Derive]:
        """Like ``vary_samples``, for all variants of one kind and a few samples."""
        variants_of_kind = [variant for variant in variants.VARIANTS if variant.kind == kind]
        return self.vary_samples(variants_of_kind, self.samples[:MOST_TRIED])

    def admit_tails(self, function: JaxFunction, samples: Sequence[Sample], kinds: Sequence[Variant]) -> None:
        """Admit one case that the CPU gets right, and one that it gets wrong, from these variants."""
        from freezing.jax.tails import Observer, reason_open, sweep, taken_apart

        function.of_tails = True
        observer = Observer(function, self.pack)
        gate = SampleGate(function, self.pack, judges=[judge for judge in Judge if judge != Judge.itself])
        for variant in kinds:
            for base, derive in zip(samples, self.vary_samples([variant], samples), strict=True):
                try:
                    sample = derive()
                    if sample is None:
                        continue
                    parts = taken_apart(observer, sample, base, self.pack)
                    reason = parts.right and reason_open(observer, parts.right, self.pack)
                except Exception as error:
                    title = f"{base.name}-{variant.name}"
                    self.left_out.append((self.name, title, UNFROZEN, _line_of(error)))
                    continue
                if reason:
                    self.left_out.append((self.name, sample.name, "not determined", reason))
                elif parts.right is not None:
                    self._admit_one(gate, parts.right, 1)
                if parts.wrong is not None:
                    self._take_wrong(observer, parts.wrong, parts.judge)
                break
        for base in samples[:1]:
            with contextlib.suppress(Exception):  # the function is not elementwise
                wrong = sweep(observer, base, self.pack)
                if wrong is not None:
                    self._take_wrong(observer, *wrong)
        self.keep(gate)

    def take_wrong(self, function: JaxFunction, derivations: Sequence[Derive]) -> None:
        """Admit a case that the CPU gets wrong for ordinary values, if the function was reviewed."""
        from freezing.jax.tails import Observer
        from freezing.jax.wrong_on_host import WRONG_FUNCTIONS

        observer = Observer(function, self.pack)
        for derive in derivations if self.name in WRONG_FUNCTIONS[Judge.differences] else ():
            sample = derive()
            if sample is not None:
                self._take_wrong(observer, sample, Judge.differences)

    def _take_wrong(self, observer: Observer, sample: Sample, judge: str) -> None:
        from freezing.jax.wrong_on_host import WRONG_FUNCTIONS

        difference = observer.difference(sample)
        if not difference or any(map(partial(_is_wrong_alike, sample), self.pack.cases)):
            self.left_out.append((self.name, sample.name, ENOUGH, ""))
        elif self.name in WRONG_FUNCTIONS[judge]:
            case = observer.wrong_case(sample)
            if self._is_outside(case):
                self.left_out.append((self.name, sample.name, "not determined", domain.OUTSIDE))
            else:
                self.pack.cases.append(case)
        else:
            self.left_out.append((self.name, sample.name, DIFFERS, f"{judge}: {difference}"))

    def _is_unchecked(self, case: Mapping[str, Any]) -> bool:
        """Whether the CPU's own results are the only reference for floats that were computed from small integers. NumPy
        computes such floats in float16."""
        is_own = f"{JUDGED_BY}{Judge.itself}" in case["tags"]
        return (
            is_own
            and case["dtype"] in SMALL_INTEGERS
            and any(self.pack.array(digest).dtype.kind in "fc" for digest in case["expected"])
        )

    def _is_outside(self, case: Mapping[str, Any]) -> bool:
        arrays, results = (list(map(self.pack.array, case[part])) for part in ("arrays", "expected"))
        return domain.is_outside(self.name, case["call"], arrays, results)

    def _is_finite(self, case: Mapping[str, Any]) -> bool:
        return all(np.isfinite(result).all() for result in map(self.pack.array, case["expected"]))

    def _shows_nothing(self, case: Mapping[str, Any]) -> bool:
        """Whether all gradients are zero within the tolerance. Differences are rounded, so few of them are exactly
        zero.

        In 16 bits and at values that are not finite, a number must be larger, because a relative error of a small
        number is within the tolerance too.
        """
        if GRADIENT not in case["tags"]:
            return False
        _, absolute = case["tolerance"]
        gradients = list(map(self.pack.array, case["expected"]))
        if case["dtype"] in LOW_PRECISION or GRADIENT_LIMITS in kinds_of_variant(case):
            gradients = [gradient[np.isfinite(gradient)] for gradient in gradients]
            absolute *= LEAST_TOLERANCES
        return all((abs(gradient) <= absolute).all() for gradient in gradients)


def _is_wrong_alike(sample: Sample, case: Mapping[str, Any]) -> bool:
    """Whether the CPU gets this case wrong too, and the case is like the sample: both have the same dtype, and both or
    neither are gradients."""
    of_gradient = GRADIENT in case["tags"]
    return WRONG_ON_HOST in case["tags"] and (case["dtype"], of_gradient) == (sample.dtype, GRADIENT in sample.kinds)


def _line_of(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def draw_compiled(drawing: Drawing) -> None:
    """Draw the first call that works under ``jax.jit``."""
    from freezing.jax.derived import compile_sample
    from freezing.jax.programs import Program

    gate = SampleGate(Program(drawing.name), drawing.pack)
    drawing.admit(gate, (partial(compile_sample, sample) for sample in drawing.samples), 1)


def draw_gradients(drawing: Drawing) -> None:
    """Draw the gradients of the first float32 calls that differ in more than their arrays."""
    from freezing.jax.programs import Gradient

    gradient = Gradient(drawing.name, GRADIENT)
    samples = list(gradients_of(drawing))
    drawing.admit(SampleGate(gradient, drawing.pack), samples, MOST_GRADIENTS)
    drawing.take_wrong(gradient, samples)


def draw_gradients_in_dtypes(drawing: Drawing) -> None:
    """Draw a gradient in float16 and one in bfloat16."""
    from freezing.jax.derived import DTYPE, differentiate, vary
    from freezing.jax.functions import JaxFunction
    from freezing.jax.programs import Gradient

    function = JaxFunction(drawing.name)
    if function.left_open or JOINS.search(drawing.name.rpartition(".")[2]):
        return

    def derive(sample: Sample, variant: Variant) -> Sample | None:
        in_dtype = vary(sample, variant, drawing.name, drawing.pack)
        return in_dtype and differentiate(in_dtype, function.call, drawing.pack)

    floats = [sample for sample in drawing.samples if sample.dtype == DTYPE][:MOST_TRIED]
    for variant in variants.VARIANTS:
        if variant.name in LOW_PRECISION:
            gate = SampleGate(Gradient(drawing.name, GRADIENT), drawing.pack)
            drawing.admit(gate, (partial(derive, sample, variant) for sample in floats), 1)


def draw_gradients_at_limits(drawing: Drawing) -> None:
    """Draw a gradient at one NaN and a gradient at one infinity, judged by differences."""
    from freezing.common.limits import MOST_ELEMENTS
    from freezing.jax.derived import DTYPE, differentiate, inputs_of, vary
    from freezing.jax.functions import JaxFunction
    from freezing.jax.programs import Gradient

    function = JaxFunction(drawing.name)
    if function.left_open or _has_no_tails(drawing.name):
        return

    def derive(sample: Sample, variant: Variant) -> Sample | None:
        return vary(differentiate(sample, function.call, drawing.pack), variant, drawing.name, drawing.pack)

    def is_small(sample: Sample) -> bool:
        return sum(drawing.pack.array(sample.arrays[number]).size for number in inputs_of(sample)) <= MOST_ELEMENTS

    floats = [sample for sample in drawing.samples if sample.dtype == DTYPE and is_small(sample)][:MOST_TRIED]
    for variant in variants.VARIANTS:
        if variant.name in (variants.NAN, variants.INFINITY):
            gate = SampleGate(Gradient(drawing.name, GRADIENT, at_limits=True), drawing.pack)
            drawing.admit(gate, (partial(derive, sample, variant) for sample in floats), 1)


def draw_second_order(drawing: Drawing) -> None:
    """Draw the gradient of the first gradient that is not zero."""
    from freezing.jax.programs import Gradient

    gate = SampleGate(Gradient(drawing.name, SECOND_ORDER), drawing.pack)
    drawing.admit(gate, (partial(_again, first, drawing.pack) for first in gradients_of(drawing)), 1)


def _again(first: Callable[[], Sample], pack: PackWriter) -> Sample:
    from freezing.jax.derived import differentiated_again

    return differentiated_again(first(), pack)


def gradients_of(drawing: Drawing) -> Iterator[Callable[[], Sample]]:
    """For each way in which the function is called, yield a Python function that makes the sample of the gradient."""
    from freezing.jax.derived import DTYPE, differentiate
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if function.left_open:
        return
    calls: set[str] = set()
    for sample in drawing.samples:
        if sample.dtype == DTYPE and sample.call not in calls:
            calls.add(sample.call)
            yield partial(differentiate, sample, function.call, drawing.pack)


def draw_sized(drawing: Drawing, kind: str) -> None:
    """Draw the first call in another size that agrees with a reference."""
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if not function.left_open:
        samples = (partial(_require_one_result, function, derive, drawing.pack) for derive in drawing.of_kind(kind))
        drawing.admit(SampleGate(function, drawing.pack, large=True), samples, 1)


def draw_numbered(drawing: Drawing) -> None:
    """Draw calls with other integers, such as shapes, windows and counts: the first ones that agree with a
    reference."""
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if function.left_open:
        return
    for variant in NUMBER_VARIANTS:
        derivations = drawing.vary_samples([variant], _of_different_calls(drawing.samples)[:MOST_TRIED])
        samples = (partial(_require_one_result, function, derive, drawing.pack) for derive in derivations)
        drawing.admit(SampleGate(function, drawing.pack, large=True), samples, MOST_NUMBERED)


def _of_different_calls(samples: Sequence[Sample]) -> list[Sample]:
    by_call: dict[str, Sample] = {}
    for sample in samples:
        by_call.setdefault(sample.call, sample)
    return list(by_call.values())


def _require_one_result(function: JaxFunction, derive: Derive, pack: PackWriter) -> Sample | None:
    """Make the sample. Raise ``LeftOutError`` if the last digits of its inputs decide its result. This is common,
    because arrays with repeated values are often singular."""
    sample = derive()
    if sample is not None:
        require_determined(function, sample, pack, together=False)
    return sample


def draw_non_finite(drawing: Drawing) -> None:
    """Draw a call with NaN and infinity whose result agrees with NumPy's result. Factorizations are omitted, because
    their results for these values are not defined."""
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if not function.left_open and not drawing.name.startswith(FACTORIZATIONS):
        drawing.admit(SampleGate(function, drawing.pack, judges=[Judge.numpy]), drawing.of_kind(NON_FINITE), 1)


def draw_dtypes(drawing: Drawing) -> None:
    """Draw calls in float16, in bfloat16 and in one of the small integer dtypes, if the function has none yet.

    The CPU rounds 16-bit numbers after each operation, and the reference rounds once at the end. A device may do
    either. Therefore the gate requires that both ways give the same result.
    """
    from freezing.jax.functions import JaxFunction

    if JaxFunction(drawing.name).left_open:
        return
    dtypes = {sample.dtype for sample in drawing.samples}
    small = SMALL_INTEGERS[seed_of(drawing.name) % 2]
    for variant in variants.VARIANTS:
        if variant.name in LOW_PRECISION and JOINS.search(drawing.name.rpartition(".")[2]):
            continue
        if variant.name in (*LOW_PRECISION, small) and variant.name not in dtypes:
            gate = SampleGate(JaxFunction(drawing.name), drawing.pack)
            drawing.admit(gate, drawing.vary_samples([variant], drawing.samples[:MOST_TRIED]), 1)


def _has_no_tails(name: str) -> bool:
    return name.startswith(FACTORIZATIONS) or OF_NORM.match(name) is not None


def draw_tails(drawing: Drawing) -> None:
    """Draw calls with values from the tails, including elements that the CPU gets wrong. SciPy also judges them in
    float64."""
    import jax
    from freezing.jax.derived import DTYPE, WHOLE, in_float64, of_whole_numbers
    from freezing.jax.functions import JaxFunction
    from freezing.jax.tails import AT_LIMITS, OF_FLOATS

    function = JaxFunction(drawing.name)
    if function.left_open or _has_no_tails(drawing.name):
        return
    floats = [sample for sample in drawing.samples if sample.dtype == DTYPE][:MOST_TRIED]
    drawing.admit_tails(function, floats, OF_FLOATS)
    whole = [sample for sample in drawing.samples if sample.dtype == WHOLE]
    whole = whole or [of_whole_numbers(sample, drawing.name, drawing.pack) for sample in floats[:1]]
    drawing.admit_tails(JaxFunction(drawing.name), whole[:MOST_TRIED], [AT_LIMITS])
    if drawing.name.startswith(SPECIAL):
        with jax.enable_x64(True):
            drawing.admit_tails(function, [in_float64(sample, drawing.pack) for sample in floats], OF_FLOATS)


def draw_tails_of_gradients(drawing: Drawing) -> None:
    """Draw gradients at values from the tails. For some functions, also draw gradients at NaN and infinity."""
    from freezing.jax.programs import Gradient
    from freezing.jax.tails import OF_FLOATS

    if _has_no_tails(drawing.name):
        return
    samples = []
    for derive in itertools.islice(gradients_of(drawing), 1):
        with contextlib.suppress(Exception):  # the reason is listed with those of plain gradients
            samples.append(derive())
    drawing.admit_tails(Gradient(drawing.name, GRADIENT), samples, OF_FLOATS)
    if seed_of(drawing.name) % SHARE_OF_NON_FINITE_GRADIENTS == 0:
        variants_of_kind = [variant for variant in variants.VARIANTS if variant.kind == NON_FINITE]
        drawing.admit(
            SampleGate(Gradient(drawing.name, GRADIENT), drawing.pack),
            drawing.vary_samples(variants_of_kind, samples),
            1,
        )


KINDS: Mapping[str, Callable[[Drawing], None]] = {
    JIT: draw_compiled,
    GRADIENT: draw_gradients,
    SECOND_ORDER: draw_second_order,
    NON_FINITE: draw_non_finite,
    TAILS: draw_tails,
    f"{GRADIENT}-{TAILS}": draw_tails_of_gradients,
    GRADIENT_LIMITS: draw_gradients_at_limits,
    GRADIENT_DTYPES: draw_gradients_in_dtypes,
    DTYPES: draw_dtypes,
    NUMBERS: draw_numbered,
    SIZED_ODD: partial(draw_sized, kind=SIZED_ODD),
    SIZED_LARGE: partial(draw_sized, kind=SIZED_LARGE),
}
"""Maps each kind to the function that draws these variants of one function.

JAX has no variants that must be refused. It refuses shapes, dtypes and axes while it traces the function, before a
device is used. It clamps or drops values that another framework refuses (such as an index out of range) on every
device.
"""
GROUPS = (
    (JIT, GRADIENT, SECOND_ORDER, NON_FINITE, TAILS, f"{GRADIENT}-{TAILS}"),
    (DTYPES,),
    (GRADIENT_LIMITS,),
    (GRADIENT_DTYPES,),
    (SIZED_ODD,),
    (SIZED_LARGE,),
    (NUMBERS,),
)
"""The kinds that are drawn together, in the order of their importance."""


def freeze_function(kinds: Sequence[str], suite: Pack, name: str, path: Path) -> None:
    """Draw and judge the variants of one function of these kinds into a file."""
    drawing = Drawing(name, suite)
    for kind in kinds:
        KINDS[kind](drawing)
    write_part(drawing.pack, drawing.left_out, path)


def functions_with(kinds: Sequence[str], suite: Path = SUITE) -> set[str]:
    """Return the functions that have a variant of one of these kinds in the suite, or whose drawing never ended."""
    cases = Pack(suite / VARIANTS_PACK).cases
    reasons = json.loads((suite / LISTED_VARIANTS).read_text())["left_out"]
    return {case["function"] for case in cases if not kinds_of_variant(case).isdisjoint(kinds)} | set(
        reasons.get(ENDED, ())
    )


def kinds_of_variant(case: Mapping[str, Any]) -> set[str]:
    """Return the kinds of a variant as they are named on the command line."""
    if GRADIENT in case["tags"] and case["dtype"] in LOW_PRECISION:
        return {GRADIENT_DTYPES}
    if case["name"].endswith((f"-{GRADIENT}-{variants.NAN}", f"-{GRADIENT}-{variants.INFINITY}")):
        return {GRADIENT_LIMITS}
    if case["name"].endswith(tuple(f"-{variant.name}" for variant in NUMBER_VARIANTS)):
        return {NUMBERS}
    kinds = {tag for tag in case["tags"] if tag in KINDS}
    return kinds or ({DTYPES} if case["dtype"] in SMALL_DTYPES else set())


def freeze(
    folder: Path, groups: Sequence[Sequence[str]], limit_s: int = LIMIT_S, only_names: Sequence[str] | None = None
) -> None:
    """Draw the variants of each group of kinds for every function that has neither a file in the folder nor such a
    case.

    With ``only_names``, draw only these functions, in this order.
    """
    # Imported here once, instead of in each of a thousand children.
    import freezing.jax.programs
    import freezing.jax.tails  # noqa: F401
    from freezing.jax.references import import_followed
    from freezing.jax.wrong_on_host import WRONG_FUNCTIONS

    suite = Pack(SUITE / PACK)
    # Reviewed functions come first, then the others in a random order, so that the first ones are a fair sample.
    reviewed_names = frozenset().union(*WRONG_FUNCTIONS.values())
    names = sorted(
        {case["function"] for case in suite.cases}, key=lambda name: (name not in reviewed_names, seed_of(name))
    )
    if only_names is not None:
        is_frozen = set(names)
        names = [name for name in only_names if name in is_frozen]
    import_followed(names)
    suite.arrays  # noqa: B018
    for together in groups:
        draw = partial(freeze_function, together, suite)
        without = functions_with(together) | {name for name in names if name.rpartition(".")[2] in UNVARIED}
        draw_in_turn(folder / "+".join(together), names, draw, without=without, limit_s=limit_s)


def draw_in_turn(
    folder: Path,
    names: Sequence[str],
    draw: Callable[[str, Path], None],
    *,
    without: Collection[str] = (),
    limit_s: int = LIMIT_S,
) -> None:
    """Draw every function that has no file in the folder yet. One process draws many functions, because starting JAX
    takes longer than drawing most of them.

    If a function crashes the process or exceeds the limit, only this function is left out. The next process continues
    after it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{number:04}.npz" for number, name in enumerate(names) if name not in without}
    run = folder / "run.npz"
    while missing := [name for name, path in paths.items() if not path.exists()]:
        next_paths = {name: paths[name] for name in missing[:IN_TURN]}
        drawn_apart("run", run, partial(_draw_all, next_paths, draw, limit_s))
        reasons = Pack(run).about["left_out"]
        if reasons:
            name = next(name for name in missing if not paths[name].exists())
            write_part(PackWriter(), [(name, "", *reasons[0][2:])], paths[name])


def _draw_all(paths: Mapping[str, Path], draw: Callable[[str, Path], None], limit_s: int, run: Path) -> None:
    for name, path in paths.items():
        signal.alarm(WAITED_S)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        partial_file = path.with_name("unfinished.npz")
        draw(name, partial_file)
        os.replace(partial_file, path)
        print(name, flush=True)
    write_part(PackWriter(), [], run)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m freezing.jax.variants", description="Freeze the suite's variants.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", choices=KINDS, metavar="KIND", nargs="+", help="draw only these kinds")
    parser.add_argument("--names", type=Path, metavar="FILE", help="draw the functions in this file, in its order")
    parser.add_argument("--limit-s", type=int, default=LIMIT_S, help="limit of processor time for one function")
    parser.add_argument("--unfit", type=Path, metavar="FILE", help="with --add: leave out the cases with these ids")
    whole = parser.add_mutually_exclusive_group()
    whole.add_argument("--merge", action="store_true", help="draw nothing, and merge the files in FOLDER")
    whole.add_argument("--add", action="store_true", help="draw nothing, and add the files to the suite's variants")
    options = parser.parse_args()
    fix_hashes("freezing.jax.variants", sys.argv[1:])
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if options.merge:
        import jax

        merge_variants(options.folder, SUITE, FRAMEWORK.name, jax.__version__)
    elif options.add:
        from runners.jax.frozen import under_jit_if_possible
        from runners.jax.suites.library import FUNCTIONS

        keep_second_shapes(FUNCTIONS, SUITE / KEPT, under_jit_if_possible)
        unfit = options.unfit.read_text().split() if options.unfit else []
        add_variants(options.folder, SUITE, FRAMEWORK.name, unfit=unfit)
    else:
        only_names = options.names.read_text().split() if options.names else None
        freeze(options.folder, [options.only] if options.only else GROUPS, options.limit_s, only_names)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
