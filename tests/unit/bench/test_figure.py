"""A figure is one line of JSON with the measured value, its baseline, and the machine."""

from __future__ import annotations

import json

from bench.figure import MeasuredFigure, here
from bench.timing import pick_spaced, within


def test_a_figure_is_one_line_with_all_that_is_promised() -> None:
    figure = MeasuredFigure("stored_jobs", 1234.567, "jobs/s", "at least half", True, "SQL", 2000.0, 0.61728)
    line = figure.line("dispatch", here())
    assert "\n" not in line
    figure_line = json.loads(line)
    assert (figure_line["bench"], figure_line["name"]) == ("dispatch", "stored_jobs")
    assert (figure_line["value"], figure_line["baseline_value"], figure_line["ratio"], figure_line["met"]) == (
        1235,
        2000,
        0.6173,
        True,
    )
    assert {"unit", "baseline", "target", "n", "spread", "where"} <= figure_line.keys()


def test_where_names_the_machine_and_what_is_installed() -> None:
    where = here()
    assert where["cores"] >= 1
    assert where["versions"]["pydantic"].count(".") >= 1


def test_calls_are_chosen_over_the_whole_range_of_cost() -> None:
    costs = [(float(number), f"case {number}") for number in range(100)]
    chosen_calls = pick_spaced(costs, 10)
    assert chosen_calls[0] == "case 0"
    assert chosen_calls[-1] == "case 99"
    assert len(set(chosen_calls)) == 10
    assert pick_spaced(costs[:3], 10) == ["case 0", "case 1", "case 2"]


def test_slower_and_faster_are_both_disagreement() -> None:
    assert within([1.0, 1.2, 0.8, 1.21, 0.79], 0.2) == 3 / 5
