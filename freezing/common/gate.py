"""The gate: a sample becomes a case if its result is right, the same twice, and the only right one; else it is listed.

What a function leaves open (random numbers, memory that nothing filled, the signs of eigenvectors) is judged by its
form alone: structure, shapes and dtypes. A reason stands for everything that is left out; nothing is dropped unsaid.
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

from freezing.common import conversion, domain, per_device, processor
from freezing.common.agreement import Reference, judge, tolerance_of, tolerance_of_sums
from freezing.common.collision import collide
from freezing.common.samples import NO_ARRAY, Sample, chosen_first
from freezing.common.variants import TAILS, refuses_for_this
from protocol.enums import GRADIENT
from runners.errors import LeftOutError, UnjudgedError
from runners.suite.checks import Leaf, Tolerance, leaves
from runners.suite.device import Device
from runners.suite.frozen import Named, PackWriter, as_text, block_of, encode, form, stored
from runners.suite.rounding import rounded
from runners.suite.second_shapes import LARGE

SEEDS = 4
"""Seeds beside the first from which a result is looked at."""
MOST_RESULTS = 1_500
"""Elements of a result that is kept."""
MOST_BYTES = 20_000
"""Packed bytes of the arrays and the result of a case whose arrays may be large."""
MOST_LARGE_RESULTS = 1_000_000
"""Elements of a result that is kept in so many bytes: a broadcast array is small until something copies it."""
LONGEST_CALL_S = 0.5
"""A call with large arrays that takes longer on the CPU would make a slow case; its gate calls it about 20 times."""
ENOUGH = "enough of its function"
"""The reason of samples that were right and not needed."""
ACCEPTED = "not refused on the CPU"
"""The reason of calls that had to be refused, and were not, or not because of their arguments."""
NO_REFUSALS = (TypeError, AttributeError, NotImplementedError, MemoryError, RecursionError)
"""Errors that do not say that a value is wrong: another type than asked for, or something that is not there at all."""

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
"""The positional arguments of a call, and its options."""


class GatedFunction(ABC):
    """A public function under the gate, and what only its framework knows of it."""

    in_place = False
    """Whether it changes its first argument by its name's promise."""
    left_open: str | None = None
    """Why its values are never compared: ``uninitialised`` or ``not-unique``."""
    first_of_equals = False
    """Whether it may return the place of any of several equal elements, unless told to be ``stable``."""
    shows_places = False
    """Whether such a place can only be seen as an integer of its result, so values alone are the same for each."""
    written_axes = 0
    """Of a function that writes values to places that come with them: the last axes through which places count."""
    takes_device = False
    """Whether a call without arrays takes the device among its options."""

    def __init__(self, name: str, call: Callable[..., Any], device: Device) -> None:
        self.name = name
        self.call = call
        self.device = device

    @abstractmethod
    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        """The arguments of a written call, with these arrays of the framework's own."""

    @abstractmethod
    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        """The references of a call, the most independent first, by kind; ``fresh`` gives its arguments anew."""

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        """How far a result may be from its reference."""
        return tolerance_of(dtype, result)

    def same_as(self) -> Callable[..., Any] | None:
        """Another function that has to return the same, as that is the one that the samples are made for."""
        return None

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        """Why nothing determines what a call gives, or that it is refused, as far as its framework shows that."""
        return None

    def refusing_operation(self, error: Exception) -> per_device.Refusal | None:
        """The operation within the call that raised an error, where its framework names it."""
        return None

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        """Surroundings in which the host computes as another processor may."""
        return ()

    def is_refusal(self, error: Exception) -> bool:
        """Whether an error says that the function refuses the values, shapes or dtypes of its arguments."""
        return not isinstance(error, NO_REFUSALS)


