"""Search for elements that torch computes wrongly on the CPU, and make cases of them that fail there.

The search tries the values from the tails that ``freezing.common.variants`` makes. For a function of one array, it also
tries 8,000 other numbers. An element is wrong if the first independent reference, or float64 for a gradient, clearly
differs from it, and if the reference gives the same for the next larger and the next smaller input.

The reference may be wrong too, or follow another definition. Therefore only a function in ``WRONG_FUNCTIONS`` has such
a case. The wrong elements of other functions are listed with both values. ``docs/explanation/defects.md`` has a script
for each reviewed function.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freezing.common import domain
from freezing.common.agreement import fill
from freezing.common.gate import GatedFunction
from freezing.common.samples import Sample
from freezing.common.variants import MODERATE, MOST, SPREAD, TAILS, VARIANTS, slots
from freezing.common.wrong import case_failing_on_host, clearly_differ, is_close
from protocol.enums import GRADIENT, Judge
from runners.errors import UnjudgedError
from runners.suite.checks import leaves
from runners.suite.frozen import PackWriter
from runners.suite.rounding import rounded

Array = np.ndarray[Any, Any]

DTYPE = "float32"
MOST_BASES = 2
"""The maximum number of cases of a function with whose calls the search is made."""
DIFFERS = "the CPU and an independent reference differ, and nobody has looked at it"
SWEPT = "swept"
OF_TAILS = (*(variant for variant in VARIANTS if variant.name == TAILS), SPREAD, MODERATE)
WRONG_FUNCTIONS: Mapping[str, Collection[str]] = {
    Judge.numpy: {
        "torch.Tensor.fmod",
        "torch.Tensor.fmod_",
        "torch.Tensor.i0",
        "torch.Tensor.i0_",
        "torch.Tensor.remainder",
        "torch.Tensor.remainder_",
        "torch.Tensor.round",
        "torch.Tensor.round_",
        "torch.Tensor.sinc",
        "torch.Tensor.sinc_",
        "torch.Tensor.sinh",
        "torch.Tensor.sinh_",
        "torch.fmod",
        "torch.i0",
        "torch.nn.functional.gelu",
        "torch.remainder",
        "torch.round",
        "torch.sinc",
        "torch.sinh",
        "torch.special.i1",
        "torch.special.modified_bessel_i0",
        "torch.special.modified_bessel_i1",
    },
    Judge.float64: {
        "torch.logcumsumexp",
        "torch.nn.functional.gelu",
        "torch.nn.functional.soft_margin_loss",
        "torch.sinc",
        "torch.special.i1",
    },
}
"""The functions that are wrong on the CPU, by the reference from which they differ. ``float64`` judges gradients."""


@dataclass(frozen=True)
class WrongElements:
    """A call of whose result some elements are wrong."""

    sample: Sample
    judge: str
    difference: str
    """The first three wrong elements: input, reference and CPU."""


class Search:
    """Searches the results of one function for wrong elements."""

    def __init__(self, subject: GatedFunction, pack: PackWriter) -> None:
        self._subject = subject
        self._pack = pack

    def of(self, base: Sample, variants: Sequence[Sample]) -> Iterator[WrongElements]:
        """Yield the calls with wrong elements: variants of ``base``, and ``base`` with swept numbers."""
        swept_sample = self._sweep(base)
        for sample in (*variants, *([] if swept_sample is None else [swept_sample])):
            try:
                wrong = self._wrong_of(sample, base)
            except UnjudgedError:
                continue
            if wrong is not None:
                yield wrong

    def case(self, wrong: WrongElements) -> dict[str, Any]:
        """Make the case of a call. It expects the result of the reference."""
        sample = wrong.sample
        host_result = self._observe(sample)
        judge, reference_result = self._expect(sample, host_result)
        return case_failing_on_host(
            self._subject.name,
            sample,
            judge,
            reference_result,
            self._subject.tolerance(sample.dtype, host_result),
            self._pack,
            facts={"in_place": [0]} if self._subject.in_place else {},
            tags=["changes-inputs"] if self._subject.in_place else (),
        )

    def _sweep(self, base: Sample) -> Sample | None:
        """Return ``base`` with 8,000 numbers in place of its only input of floats; None if it has other inputs."""
        places = inputs_of(base)
        if len(places) != 1 or self._pack.array(base.arrays[places[0]]).dtype.kind != "f":
            return None
        numbers = swept_numbers(base.dtype)
        arrays = [
            self._pack.add(np.resize(self._pack.array(digest), numbers.shape), base.dtype) for digest in base.arrays
        ]
        arrays[places[0]] = self._pack.add(numbers, base.dtype)
        return replace(base, name=f"{base.name}-{SWEPT}", arrays=tuple(arrays), kinds=(*base.kinds, TAILS))

    def _wrong_of(self, sample: Sample, base: Sample) -> WrongElements | None:
        """Return the call with only the wrong elements of a sample. The other inputs have the values of ``base``."""
        host_result = self._observe(sample)
        judge, reference_result = self._expect(sample, host_result)
        tolerance = self._subject.tolerance(sample.dtype, host_result)
        (own,), (reference,) = (_only_array(tree) for tree in (host_result, reference_result))
        wrong = clearly_differ(own, reference, tolerance)
        for neighbor in self._neighbors(sample):
            _, nearby = self._expect(neighbor, host_result)
            wrong &= is_close(_only_array(nearby)[0], reference, tolerance)
        inputs = [self._pack.array(sample.arrays[place]) for place in inputs_of(sample)]
        if not wrong.any() or any(array.shape != wrong.shape for array in inputs):
            return None
        places = [tuple(place) for place in np.argwhere(wrong)]
        difference = "; ".join(
            f"at {', '.join(str(array[place]) for array in inputs)}: {reference[place]}, and the CPU {own[place]}"
            for place in places[:3]
        )
        wrong_sample = self._restrict(sample, base, wrong)
        if self._is_outside(wrong_sample, reference_result) or not self._is_wrong(wrong_sample):
            return None
        return WrongElements(wrong_sample, judge, difference)

    def _restrict(self, sample: Sample, base: Sample, wrong: Array) -> Sample:
        """Keep the wrong elements of the inputs, at most as many as ``base`` has elements."""
        arrays = list(sample.arrays)
        if len(sample.arrays) != len(base.arrays):
            raise UnjudgedError("the variant has other arrays")
        for place in inputs_of(sample):
            values, own = (self._pack.array(one.arrays[place]) for one in (sample, base))
            if values.shape == own.shape:
                new_values = np.where(wrong, values, own)
            else:
                wrong_values = values[wrong]
                new_values = wrong_values[np.linspace(0, wrong_values.size - 1, own.size).astype(int)].reshape(
                    own.shape
                )
            arrays[place] = self._pack.add(new_values, sample.dtype)
        for place in set(range(len(arrays))) - set(inputs_of(sample)):
            arrays[place] = base.arrays[place]
        return replace(sample, arrays=tuple(arrays))

    def _is_wrong(self, sample: Sample) -> bool:
        """Whether an element is still wrong, and all others are well conditioned. If elements depend on each other,
        other elements may be wrong now."""
        host_result = self._observe(sample)
        _, reference_result = self._expect(sample, host_result)
        tolerance = self._subject.tolerance(sample.dtype, host_result)
        (own,), (reference,) = (_only_array(tree) for tree in (host_result, reference_result))
        nearby_results = [_only_array(self._expect(nearby, host_result)[1])[0] for nearby in self._neighbors(sample)]
        is_conditioned = all(is_close(nearby, reference, tolerance).all() for nearby in nearby_results)
        return is_conditioned and bool(clearly_differ(own, reference, tolerance).any())

    def _is_outside(self, sample: Sample, reference_result: Any) -> bool:
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        return domain.is_outside(
            self._subject.name, sample.call, arrays, [leaf.values for leaf in leaves(reference_result)]
        )

    def _neighbors(self, sample: Sample) -> Iterator[Sample]:
        """Yield copies of the sample. In each, one input is moved to the next larger or the next smaller number."""
        for place in inputs_of(sample):
            array = self._pack.array(sample.arrays[place])
            if array.dtype.kind != "f":
                continue
            for towards in (np.inf, -np.inf):
                with np.errstate(all="ignore"):
                    values = np.nextafter(array, np.asarray(towards, array.dtype))
                values = np.where(np.isfinite(values) & (array != 0), values, array)
                arrays = [*sample.arrays]
                arrays[place] = self._pack.add(values, sample.dtype)
                yield replace(sample, arrays=tuple(arrays))

    def _fresh(self, sample: Sample) -> Any:
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        return self._subject.arguments(sample.call, self._subject.device.to_device(values, sample.dtype))

    def _observe(self, sample: Sample) -> Any:
        try:
            arguments, options = self._fresh(sample)
            result = self._subject.device.to_host(self._subject.call(*arguments, **options))
        except Exception as error:
            raise UnjudgedError(f"the CPU raises {type(error).__name__}") from error
        return result

    def _expect(self, sample: Sample, host_result: Any) -> tuple[str, Any]:
        """Return the kind and the result of the first reference that counts and whose result has this form."""
        kinds = {Judge.float64} if GRADIENT in sample.kinds else {judge for judge in Judge if judge.is_independent}
        for kind, reference in self._subject.references(sample.dtype, lambda: self._fresh(sample)):
            if kind in kinds:
                try:
                    with np.errstate(all="ignore"):
                        return kind, fill(host_result, reference())
                except Exception:  # this reference cannot compute the call
                    continue
        raise UnjudgedError("there is no reference")


def search(
    subject: GatedFunction, samples: Sequence[tuple[Sample, Sequence[Sample]]], pack: PackWriter
) -> tuple[list[dict[str, Any]], list[tuple[str, str, str]]]:
    """Return the case of a reviewed function with wrong elements, and the reasons for calls that are left out.

    ``samples`` are calls, each with its variants.
    """
    seeker = Search(subject, pack)
    left_out: list[tuple[str, str, str]] = []
    for base, variants in itertools.islice(samples, MOST_BASES):
        for wrong in seeker.of(base, variants):
            if subject.name in WRONG_FUNCTIONS.get(wrong.judge, ()):
                return [seeker.case(wrong)], []
            left_out.append((wrong.sample.name, DIFFERS, f"{wrong.judge}: {wrong.difference}"))
    return [], left_out


def inputs_of(sample: Sample) -> list[int]:
    """Return the numbers of a call's input arrays. Its other arrays are factors by which results are weighted."""
    return sorted({slot["array"] for slot in slots(json.loads(sample.call)["tuple"][:2])})


def swept_numbers(dtype: str) -> Array:
    """Return 2,000 numbers of both signs over all orders of magnitude of a dtype, and 6,000 between -120 and 120, where
    exponentials become infinite."""
    most = int(np.log10(MOST[dtype]))
    magnitudes = np.logspace(1 - most, most, 1_000)
    return np.concatenate([magnitudes, -magnitudes, np.linspace(-120, 120, 6_000)]).astype(np.float32)


def _only_array(tree: Any) -> list[Array]:
    """Return the array of a result that is one array of real numbers. Raise ``UnjudgedError`` for other results."""
    arrays = [leaf.values for leaf in leaves(tree)]
    if len(arrays) != 1 or arrays[0].dtype.kind != "f":
        raise UnjudgedError("the result is not one array of real numbers")
    return arrays
