"""Pruning removes from the files the cases that no longer qualify, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from freezing.common import domain, prune
from freezing.common.parts import LISTED, LISTED_VARIANTS, add_left_out, list_left_out
from freezing.common.prune import BY_MEMORY, Pruner, choose_quick_anew, rules_of, sift
from runners.suite.frozen import PACK, QUICK, VARIANTS_PACK, PackWriter, packs_in


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


def write_searches(folder: Path, name: str, **sequences: list[float]) -> None:
    """Write a pack with one search for each sequence."""
    writer = PackWriter()
    for title, sequence in sequences.items():
        arrays = [writer.add(np.array(numbers, np.float32), "float32") for numbers in (sequence, [2.5])]
        writer.cases.append(
            {
                "function": "jax.numpy.searchsorted",
                "name": title,
                "call": '{"tuple":[[{"array":0},{"array":1}],{"mapping":[]}]}',
                "kind": "value",
                "arrays": arrays,
                "expected": [writer.add(np.array([1], np.int32), "int32")],
                "tags": [],
            }
        )
    writer.write(folder / name, {"jax": "0.10.2"})


def test_searches_in_an_unsorted_sequence_are_removed_without_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "jax" / "suites" / "library"
    folder.mkdir(parents=True)
    write_searches(folder, PACK, sorted=[1.0, 3.0])
    write_searches(folder, VARIANTS_PACK, spread=[3.0, 1.0, 2.0], sized_odd=[1.0, 3.0, 4.0])
    for list_name in (LISTED, LISTED_VARIANTS):
        (folder / list_name).write_text(list_left_out([], "jax", "0.10.2"))
    monkeypatch.setattr(prune, "FOLDER", tmp_path)

    assert prune.main(["jax", "--domain"]) == 0

    assert [[one["name"] for one in pack.cases] for pack in packs_in(folder).packs] == [["sorted"], ["sized_odd"]]
    reasons = json.loads((folder / LISTED_VARIANTS).read_text())["left_out"]
    assert reasons == {"not determined": {"jax.numpy.searchsorted": {"spread": domain.OUTSIDE}}}
