"""The gate leaves out what no device determines: conversions, domains and places, and what hangs on the processor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

import numpy as np
import pytest

from freezing.common import conversion, domain, processor
from freezing.common.agreement import Reference
from freezing.common.collision import collide
from freezing.common.gate import Arguments, GatedFunction, SampleGate
from freezing.common.samples import Sample
from freezing.common.variants import TAILS
from runners.suite.checks import Leaf, Tolerance
from runners.suite.device import Device
from runners.suite.frozen import PackWriter

Array = np.ndarray[Any, Any]


class Host:
    """A device whose arrays are NumPy's."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        return tree

    def to_host(self, tree: Any) -> Any:
        return Leaf(tree, str(tree.dtype), "cpu") if isinstance(tree, np.ndarray) else tree

    def seed(self, seed: int) -> None:
        pass


class Called(GatedFunction):
    """A function of one array, which is its own reference."""

    def __init__(self, call: Callable[[Array], Array]) -> None:
        super().__init__("one.two", call, cast(Device, Host()))

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return list(arrays), {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [self.call(*fresh()[0])]


def to_bytes(values: Array) -> Array:
    """A conversion whose results beyond the type are this machine's."""
    return np.nan_to_num(values).astype(np.int64).astype(np.uint8)


def ranks(values: Array) -> Array:
    return np.argsort(np.argsort(values))


def reasons_left_out(call: Callable[[Array], Array], *values: float) -> list[tuple[str, str, str]]:
    """The reasons for which the gate leaves out the call with these values."""
    pack = PackWriter()
    digest = pack.add(np.array(values, np.float32), "float32")
    gate = SampleGate(Called(call), pack)
    gate.admit([Sample("float32-0", "float32", "{}", (digest,), ("plain",), len(values))], 1)
    assert len(gate.cases) == (0 if gate.left_out else 1)
    return gate.left_out


@pytest.mark.parametrize("values", [(1e10, 2.0), (256.0,), (-1.0, 3.0), (math.nan, 3.0), (1e10,)])
def test_a_number_that_the_integer_type_does_not_hold_makes_no_case(values: Sequence[float]) -> None:
    why = "its integer type does not hold a number that it converts"
    assert reasons_left_out(to_bytes, *values) == [("float32-0", "not determined", why)]


@pytest.mark.parametrize("values", [(0.0, 255.9), (-0.9, 3.0), ()])
def test_a_conversion_of_numbers_that_the_type_holds_makes_a_case(values: Sequence[float]) -> None:
    assert reasons_left_out(to_bytes, *values) == []


def test_whole_numbers_that_are_no_conversion_make_a_case_of_any_numbers() -> None:
    assert reasons_left_out(ranks, 1e30, -1e30, 2.0) == []
    assert reasons_left_out(ranks, 1e30) == []


@pytest.mark.parametrize(("dtype", "value", "is_held"), [
    ("int8", 127.9, True),
    ("int8", -128.9, True),
    ("int8", 128.0, False),
    ("int64", 2.0**62, True),
    ("int64", 2.0**63, False),
    ("int64", -(2.0**63), True),
    ("uint8", math.inf, False),
])  # fmt: skip
def test_what_an_integer_type_holds(dtype: str, value: float, is_held: bool) -> None:
    assert conversion.holds(dtype, np.array([value])) is is_held


@pytest.mark.parametrize(("numbers", "axes", "does_collide"), [
    ([[1.0, 2.0], [3.0, 4.0]], 1, False),
    ([[1.0, 2.0], [3.0, 4.0]], 2, True),
    ([[1.0, 2.0], [1.0, 2.0]], 2, False),
    (np.zeros((0, 2)), 1, False),
])  # fmt: skip
def test_values_collide_where_they_differ_and_share_a_place(numbers: Any, axes: int, does_collide: bool) -> None:
    values = np.array(numbers)
    places = np.broadcast_to([0, 1], values.shape)
    assert collide(values, places, axes) is does_collide


class Writing(Called):
    """A function that writes values to places."""

    written_axes = 1

    def __init__(self) -> None:
        super().__init__(lambda values: values)

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return list(arrays[:1]), {}


@pytest.mark.parametrize(("places", "reasons"), [((0, 1), []), ((1, 1), ["not determined"])])
def test_two_values_for_one_place_make_no_case(places: Sequence[int], reasons: Sequence[str]) -> None:
    pack = PackWriter()
    digests = (pack.add(np.array([2.0, 3.0], np.float32), "float32"), pack.add(np.array(places), "int64"))
    gate = SampleGate(Writing(), pack)
    gate.admit([Sample("float32-0", "float32", "{}", digests, ("plain",), 2)], 1)
    assert [reason for _, reason, _ in gate.left_out] == reasons


class Unsure(Called):
    """A function of which its framework shows that nothing determines its result."""

    def reason_undetermined(self, call: Callable[[], Any]) -> str | None:
        return f"its result is {call()}"


def test_what_only_the_framework_shows_makes_no_case_either() -> None:
    pack = PackWriter()
    digest = pack.add(np.array([2.0], np.float32), "float32")
    gate = SampleGate(Unsure(lambda values: values), pack)
    gate.admit([Sample("float32-0", "float32", "{}", (digest,), ("plain",), 1)], 1)
    assert gate.left_out == [("float32-0", "not determined", "its result is [2.]")]


class Named(Called):
    """A function of another name, with references of its own."""

    def __init__(self, name: str, call: Callable[..., Array], reference: Callable[..., Array]) -> None:
        super().__init__(call)
        self.name = name
        self._reference = reference

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [self._reference(*fresh()[0])]


def details_of(subject: GatedFunction, values: Sequence[float], kinds: tuple[str, ...] = ("plain",)) -> list[str]:
    """The details of the reasons for which the gate leaves out a call with these values."""
    pack = PackWriter()
    digest = pack.add(np.array(values, np.float32), "float32")
    gate = SampleGate(subject, pack)
    call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
    gate.admit([Sample("float32-0", "float32", call, (digest,), kinds, len(values))], 1)
    return [detail for _, _, detail in gate.left_out]


@pytest.mark.parametrize(("values", "details"), [([0.5], []), ([0.5, -1.0], [domain.OUTSIDE])])
def test_a_number_outside_of_the_domain_makes_no_case(values: Sequence[float], details: Sequence[str]) -> None:
    assert details_of(Named("special.lgamma", np.abs, np.abs), values) == details


@pytest.mark.parametrize(("factor", "details"), [(1 + 1e-6, []), (1 + 6e-6, [processor.TOO_FAR])])
def test_a_result_that_takes_more_than_a_fifth_of_its_tolerance_makes_no_case(
    factor: float, details: Sequence[str]
) -> None:
    subject = Named("one.scaled", lambda values: (values * factor).astype(np.float32), lambda values: values)
    assert details_of(subject, [1000.0]) == details


@pytest.mark.parametrize(("values", "kinds", "details"), [
    ([0.0, 2.0], ("plain", TAILS), [processor.BY_A_ZERO]),
    ([-0.0, 2.0], ("plain", TAILS), [processor.BY_A_ZERO]),
    ([0.0, 2.0], ("plain",), []),
    ([1.0, 2.0], ("plain", TAILS), []),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_result_far_out_that_hangs_on_the_sign_of_a_zero_makes_no_case(
    values: Sequence[float], kinds: tuple[str, ...], details: Sequence[str]
) -> None:
    assert details_of(Named("one.reciprocal", np.reciprocal, np.reciprocal), values, kinds) == details


def test_a_zero_that_only_stays_a_zero_makes_a_case() -> None:
    assert details_of(Named("one.negative", np.negative, np.negative), [0.0, 2.0], ("plain", TAILS)) == []


@pytest.mark.parametrize(("result", "expected", "share"), [
    ([1.0, 2.0], [1.0, 2.0], 0.0),
    ([1.0, 3.0], [1.0, 2.0], 1.0),
    ([math.nan, math.inf], [0.0, 1.0], 0.0),
    ([], [], 0.0),
])  # fmt: skip
def test_the_share_of_a_tolerance_is_of_finite_numbers(
    result: Sequence[float], expected: Sequence[float], share: float
) -> None:
    leaf = Leaf(np.array(result), "float64", "cpu")
    assert processor.share_of(Tolerance(0.0, 1.0), [leaf], [np.array(expected)]) == share
    assert processor.share_of(Tolerance(0.0, 0.0), [leaf], [np.array(expected)]) == (share and math.inf)


def mean(values: Array) -> Array:
    """A mean of whole numbers that is cut to one; of floats it is a fraction."""
    result = values.mean()
    return np.array(result if values.dtype.kind == "f" else int(result)).astype(values.dtype)


@pytest.mark.parametrize(("values", "reasons"), [
    ((1, 3), []),
    ((1, 2), [("int32-0", "not determined", conversion.FRACTION)]),
])  # fmt: skip
def test_a_whole_number_that_stands_for_a_fraction_makes_no_case(
    values: Sequence[int], reasons: list[tuple[str, str, str]]
) -> None:
    pack = PackWriter()
    digest = pack.add(np.array(values, np.int32), "int32")
    gate = SampleGate(Called(mean), pack)
    gate.admit([Sample("int32-0", "int32", "{}", (digest,), ("plain",), len(values))], 1)
    assert gate.left_out == reasons


class ElsewhereOtherwise(Called):
    """A function whose result on another processor is multiplied by a factor."""

    def __init__(self, factor: float) -> None:
        self._factor = 1.0
        self._factor_elsewhere = factor
        super().__init__(lambda values: (values * self._factor).astype(np.float32))

    def other_processors(self) -> Sequence[AbstractContextManager[None]]:
        return nullcontext(), self._elsewhere()

    @contextmanager
    def _elsewhere(self) -> Iterator[None]:
        self._factor = self._factor_elsewhere
        yield
        self._factor = 1.0


@pytest.mark.parametrize(("factor", "is_case"), [(1.0, True), (1 + 1e-6, True), (1 + 1e-5, False), (math.inf, False)])
def test_what_another_processor_computes_otherwise_makes_no_case(factor: float, is_case: bool) -> None:
    pack = PackWriter()
    digest = pack.add(np.array([2.0, 3.0], np.float32), "float32")
    gate = SampleGate(ElsewhereOtherwise(factor), pack)
    gate.admit([Sample("float32-0", "float32", "{}", (digest,), ("plain",), 2)], 1)
    expected_reasons = [] if is_case else [("float32-0", "not determined", processor.ELSEWHERE)]
    assert gate.left_out == expected_reasons
