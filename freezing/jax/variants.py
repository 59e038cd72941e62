"""Freeze the variants of the suite's cases: every function in a process of its own, then one file of cases.

python -m freezing.jax.variants FOLDER [--only KIND] [--merge]

A variant is a frozen call made in another way or with other values. Those of a kind and function stand in a file of
their own in FOLDER until all are there; one that has its file is not drawn again, so an interrupted run goes on there.
With ``--only`` one kind is drawn; with ``--merge`` what is there so far becomes the suite's second file.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freezing.common import variants
from freezing.common.gate import ENOUGH, Gate
from freezing.common.hashes import fix_hashes
from freezing.common.kinds import mark_quick
from freezing.common.parts import Reason, draw_missing, listed, write_part
from freezing.common.samples import Sample
from freezing.common.variants import NON_FINITE, SIZED_LARGE, SIZED_ODD, TAILS, Variant
from protocol.enums import GRADIENT, JUDGED_BY, WRONG_ON_HOST, Judge
from runners.jax import FRAMEWORK
from runners.jax.ways import JIT, SECOND_ORDER
from runners.suite.cases import seed_of
from runners.suite.frozen import PACK, VARIANTS, Pack, PackWriter

if TYPE_CHECKING:
    from freezing.jax.functions import JaxFunction
    from freezing.jax.tails import Observer

SUITE = Path(__file__).resolve().parents[2] / "runners" / FRAMEWORK.name / "suites" / "library"
LISTED_VARIANTS = "left_out_variants.json"
FACTORIZATIONS = ("jax.numpy.linalg.", "jax.scipy.linalg.", "jax.lax.linalg.")
OF_TAILS = ("float32", "int32", "uint8")
SPECIAL = "jax.scipy.special."
MOST_GRADIENTS = 2
"""Of a function, where its calls differ in more than their arrays."""
SHARE_OF_SECOND_ORDER = 6
"""One in so many functions is differentiated twice: of a tenth of all that is not zero."""
IS_ZERO = "its gradient is zero"
INDEPENDENT = f"{JUDGED_BY}{Judge.numpy}"
NOT_INDEPENDENT = "no reference that shares nothing with JAX says what NaN and infinity give"
DIFFERS = "the CPU and an independent reference differ, and nobody has looked at it"
UNFROZEN = "a sample that cannot be frozen"


Derive = Callable[[], "Sample | None"]
"""Makes a sample from another one; None where there is none to make."""


class Drawing:
    """The cases of one function, as samples to derive from, and what became of those derived so far."""

    def __init__(self, name: str, suite: Pack) -> None:
        from freezing.jax.derived import by_plainness, sample_of

        self.name = name
        self.pack = PackWriter()
        self.left_out: list[Reason] = []
        cases = [case for case in suite.cases if case["function"] == name]
        for digest in {digest for case in cases for digest in case["arrays"]}:
            self.pack.add(suite.array(digest), suite.dtype(digest))
        self.samples = by_plainness([sample_of(case, self.pack) for case in cases])

    def admit(self, gate: Gate, derived: Iterable[Derive], most: int) -> None:
        """Pass samples through the gate until it has taken so many."""
        for derive in derived:
            if len(gate.cases) == most:
                break
            try:
                sample = derive()
            except Exception as error:
                self.left_out.append((self.name, "", UNFROZEN, _line_of(error)))
                continue
            if sample is None:
                continue
            before = len(gate.cases)
            gate.admit([sample], 1)
            objection = self._objection(gate.cases[-1]) if len(gate.cases) > before else None
            if objection is not None:
                gate.cases.pop()
                gate.left_out.append((sample.name, objection, ""))
        self._keep(gate)

    def _keep(self, gate: Gate) -> None:
        self.left_out += [(self.name, *reason) for reason in gate.left_out]
        self.pack.cases += gate.cases

    def varied(self, variants: Sequence[Variant], samples: Sequence[Sample]) -> Iterator[Derive]:
        """What makes each variant of each sample."""
        from freezing.jax.derived import varied

        for variant in variants:
            for sample in samples:
                yield partial(varied, sample, variant, self.name, self.pack)

    def admit_tails(self, function: JaxFunction, samples: Sequence[Sample]) -> None:
        """Take of each variant a case that the CPU gets right, and of all variants one that it gets wrong."""
        from freezing.jax.tails import VARIANTS, Observer, taken_apart

        function.of_tails = True
        observer = Observer(function, self.pack)
        for variant in VARIANTS:
            for base, derive in zip(samples, self.varied([variant], samples), strict=True):
                try:
                    sample = derive()
                    if sample is None:
                        continue
                    parts = taken_apart(observer, sample, base, self.pack)
                except Exception as error:
                    title = f"{base.name}-{variant.name}"
                    self.left_out.append((self.name, title, UNFROZEN, _line_of(error)))
                    continue
                if parts.right is not None:
                    gate = Gate(function, self.pack)
                    gate.admit([parts.right], 1)
                    self._keep(gate)
                if parts.wrong is not None:
                    self._take_wrong(observer, parts.wrong, parts.kind)
                break

    def _take_wrong(self, observer: Observer, sample: Sample, judge: str) -> None:
        from freezing.jax.wrong_on_host import REVIEWED

        difference = observer.difference(sample)
        has_one = any(WRONG_ON_HOST in case["tags"] and case["dtype"] == sample.dtype for case in self.pack.cases)
        if not difference or has_one:
            self.left_out.append((self.name, sample.name, ENOUGH, ""))
        elif self.name in REVIEWED.get(judge, ()):
            self.pack.cases.append(observer.wrong_case(sample))
        else:
            self.left_out.append((self.name, sample.name, DIFFERS, f"{judge}: {difference}"))

    def _objection(self, case: Mapping[str, Any]) -> str | None:
        """The reason why a case shows nothing, or None."""
        if GRADIENT in case["tags"] and not any(self.pack.array(digest).any() for digest in case["expected"]):
            return IS_ZERO
        if NON_FINITE in case["tags"] and INDEPENDENT not in case["tags"]:
            return NOT_INDEPENDENT
        return None


def _line_of(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:160]}"


def draw_compiled(drawing: Drawing) -> None:
    """A call under ``jax.jit``: the first that works."""
    from freezing.jax.derived import compiled
    from freezing.jax.programs import Program

    gate = Gate(Program(drawing.name), drawing.pack)
    drawing.admit(gate, (partial(compiled, sample) for sample in drawing.samples), 1)


def draw_gradients(drawing: Drawing) -> None:
    """The gradients of the first calls in float32 that differ in more than their arrays."""
    from freezing.jax.programs import Gradient

    gate = Gate(Gradient(drawing.name, GRADIENT), drawing.pack)
    drawing.admit(gate, gradients_of(drawing), MOST_GRADIENTS)


def draw_second_order(drawing: Drawing) -> None:
    """The gradient of the first gradient, of a share of functions."""
    from freezing.jax.programs import Gradient

    if seed_of(drawing.name) % SHARE_OF_SECOND_ORDER:
        return
    gate = Gate(Gradient(drawing.name, SECOND_ORDER), drawing.pack)
    drawing.admit(gate, (partial(_again, first, drawing.pack) for first in gradients_of(drawing)), 1)


def _again(first: Callable[[], Sample], pack: PackWriter) -> Sample:
    from freezing.jax.derived import differentiated_again

    return differentiated_again(first(), pack)


def gradients_of(drawing: Drawing) -> Iterator[Callable[[], Sample]]:
    """What makes the samples of gradients: of each way in which the function is called, one."""
    from freezing.jax.derived import DTYPE, differentiated
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if function.left_open:
        return
    calls: set[str] = set()
    for sample in drawing.samples:
        if sample.dtype == DTYPE and "empty" not in sample.kinds and sample.call not in calls:
            calls.add(sample.call)
            yield partial(differentiated, sample, function.call, drawing.pack)


def draw_changed(drawing: Drawing, kind: str) -> None:
    """The first call with other values, or in another size, that a reference judges."""
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if not function.left_open:
        chosen = [variant for variant in variants.VARIANTS if variant.kind == kind]
        drawing.admit(Gate(function, drawing.pack), drawing.varied(chosen, drawing.samples), 1)


def draw_non_finite(drawing: Drawing) -> None:
    """A call with NaN and infinity: of a factorization of these nothing is promised."""
    if not drawing.name.startswith(FACTORIZATIONS):
        draw_changed(drawing, NON_FINITE)


def draw_dtypes(drawing: Drawing) -> None:
    """A call in each of the small dtypes in which the function has no case yet."""
    from freezing.jax.functions import JaxFunction

    known = {sample.dtype for sample in drawing.samples}
    for variant in variants.VARIANTS:
        if not variant.kind and variant.name not in known:
            gate = Gate(JaxFunction(drawing.name), drawing.pack)
            drawing.admit(gate, drawing.varied([variant], drawing.samples), 1)


def draw_tails(drawing: Drawing) -> None:
    """Calls on values from the tails, and those of them that the CPU gets wrong; SciPy judges them in float64, too."""
    import jax
    from freezing.jax.derived import DTYPE, in_float64
    from freezing.jax.functions import JaxFunction

    function = JaxFunction(drawing.name)
    if function.left_open:
        return
    samples = [one for one in drawing.samples if one.dtype in OF_TAILS and "empty" not in one.kinds]
    drawing.admit_tails(function, samples)
    if drawing.name.startswith(SPECIAL):
        with jax.enable_x64(True):
            drawing.admit_tails(function, [in_float64(one, drawing.pack) for one in samples if one.dtype == DTYPE])


def draw_tails_of_gradients(drawing: Drawing) -> None:
    from freezing.jax.programs import Gradient

    samples = []
    for derive in itertools.islice(gradients_of(drawing), 1):
        with contextlib.suppress(Exception):  # its reason stands among those of plain gradients
            samples.append(derive())
    drawing.admit_tails(Gradient(drawing.name, GRADIENT), samples)


KINDS: Mapping[str, Callable[[Drawing], None]] = {
    JIT: draw_compiled,
    GRADIENT: draw_gradients,
    SECOND_ORDER: draw_second_order,
    NON_FINITE: draw_non_finite,
    TAILS: draw_tails,
    f"{GRADIENT}-{TAILS}": draw_tails_of_gradients,
    "dtypes": draw_dtypes,
    SIZED_ODD: partial(draw_changed, kind=SIZED_ODD),
    SIZED_LARGE: partial(draw_changed, kind=SIZED_LARGE),
}
"""What draws the variants of one function, by kind."""


def freeze_function(name: str, kind: str, suite: Pack, path: Path) -> None:
    """Draw and judge one function's variants of a kind into a file of their own."""
    drawing = Drawing(name, suite)
    KINDS[kind](drawing)
    write_part(drawing.pack, drawing.left_out, path)


