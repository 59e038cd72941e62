"""The texts of a cell, a comparison and a history, and drawings of samples."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.figures.counting import ANYWHERE, INDEPENDENT, ON_DEVICE
from coordinator.results.comparison.cases import case_counts
from coordinator.results.comparison.models import Kind, SideVerdict, VerdictChange
from coordinator.results.models import FunctionKey, HistoryCell
from coordinator.results.service import mark_changes, modules
from coordinator.web.comparison_page import by_heading
from coordinator.web.filters import milliseconds
from coordinator.web.matrix_page import by_two_rules, other_rule
from coordinator.web.outcome_pages import MOST_TEXT, cut
from coordinator.web.pages import function_address
from coordinator.web.plots import MOST_DOTS, PlotScale, dot, scale_of, strips, thin
from tests.unit.coordinator.cells import cell, counts, values

PASSES = counts("success", 3, 3)
FALLS_BACK = counts("partial", 1, 3, "placement")

samples = st.lists(st.floats(1e-6, 1e6), max_size=200)


def test_the_counts_by_two_rules_are_shown_where_they_differ() -> None:
    both = cell(PASSES, FALLS_BACK, fell_back=2)
    assert by_two_rules(both, ANYWHERE) == (PASSES, FALLS_BACK)
    assert both.remarks == ("2 cases fell back to the host",)
    assert by_two_rules(both, ON_DEVICE) == (FALLS_BACK, PASSES)
    assert (other_rule(ANYWHERE), other_rule(ON_DEVICE), other_rule(INDEPENDENT)) == (ON_DEVICE, ANYWHERE, ANYWHERE)


def test_a_cell_whose_verdicts_agree_says_so_once() -> None:
    alike = cell(PASSES)
    assert (by_two_rules(alike, ANYWHERE)[1], alike.remarks) == (None, ())


def test_a_function_that_never_touches_a_device_keeps_its_verdict_when_counted_by_device() -> None:
    assert by_two_rules(cell(PASSES, None), ON_DEVICE)[0].verdict == "success"


def test_without_a_counted_case_the_cell_says_why() -> None:
    gone_cell = cell(counts("unknown", 0, 0), skipped=1, not_counted_cause="removed")
    first, _ = by_two_rules(gone_cell, ANYWHERE)
    assert (first.description, first.cause, gone_cell.remarks) == ("no counted case", "removed", ("1 skipped",))


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


def half(passes: int, total: int = 3) -> SideVerdict:
    verdict = "success" if passes == total else "partial" if passes else "complete"
    return SideVerdict(verdict=verdict, passed=passes, total=total, flaky=0, cause=None)


def test_a_reader_sees_what_broke_first_and_what_is_uncertain_last() -> None:
    changes_by_heading = by_heading(
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
    assert [[one.function for one in changes] for changes in changes_by_heading.values()] == [
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
    return HistoryCell.model_validate({**values(counts(verdict, 3, 3)), **more})


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
    kept_values = thin(values)
    assert len(kept_values) == min(len(values), MOST_DOTS)
    if values:
        assert (kept_values[0], kept_values[-1]) == (min(values), max(values))


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
    end_of_log, left_out = cut("x" * MOST_TEXT + "end")
    assert (len(end_of_log), end_of_log[-3:], left_out) == (MOST_TEXT, "end", 3)


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
    assert f'aria-label="{milliseconds(2.0)}"' in str(dot(2.0, PlotScale(1.0, 10.0)))
    assert dot(None, PlotScale(1.0, 10.0)) is None
    assert dot(2.0, None) is None
