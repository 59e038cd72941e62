"""With levels that scatter evenly around their middle, as on a quiet host, slowdowns are detected and no other changes
are reported."""

from __future__ import annotations

import math
import random

import pytest

from coordinator.results.comparison.latencies import Measurement, compare_latencies, paper_ratios


def campaign(
    seed: int, *, factor: float = 1.0, runs: int = 3, cases: int = 4, drift: float = 0.03
) -> list[Measurement]:
    """A campaign whose runs drift from process to process, and whose cases scatter a little within a run."""
    rng = random.Random(seed)
    measurements = []
    for run in range(1, runs + 1):
        level = rng.gauss(0.0, drift)
        for case in range(cases):
            value = (case + 1) * factor * math.exp(level + rng.gauss(0.0, drift / 3))
            measurements.append(Measurement("torch.cat", f"torch.cat/{case}", run, value))
    return measurements


def test_a_slowdown_by_half_is_found_nearly_always() -> None:
    changes = [
        compare_latencies(campaign(number), campaign(1000 + number, factor=1.5))[0].change for number in range(300)
    ]
    assert changes.count("slower") >= 297


def test_no_change_is_taken_for_one_in_less_than_one_of_a_hundred() -> None:
    """A few of the other functions are not known to be unchanged, because their interval contains the change that is
    searched for."""
    changes = [compare_latencies(campaign(number), campaign(1000 + number))[0] for number in range(500)]
    kinds = [change.change for change in changes]
    assert kinds.count("slower") + kinds.count("faster") <= 2
    assert kinds.count("same") >= 490
    intervals = [change.interval for change in changes if change.interval and change.change == "same"]
    assert all(low > 1 / 1.5 and high < 1.5 for low, high in intervals)


def test_runs_that_differ_by_more_than_the_change_say_nothing() -> None:
    kinds = [
        compare_latencies(campaign(number, drift=0.8), campaign(1000 + number, drift=0.8))[0].change
        for number in range(100)
    ]
    assert kinds.count("insufficient data") > 80


def test_one_disturbed_case_in_a_run_does_not_move_the_function() -> None:
    after = campaign(2)
    after[0] = after[0]._replace(milliseconds=after[0].milliseconds * 20)
    (one,) = compare_latencies(campaign(1), after)
    assert one.change == "same"


def test_what_is_usual_among_functions_helps_one_whose_few_runs_happen_to_differ() -> None:
    def whole(factor: float, seed: int) -> list[Measurement]:
        quiet = [
            measurement._replace(function=f"torch.f{number}", case=f"torch.f{number}/{measurement.case[-1]}")
            for number in range(40)
            for measurement in campaign(seed + number, drift=0.02)
        ]
        return quiet + campaign(seed + 99, factor=factor, drift=0.15)

    with_others = [
        compare_latencies(whole(1.0, number * 1000), whole(1.5, number * 1000 + 500)) for number in range(1, 60)
    ]
    alone = [
        compare_latencies(campaign(number, drift=0.15), campaign(500 + number, factor=1.5, drift=0.15))
        for number in range(1, 60)
    ]
    found_count = sum(changes[0].change == "slower" for changes in with_others)
    assert with_others[0][0].function == "torch.cat"
    assert found_count > sum(changes[0].change == "slower" for changes in alone)
    others = [change.change for changes in with_others for change in changes[1:]]
    assert others.count("same") == len(others)


@pytest.mark.parametrize("runs", [0, 1])
def test_less_than_two_runs_are_insufficient(runs: int) -> None:
    (one,) = compare_latencies(campaign(1), campaign(2, runs=runs))
    assert one.change == "insufficient data"
    assert one.ratio is None
    assert one.runs == (3, runs)


def test_only_cases_that_both_sides_measured_are_compared() -> None:
    slow_case = [Measurement("torch.cat", "torch.cat/only-after", run, 1e6) for run in (1, 2, 3)]
    (one,) = compare_latencies(campaign(1), campaign(2) + slow_case)
    assert one.change == "same"
    assert one.cases == 4


def test_a_function_that_only_one_side_measured_is_named() -> None:
    other = [measurement._replace(function="torch.sum") for measurement in campaign(1)]
    assert [compare_latency.function for compare_latency in compare_latencies(campaign(1), other)] == [
        "torch.cat",
        "torch.sum",
    ]


def test_the_interval_holds_the_ratio() -> None:
    (one,) = compare_latencies(campaign(1), campaign(2, factor=2.0))
    assert one.ratio is not None
    assert one.interval is not None
    assert one.interval[0] < 2.0 < one.interval[1]
    assert one.ratio == pytest.approx(2.0, rel=0.15)


def test_the_study_divides_means() -> None:
    before = [Measurement("f", "f/a", run, value) for run, value in enumerate([1.0, 1.0, 4.0], 1)]
    after = [Measurement("f", "f/a", run, 4.0) for run in (1, 2, 3)]
    assert paper_ratios(before, after) == {"f": 2.0}