def freeze(folder: Path, kinds: Sequence[str]) -> None:
    """Draw every function's variants of these kinds that have no file in the folder yet."""
    # Once, and not in each of a thousand children.
    import freezing.jax.programs
    import freezing.jax.tails
    from freezing.jax.references import import_followed

    suite = Pack(SUITE / PACK)
    # In an order that says nothing, so that what is drawn first is a sample of all.
    names = sorted({case["function"] for case in suite.cases}, key=seed_of)
    import_followed(names)
    suite.arrays  # noqa: B018
    for kind in kinds:
        draw_missing(
            folder / kind, names, lambda number, path, kind=kind: freeze_function(names[number], kind, suite, path)
        )


def merge(folder: Path, suite: Path) -> None:
    """Put together what is drawn: the suite's file of variants, and its list of what was left out of them."""
    import jax

    whole, reasons = PackWriter(), []
    for path in sorted(folder.glob("*/[0-9]*.npz")):
        part = Pack(path)
        reasons += part.about["left_out"]
        for case in part.cases:
            whole.take(part, case)
    whole.cases.sort(key=lambda case: (case["function"], case["name"]))
    mark_quick(whole.cases, Pack(suite / PACK).cases)
    whole.write(suite / VARIANTS, {FRAMEWORK.name: jax.__version__})
    (suite / LISTED_VARIANTS).write_text(listed(reasons, FRAMEWORK.name, jax.__version__))
    print(f"{len(whole.cases):,} variants of {len({case['function'] for case in whole.cases})} functions")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m freezing.jax.variants", description="Freeze the suite's variants.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", choices=KINDS, metavar="KIND", help="draw this kind alone")
    parser.add_argument("--merge", action="store_true", help="draw nothing, and put together what is there")
    given = parser.parse_args()
    fix_hashes("freezing.jax.variants", sys.argv[1:])
    os.environ.update(FRAMEWORK.devices["cpu"].variables)
    warnings.simplefilter("ignore")
    if given.merge:
        merge(given.folder, SUITE)
    else:
        freeze(given.folder, [given.only] if given.only else list(KINDS))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
