"""Pruning removes from the files the cases that no longer qualify, and nothing else."""

from __future__ import annotations

import json
from typing import Any, cast

from freezing.common.parts import add_left_out, list_left_out
from freezing.common.prune import BY_MEMORY, Pruner, choose_quick_anew, rules_of, sift
from runners.suite.frozen import QUICK


def case(name: str, *tags: str) -> dict[str, Any]:
    call = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
    return {"function": "torch.abs", "name": name, "call": call, "tags": list(tags)}


def test_a_case_with_a_reason_is_listed_and_the_others_stay() -> None:
    cases = [case("one"), case("two"), case("three")]
    staying, left_out = sift(cases, lambda frozen: "why" if frozen["name"] == "two" else None)
    assert [one["name"] for one in staying] == ["one", "three"]
    assert left_out == [("torch.abs", "two", "not determined", "why")]


def test_a_function_that_lost_a_quick_case_has_another() -> None:
    before = [case("one", "plain", QUICK), case("two", "plain")]
    staying = [before[1]]
    choose_quick_anew(before, staying)
    assert QUICK in staying[0]["tags"]


def test_a_function_that_lost_no_quick_case_keeps_its_choice() -> None:
    before = [case("one", "plain", QUICK), case("two", "other"), case("three")]
    staying = before[:2]
    choose_quick_anew(before, staying)
    assert [one["tags"] for one in staying] == [["plain", QUICK], ["other"]]


def test_what_is_left_out_later_is_listed_as_if_it_had_been_there_at_once() -> None:
    first = [("torch.abs", "one", "large result", "too large"), ("torch.add", "many", "enough of its function", "")]
    later = [
        ("torch.abs", "two", "not determined", "why"),
        ("torch.abs", "three", "large result", "too large"),
        ("torch.add", "more", "enough of its function", ""),
        ("torch.mul", "many", "enough of its function", ""),
    ]
    together = list_left_out([*first, *later], "torch", "2.9.0")
    assert add_left_out(list_left_out(first, "torch", "2.9.0"), later, "torch") == together
    assert json.loads(together)["counts"] == {"enough of its function": 3, "large result": 2, "not determined": 1}


def test_a_framework_that_shows_nothing_more_has_no_rules_of_its_own() -> None:
    rules = rules_of("torch")
    assert rules.reason_undetermined(lambda: 1) is None
    assert rules.refusing_operation(ValueError("index 9")) is None


def test_a_refusal_for_lack_of_memory_is_left_out_without_a_call() -> None:
    pruner = Pruner(cast(Any, None), {}, cast(Any, None), rules_of("torch"), lambda: ())
    frozen_case = case("far") | {"kind": "behaviour", "refuses": "ResourceExhaustedError"}
    assert pruner.reason(frozen_case) == BY_MEMORY
    assert pruner.reason(case("plain") | {"kind": "behaviour"}) is None
