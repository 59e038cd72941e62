"""The gate: decide whether a sample becomes a case.

A sample becomes a case if its result agrees with a reference, is the same in each call, and is the only right result.
Every other sample is *left out*, and listed with a reason. If a function leaves its values open (random numbers,
uninitialized memory, the signs of eigenvectors), a case compares only the form of the result: its structure, shapes and
dtypes.
"""

from __future__ import annotations

import itertools
import json
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from freezing.common import conversion, derivatives, domain, per_device, processor
from freezing.common.agreement import Reference, judge, tolerance_of, tolerance_of_sums
from freezing.common.collision import collide
from freezing.common.samples import NO_ARRAY, Sample, chosen_first
from freezing.common.variants import SECOND_ORDER, TAILS, refuses_for_this
from protocol.enums import GRADIENT
from runners.errors import LeftOutError, UnjudgedError
from runners.suite.checks import Leaf, Tolerance, leaves
from runners.suite.device import Device
from runners.suite.frozen import Named, PackWriter, as_text, block_of, encode, form, stored
from runners.suite.rounding import rounded
from runners.suite.second_shapes import LARGE

SEEDS = 4
"""The number of seeds, in addition to the first, with which a call is repeated."""
MOST_RESULTS = 1_500
"""The maximum number of elements of a stored result."""
MOST_BYTES = 20_000
"""The maximum number of compressed bytes of the arrays and the result of a case with large arrays."""
MOST_LARGE_RESULTS = 1_000_000
"""The maximum number of elements of the result of a case with large arrays. A broadcast array has few compressed bytes,
but takes much memory when it is copied."""
LONGEST_CALL_S = 0.5
"""The maximum time of a call with large arrays on the CPU. The gate repeats each call about 20 times."""
ENOUGH = "enough of its function"
"""The reason for leaving out a sample that is not needed, because its function has enough cases."""
ACCEPTED = "not refused on the CPU"
"""The reason for leaving out a call that should raise an error on the CPU, but does not, or not because of its
arguments."""
NO_REFUSALS = (TypeError, AttributeError, NotImplementedError, MemoryError, RecursionError)
"""Errors that do not mean that the function refuses a value: an argument has a wrong type, or something is missing."""

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""The positional arguments of a call, and its keyword arguments."""


class GatedFunction(ABC):
    """A public function whose samples the gate tests, with the facts that depend on its framework."""

    in_place = False
    """Whether the function's name says that the first argument is changed (``add_``)."""
    left_open: str | None = None
    """The reason why values of results are never compared: ``uninitialised`` or ``not-unique``. None if they are."""
    first_of_equals = False
    """Whether the function may return the index of any of several equal elements, unless ``stable=True`` is passed."""
    shows_places = False
    """Whether only integers in a result show which of the equal elements was returned. If so, a result without integers
    is unique."""
    written_axes = 0
    """For a function that writes values to places that are another argument: the number of last axes. Each slice of
    these axes has its own places. 0 for other functions."""
    takes_device = False
    """Whether a call without arrays gets the device as a keyword argument."""

    def __init__(self, name: str, call: Callable[..., Any], device: Device) -> None:
        self.name = name
        self.call = call
        self.device = device

    @abstractmethod
    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        """Return the arguments of a call that is written as JSON, with these arrays of the framework."""

    @abstractmethod
    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        """Yield the references of a call with their kinds, the most independent one first. ``fresh`` makes new
        arguments for the call."""

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        """Return the tolerance between a result and its reference."""
        return tolerance_of(dtype, result)

    def same_as(self) -> Callable[..., Any] | None:
        """Return the function for which the samples of this function were made; None if the samples are its own.

        PyTorch's samples of an operator, for example, are made for the function that its own tests call. A sample
        counts only if the two functions return the same result for it.
        """
        return None

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        """Return the reason why a call's result, or its error, is not determined. None if the framework shows none."""
        return None

    def refusing_operation(self, error: Exception) -> per_device.Refusal | None:
        """Return the operation within the call that raised an error. None if the framework does not name it."""
        return None

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        """Return context managers in which the host computes as another processor may compute."""
        return ()

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error means that the function refuses the values, shapes or dtypes of its arguments."""
        return not isinstance(error, NO_REFUSALS)


class SampleGate:
    """Turns samples into the cases of one function.

    With ``large``, the number of compressed bytes of a case is limited instead of its number of elements. ``judges``
    are the kinds of references to use; empty for all kinds.
    """

    def __init__(
        self, subject: GatedFunction, pack: PackWriter, *, large: bool = False, judges: Collection[str] = ()
    ) -> None:
        self._subject = subject
        self._pack = pack
        self._large = large
        self._judges = judges
        self.cases: list[dict[str, Any]] = []
        self.left_out: list[tuple[str, str, str]] = []
        """The samples that are left out: a sample's name, the kind of the reason, and a detail."""

    def admit(self, samples: Sequence[Sample], most: int) -> None:
        """Make at most ``most`` cases. Further samples are left out with the reason ``ENOUGH``."""
        count = 0
        for sample in chosen_first(samples):
            if count == most:
                self.left_out.append((sample.name, ENOUGH, ""))
                continue
            try:
                self.cases.append(self._case(sample))
                count += 1
            except LeftOutError as error:
                self.left_out.append((sample.name, error.kind, str(error)))

    def with_small_results(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """Yield the samples whose call is fast and whose result is small. Leave out the others.

        Each sample is called once for this. The test comes before all others, because these repeat the call and compute
        references, which is slow with large arrays.
        """
        for sample in samples:
            started = time.perf_counter()
            try:
                result = self._observe(self._subject.call, sample, sample.call, 1)
                took_s = time.perf_counter() - started
                if took_s > LONGEST_CALL_S:
                    raise LeftOutError("slow", f"a call takes more than {LONGEST_CALL_S} s on the CPU")
                self._require_small(sample, result)
            except LeftOutError as error:
                self.left_out.append((sample.name, error.kind, str(error)))
            else:
                yield sample

    def admit_refused(self, samples: Sequence[Sample], most: int) -> int:
        """Make at most ``most`` cases of calls that raise an error on the CPU. Return the number of new cases."""
        count = 0
        for sample in samples:
            error = self.refusal(sample) if count < most else None
            if error is None:
                self.left_out.append((sample.name, ACCEPTED if count < most else ENOUGH, ""))
                continue
            count += 1
            self.cases.append(
                {
                    "function": self._subject.name,
                    "name": sample.name,
                    "dtype": sample.dtype,
                    "arrays": list(sample.arrays),
                    "call": sample.call,
                    **({"in_place": [0]} if self._subject.in_place else {}),
                    "kind": "behaviour",
                    "refuses": error,
                    "expected": [],
                    "tags": [*sample.kinds, *self._per_device_tags(sample)],
                }
            )
        return count

    def _per_device_tags(self, sample: Sample) -> list[str]:
        docstring = per_device.docstring_of(self._subject.device.lookup)
        error = self._error(sample, 1)
        return per_device.tags(
            self._subject.name, sample.name, docstring, self._subject.refusing_operation(error) if error else None
        )

    def refusal(self, sample: Sample) -> str | None:
        """Return the name of the error that the call raises on the CPU. None if the error is not the same with every
        seed, or if nothing determines it."""
        errors = [self._error(sample, seed) for seed in range(1, 1 + SEEDS)]
        names = {type(error).__name__ if error else None for error in errors}
        return names.pop() if len(names) == 1 and not self._is_open(sample) else None

    def _is_open(self, sample: Sample) -> bool:
        """Whether nothing determines that the call raises an error."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if domain.is_outside(self._subject.name, sample.call, arrays, []):
            return True
        return self._reason_undetermined(sample, sample.call) is not None

    def _reason_undetermined(self, sample: Sample, call: str) -> str | None:
        device = self._subject.device
        device.seed(1)
        try:
            arguments, options = self._fresh(sample, call)
        except Exception:  # an array cannot be made
            return None
        return self._subject.reason_undetermined(lambda: self._subject.call(*arguments, **options))

    def _error(self, sample: Sample, seed: int) -> Exception | None:
        """Return the error with which the CPU refuses the call. None if it accepts the call, raises for another reason,
        or has changed an array that it must not change."""
        device = self._subject.device
        device.seed(seed)
        arrays = self._arrays(sample)
        try:
            arguments, options = self._subject.arguments(sample.call, arrays)
        except Exception:
            # If an array cannot be made, the function itself has refused nothing.
            return None
        try:
            device.to_host(self._subject.call(*arguments, **options))
        except Exception as error:
            is_changed = not _equal(device.to_host(arrays), device.to_host(self._arrays(sample)))
            is_refusal = (
                self._subject.is_refusal(error)
                and refuses_for_this(sample.name, str(error))
                and not (is_changed and not self._subject.in_place)
            )
            return error if is_refusal else None
        return None

    def _case(self, sample: Sample) -> dict[str, Any]:
        subject, call = self._subject, sample.call
        if NO_ARRAY in sample.kinds and subject.takes_device:
            call = forced(call)
        host_result = self._observe(subject.call, sample, call, 1)
        again = self._observe_others(sample, call, host_result)
        self._require_same_as_another(sample, call, host_result, values=_equal(host_result, again))
        self._require_small(sample, host_result)
        self._require_known(host_result)
        if form(host_result) != form(again):
            raise LeftOutError("not deterministic", "its form differs from run to run")
        case = {
            "function": subject.name,
            "name": sample.name,
            "dtype": sample.dtype,
            "arrays": list(sample.arrays),
            "call": call,
            **self._find_changed(sample, call),
        }
        left_open = subject.left_open or (None if _equal(host_result, again) else "random")
        if left_open:
            return case | {
                "kind": "behaviour",
                "result": as_text(form(host_result)),
                "expected": [],
                "tags": [*sample.kinds, "form-only", left_open],
            }
        self._require_unique(sample, call, host_result)
        self._require_one_value_a_place(sample)
        self._require_convertible(sample, call, host_result)
        self._require_in_domain(sample, call, host_result)
        self._require_determined(sample, call)
        self._require_no_fraction(sample, call, host_result)
        self._require_any_zeros(sample, call, host_result)
        judgement = self._judge(sample, call, host_result)
        if "in_place" in case:
            judgement["tags"].append("changes-inputs")
        return case | judgement

    def _judge(self, sample: Sample, call: str, host_result: Any) -> dict[str, Any]:
        tolerance = self._subject.tolerance(sample.dtype, host_result)
        if LARGE & set(sample.kinds):
            arrays = [self._pack.array(digest) for digest in sample.arrays]
            tolerance = tolerance_of_sums(tolerance, sample.dtype, arrays, host_result)
        references = (
            (kind, reference)
            for kind, reference in self._subject.references(sample.dtype, lambda: self._fresh(sample, call))
            if not self._judges or kind in self._judges
        )
        try:
            kind, reference_result = judge(references, host_result, sample.dtype, tolerance)
        except UnjudgedError as error:
            raise LeftOutError("no reference agrees", str(error)) from error
        if SECOND_ORDER in sample.kinds and derivatives.are_zero(tolerance, _values_of(reference_result)):
            raise LeftOutError("no second derivative", derivatives.ZERO)
        if processor.share_of(tolerance, leaves(host_result), _values_of(reference_result)) > processor.LARGEST_SHARE:
            raise LeftOutError("not determined", processor.TOO_FAR)
        self._require_same_elsewhere(sample, call, tolerance, _values_of(reference_result))
        result, digests = self._pack.add_tree(reference_result)
        return {
            "kind": "value",
            "result": result,
            "expected": digests,
            "tolerance": [tolerance.relative, tolerance.absolute],
            "tags": [*sample.kinds, f"judged-by-{kind}"],
        }

    def _arrays(self, sample: Sample) -> Sequence[Any]:
        """Make new arrays of the sample on the host device."""
        values = rounded([self._pack.array(digest) for digest in sample.arrays], sample.dtype)
        arrays: Sequence[Any] = self._subject.device.to_device(values, sample.dtype)
        return arrays

    def _fresh(self, sample: Sample, call: str) -> Arguments:
        return self._subject.arguments(call, self._arrays(sample))

    def _observe(self, function: Callable[..., Any], sample: Sample, call: str, seed: int) -> Any:
        self._subject.device.seed(seed)
        try:
            arguments, options = self._fresh(sample, call)
            return self._subject.device.to_host(function(*arguments, **options))
        except Exception as error:
            text = (str(error).strip().splitlines() or [""])[0]
            raise LeftOutError("raises on the CPU", f"{type(error).__name__}: {text[:160]}") from error

    def _observe_others(self, sample: Sample, call: str, first: Any) -> Any:
        """Return the first result from another seed that differs from ``first``, otherwise the last one. Several seeds
        are tried, because random numbers may be equal by chance."""
        for seed in range(2, 2 + SEEDS):
            again = self._observe(self._subject.call, sample, call, seed)
            if not _equal(first, again):
                break
        return again

    def _find_changed(self, sample: Sample, call: str) -> dict[str, Any]:
        """Return the positions of the arrays that the call changes on the CPU. Examples are the first array of an
        in-place method, and the statistics of a layer."""
        device = self._subject.device
        arrays = self._arrays(sample)
        before = device.to_host(self._arrays(sample))
        device.seed(1)
        arguments, options = self._subject.arguments(call, arrays)
        self._subject.call(*arguments, **options)
        after = device.to_host(arrays)
        places = {place for place, (one, other) in enumerate(zip(before, after)) if not _equal(one, other)}
        if self._subject.in_place and sample.arrays:
            places.add(0)
        return {"in_place": sorted(places)} if places else {}

    def _require_same_as_another(self, sample: Sample, call: str, observed: Any, *, values: bool) -> None:
        """Raise ``LeftOutError`` if the public function does not return the same as the function for which the samples
        are made. With ``values``, their values are compared, otherwise only their forms (random numbers)."""
        other = self._subject.same_as()
        if other is None:
            return
        own = self._observe(other, sample, call, 1)
        if form(observed) != form(own) or (values and not _equal(observed, own)):
            raise LeftOutError("another function than the operator's tests call", "")

    def _require_small(self, sample: Sample, observed: Any) -> None:
        results = [leaf for leaf in leaves(observed) if leaf.values.dtype.kind in "biufc"]
        if not self._large:
            if sum(leaf.values.size for leaf in results) > MOST_RESULTS:
                raise LeftOutError("large result", f"more than {MOST_RESULTS:,} elements")
            return
        if sum(leaf.values.size for leaf in results) > MOST_LARGE_RESULTS:
            raise LeftOutError("large result", f"more than {MOST_LARGE_RESULTS:,} elements")
        inputs_bytes = self._pack.packed_bytes(sample.arrays)
        # The results are not added to the pack, which would keep those of rejected samples.
        if inputs_bytes + sum(_packed_bytes(leaf) for leaf in results) > MOST_BYTES:
            raise LeftOutError("large result", f"more than {MOST_BYTES:,} packed bytes")

    def _require_known(self, observed: Any) -> None:
        unknown_kinds = {
            kind for kind in _kinds(observed) if kind not in ("Leaf", "bool", "int", "float", "complex", "str")
        }
        if unknown_kinds:
            raise LeftOutError("returns what has no written form", ", ".join(sorted(unknown_kinds)))

    def _require_unique(self, sample: Sample, call: str, host_result: Any) -> None:
        if not self._subject.first_of_equals or '"stable",true' in call:
            return
        has_integers = any(leaf.values.dtype.kind in "iu" for leaf in leaves(host_result))
        # A gradient goes to one of the equal elements, or to all of them in shares.
        if self._subject.shows_places and GRADIENT not in sample.kinds and not has_integers:
            return
        for digest in sample.arrays:
            values = self._pack.array(digest)
            if np.unique(values).size < values.size and not (LARGE & set(sample.kinds) and _has_unique_rows(values)):
                raise LeftOutError("not unique", "elements are equal, and it may return the place of any")

    def _require_one_value_a_place(self, sample: Sample) -> None:
        if not self._subject.written_axes:
            return
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        for values, places in itertools.product(arrays, arrays):
            are_written = places.dtype.kind in "iu" and values.dtype.kind == "f" and values.shape == places.shape
            if are_written and collide(values, places, self._subject.written_axes):
                raise LeftOutError("not determined", "different values go to one place, and either may stay")

    def _require_convertible(self, sample: Sample, call: str, host_result: Any) -> None:
        """Raise ``LeftOutError`` if the call converts a float that the integer type cannot represent. The result of
        such a conversion is not determined."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        beyond = {
            place
            for place, array in enumerate(arrays)
            for leaf in leaves(host_result)
            if array.dtype.kind == "f" and leaf.values.dtype.kind in "iu" and leaf.values.shape == array.shape
            if not conversion.holds(leaf.dtype, array)
        }
        if not beyond:
            return
        probes = [conversion.probe(array) if place in beyond else array for place, array in enumerate(arrays)]
        device = self._subject.device
        try:
            arguments, options = self._subject.arguments(
                call, device.to_device(rounded(probes, sample.dtype), sample.dtype)
            )
            results = leaves(device.to_host(self._subject.call(*arguments, **options)))
        except Exception:  # the function refuses other numbers, so it does more than convert them
            return
        if any(conversion.is_converted(probes[place], result.values) for place in beyond for result in results):
            raise LeftOutError("not determined", "its integer type does not hold a number that it converts")

    def _require_in_domain(self, sample: Sample, call: str, host_result: Any) -> None:
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if domain.is_outside(self._subject.name, call, arrays, _values_of(host_result)):
            raise LeftOutError("not determined", domain.OUTSIDE)
        if domain.widens_its_array(self._subject.name, arrays, _values_of(host_result)):
            raise LeftOutError("not determined", domain.WIDENED)

    def _require_determined(self, sample: Sample, call: str) -> None:
        if reason := self._reason_undetermined(sample, call):
            raise LeftOutError("not determined", reason)

    def _require_any_zeros(self, sample: Sample, call: str, host_result: Any) -> None:
        """Raise ``LeftOutError`` if the result of a ``tails`` variant (inputs from the tails of a distribution) depends
        on the sign of a zero, because this sign depends on the order of additions."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if TAILS not in sample.kinds or not any(map(processor.has_zero, arrays)):
            return
        device = self._subject.device
        others = rounded(list(map(processor.with_other_zeros, arrays)), sample.dtype)
        device.seed(1)
        arguments, options = self._subject.arguments(call, device.to_device(others, sample.dtype))
        other_result = device.to_host(self._subject.call(*arguments, **options))
        if processor.differ(
            self._subject.tolerance(sample.dtype, host_result), leaves(host_result), leaves(other_result)
        ):
            raise LeftOutError("not determined", processor.BY_A_ZERO)

    def _require_same_elsewhere(self, sample: Sample, call: str, tolerance: Tolerance, references: list[Any]) -> None:
        for surroundings in self._subject.other_processors():
            with surroundings:
                result = self._observe(self._subject.call, sample, call, 1)
            if processor.is_other(tolerance, leaves(result), references):
                raise LeftOutError("not determined", processor.ELSEWHERE)

    def _require_no_fraction(self, sample: Sample, call: str, host_result: Any) -> None:
        """Raise ``LeftOutError`` if a function of integers has a fraction as its exact result. Each library rounds it
        in another way."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if not conversion.are_whole(sample.dtype, leaves(host_result)):
            return
        floats = conversion.as_floats(sample.dtype, arrays)
        try:
            arguments, options = self._subject.arguments(call, self._subject.device.to_device(floats, "float64"))
            results = leaves(self._subject.device.to_host(self._subject.call(*arguments, **options)))
        except Exception:  # the function takes only integers
            return
        if conversion.has_fraction(leaves(host_result), results):
            raise LeftOutError("not determined", conversion.FRACTION)