class SampleGate:
    """Turns samples into the cases of one function; with ``large`` the bytes of a case are limited, not its elements.

    Only the references of ``judges`` are asked; all of them where it is empty.
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
        """The name of a sample, the kind of reason, and more about it."""

    def admit(self, samples: Sequence[Sample], most: int) -> None:
        """Add cases, at most so many; the samples beyond are counted as not needed."""
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
        """The samples whose call is short and whose result is kept in few bytes, by one call each; the rest is listed.

        With large arrays each further call and each reference is slow, so most of what cannot be kept ends here.
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
        """Add cases that the CPU refuses, at most so many; the number of those added."""
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
        """The name of the error with which the CPU refuses the call from every seed, or None."""
        errors = [self._error(sample, seed) for seed in range(1, 1 + SEEDS)]
        names = {type(error).__name__ if error else None for error in errors}
        return names.pop() if len(names) == 1 and not self._is_open(sample) else None

    def _is_open(self, sample: Sample) -> bool:
        """Whether nothing determines that the call is refused."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if domain.is_outside(self._subject.name, sample.call, arrays, []):
            return True
        return self._reason_undetermined(sample, sample.call) is not None

    def _reason_undetermined(self, sample: Sample, call: str) -> str | None:
        device = self._subject.device
        device.seed(1)
        try:
            arguments, options = self._fresh(sample, call)
        except Exception:  # an array that cannot be made
            return None
        return self._subject.reason_undetermined(lambda: self._subject.call(*arguments, **options))

    def _error(self, sample: Sample, seed: int) -> Exception | None:
        """The error with which the CPU refuses the call, without having changed what it may not change."""
        device = self._subject.device
        device.seed(seed)
        arrays = self._arrays(sample)
        try:
            arguments, options = self._subject.arguments(sample.call, arrays)
        except Exception:
            # An array that cannot be made is no refusal of the function's.
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
        """The sample's arrays on the host device, anew."""
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
        """The result from another seed: the first that differs, for random numbers may be the same by chance."""
        for seed in range(2, 2 + SEEDS):
            again = self._observe(self._subject.call, sample, call, seed)
            if not _equal(first, again):
                break
        return again

    def _find_changed(self, sample: Sample, call: str) -> dict[str, Any]:
        """The arguments that the call changes on the CPU: the first of a method in place, and a layer's statistics."""
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
        """The function by its public name must do what the samples are made for: of random numbers, in form."""
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
        found = {kind for kind in _kinds(observed) if kind not in ("Leaf", "bool", "int", "float", "complex", "str")}
        if found:
            raise LeftOutError("returns what has no written form", ", ".join(sorted(found)))

    def _require_unique(self, sample: Sample, call: str, host_result: Any) -> None:
        if not self._subject.first_of_equals or '"stable",true' in call:
            return
        has_integers = any(leaf.values.dtype.kind in "iu" for leaf in leaves(host_result))
        # A gradient goes to one of the equal elements, or to all of them in shares.
        if self._subject.shows_places and GRADIENT not in sample.kinds and not has_integers:
            return
        for digest in sample.arrays:
            values = self._pack.array(digest)
            if np.unique(values).size < values.size:
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
        """Nothing determines what becomes of a float that the integer type of a conversion does not hold."""
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
        except Exception:  # it takes no other numbers, so it does more than convert them
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
        """The result of a call far out may not hang on the sign of a zero, which is chance in a computation."""
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
        """A whole number that stands for a fraction is rounded by each library in its own way."""
        arrays = [self._pack.array(digest) for digest in sample.arrays]
        if not conversion.are_whole(sample.dtype, leaves(host_result)):
            return
        floats = conversion.as_floats(sample.dtype, arrays)
        try:
            arguments, options = self._subject.arguments(call, self._subject.device.to_device(floats, "float64"))
            results = leaves(self._subject.device.to_host(self._subject.call(*arguments, **options)))
        except Exception:  # it takes whole numbers alone
            return
        if conversion.has_fraction(leaves(host_result), results):
            raise LeftOutError("not determined", conversion.FRACTION)


def _packed_bytes(leaf: Leaf) -> int:
    return len(zlib.compress(block_of(stored(leaf.values, leaf.dtype)).tobytes()))


def _values_of(tree: Any) -> list[Any]:
    return [leaf.values for leaf in leaves(tree)]


def forced(call: str) -> str:
    """The written call with the device among its options, unless one is there."""
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
    """Whether two host copies are the same to the bit, NaN equal to NaN."""
    if json.loads(as_text(form(one))) != json.loads(as_text(form(other))):
        return False
    return all(
        np.array_equal(a.values, b.values, equal_nan=a.values.dtype.kind in "fc")
        for a, b in zip(leaves(one), leaves(other))
    )
