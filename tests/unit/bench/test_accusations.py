"""Claims against a device that a person judged: their labels, the figures over them, and how further claims are
drawn."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from bench.truth import accusations, drawing
from bench.truth.accusations import JudgedAccusation, Judgement


def row(function: str, name: str = "0", **changes: Any) -> dict[str, Any]:
    """An outcome of a failed case, as ``portolan results --format json`` exports it."""
    plain: dict[str, Any] = {
        "function": function, "case": f"{function}/{name}", "suite": "library", "framework": "torch",
        "version": "2.9.0", "device": "xla", "verdict": "failed", "ending": "raised", "placement": "unknown",
        "cause": "type", "cause_on_device": "type", "message": "refused", "mismatch": None, "signal": None,
        "fallbacks": {},
    }  # fmt: skip
    return {**plain, **changes}


FELL_BACK = {"verdict": "passed", "ending": "returned", "placement": "fell_back", "cause": None, "message": None}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, drawing.FAILS),
        ({"ending": "mismatched"}, drawing.WRONG),
        ({"ending": "accepted", "cause": "silently_accepted"}, drawing.ACCEPTS),
        (FELL_BACK, drawing.FALLS_BACK),
        ({**FELL_BACK, "placement": "on_device"}, None),
        ({"verdict": "skipped"}, None),
    ],
)
def test_what_accuses_a_device(changes: dict[str, Any], kind: str | None) -> None:
    assert drawing.kind_of(row("torch.exp", **changes)) == kind


def test_a_draw_is_repeated_by_its_seed_and_takes_one_case_of_a_function_within_a_kind() -> None:
    rows = [row(f"torch.f{number}", name) for number in range(20) for name in "ab"]
    rows += [row(f"torch.g{number}", ending="mismatched") for number in range(3)]
    first, again, other = ([one["case"] for one in drawing.draw(rows, 10, seed)] for seed in (1, 1, 2))
    assert first == again != other
    kinds = Counter(drawing.kind_of(one) for one in drawing.draw(rows, 10, 1))
    assert kinds == {drawing.FAILS: 7, drawing.WRONG: 3}
    functions = [case.partition("/")[0] for case in first]
    assert len(set(functions)) == len(functions) == 10
    assert len(list(drawing.draw(rows, 100, 1))) == 23


def test_a_function_that_has_a_label_is_not_drawn_again() -> None:
    rows = [row("torch.exp"), row("torch.log"), row("torch.exp", framework="mine")]
    remaining = drawing.without_functions(rows, {("torch", "torch.exp")})
    assert [(one["framework"], one["function"]) for one in remaining] == [("torch", "torch.log"), ("mine", "torch.exp")]


def test_a_line_to_be_labelled_becomes_a_label() -> None:
    fallback = {**FELL_BACK, "fallbacks": {"aten::exp": 1}, "cause_on_device": "p"}
    line = drawing.without_label(row("torch.exp", **fallback))
    assert (line["target"], line["cause"], line["said"]) == ("torch@2.9.0/xla", "p", "aten::exp")
    label = JudgedAccusation(**json.loads(json.dumps(line)), label=Judgement.true, why="it does", draw=1)
    assert (label.function, label.stratum, label.label.holds) == ("torch.exp", "library_torch", True)


def test_each_label_says_why_and_stands_once() -> None:
    labels = accusations.labels()
    assert all(label.why and (label.said or label.cause == "timeout") for label in labels)
    assert {label.kind for label in labels} <= set(drawing.KINDS)
    assert {label.framework for label in labels} == set(accusations.FRAMEWORKS)
    assert max(Counter((label.case, label.suite, label.kind) for label in labels).values()) == 1


def test_what_no_device_does_holds_only_where_the_chart_says_so() -> None:
    assert [judgement.value for judgement in Judgement if judgement.holds] == ["true", "by_design"]


def test_the_figures_are_of_each_draw_and_the_last_is_promised() -> None:
    figures = {figure.name: figure for figure in accusations.figures()}
    first = [label for label in accusations.labels() if label.draw == 1]
    whole = figures["accusations_1"]
    assert whole.n == len(first) == 120
    assert whole.value == sum(label.label.holds for label in first) / 120
    parts = [figure for name, figure in figures.items() if name.startswith("accusations_1_")]
    assert sum(figure.n or 0 for figure in parts) == 120
    promised_figures = [name for name, figure in figures.items() if figure.met is not None]
    assert promised_figures == [f"accusations_{max(label.draw for label in accusations.labels())}"]


@pytest.mark.parametrize("framework", accusations.FRAMEWORKS)
def test_a_labelled_case_that_a_rule_left_out_says_by_which(framework: str) -> None:
    reasons = accusations.removal_reasons(framework)
    labelled_cases = {label.case for label in accusations.labels()} & set(reasons)
    assert labelled_cases
    assert all(reasons[case] for case in labelled_cases)
