"""The options of a case: told from what it holds, valid as a message, and bounded."""

from __future__ import annotations

import json
import tempfile
from typing import Any

import numpy as np
import pytest

from protocol.catalogue import CaseOptions
from protocol.option_limits import MAX_CALLS, MAX_KEYWORDS, MAX_VALUE
from runners.jax.suites import library as of_jax
from runners.suite.cases import Case, Function
from runners.suite.examples import Example, Statement
from runners.suite.frozen_example import FrozenExample
from runners.suite.options import SeenCall, is_member, options_of, recorded_options
from runners.tensorflow.suites import docs as of_tensorflow
from runners.torch.suites import library as of_torch
from tests.unit.runners.suite.toy_examples import ToyDialect

FROZEN: dict[str, Case] = {
    f"{module.__name__.split('.')[1]} {case.id}": case
    for module in (of_torch, of_jax, of_tensorflow)
    for function in module.FUNCTIONS
    for case in function.cases
}


def by_hand(*arguments: Any, dtype: str = "float32", prepare: Any = None, **keywords: Any) -> Case:
    function = Function("torch.sum")
    function.value(
        "0", lambda inputs: list(arguments), dtype=dtype, reference=lambda *values: 0, prepare=prepare, **keywords
    )
    return function.cases[0]


def seen_call(*arguments: Any, of_first: bool = False, **keywords: Any) -> SeenCall:
    return SeenCall(arguments, keywords, of_first)


def test_calls_that_were_seen_are_written_once_each_by_their_arrays() -> None:
    x, places = np.ones((2, 3), "float32"), np.arange(4)
    calls = [seen_call(x, places, axis=0), seen_call(x + 1, places, axis=0), seen_call(x, out=[x])]
    options = recorded_options(by_hand(), calls)
    assert options == {
        "dtypes": ["float32", "int64"],
        "calls": [
            {"positional": 2, "keywords": {"axis": 0}},
            {"positional": 1, "keywords": {"out": [{"array": "float32", "shape": [2, 3]}]}},
        ],
    }
    CaseOptions.model_validate(options)


def test_an_object_is_the_receiver_of_its_own_method_alone() -> None:
    array = np.ones(3, "float16")
    receiver = {"array": "float16", "shape": [3]}
    for call, expected_call in (
        (seen_call(array, 0, of_first=True), {"positional": 1, "arguments": {"1": 0}, "receiver": receiver}),
        (seen_call(object(), array, of_first=True), {"positional": 1}),
        (seen_call(array, 0), {"positional": 2, "arguments": {"2": 0}}),
    ):
        options = recorded_options(by_hand(), [call])
        assert options == {"dtypes": ["float16"], "calls": [expected_call]}


def test_a_place_of_the_machine_is_not_recorded_and_calls_beyond_the_limit_are_said_to_be() -> None:
    place = f"file://{tempfile.gettempdir()}/printed"
    assert recorded_options(by_hand(), [seen_call(to=place)])["calls"][0]["keywords"] == {"to": {"object": "str"}}
    many = recorded_options(by_hand(), [seen_call(n=number) for number in range(MAX_CALLS + 1)])
    assert len(many["calls"]) == MAX_CALLS
    assert many["shortened"] is True


def test_recorded_options_are_those_of_a_case_whose_calls_only_its_code_knows() -> None:
    kept_options = {"dtypes": ["int64"], "calls": [{"positional": 3}]}
    own = by_hand(np.ones(3), prepare=lambda context, x: lambda: context.function(x))
    assert options_of(own, kept_options) == {"kind": "value", **kept_options}
    plain = by_hand(np.ones(3))
    assert options_of(plain, kept_options) == options_of(plain)


def example(function: str, *statements: str) -> list[dict[str, Any]]:
    """The calls of a function in an example."""
    charted_function = Function(function)
    numbered_statements = tuple(Statement(place, source) for place, source in enumerate(statements, start=1))
    prepare = FrozenExample(Example(function, numbered_statements, ()).written(), ToyDialect())
    charted_function.behaviour("example", lambda inputs: [], lambda result: None, prepare=prepare)
    options = options_of(charted_function.cases[0])
    assert "dtypes" not in options
    calls: list[dict[str, Any]] = options["calls"]
    return calls


def test_a_case_by_hand_says_its_arguments_as_the_device_has_them() -> None:
    case = by_hand(np.ones((2, 3)), np.arange(4), 5, dtype="float16", axis=-1, out=np.ones(()), by=np.tanh)
    assert options_of(case) == {
        "kind": "value",
        "dtypes": ["float16", "int64"],
        "calls": [
            {
                "positional": 3,
                "arguments": {"3": 5},
                "keywords": {"axis": -1, "out": {"array": "float16", "shape": []}, "by": {"object": "numpy.tanh"}},
            }
        ],
    }


@pytest.mark.parametrize("texts", [np.array([b"one", b"four"]), np.array(["one", "four"]), np.array(b"one")])
def test_texts_are_strings_on_the_device_however_long_they_are(texts: np.ndarray[Any, Any]) -> None:
    assert options_of(by_hand(texts))["dtypes"] == ["string"]


