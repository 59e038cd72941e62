"""Draw cases of pairs: two functions that follow each other in programs, called as one program.

A pair combines two frozen cases of ``library``. The result of the first case replaces the first array of the second
case that has the same dtype. Combinations with the same shape are tried first. The references of the second function
give the expected result; their input is what the first function returns on the host when called alone.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from freezing.common import conversion
from freezing.common.agreement import Reference
from freezing.common.determined import require_determined
from freezing.common.gate import Arguments, GatedFunction, SampleGate
from freezing.common.kinds import kinds_of
from freezing.common.parts import Reason, write_part
from freezing.common.samples import MOST_ELEMENTS, Sample
from freezing.common.variants import MOST_WHOLE, Array, slots
from freezing.following.counts import pairs_of
from runners.errors import LeftOutError
from runners.suite.checks import Tolerance, leaves
from runners.suite.frozen import Pack, PackWriter
from runners.suite.pairs import FIRST, first_of
from runners.suite.recording.replay import WAY
from runners.suite.rounding import dtype_on_device, rounded

MOST_PAIRS = 700
"""The number of pairs of a framework that are tried: the most frequent ones."""
MOST_TRIED = 6
"""The maximum number of combinations that are tried for one case of a pair."""
MOST_LINKS = 24
"""The number of combinations that are searched for calls that can wrap around."""
WRAPS = "wraps"
"""The tag of a case in which integers wrap around, and the end of its name."""
WRAPPING_DTYPE = "int8"
WRAPPING = frozenset({"add", "sub", "subtract", "mul", "multiply", "square", "neg", "negative", "sum", "matmul", "dot"})
"""The last names of functions whose result wraps around if the inputs span the dtype's range."""
UNUSUAL = frozenset({"empty", "0-dim", "strided"})
NO_CASES = "no cases of the two go together"

Program = Callable[[str, Sequence[Any]], Any]
"""Runs a pair, written as JSON, on these arrays as one program, and returns the result."""


