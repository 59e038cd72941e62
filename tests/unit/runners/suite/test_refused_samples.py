"""The gate admits a call that the CPU refuses because of its arguments, and says of any other that it does not."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest

from freezing.common.agreement import Reference
from freezing.common.gate import ACCEPTED, ENOUGH, Arguments, GatedFunction, SampleGate
from freezing.common.samples import Sample
from freezing.common.variants import OVERLAPPING_WRITE
from protocol.enums import DOCUMENTED_PER_DEVICE, REFUSES
from runners.suite.device import Device
from runners.suite.frozen import PackWriter


def documented() -> None:
    """An index out of range is an error on the CPU. A GPU stores 0."""


class Host:
    """A device whose arrays are the host's own."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        return tree

    def to_host(self, tree: Any) -> Any:
        return tree

    def seed(self, seed: int) -> None:
        pass

    def lookup(self, name: str) -> Any:
        return documented


class Called(GatedFunction):
    """Any function of no arguments."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__("one.two", call, cast(Device, Host()))

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return (), {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        return iter(())


SAMPLES = [Sample(f"float32-{number}-index-far", "float32", "{}", (), ("plain", REFUSES), 0) for number in range(2)]


OVERLAPPING = Sample(f"float32-0-{OVERLAPPING_WRITE}", "float32", "{}", (), ("strided", REFUSES), 0)


def raising(*errors: type[Exception] | None) -> Callable[[], Any]:
    """A function that ends in each of these ways in turn."""
    ends = itertools.cycle(errors)

    def call() -> int:
        error = next(ends)
        if error is not None:
            raise error("index 9 of 3")
        return 1

    return call


def test_a_refused_call_becomes_a_case_with_the_name_of_its_error() -> None:
    gate = SampleGate(Called(raising(IndexError)), PackWriter())
    assert gate.admit_refused(SAMPLES, 1) == 1
    (case,) = gate.cases
    assert (case["kind"], case["refuses"]) == ("behaviour", "IndexError")
    assert case["tags"] == ["plain", REFUSES, DOCUMENTED_PER_DEVICE]
    assert gate.left_out == [("float32-1-index-far", ENOUGH, "")]


@pytest.mark.parametrize("errors", [
    (None,),
    (TypeError,),
    (NotImplementedError,),
    (MemoryError,),
    (IndexError, ValueError),
    (IndexError, None),
])  # fmt: skip
def test_what_is_not_always_refused_for_its_arguments_is_left_out(errors: Sequence[type[Exception] | None]) -> None:
    gate = SampleGate(Called(raising(*errors)), PackWriter())
    assert gate.admit_refused(SAMPLES[:1], 1) == 0
    assert gate.cases == []
    assert gate.left_out == [("float32-0-index-far", ACCEPTED, "")]


@pytest.mark.parametrize(
    ("message", "admitted"),
    [("more than one element of the written-to tensor refers to a single memory location", 1), ("out of bounds", 0)],
)
def test_a_write_through_a_view_is_a_case_if_it_is_refused_for_what_it_writes(message: str, admitted: int) -> None:
    def call() -> None:
        raise RuntimeError(message)

    gate = SampleGate(Called(call), PackWriter())
    assert gate.admit_refused([OVERLAPPING], 1) == admitted
