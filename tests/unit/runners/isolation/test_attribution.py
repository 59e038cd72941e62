"""An accusation is dropped where another line of the example, or the nature of the result, is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protocol.enums import Ending, Placement, TimingPolicy, Unproven, Verdict
from runners.isolation.attribution import attribute, is_of_host
from runners.isolation.harness import FreeTimingLock, run_case
from runners.isolation.observations import Observation, ObservedProof
from runners.suite.cases import Case, Function
from runners.suite.checks import Leaf
from runners.suite.device import Device
from runners.suite.examples import Example, Statement
from runners.suite.frozen import FrozenForm
from runners.suite.frozen_example import FrozenExample
from runners.suite.trees import mapped
from tests.unit.runners.isolation.plain_device import PlainDevice
from tests.unit.runners.suite.toy_examples import ToyDialect


class Array:
    """An array that lies on a device."""

    def __init__(self, values: Any, device: str) -> None:
        self.values = np.asarray(values, np.float32)
        self.device = device
        self.layout = [0 if device == "cpu" else 1]

    def __add__(self, other: float) -> Array:
        return Array(self.values + (other + 1 if self.device == "npu:0" else other), self.device)


class Holder:
    """An object that holds an array."""

    def __init__(self, array: Array) -> None:
        self.array, self.uses = array, 0


class BrokenDialect(ToyDialect):
    """A framework of which some functions are broken on every device but the host."""

    def names(self, device: Any) -> Mapping[str, Any]:
        is_host = device == "cpu"

        def total(array: Any) -> Array:
            """The function: it takes three numbers."""
            if isinstance(array, Holder):
                array = array.array
            if array.values.shape != (3,):
                raise ValueError(f"three numbers, not {array.values.size}")
            return Array(array.values.sum(keepdims=True), array.device)

        def unreadable() -> Array:
            array = Array([1, 2, 3], device)
            if not is_host:
                array.values = None
            return array

        def chance() -> Array:
            return Array(np.random.default_rng(None if is_host else 7).random(3), device)

        def refuses(array: Array) -> Array:
            if not is_host:
                raise NotImplementedError("no such kernel")
            return array

        return {
            "total": total,
            "refuses": refuses,
            "changed": lambda array: refuses(array).values.fill(0),
            "doubled": lambda array: Array(array.values * (2 if is_host else 3), device),
            "Holder": Holder,
            "three": lambda: Array([1, 2, 3] if is_host else [1, 2, 3, 4], device),
            "other": lambda: Array([1, 2, 3] if is_host else [1, 2, 4], device),
            "right": lambda: Array([1, 2, 3], device),
            "on_host": lambda: Array([1, 2, 3], "cpu"),
            "plus": lambda array, other: other + 1,
            "unreadable": unreadable,
            "chance": chance,
        }

    def is_array(self, value: Any) -> bool:
        return isinstance(value, Array)


class BrokenDevice(PlainDevice):
    """The host, or a device of the broken framework."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.is_host = name == "cpu"

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda array: Leaf(array.values, "float32", array.device), Array)

    def lookup(self, name: str) -> Any:
        return None

    def host(self) -> Device:
        return device("cpu")


def device(name: str) -> Device:
    return BrokenDevice(name)  # type: ignore[return-value]


def case_of(*sources: str, name: str = "arrays.total", form: str = "", **expected: Any) -> Case:
    statements = tuple(Statement(place, source) for place, source in enumerate(sources, 1))
    labels = tuple(expected)
    prepare = FrozenExample(Example(name, statements, labels).written(), BrokenDialect())
    function = Function(name)
    if form:
        function.behaviour("example", lambda inputs: [], FrozenForm(form), prepare=prepare)
    else:
        values = {label: np.asarray(value, np.float32) for label, value in expected.items()}
        function.value("example", lambda inputs: [], prepare=prepare, reference=lambda: values)
    return function.cases[0]


def observe(case: Case) -> Observation:
    return run_case(device("npu:0"), case, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)


def attribute_failure_of(*sources: str, **options: Any) -> Observation:
    case = case_of(*sources, **options)
    observation = observe(case)
    assert observation.verdict is Verdict.failed
    return attribute(device("npu:0"), case, observation)


@pytest.mark.parametrize(("sources", "difference"), [
    (["x = three()", "total(x)"], r"x in statement 2: float32 \[4\] instead of float32 \[3\]"),
    (["total(three())"], r"three\(\) in statement 1: float32 \[4\] instead of float32 \[3\]"),
    (["x = unreadable()", "total(x)"], r"x in statement 2 cannot be read \(AttributeError: .*\)"),
    (["x = other()", "total(x)"], r"x in statement 2: 1 of 3 values differ, .* expected 3.0, got 4.0"),
    (["h = Holder(three())", "total(h)"], r"h in statement 2, array: float32 \[4\]"),
    (["x, n = (right(), other()), 1", "total(x[1])"], r"x in statement 2\[1\]: 1 of 3 values differ"),
])  # fmt: skip
def test_a_function_that_got_another_input_than_on_the_host_is_not_judged(
    sources: Sequence[str], difference: str
) -> None:
    observation = attribute_failure_of(*sources, **{str(len(sources)): [6]})
    assert (observation.verdict, observation.ending) == (Verdict.skipped, Ending.not_applicable)
    assert observation.evidence is not None
    assert_matches(difference, observation.evidence.reason)


def assert_matches(pattern: str, text: str | None) -> None:
    with pytest.raises(LookupError, match=f"an input of the function is not as on the host: ({pattern})"):
        raise LookupError(text)


