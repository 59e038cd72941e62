"""Split calls with very large or small inputs (*tails*) into the elements that the CPU gets right and those it gets
wrong.

A reference that is independent of JAX judges the elements. Only well-conditioned elements count: for those, the next
larger and the next smaller input give the same result within the tolerance. The right elements become a usual case,
unless another order of its sums and products may give another result. The clearly wrong ones become a case that fails
on the CPU, too, if the function was reviewed (``wrong_on_host.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import jax
from freezing.common.agreement import fill
from freezing.common.gate import GatedFunction
from freezing.common.samples import Sample
from freezing.common.variants import MODERATE, MOST, SPREAD, TAILS, VARIANTS, Call, Variant
from freezing.common.wrong import case_failing_on_host, clearly_differ, is_close
from freezing.jax.derived import inputs_of
from protocol.enums import Judge
from runners.errors import UnjudgedError
from runners.suite.checks import Tolerance, leaves
from runners.suite.frozen import PackWriter
from runners.suite.rounding import dtype_on_device, rounded

Array = np.ndarray[Any, Any]

MOVED_DIGITS = np.array([-4, -2, 2, 4])
"""The multiples of the last digit by which inputs are perturbed: about the error of a few operations."""
BY_LAST_DIGITS = "the last digits of its inputs decide its result"
BY_ORDER = "it adds or multiplies numbers so large that the order decides its result"


def _at_limits(call: Call, rng: np.random.Generator) -> Call:
    """Replace half of the integers by 0, 1, -1 and the dtype's limits, in equal numbers."""

    def put_limits(array: Array) -> Array:
        limits = np.iinfo(array.dtype)
        values = [0, 1, limits.max, *([-1, limits.min] if limits.min else [])]
        copy = array.copy()
        places = rng.permutation(array.size)[: max(len(values), array.size // 2)]
        copy.reshape(-1)[places] = np.resize(np.array(values, array.dtype), places.shape)
        return copy

    return call.having({number: put_limits(call.arrays[number]) for number in call.integers})


OF_FLOATS: Sequence[Variant] = (
    SPREAD,
    MODERATE,
    *(variant for variant in VARIANTS if variant.name == TAILS),
)
AT_LIMITS = Variant("limits", TAILS, lambda call: not call.floats and bool(call.integers), _at_limits)


@dataclass(frozen=True)
class Parts:
    """Two parts of a sample: the inputs that the CPU gets right, and the inputs that it gets clearly wrong."""

    right: Sample | None
    wrong: Sample | None
    judge: str
    """The kind of the reference."""


class Observer:
    """Calls a function with the arrays of samples, and computes the expected results with its references."""

    def __init__(self, subject: GatedFunction, pack: PackWriter) -> None:
        self._subject = subject
        self._pack = pack

    def observe(self, sample: Sample) -> Any:
        """Return a host copy of the function's result."""
        arguments, options = self._fresh(sample)
        with jax.enable_x64(sample.dtype == "float64"):
            return self._subject.device.to_host(self._subject.call(*arguments, **options))

    def tolerance(self, sample: Sample, result: Any) -> Tolerance:
        return self._subject.tolerance(sample.dtype, result)

    def expect(self, sample: Sample, result: Any) -> tuple[str, Any]:
        """Return the kind and the result of the first reference whose result has the form of ``result``.

        The function itself is not used as a reference. Raise ``UnjudgedError`` if no other reference fits.
        """
        reason = "there is no reference"
        for kind, reference in self._subject.references(sample.dtype, lambda: self._fresh(sample)):
            if kind == Judge.itself:
                break
            try:
                with np.errstate(all="ignore"):
                    return kind, fill(result, reference())
            except Exception as error:
                reason = f"{kind}: {type(error).__name__}"
        raise UnjudgedError(reason)

    def wrong_case(self, sample: Sample) -> dict[str, Any]:
        """Make the case of a sample that the CPU gets wrong. It expects the reference's result."""
        host_result = self.observe(sample)
        kind, reference_result = self.expect(sample, host_result)
        tolerance = self.tolerance(sample, host_result)
        return case_failing_on_host(self._subject.name, sample, kind, reference_result, tolerance, self._pack)

    def difference(self, sample: Sample) -> str:
        """Describe the first three clearly different values of each array: input, reference and CPU."""
        host_result = self.observe(sample)
        _, reference_result = self.expect(sample, host_result)
        tolerance = self.tolerance(sample, host_result)
        texts = []
        for one, other in zip(leaves(host_result), leaves(reference_result), strict=True):
            for place in np.argwhere(clearly_differ(one.values, other.values, tolerance))[:3]:
                index = tuple(place)
                arrays = [self._pack.array(digest) for digest in sample.arrays]
                at = [str(array[index]) for array in arrays if array.shape == one.values.shape]
                texts.append(f"at {', '.join(at)}: {other.values[index]}, and the CPU {one.values[index]}")
        return "; ".join(texts)

    def _fresh(self, sample: Sample) -> Any:
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        with jax.enable_x64(sample.dtype == "float64"):
            return self._subject.arguments(sample.call, self._subject.device.to_device(values, sample.dtype))


@dataclass(frozen=True)
class ElementJudgement:
    """The elements of a result that are right, clearly wrong, and well conditioned, as masks for each array.

    The right and the wrong elements are well conditioned.
    """

    judge: str
    right: Sequence[Array]
    wrong: Sequence[Array]
    conditioned: Sequence[Array]


def judge_elements(observer: Observer, sample: Sample, pack: PackWriter) -> ElementJudgement:
    """Judge each element of a result by the reference. Raise ``UnjudgedError`` if no reference fits."""
    host_result = observer.observe(sample)
    judge, reference_result = observer.expect(sample, host_result)
    tolerance = observer.tolerance(sample, host_result)
    right = _each(host_result, reference_result, lambda one, other: is_close(one, other, tolerance))
    wrong = _each(host_result, reference_result, lambda one, other: clearly_differ(one, other, tolerance))
    well_conditioned = [np.ones(places.shape, bool) for places in right]
    for neighbor in _neighbors(sample, inputs_of(sample), pack):
        _, nearby = observer.expect(neighbor, host_result)
        same = _each(nearby, reference_result, lambda one, other: is_close(one, other, tolerance))
        for places, stays in zip(well_conditioned, same, strict=True):
            places &= stays
    return ElementJudgement(
        judge,
        [one & other for one, other in zip(right, well_conditioned, strict=True)],
        [one & other for one, other in zip(wrong, well_conditioned, strict=True)],
        well_conditioned,
    )


def reason_open(observer: Observer, sample: Sample, pack: PackWriter) -> str | None:
    """Return the reason why another device may return another correct result for this call with values from the tails;
    None without such a reason.

    A sum or product of very large and very small numbers may overflow in one order of operations, but not in another.
    The reference in float64 never overflows, and the CPU's order may avoid the overflow by chance.
    """
    host_result = observer.observe(sample)
    _, reference_result = observer.expect(sample, host_result)
    tolerance = observer.tolerance(sample, host_result)

    def expect_of(change: Callable[[Array], Array], kinds: str = "f") -> Any:
        arrays = list(sample.arrays)
        for number in inputs_of(sample):
            values = pack.array(arrays[number])
            if values.dtype.kind in kinds:
                with np.errstate(all="ignore"):
                    arrays[number] = pack.add(
                        np.asarray(change(values), values.dtype), dtype_on_device(values, sample.dtype)
                    )
        return observer.expect(replace(sample, arrays=tuple(arrays)), host_result)[1]

    for seed in range(2):
        rng = np.random.default_rng(seed)
        result_nearby = expect_of(lambda values, rng=rng: _move(values, rng, sample.dtype))  # type: ignore[misc]
        if not all(
            places.all() for places in _each(result_nearby, reference_result, lambda a, b: is_close(a, b, tolerance))
        ):
            return BY_LAST_DIGITS
    if not _mixes_elements(sample, reference_result, expect_of, pack):
        return None
    results = leaves(reference_result)
    if any(pack.array(sample.arrays[number]).dtype.kind in "iu" for number in inputs_of(sample)) and any(
        leaf.values.dtype.kind in "fc" for leaf in results
    ):
        return BY_ORDER
    for change in (np.abs, lambda values: np.maximum(np.abs(values), 1)):
        others = leaves(expect_of(change))
        if any((np.isfinite(a.values) & np.isinf(b.values)).any() for a, b in zip(results, others)):
            return BY_ORDER
    return None


def _move(values: Array, rng: np.random.Generator, dtype: str) -> Array:
    """Change each number by a few of its last digits."""
    digits = rng.choice(MOVED_DIGITS, values.shape) * np.finfo(dtype).eps
    return np.where(np.isfinite(values * (1 + digits)), values * (1 + digits), values)


def _mixes_elements(
    sample: Sample, reference_result: Any, expect_of: Callable[[Callable[[Array], Array], str], Any], pack: PackWriter
) -> bool:
    """Whether an element of the result depends on several elements of one array."""
    shapes = {pack.array(sample.arrays[number]).shape for number in inputs_of(sample)}
    results = leaves(reference_result)
    if {leaf.values.shape for leaf in results} != shapes:
        return True

    def change_first(values: Array) -> Array:
        copy = values.copy()
        first = copy.reshape(-1)[:1]
        first[:] = first * 0.7 if copy.dtype.kind == "f" else first // 2 + 1
        return copy

    others = leaves(expect_of(change_first, "fiu"))
    return any(
        not np.array_equal(a.values.reshape(-1)[1:], b.values.reshape(-1)[1:], equal_nan=a.values.dtype.kind in "fc")
        for a, b in zip(results, others)
    )


def taken_apart(observer: Observer, sample: Sample, base: Sample, pack: PackWriter) -> Parts:
    """Split a sample into its right and its wrong part. All other inputs of a part get their values from ``base``.

    If the results have another shape than the inputs, the sample cannot be split and is right or wrong as a whole.
    Raise ``UnjudgedError`` if no reference fits.
    """
    inputs = inputs_of(sample)
    judgement = judge_elements(observer, sample, pack)
    shapes = {pack.array(sample.arrays[number]).shape for number in inputs} | {
        places.shape for places in judgement.right
    }
    if all(places.all() for places in judgement.right):
        return Parts(sample, None, judgement.judge)
    if len(shapes) > 1:
        is_wrong = any(places.any() for places in judgement.wrong) and all(
            places.all() for places in judgement.conditioned
        )
        return Parts(None, sample if is_wrong else None, judgement.judge)
    return Parts(
        _restrict(sample, base, inputs, np.logical_and.reduce(judgement.right), pack),
        _restrict(sample, base, inputs, np.logical_or.reduce(judgement.wrong), pack),
        judgement.judge,
    )


def sweep(observer: Observer, base: Sample, pack: PackWriter) -> tuple[Sample, str] | None:
    """Search for inputs of an elementwise function that the CPU gets wrong, by calling it with 6,000 numbers.

    Return ``base`` with such inputs, and the kind of the reference; None if there are none. A few numbers could miss a
    small range of wrong results.
    """
    places = [number for number in inputs_of(base) if pack.array(base.arrays[number]).dtype.kind == "f"]
    if len(places) != 1 or len(inputs_of(base)) != 1:
        return None
    (number,) = places
    array = pack.array(base.arrays[number])
    numbers = _swept_numbers(base.dtype, array.dtype)
    arrays = [pack.add(np.resize(pack.array(digest), numbers.shape), base.dtype) for digest in base.arrays]
    arrays[number] = pack.add(numbers, base.dtype)
    judgement = judge_elements(observer, replace(base, arrays=tuple(arrays)), pack)
    wrong = np.logical_or.reduce(judgement.wrong)
    if wrong.shape != numbers.shape or not wrong.any():
        return None
    wrong_places = np.flatnonzero(wrong)
    values = numbers[wrong_places[np.linspace(0, len(wrong_places) - 1, array.size).astype(int)]].reshape(array.shape)
    arrays = list(base.arrays)
    arrays[number] = pack.add(values, base.dtype)
    sample = replace(base, name=f"{base.name}-swept", arrays=tuple(arrays), kinds=(*base.kinds, TAILS))
    return sample, judgement.judge


def _swept_numbers(dtype: str, dtype_stored: Any) -> Array:
    """Return 2,000 numbers of both signs over all orders of magnitude of a dtype, and 4,000 between -40 and 40."""
    most = int(np.log10(MOST[dtype]))
    magnitudes = np.logspace(1 - most, most, 1_000)
    return np.concatenate([magnitudes, -magnitudes, np.linspace(-40, 40, 4_000)]).astype(dtype_stored)


def _restrict(sample: Sample, base: Sample, inputs: Sequence[int], places: Array, pack: PackWriter) -> Sample | None:
    """Return the sample with its own values at ``places`` and the values of ``base`` elsewhere; None without places."""
    if not places.any():
        return None
    arrays = list(sample.arrays)
    for number in inputs:
        values = np.where(places, pack.array(sample.arrays[number]), pack.array(base.arrays[number]))
        arrays[number] = pack.add(values, dtype_on_device(values, sample.dtype))
    return replace(sample, arrays=tuple(arrays))


def _neighbors(sample: Sample, inputs: Sequence[int], pack: PackWriter) -> list[Sample]:
    """Return copies of the sample. In each, one floating input is moved to the next larger or next smaller number."""
    neighbors = []
    for number in inputs:
        array = pack.array(sample.arrays[number])
        if array.dtype.kind != "f":
            continue
        for towards in (np.inf, -np.inf):
            arrays = list(sample.arrays)
            with np.errstate(all="ignore"):
                values = np.nextafter(array, np.asarray(towards, array.dtype))
            arrays[number] = pack.add(np.where(np.isfinite(values) & (array != 0), values, array), sample.dtype)
            neighbors.append(replace(sample, arrays=tuple(arrays)))
    return neighbors


def _each(host_result: Any, reference_result: Any, compare: Callable[[Array, Array], Array]) -> list[Array]:
    pairs = zip(leaves(host_result), leaves(reference_result), strict=True)
    places = [np.asarray(compare(one.values, other.values)) for one, other in pairs]
    if not places:
        raise UnjudgedError("no array is compared")
    return places
