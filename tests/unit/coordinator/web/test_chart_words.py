"""What a cell, a comparison and a history show, and samples as drawings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.results.comparison.cases import case_counts
from coordinator.results.comparison.models import Kind, SideVerdict, VerdictChange
from coordinator.results.models import Cell, FunctionKey, HistoryCell
from coordinator.results.service import mark_changes, modules
from coordinator.web.comparison_page import by_heading
from coordinator.web.filters import milliseconds
from coordinator.web.matrix_page import judge
from coordinator.web.outcome_pages import MOST_TEXT, cut
from coordinator.web.pages import function_address
from coordinator.web.plots import MOST_DOTS, Scale, dot, scale_of, strips, thin

CELL: dict[str, Any] = {
    "campaign_id": 1,
    "framework": "torch",
    "module": "torch",
    "function": "torch.cat",
    "target_id": 1,
    "host_only": False,
    "verdict": "success",
    "verdict_on_device": "success",
    "passed": 3,
    "failed": 0,
    "total": 3,
    "passed_on_device": 3,
    "total_on_device": 3,
    "unknown_placement": 0,
    "skipped": 0,
    "incomplete": 0,
    "flaky": 0,
    "fell_back": 0,
    "cause": None,
    "cause_on_device": None,
    "not_counted_cause": None,
    "cold_ms": None,
    "first_cold_ms": None,
    "later_cold_ms": None,
    "low_ms": None,
    "steady_ms": None,
    "noisy": None,
    "iqr_ms": None,
    "ratio_to_cpu": None,
    "ratio_cases": None,
    "samples": None,
    "unknown_cause": 0,
    "lowered": 0,
    "not_lowered": 0,
    "of_another_device": 0,
    "passed_independent": 0,
    "total_independent": 0,
    "cpu_target_id": None,
}
FELL_BACK = {"verdict_on_device": "partial", "passed_on_device": 1, "fell_back": 2, "cause_on_device": "placement"}

samples = st.lists(st.floats(1e-6, 1e6), max_size=200)


def test_both_verdicts_are_shown_where_they_differ() -> None:
    cell = Cell.model_validate({**CELL, **FELL_BACK})
    first, second = judge(cell, "anywhere")
    assert (first.verdict, first.passed, first.cause) == ("success", 3, None)
    assert second is not None
    assert (second.verdict, second.passed, second.cause) == ("partial", 1, "placement")
    assert cell.remarks == ("2 cases fell back to the host",)
    assert judge(cell, "on_device") == (second, first)


def test_a_cell_whose_verdicts_agree_says_so_once() -> None:
    cell = Cell.model_validate(CELL)
    assert (judge(cell, "anywhere")[1], cell.remarks) == (None, ())


def test_a_function_that_never_touches_a_device_keeps_its_verdict_when_counted_by_device() -> None:
    host = Cell.model_validate(
        {**CELL, "host_only": True, "verdict_on_device": None, "passed_on_device": None, "total_on_device": None}
    )
    assert judge(host, "on_device")[0].verdict == "success"


def test_without_a_counted_case_the_cell_says_why() -> None:
    gone = {
        "verdict": "unknown",
        "verdict_on_device": "unknown",
        "passed": 0,
        "passed_on_device": 0,
        "total_on_device": 0,
        "total": 0,
    }
    cell = Cell.model_validate({**CELL, **gone, "skipped": 1, "not_counted_cause": "removed"})
    first, _ = judge(cell, "anywhere")
    assert (first.description, first.cause, cell.remarks) == ("no counted case", "removed", ("1 skipped",))


def test_an_address_holds_any_name() -> None:
    assert function_address(3, "torch", "torch.<b>?#x</b> y") == (
        "/campaigns/3/functions/torch/torch.%3Cb%3E%3F%23x%3C/b%3E%20y"
    )


def test_modules_say_where_their_first_function_stands() -> None:
    keys = [
        FunctionKey(framework="jax", module="jax.numpy", function="jax.numpy.add"),
        FunctionKey(framework="torch", module="torch", function="torch.add"),
        FunctionKey(framework="torch", module="torch", function="torch.cat"),
        FunctionKey(framework="torch", module="torch.nn", function="torch.nn.Linear"),
    ]
    assert [(module.name, module.functions, module.first) for module in modules(keys)] == [
        ("jax.numpy", 1, 0),
        ("torch", 2, 1),
        ("torch.nn", 1, 3),
    ]


def half(passed: int, total: int = 3) -> SideVerdict:
    verdict = "success" if passed == total else "partial" if passed else "complete"
    return SideVerdict(verdict=verdict, passed=passed, total=total, flaky=0, cause=None)


def test_a_reader_sees_what_broke_first_and_what_is_uncertain_last() -> None:
    found = by_heading(
        [
            change("unsure", "insufficient data", None, half(3)),
            change("gone", "lost", half(3), None),
            change("fixed", "fix", half(0), half(3)),
            change("better", "fix", half(0), half(2)),
            change("elsewhere", "change", half(3), half(3)),
            change("swapped", "mixed", half(2), half(2)),
            change("worse", "regression", half(2), half(1)),
            change("broken", "regression", half(3), half(2)),
        ]
    )
    assert [[one.function for one in changes] for changes in found.values()] == [
        ["broken"],
        ["worse"],
        ["swapped"],
        ["elsewhere"],
        ["fixed"],
        ["better"],
        ["gone"],
        ["unsure"],
    ]


def change(function: str, kind: Kind, a: SideVerdict | None, b: SideVerdict | None) -> VerdictChange:
    return VerdictChange(function=function, kind=kind, a=a, b=b, counts=case_counts([]), cases=[], why=None)


def past(verdict: str, revision: str, suite: str = "paper", digest: str | None = None) -> HistoryCell:
    more = {
        "campaign": "c",
        "created_at": datetime.now(UTC),
        "target": "torch@2.9.0/cpu",
        "version": "2.9.0",
        "device": "cpu",
        "device_class": "cpu",
        "hardware": "a CPU",
        "environment": "e",
        "suite": suite,
        "suite_revision": revision,
        "cases_digest": digest,
        "simulated": False,
        "sentences": [],
        "changed": False,
    }
    return HistoryCell.model_validate({**CELL, **more, "verdict": verdict})


def test_a_history_marks_changes_within_one_suite_revision_only() -> None:
    newest_first = [past("partial", "r2"), past("success", "r1"), past("success", "r2"), past("complete", "r1")]
    assert [cell.changed for cell in mark_changes(newest_first)] == [True, True, False, False]


def test_a_history_goes_on_over_revisions_where_the_cases_are_the_same() -> None:
    newest_first = [
        past("partial", "r3", digest="d1"),
        past("success", "r2", digest="d2"),
        past("success", "r1", digest="d1"),
    ]
    assert [cell.changed for cell in mark_changes(newest_first)] == [True, False, False]


def test_a_history_never_compares_two_suites_whatever_their_revisions() -> None:
    newest_first = [past("partial", "r1", "library"), past("success", "r1"), past("success", "r1", "library")]
    assert [cell.changed for cell in mark_changes(newest_first)] == [True, False, False]


@settings(deadline=None)
@given(samples)
def test_thinned_samples_keep_the_extremes(values: list[float]) -> None:
    kept = thin(values)
    assert len(kept) == min(len(values), MOST_DOTS)
    if values:
        assert (kept[0], kept[-1]) == (min(values), max(values))


@settings(deadline=None)
@given(st.lists(samples, min_size=1, max_size=4))
def test_every_dot_is_within_its_drawing(runs: list[list[float]]) -> None:
    drawing = strips(runs, scale_of(runs))
    if not any(runs):
        assert drawing is None
        return
    tree = ElementTree.fromstring(str(drawing))  # well-formed
    width, height = float(tree.get("width", "0")), float(tree.get("height", "0"))
    dots = list(tree.iter("circle"))
    assert len(dots) == sum(min(len(run), MOST_DOTS) for run in runs)
    for circle in dots:
        assert 0 <= float(circle.get("cx", "-1")) <= width
        assert 0 <= float(circle.get("cy", "-1")) <= height


def test_the_end_of_a_long_log_is_kept() -> None:
    assert cut("short") == ("short", 0)
    kept, left_out = cut("x" * MOST_TEXT + "end")
    assert (len(kept), kept[-3:], left_out) == (MOST_TEXT, "end", 3)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_values_of_one_history_stand_in_order_and_small_differences_stay_small(values: list[float]) -> None:
    scale = scale_of([values])
    assert scale is not None
    wide = scale.at_least(10)
    assert wide.high / wide.low >= 10 * (1 - 1e-9)
    places = [wide.place(value, 120) for value in sorted(values)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 120
    if max(values) / min(values) < 1.01:
        assert places[-1] - places[0] < 1


def test_a_dot_says_its_value_and_nothing_is_drawn_of_none() -> None:
    assert f'aria-label="{milliseconds(2.0)}"' in str(dot(2.0, Scale(1.0, 10.0)))
    assert dot(None, Scale(1.0, 10.0)) is None
    assert dot(2.0, None) is None