def test_a_case_whose_call_is_its_authors_own_says_its_dtype_alone() -> None:
    assert options_of(by_hand(np.ones(3), prepare=lambda context, x: lambda: context.function(x))) == {
        "kind": "value",
        "dtypes": ["float32"],
    }


def test_a_mistake_in_its_inputs_is_not_the_catalogues() -> None:
    function = Function("torch.sum")
    function.value("0", lambda inputs: [1 // 0], reference=lambda x: x)
    assert options_of(function.cases[0]) == {"kind": "value", "dtypes": ["float32"]}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            "torch torch.Tensor.std/float32-0-strided",
            {
                "kind": "value",
                "dtypes": ["float32"],
                "calls": [{"positional": 0, "receiver": {"array": "float32", "shape": [5, 5, 5]}}],
            },
        ),
        (
            "torch torch.gradient/float32-3",
            {
                "kind": "value",
                "dtypes": ["float32"],
                "calls": [{"positional": 1, "keywords": {"dim": None, "spacing": [2.0, 2.1], "edge_order": 1}}],
            },
        ),
        (
            "jax jax.random.beta/float32-1",
            {
                "kind": "behaviour",
                "dtypes": ["float32", "uint32"],
                "calls": [{"positional": 3, "keywords": {"shape": [0, 3]}}],
            },
        ),
    ],
)
def test_a_frozen_case_says_its_call(name: str, options: dict[str, Any]) -> None:
    assert options_of(FROZEN[name]) == options


def test_the_options_of_every_frozen_case_are_a_valid_message_and_small() -> None:
    messages = [CaseOptions.model_validate(options_of(case)) for case in FROZEN.values()]
    sizes = [len(options.model_dump_json(exclude_unset=True)) for options in messages]
    assert max(sizes) < 2_500
    assert sum(sizes) / len(sizes) < 150


def test_an_example_says_its_calls_by_name() -> None:
    assert example(
        "torch.sum",
        "from torch import sum as total",
        "x = torch.ones(2, 3)",
        "torch.sum(x, dim=0)",
        "print(torch.sum(x, x.shape[0], keepdim=bool(x)))",
        "x.sum(0)",
        "np.sum(x)",
        "sum([1, 2])",
        "torch.sum(*x)",
        "torch.sum(x, **dict(dim=0))",
    ) == [
        {"positional": 1, "keywords": {"dim": 0}},
        {"positional": 2, "keywords": {"keepdim": {"expression": "bool(x)"}}},
    ]


def test_an_example_of_a_method_says_its_arguments_after_the_receiver() -> None:
    calls = example("torch.Tensor.sum", "x = torch.ones(2)", "x.sum()", "torch.ones(3).sum(0, True)", "sum(x)")
    assert calls == [{"positional": 0}, {"positional": 2, "arguments": {"1": 0, "2": True}}]


def test_an_example_of_a_name_that_it_imports_or_finds_says_its_calls() -> None:
    assert example("torch.sum", "from torch import sum", "sum(x)") == [{"positional": 1}]
    assert example("torch.nn.utils.weight_norm", "weight_norm(nn.Linear(2, 3), name='weight')") == [
        {"positional": 1, "keywords": {"name": "weight"}}
    ]
    assert example("torch.norm", "def norm(x):\n    return x", "norm(1)") == []


def test_plain_values_of_positional_arguments_are_listed_by_number_and_others_are_not() -> None:
    case = by_hand(np.ones(3), (3, 3), None, "mean", [1, "same"], (1, np.ones(2)), np.float32(2), "x" * 500, 2.5)
    (call,) = options_of(case)["calls"]
    assert call == {"positional": 9, "arguments": {"2": [3, 3], "3": None, "4": "mean", "5": [1, "same"], "9": 2.5}}


def test_what_is_too_long_or_too_many_is_cut_and_says_so() -> None:
    options = options_of(by_hand(axis="x" * 500))
    (call,) = options["calls"]
    assert call["keywords"]["axis"]["shortened"].startswith('"xxx')
    assert len(json.dumps(call["keywords"]["axis"])) <= MAX_VALUE
    many = options_of(by_hand(**{f"k{number}": number for number in range(MAX_KEYWORDS + 1)}))
    assert len(many["calls"][0]["keywords"]) == MAX_KEYWORDS
    assert options["shortened"]
    assert many["shortened"]
    assert len(example("torch.sum", *["torch.sum(x)"] * (MAX_CALLS + 1))) == MAX_CALLS
    for cut_options in (options, many):
        CaseOptions.model_validate(cut_options)


@pytest.mark.parametrize("text", ["\0", "\ud800", '"' * 200])
def test_a_value_that_no_message_can_hold_is_written_otherwise(text: str) -> None:
    CaseOptions.model_validate_json(json.dumps(options_of(by_hand(axis=text))))


def test_a_member_is_told_by_the_capital_of_its_class() -> None:
    names = ("torch.Tensor.std", "jax.Array.at", "torch.std", "torch.nn.Linear", "Math")
    assert [is_member(name) for name in names] == [True, True, False, False, False]
