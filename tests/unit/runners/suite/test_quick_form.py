"""The quick form: about half of a function's cases, the kinds of input first, then options that differ."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from freezing.common.deciding import BundleOutcomes, count
from freezing.common.kinds import LEAST_QUICK, mark_quick, plain_values
from runners.suite.cases import Function
from runners.suite.deciding import DECIDING, kind_of, quick_and_deciding
from runners.suite.frozen import QUICK


def case(name: str, *tags: str, **options: Any) -> dict[str, Any]:
    call = {"tuple": [[{"array": 0}], {"mapping": [[key, value] for key, value in options.items()]}]}
    return {"function": "add", "name": name, "tags": list(tags), "call": json.dumps(call)}


def quick(cases: list[dict[str, Any]]) -> list[str]:
    mark_quick(cases)
    return [marked_case["name"] for marked_case in cases if QUICK in marked_case["tags"]]


def test_every_kind_is_met_before_an_option() -> None:
    plain = [case(f"real-{number}", "plain", option=f"value {number}") for number in range(9)]
    assert {"real-20", "real-21"} < set(quick([*plain, case("real-20", "empty"), case("real-21", "0-dim")]))


def test_half_of_the_cases_and_one_are_enough() -> None:
    assert len(quick([case(f"real-{number}", "plain", option=f"value {number}") for number in range(20)])) == 11
    assert len(quick([case(f"real-{number}", "plain", option=f"value {number}") for number in range(5)])) == LEAST_QUICK


def test_a_case_that_adds_nothing_is_left_out() -> None:
    assert quick([case(f"real-{number}", "plain", scale=number + 0.5) for number in range(20)]) == ["real-0"]


def test_kinds_that_meet_for_the_first_time_are_worth_a_case() -> None:
    assert len(quick([case("0", "empty", "real"), case("1", "plain", "complex"), case("2", "empty", "complex")])) == 3


def test_a_case_with_large_arrays_is_not_quick() -> None:
    assert quick([case("0", "plain"), case("1", "plain", "sized-large"), case("2", "plain", "sized-rows")]) == ["0"]


def test_a_call_says_its_options_and_their_values_but_no_number() -> None:
    call = json.loads(case("real-0", "plain", dim=-1, keepdim=True, mode="sum")["call"])
    assert set(plain_values(call)) == {
        ".tuple.0.0 array []",
        ".tuple.1.dim int -1",
        ".tuple.1.keepdim True",
        ".tuple.1.mode sum",
    }


def test_of_variants_those_are_quick_that_add_to_the_quick_cases_they_are_made_of() -> None:
    base = [case("real-0", "plain", QUICK), case("real-1", "empty")]
    variants = [case("real-2", "plain"), case("real-3", "empty"), case("real-4", "non-finite")]
    mark_quick(variants, base)
    assert [marked_case["name"] for marked_case in variants if QUICK in marked_case["tags"]] == ["real-3", "real-4"]
    assert [marked_case["tags"].count(QUICK) for marked_case in base] == [1, 0]


@pytest.mark.parametrize(("name", "kind"), [
    ("float32-3-other-dtype", "other-dtype"),
    ("float32-3-index-far", "index-far"),
    ("float32-3-zeros", "zeros"),
    ("float32-3-non-finite", "non-finite"),
    ("float32-3-first-index-far", "index-far"),
    ("float32-3", None),
    ("float32-3-tails", None),
])  # fmt: skip
def test_the_end_of_a_name_says_the_deciding_kind(name: str, kind: str | None) -> None:
    assert kind_of(f"torch.add/{name}") == kind


def test_the_quick_form_of_a_suite_gets_a_case_of_each_deciding_kind_that_it_lacks() -> None:
    function = Function("one.two", reference=np.negative)
    for name, tags in (
        ("0", [QUICK]),
        ("0-zeros", [QUICK]),
        ("1-zeros", []),
        ("0-emptied", []),
        ("1-emptied", []),
        ("2", []),
    ):
        function.value(name, lambda inputs: [inputs.normal(2)], tags=tags)
    (quick_function,) = quick_and_deciding([function])
    assert [case.id for case in quick_function.cases] == ["one.two/0", "one.two/0-zeros", "one.two/0-emptied"]
    assert all(case in function.cases for case in quick_function.cases)
    assert "zeros" in DECIDING


def test_a_chart_shows_in_how_many_functions_a_kind_alone_fails() -> None:
    cases = [
        {"id": f"{function}/{name}", "function": function, "tags": tags}
        for function, name, tags in (
            ("f", "0", []),
            ("f", "0-zeros", []),
            ("g", "0", []),
            ("g", "1-zeros", []),
            ("g", "0-gradient-tails", ["gradient"]),
        )
    ]
    failed_ids = {"f/0-zeros", "g/1-zeros", "g/0-gradient-tails"}
    outcomes = [
        {"case": entry["id"], "outcome": {"verdict": "failed" if entry["id"] in failed_ids else "passed"}}
        for entry in cases
    ]
    outcomes_of_bundle = BundleOutcomes(map(json.dumps, [{"suite": {"cases": cases}}, *outcomes]))
    assert count([outcomes_of_bundle]) == [
        ("zeros", 2, 2, 1),
        ("not a variant", 2, 0, 0),
        ("gradient tails", 1, 1, 0),
    ]
