"""A failure is repeated elsewhere to explain it; that repetition can change nothing but the explanation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from protocol.enums import DOCUMENTED_PER_DEVICE, Ending, Kernels, Repetition, TimingPolicy, Verdict
from runners.isolation.explanation import add_explanation, explanations, in_single
from runners.isolation.harness import LEFT_TO_THE_DEVICE, FreeTimingLock, run_case
from runners.isolation.likeness import are_alike
from runners.isolation.observations import LINE_LIMIT, MAX_DTYPES, Observation, ObservedEvidence
from runners.suite.cases import Case, Context, Function
from runners.suite.checks import Leaf, require_refusal
from runners.suite.device import Description, Device, Operation
from runners.suite.trees import mapped
from tests.unit.runners.isolation.plain_device import PlainDevice


class Arrays(PlainDevice):
    """NumPy as a device that can do what it is given."""

    is_host = False

    def __init__(self, name: str, function: Callable[..., Any], operation: Any = None) -> None:
        super().__init__(name)
        self._function = function
        self._operation = operation

    def describe(self) -> Description:
        raise NotImplementedError

    def to_device(self, tree: Any, dtype: str) -> Any:
        return [leaf.astype(dtype) if leaf.dtype.kind == "f" else leaf for leaf in tree]

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda leaf: Leaf(leaf, str(leaf.dtype), self.name), np.ndarray)

    def lookup(self, name: str) -> Callable[..., Any]:
        return self._function

    def host(self) -> Device | None:
        return HOST

    def failing(self, call: Callable[[], object]) -> Operation | None:
        if isinstance(self._operation, BaseException):
            raise self._operation
        with pytest.raises((TypeError, AssertionError)):
            call()
        return self._operation  # type: ignore[no-any-return]


HOST = Arrays("host", np.negative)


def case(dtype: str = "float64", **options: Any) -> Case:
    function = Function("arrays.negative", reference=np.negative, **options)
    arguments: Any = (lambda inputs: [inputs.normal(8)]) if "float" in dtype else (lambda inputs: [inputs.integers(8)])
    function.value("plain", arguments, dtype=dtype)
    return function.cases[0]


def refuses_double(array: Any) -> Any:
    if array.dtype != np.float32:
        raise TypeError(f"npu:0 takes no {array.dtype}")
    return -array


def observe(device: Device, of: Case) -> Observation:
    return run_case(device, of, TimingPolicy.off, FreeTimingLock(), position=0, init_ms=0.0)


def evidence(device: Arrays, of: Case) -> ObservedEvidence:
    explanation = add_explanation(device, of, observe(device, of)).evidence
    assert explanation is not None
    return explanation


def test_a_failure_is_explained_by_its_operation_and_by_what_the_same_call_does_elsewhere() -> None:
    operation = Operation("neg", ("float64",), Kernels.other_dtypes, ("float32",))
    explanation = evidence(Arrays("npu:0", refuses_double, operation), case())
    assert (explanation.exception, explanation.message) == ("builtins.TypeError", "npu:0 takes no float64")
    assert (explanation.operation, explanation.dtypes) == ("neg", ["float64"])
    assert (explanation.kernels, explanation.kernel_dtypes) == (Kernels.other_dtypes, ["float32"])
    assert (explanation.on_host, explanation.in_float32) == (Repetition.passed, Repetition.passed)


def test_a_function_that_touches_no_device_is_repeated_elsewhere_too() -> None:
    of = replace(case(), host_only="text")
    assert evidence(Arrays("npu:0", refuses_double), of).on_host is Repetition.passed


def test_an_explanation_is_complete_step_by_step_and_begins_with_a_graph() -> None:
    device = Arrays("npu:0", refuses_double, Operation("neg"))
    device.graph = lambda: Arrays("cpu", refuses_double)  # type: ignore[attr-defined]
    steps = [step.evidence for step in explanations(device, case(), observe(device, case()))]
    assert {step.in_graph for step in steps if step is not None} == {Repetition.failed_alike}
    assert [(step.on_host, step.operation, step.in_float32) for step in steps if step is not None] == [
        (None, None, None),
        (Repetition.passed, None, None),
        (Repetition.passed, "neg", None),
        (Repetition.passed, "neg", Repetition.passed),
    ]


def test_a_wrong_result_that_the_host_has_too_is_the_same_failure() -> None:
    explanation = evidence(Arrays("npu:0", np.abs), case())
    assert (explanation.on_host, explanation.in_float32) == (Repetition.passed, Repetition.failed_otherwise)
    HOST._function = np.abs
    try:
        assert evidence(Arrays("npu:0", np.abs), case()).on_host is Repetition.failed_alike
    finally:
        HOST._function = np.negative


def test_what_the_host_refuses_in_a_graph_alone_is_told_apart() -> None:
    class Compiled(Arrays):
        def graph(self) -> Device:
            return Arrays("cpu", refuses_double)

    explanation = evidence(Compiled("npu:0", refuses_double), case())
    assert (explanation.on_host, explanation.in_graph) == (Repetition.passed, Repetition.failed_alike)
    assert evidence(Arrays("npu:0", refuses_double), case()).in_graph is None, "nothing compiles its calls"
    HOST._function = refuses_double
    try:
        assert evidence(Compiled("npu:0", refuses_double), case()).in_graph is None, "the host tells enough"
    finally:
        HOST._function = np.negative


@pytest.mark.parametrize("exception", [RuntimeError("odd"), SystemExit(3), KeyboardInterrupt()])
def test_a_repetition_that_raises_leaves_its_part_of_the_evidence_empty(exception: BaseException) -> None:
    explanation = evidence(Arrays("npu:0", refuses_double, exception), case())
    assert (explanation.operation, explanation.kernels) == (None, None)
    assert (explanation.message, explanation.on_host) == ("npu:0 takes no float64", Repetition.passed)


def test_what_a_framework_names_is_cut_to_size() -> None:
    operation = Operation("n\0" * 9_999, ("float64",) * 999, None, ("x" * 9_999,))
    explanation = evidence(Arrays("npu:0", refuses_double, operation), case())
    assert explanation.operation is not None
    assert (len(explanation.operation), len(explanation.dtypes)) == (LINE_LIMIT, MAX_DTYPES)
    assert "\0" not in explanation.operation
    assert len(explanation.kernel_dtypes[0]) == LINE_LIMIT


def test_the_host_is_not_set_against_itself() -> None:
    class Host(Arrays):
        is_host = True

    assert evidence(Host("cpu", refuses_double), case()).on_host is None


def test_a_device_that_explains_nothing_loses_nothing() -> None:
    class Plain(Arrays):
        host = failing = None  # type: ignore[assignment]

    explanation = evidence(Plain("npu:0", refuses_double), case())
    assert (explanation.operation, explanation.on_host, explanation.in_float32) == (None, None, Repetition.passed)


@pytest.mark.parametrize("ending", sorted(set(Ending) - {Ending.raised, Ending.mismatched, Ending.accepted}))
def test_only_failures_of_a_living_process_are_repeated(ending: Ending) -> None:
    device = Arrays("npu:0", lambda array: sys.exit("never called"))
    before = replace(observe(device, case()), ending=ending)
    assert add_explanation(device, case(), before) is before


@pytest.mark.parametrize(
    ("dtype", "single"), [("float32", None), ("bool", None), ("float16", "float32"), ("complex128", "complex64")]
)
def test_a_case_in_single_precision(dtype: str, single: str | None) -> None:
    single_case = in_single(replace(case(), dtype=dtype))
    assert (single_case and single_case.dtype) == single


def test_integers_of_the_cases_dtype_become_floating_and_others_stay() -> None:
    integral = replace(case(), dtype="int64", arguments=lambda inputs: [inputs.integers(3), np.array([1], np.int32), 2])
    single = in_single(integral)
    assert single is not None
    arguments = single.arguments(single.inputs())
    assert [getattr(value, "dtype", None) for value in arguments] == [np.float64, np.int32, None]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Input tensor on cuda:0 at 0x7f", "Input tensor on cpu at 0x3a", True),
        ("in user code:\n\n    TypeError: no list", "TypeError: no list", True),
        ("in user code:\n\n    File a, line 3\n        f()\n\n    TypeError: no B", "TypeError: no B", True),
        ("in user code:\n\n    File a\n\n    no B", "in user code:\n\n    File b, noted\n\n    no B", True),
        ("in user code:\n\n    File a\n\n    no B", "in user code:\n\n    File a\n\n    no C", False),
        ("no kernel of {{node a_1}} [Op:Add] name: ", "no kernel of {{node a_7}}", True),
        (
            "compile graph __inference_a_4[seed=19] on CPU: no B",
            "compile graph __inference_a_17[seed=3] on CPU: no B",
            True,
        ),
        ("compile graph e_true_2_const_0[] on CPU: no B", "compile graph e_true_10_const_0[] on CPU: no B", True),
        ("compile graph __inference_a_4[] on CPU: no B", "compile graph __inference_a_4[] on CPU: no C", False),
        (
            "{{node R}} = R[T=DT_HALF](Rank/38, R/axis)' with input shapes: []",
            "{{node R}} = R[T=DT_HALF](Rank/44, R/axis)' with input shapes: []",
            True,
        ),
        ("no B\nThe op is created at: \nFile a.py, line 3", "no B\nThe op is created at: \nFile b.py, line 4", True),
        ("Window goo.gle/debugproto  size: 0", "Window goo.gle/debugonly size: 0", True),
        ("no kernel for int8", "no kernel for int4", False),
        ("", "anything", False),
    ],
)
def test_failures_are_alike_but_for_names_of_devices_and_addresses(one: str, other: str, alike: bool) -> None:
    first, second = (ObservedEvidence(exception="builtins.TypeError", message=text) for text in (one, other))
    assert are_alike(first, second) is alike
    assert not are_alike(first, replace(second, exception="builtins.ValueError"))


def refusing_case(*, refuses: bool = True) -> Case:
    """One that expects a TypeError of its function, and observes what that raised."""

    def prepare(context: Context, array: Any) -> Callable[[], str | None]:
        def call() -> str | None:
            try:
                context.function(array)
            except (TypeError, ValueError) as error:
                return type(error).__name__
            return None

        return call

    def check(error: str | None, array: Any) -> None:
        require_refusal(error, "TypeError")

    function = Function("arrays.negative", prepare=prepare)
    function.behaviour("refused", lambda inputs: [inputs.normal(8)], check, dtype="float64", refuses=refuses)
    return function.cases[0]


@pytest.mark.parametrize(
    ("on_host", "repetition"),
    [(refuses_double, Repetition.passed), (np.negative, Repetition.failed_alike)],
)
def test_a_call_that_had_to_be_refused_and_was_not_is_accepted_and_repeated_on_the_host(
    monkeypatch: pytest.MonkeyPatch, on_host: Callable[..., Any], repetition: Repetition
) -> None:
    monkeypatch.setattr(HOST, "_function", on_host)
    device, of = Arrays("npu:0", np.negative), refusing_case()
    observation = add_explanation(device, of, observe(device, of))
    assert (observation.verdict, observation.ending) == (Verdict.failed, Ending.accepted)
    assert observation.evidence is not None
    assert observation.evidence.on_host is repetition
    assert observation.evidence.mismatch == "the call was accepted, and had to be refused"


def test_what_documentation_asks_of_the_cpu_alone_is_not_applicable_where_it_is_accepted() -> None:
    of = replace(refusing_case(), tags=(*refusing_case().tags, DOCUMENTED_PER_DEVICE))
    device = Arrays("npu:0", np.negative)
    observation = add_explanation(device, of, observe(device, of))
    assert (observation.verdict, observation.ending) == (Verdict.skipped, Ending.not_applicable)
    assert observation.evidence is not None
    assert observation.evidence.reason == LEFT_TO_THE_DEVICE


def test_a_device_that_refuses_what_only_the_cpu_has_to_passes() -> None:
    of = replace(refusing_case(), tags=(*refusing_case().tags, DOCUMENTED_PER_DEVICE))
    assert observe(Arrays("npu:0", refuses_double), of).ending is Ending.returned


def test_another_error_than_the_expected_one_is_no_acceptance() -> None:
    def raises_another(array: Any) -> Any:
        raise ValueError("full")

    observation = observe(Arrays("npu:0", raises_another), refusing_case())
    assert observation.ending is Ending.mismatched


def test_only_a_case_that_expects_a_refusal_can_end_as_accepted() -> None:
    assert observe(Arrays("npu:0", np.negative), refusing_case(refuses=False)).ending is Ending.mismatched