def _has_unique_rows(values: Any) -> bool:
    """Whether the elements of each row along one of the axes are distinct. A function that orders elements along
    another axis is not determined, which ``determined.py`` finds out for large arrays."""
    axes = [axis for axis, size in enumerate(values.shape) if size > 1]
    return any((np.diff(np.sort(values, axis), axis=axis) != 0).all() for axis in axes)


def _packed_bytes(leaf: Leaf) -> int:
    return len(zlib.compress(block_of(stored(leaf.values, leaf.dtype)).tobytes()))


def _values_of(tree: Any) -> list[Any]:
    return [leaf.values for leaf in leaves(tree)]


def forced(call: str) -> str:
    """Return the written call with the device as a keyword argument, unless it has one already."""
    arguments, options = json.loads(call)["tuple"]
    if any(key == "device" for key, _ in options["mapping"]):
        return call
    options["mapping"].append(["device", encode(Named("device", ""))])
    return json.dumps({"tuple": [arguments, options]}, separators=(",", ":"))


def _kinds(observed: Any) -> Iterator[str]:
    if isinstance(observed, (list, tuple)):
        for member in observed:
            yield from _kinds(member)
    elif isinstance(observed, Mapping):
        for member in observed.values():
            yield from _kinds(member)
    elif observed is not None:
        yield type(observed).__name__


def _equal(one: Any, other: Any) -> bool:
    """Whether two host copies have the same form and values. NaN equals NaN."""
    if json.loads(as_text(form(one))) != json.loads(as_text(form(other))):
        return False
    return all(
        np.array_equal(a.values, b.values, equal_nan=a.values.dtype.kind in "fc")
        for a, b in zip(leaves(one), leaves(other))
    )