class PairSubject(GatedFunction):
    """Two functions as one program. The second gets the result of the first, and gives the pair its name."""

    def __init__(self, first: GatedFunction, second: GatedFunction, program: Program) -> None:
        super().__init__(second.name, program, second.device)
        self.first = first
        self.second = second
        self.first_of_equals = first.first_of_equals

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [call, arrays], {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield from self.second.references(dtype, lambda: self._second_alone(fresh))

    def tolerance(self, dtype: str, observed: Any) -> Tolerance:
        """Return the wider tolerance of the two functions."""
        both = [subject.tolerance(dtype, observed) for subject in (self.first, self.second)]
        return Tolerance(max(one.relative for one in both), max(one.absolute for one in both))

    def first_result(self, call: str, arrays: Sequence[Any]) -> Any:
        """Call only the first function."""
        arguments, options = self.first.arguments(first_of(call).written, arrays)
        return self.first.call(*arguments, **options)

    def second_result(self, call: str, arrays: Sequence[Any], first_result: Any) -> Any:
        """Call only the second function, with ``first_result`` as the result of the first."""
        arguments, options = self.second.arguments(call, [*arrays, first_result])
        return self.second.call(*arguments, **options)

    def require_program(self, call: str, arrays: Sequence[Any]) -> None:
        """Raise ``LeftOutError`` if, on the host, one program with both calls returns another result than two separate
        calls."""

    def _second_alone(self, fresh: Callable[[], Arguments]) -> Arguments:
        """Call the first function and return the arguments of the second."""
        (written, arrays), _ = fresh()
        return self.second.arguments(written, [*arrays, self.first_result(written, arrays)])


@dataclass(frozen=True)
class PlainCase:
    """A frozen case that calls its function directly and compares values."""

    written: Mapping[str, Any]
    arrays: tuple[Array, ...]
    dtype: str
    tags: frozenset[str]
    result_dtype: str | None
    """The dtype of the result, if that is one array. Otherwise this and ``result`` are None."""
    result: Array | None

    @classmethod
    def read(cls, case: Mapping[str, Any], pack: Pack) -> PlainCase:
        result = json.loads(case["result"])
        is_one = isinstance(result, dict) and "array" in result
        digest = case["expected"][result["array"]] if is_one else ""
        return cls(
            json.loads(case["call"]),
            tuple(pack.array(one) for one in case["arrays"]),
            case["dtype"],
            frozenset(case["tags"]),
            (result.get("dtype") or pack.dtype(digest)) if is_one else None,
            pack.array(digest) if is_one else None,
        )

    @property
    def has_floats(self) -> bool:
        return any(array.dtype.kind in "fc" for array in self.arrays)

    def place_of(self, dtype: str | None) -> int | None:
        """Return the number of the first array that has this dtype, is contiguous and is used once, or None."""
        every = list(slots(self.written["tuple"]))
        times = Counter(slot["array"] for slot in every)
        fitting = (
            slot["array"]
            for slot in every
            if set(slot) == {"array"}
            and times[slot["array"]] == 1
            and dtype_on_device(self.arrays[slot["array"]], self.dtype) == dtype
        )
        return next(fitting, None)


class PlainCases:
    """The plain frozen cases of a framework, by function. A plain case calls its function directly (not for a gradient,
    for example) and compares values."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._cases: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for case in pack.cases:
            if case["kind"] == "value" and WAY not in json.loads(case["call"]):
                self._cases[case["function"]].append(case)

    def of(self, function: str) -> list[PlainCase]:
        """Return the plain cases of a function, those with unusual shapes last."""
        usual_first = sorted(self._cases[function], key=lambda case: bool(UNUSUAL & set(case["tags"])))
        return [PlainCase.read(case, self.pack) for case in usual_first]

    def has(self, function: str) -> bool:
        return function in self._cases


def most_followed(
    framework: str, cases: PlainCases, is_charted: Callable[[str], bool] = lambda name: True
) -> list[tuple[str, str]]:
    """Return the pairs to try: the most frequent ones whose two functions are charted and have plain cases."""
    pairs = [
        (first, second)
        for first, second, _ in pairs_of(framework)
        if cases.has(first) and cases.has(second) and is_charted(first) and is_charted(second)
    ]
    return pairs[:MOST_PAIRS]


@dataclass(frozen=True)
class Link:
    """A case of the first function and a case of the second that can be combined."""

    first: PlainCase
    second: PlainCase
    place: int
    """The number of the array of the second case that the result of the first case replaces."""

    @property
    def dtype(self) -> str:
        return self.first.dtype if self.first.has_floats else self.second.dtype

    @property
    def is_whole(self) -> bool:
        return not self.first.has_floats and not self.second.has_floats

    def strangeness(self) -> int:
        """Rate how unusual the combination is: 0 if the result has the shape of the array that it replaces."""
        own = () if self.first.result is None else self.first.result.shape
        other = self.second.arrays[self.place].shape
        unusual = bool(UNUSUAL & (self.first.tags | self.second.tags))
        return 4 * unusual + (0 if own == other else 1 if len(own) == len(other) else 2)

    def sample(self, name: str, first_name: str, pack: PackWriter, tags: Collection[str], more: Any) -> Sample:
        """Make a sample, and add its arrays to the pack. ``more`` adds keys to the written call."""
        own = len(self.first.arrays)
        other_numbers = [number for number in range(len(self.second.arrays)) if number != self.place]
        numbers = {number: own + index for index, number in enumerate([*other_numbers, self.place])}
        arrays = [*self.first.arrays, *(self.second.arrays[number] for number in other_numbers)]
        written = {**_renumbered(self.second.written, numbers), FIRST: [first_name, self.first.written], **more}
        has_strides = any("strides" in slot for slot in slots(written))
        return Sample(
            name,
            self.dtype,
            json.dumps(written, separators=(",", ":")),
            tuple(pack.add(array, dtype_on_device(array, self.dtype)) for array in arrays),
            (*kinds_of([array.shape for array in arrays], self.dtype, has_strides=has_strides), *tags),
            sum(array.size for array in arrays),
        )

    def wrapping(self, rng: np.random.Generator) -> Link | None:
        """Return the link in int8, with first inputs from the whole range; None unless these have one common dtype."""
        own = {array.dtype for array in self.first.arrays}
        if len(own) != 1 or not own <= {np.dtype(name) for name in ("float32", "float64", "int32", "int64")}:
            return None
        limits = np.iinfo(WRAPPING_DTYPE)
        arrays = [rng.integers(limits.min, limits.max, array.shape, WRAPPING_DTYPE) for array in self.first.arrays]
        others = [_narrowed(array) if array.dtype in own else array for array in self.second.arrays]
        return replace(
            self,
            first=replace(self.first, arrays=tuple(arrays), dtype=WRAPPING_DTYPE),
            second=replace(self.second, arrays=tuple(others), dtype=WRAPPING_DTYPE),
        )


def _narrowed(array: Array) -> Array:
    narrow: Array = np.clip(np.rint(np.nan_to_num(array)), -MOST_WHOLE, MOST_WHOLE).astype(WRAPPING_DTYPE)
    return narrow


def _renumbered(written: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(written, list):
        return [_renumbered(member, numbers) for member in written]
    if not isinstance(written, dict):
        return written
    if "array" in written:
        return {**written, "array": numbers[written["array"]]}
    return {key: _renumbered(member, numbers) for key, member in written.items()}


def links_of(first: Sequence[PlainCase], second: Sequence[PlainCase], *, distinct: bool) -> list[Link]:
    """Combine the cases, the most similar first. With ``distinct``, the first result must have no equal elements."""
    links = (_link(one, other, distinct=distinct) for one in first for other in second)
    return sorted((link for link in links if link is not None), key=Link.strangeness)


def _link(first: PlainCase, second: PlainCase, *, distinct: bool) -> Link | None:
    place = second.place_of(first.result_dtype)
    if place is None or first.result is None or not first.arrays:
        return None
    if first.has_floats and second.has_floats and first.dtype != second.dtype:
        return None
    if distinct and np.unique(first.result).size < first.result.size:
        return None
    if sum(array.size for array in (*first.arrays, *second.arrays)) > MOST_ELEMENTS:
        return None
    return Link(first, second, place)


def draw_pair(
    subject: PairSubject, cases: PlainCases, path: Path, ways: Mapping[str, Mapping[str, Any]] = {"": {}}
) -> None:
    """Draw and judge the cases of one pair into a file: in float32, in integers, and with integers that wrap around.

    ``ways`` maps the tag of each way to call the first function to keys that it adds to the written call.
    """
    pack = PackWriter()
    gate = SampleGate(subject, pack)
    links = links_of(
        cases.of(subject.first.name), cases.of(subject.second.name), distinct=subject.second.first_of_equals
    )
    rng = np.random.default_rng(0)
    wraps = subject.first.name.rpartition(".")[2] in WRAPPING and not subject.second.first_of_equals
    of_kind = {
        "float32": [link for link in links if link.dtype == "float32" and not link.is_whole],
        "whole": [link for link in links if link.is_whole],
        WRAPS: [narrow for link in links[:MOST_LINKS] if wraps and (narrow := link.wrapping(rng)) is not None],
    }
    for way, more in ways.items():
        for kind, own in of_kind.items():
            name = "-".join(filter(None, (f"after-{subject.first.name}", kind, way)))
            tags = [tag for tag in (kind, way) if tag and tag not in ("float32", "whole")]
            samples = [link.sample(name, subject.first.name, pack, tags, more) for link in own[:MOST_TRIED]]
            _admit_first(gate, subject, samples, pack)
    left_out: list[Reason] = [(f"{subject.first.name} {subject.name}", *reason) for reason in gate.left_out]
    if not links:
        left_out.append((f"{subject.first.name} {subject.name}", "", NO_CASES, ""))
    pack.cases += gate.cases
    write_part(pack, left_out, path)


def _admit_first(gate: SampleGate, subject: PairSubject, samples: Sequence[Sample], pack: PackWriter) -> None:
    """Add the first sample that passes the gate and the additional rules for pairs to the gate's cases."""
    before = len(gate.cases)
    for sample in samples:
        gate.admit([sample], 1)
        if len(gate.cases) == before:
            continue
        try:
            _require_values(gate.cases[-1])
            _require_convertible(subject, sample, pack)
            subject.require_program(sample.call, _arrays_of(subject, sample, pack))
            require_determined(subject, sample, pack, together=False)
        except LeftOutError as error:
            gate.cases.pop()
            gate.left_out.append((sample.name, error.kind, str(error)))
        else:
            return


def _require_values(case: Mapping[str, Any]) -> None:
    """Raise ``LeftOutError`` if only the form of the result is compared, although each function alone has values."""
    if case["kind"] != "value":
        raise LeftOutError("not deterministic", "its values differ from run to run")


def _require_convertible(subject: PairSubject, sample: Sample, pack: PackWriter) -> None:
    """Raise ``LeftOutError`` if the second function converts a float to an integer type that cannot represent it.

    The gate checks only conversions of the arrays of a call. Here the converted array is the result of the first
    function.
    """
    device = subject.device
    arrays = _arrays_of(subject, sample, pack)
    first_result = subject.first_result(sample.call, arrays)
    (first,) = leaves(device.to_host(first_result))
    results = leaves(device.to_host(subject.second_result(sample.call, arrays, first_result)))
    dtypes = {result.dtype for result in results if result.values.dtype.kind in "iu"}
    if first.values.dtype.kind != "f" or all(conversion.holds(dtype, first.values) for dtype in dtypes):
        return
    probe = conversion.probe(first.values)
    (on_device,) = device.to_device([probe], first.dtype)
    probe_results = leaves(device.to_host(subject.second_result(sample.call, arrays, on_device)))
    if any(
        result.values.shape == probe.shape and conversion.is_converted(probe, result.values) for result in probe_results
    ):
        raise LeftOutError("not determined", "its integer type does not hold a number that it converts")


def _arrays_of(subject: PairSubject, sample: Sample, pack: PackWriter) -> Sequence[Any]:
    """Copy the arrays of a sample to the host device."""
    values = rounded([pack.array(digest) for digest in sample.arrays], sample.dtype)
    arrays: Sequence[Any] = subject.device.to_device(values, sample.dtype)
    return arrays