@pytest.mark.parametrize("sources", [
    ["x = right()", "refuses(x)"],
    ["refuses(right())"],
    ["x = right()", "y = other()", "refuses(x)"],
    # Random numbers are others on every device, and only their form is compared.
    ["x = chance()", "refuses(x)"],
    # The host's copy of an array shares its memory with what a later line changes.
    ["x = right()", "refuses(x) if x.device != 'cpu' else changed(x)"],
])  # fmt: skip
def test_a_function_that_got_the_same_inputs_stays_accused(sources: Sequence[str]) -> None:
    observation = attribute_failure_of(*sources, name="arrays.refuses", **{str(len(sources)): [1, 2, 3]})
    assert (observation.verdict, observation.ending) == (Verdict.failed, Ending.raised)


def test_an_error_that_depends_on_the_form_of_random_numbers_alone_is_the_functions() -> None:
    form = '{"mapping":[["2",{"mapping":[["dtype","float32"],["shape",[3]]]}]]}'
    observation = attribute_failure_of("x = chance()", "refuses(x)", name="arrays.refuses", form=form, **{"2": None})
    assert observation.ending is Ending.raised


def test_a_wrong_value_that_is_computed_of_a_right_result_is_not_the_functions() -> None:
    observation = attribute_failure_of("total(right()) + 1", **{"1": [7]})
    assert observation.ending is Ending.not_applicable
    # What the same expression computes before the call changes nothing of that.
    assert attribute_failure_of("plus(right(), total(right()))", **{"1": [7]}).ending is Ending.not_applicable
    assert observation.evidence is not None
    assert observation.evidence.reason == (
        "the function's results are as on the host, and what the example computes of them is wrong: 1"
    )


def test_a_wrong_result_of_the_function_stays_its_own_whatever_is_computed_of_it() -> None:
    for source in ("doubled(right())", "doubled(right()) + 1"):
        observation = attribute_failure_of(source, name="arrays.doubled", **{"1": [2, 4, 6]})
        assert (observation.verdict, observation.ending) == (Verdict.failed, Ending.mismatched)


def test_a_wrong_number_that_a_right_result_is_asked_for_stays_the_functions() -> None:
    observation = attribute_failure_of("total(right()).layout", **{"1": [9]})
    assert (observation.verdict, observation.ending) == (Verdict.failed, Ending.mismatched)


def fell_back(case: Case, *fallbacks: str, executions: int = 1) -> Observation:
    observation = observe(case)
    proof = ObservedProof(["npu:0"], dict.fromkeys(fallbacks, 1), executions)
    return attribute(device("npu:0"), case, replace(observation, placement=Placement.fell_back, proof=proof))


def test_a_fallback_on_an_input_that_an_earlier_line_left_on_the_host_is_not_the_functions() -> None:
    observation = fell_back(case_of("x = on_host()", "total(x)", **{"2": [6]}), "total (host arrays)")
    assert (observation.verdict, observation.placement) == (Verdict.skipped, Placement.unknown)
    assert observation.evidence is not None
    assert observation.evidence.reason == (
        "an input of the function is on cpu, because another line put it there: x in statement 2"
    )
    observation = fell_back(case_of("x = right()", "total(x)", **{"2": [6]}), "total (host arrays)")
    assert (observation.verdict, observation.placement) == (Verdict.passed, Placement.fell_back)


@pytest.mark.parametrize("fallbacks", [(), ("fill (host arrays)",)])
def test_a_function_that_takes_no_array_and_makes_its_own_on_the_host_asked_nothing_of_the_device(
    fallbacks: tuple[str, ...],
) -> None:
    case = case_of("on_host()", name="arrays.on_host", **{"1": [1, 2, 3]})
    observation = fell_back(case, *fallbacks, executions=0)
    assert (observation.verdict, observation.placement) == (Verdict.skipped, Placement.unknown)
    assert observation.evidence is not None
    assert "the function takes no array here" in (observation.evidence.reason or "")
    # What the device had to pass on to the host was asked of it, and so was what it did with an array of its own.
    assert fell_back(case, *fallbacks, "fill", executions=0).placement is Placement.fell_back
    taking = case_of("x = right()", "total(x)", **{"2": [6]})
    assert fell_back(taking, *fallbacks, executions=0).placement is Placement.fell_back


def reads(values: Any) -> Case:
    function = Function("arrays.read", reference=lambda: values)
    function.value("plain", lambda inputs: [], prepare=lambda context: lambda: values)
    return function.cases[0]


def test_a_read_for_a_result_that_is_on_the_host_by_its_nature_is_no_fallback() -> None:
    for values in (np.ones(3, np.float32), [1.0, 2.0], "text"):
        observation = fell_back(reads(values), "host read by Array.numpy")
        assert (observation.placement, observation.proof.unproven) == (Placement.unknown, Unproven.result_on_host)
        # An operation that ran on the host is a fallback whatever it returns.
        assert fell_back(reads(values), "host read by Array.numpy", "sort").placement is Placement.fell_back
    assert fell_back(reads(2.0), "host read by Array.numpy").placement is Placement.fell_back


@pytest.mark.parametrize(("result", "expected"), [
    (Leaf(np.ones(2), "float32", "host"), True),
    ([Leaf(np.ones(2), "float32", "host"), Leaf(np.ones(2), "float32", "cpu")], False),
    (np.float32(1), True),
    ("text", True),
    ([1, 2], True),
    (1.5, False),
    (None, False),
])  # fmt: skip
def test_a_result_is_of_the_host_without_an_array_of_the_framework(result: Any, expected: bool) -> None:
    assert is_of_host(result) is expected
