"""Slower and faster: what counts as a change of latency, and what more runs would tell where nothing can be said."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.results.comparison.latencies import (
    ALPHA,
    LatencyChange,
    Measurement,
    Spread,
    compare_latencies,
    greatest_excess,
)
from tests.unit.coordinator.results.noisy_host import Host

PLANTED = 20
QUIET = (1.0, 1.01, 1.02)


def campaign(levels: Sequence[float] = QUIET, cases: int = 3, function: str = "f") -> list[Measurement]:
    """Each case at these levels, run by run."""
    return [
        Measurement(function, f"{function}/{case}", run, level * (case + 1))
        for case in range(cases)
        for run, level in enumerate(levels, 1)
    ]


def the_change(before: list[Measurement], after: list[Measurement]) -> LatencyChange:
    (found,) = compare_latencies(before, after)
    return found


@pytest.mark.parametrize("loops", [0, 1, 2, 4])
def test_planted_slowdowns_are_found_on_a_busy_host(loops: int) -> None:
    """The aims of the bench of repeatability, on a simulated host that so many loops keep busy."""
    host, seeds = Host(loops), range(2)
    found = alarms = unsure = functions = 0
    for seed in seeds:
        planted = {f"f{number}" for number in random.Random(seed).sample(range(host.functions), PLANTED)}
        before, after = (host.campaign(3 * seed + part) for part in range(2))
        slower = host.campaign(3 * seed + 2, planted)
        same = compare_latencies(before, after)
        functions += len(same)
        alarms += sum(change.changed for change in same)
        unsure += sum(change.change == "insufficient data" for change in same)
        found += sum(c.change == "slower" for c in compare_latencies(before, slower) if c.function in planted)
    assert found >= 0.95 * PLANTED * len(seeds)
    assert alarms <= 0.01 * functions
    assert unsure <= 0.05 * functions


def contended(measured: Sequence[Measurement], *runs: int) -> list[Measurement]:
    """The same, but in these runs threads waited for a core, and the calls took five hundred times as long."""
    return [
        one._replace(contended=True, milliseconds=500 * one.milliseconds) if one.run in runs else one
        for one in measured
    ]


def test_runs_in_which_threads_waited_for_a_core_do_not_count_where_there_are_others() -> None:
    found = the_change(campaign(), contended(campaign(), 1))
    assert found.change == "same"
    assert found.runs == (3, 2)


def test_a_side_without_other_runs_is_not_compared_with_one_that_had_its_cores() -> None:
    found = the_change(campaign(), contended(campaign(), 1, 2, 3))
    assert found.change == "insufficient data"
    assert "waited for a core in every run of one side" in str(found.why)


def test_one_crowded_case_says_nothing_of_its_function() -> None:
    crowded = [one._replace(contended=True, milliseconds=9e3) if one.case == "f/0" else one for one in campaign()]
    found = the_change(campaign(), crowded)
    assert (found.change, found.cases) == ("same", 2)


def test_calls_that_crowd_themselves_on_both_sides_are_compared() -> None:
    before, after = (contended(campaign(levels), 1, 2, 3) for levels in (QUIET, [2 * level for level in QUIET]))
    assert the_change(before, after).change == "slower"


def test_a_run_that_met_a_burst_changes_nothing() -> None:
    """Where the mean over runs, and the median of two, would say half as slow again."""
    found = the_change(campaign(), campaign((1.0, 1.02, 2.5)))
    assert found.change == "same"
    assert found.ratio == pytest.approx(1.0)


def test_a_slowdown_of_one_case_is_one_of_its_function() -> None:
    after = [one._replace(milliseconds=one.milliseconds * 3) if one.case == "f/1" else one for one in campaign()]
    found = the_change(campaign(), after)
    assert found.change == "slower"
    assert found.ratio == pytest.approx(1.0)
    assert [(case.case, case.change) for case in found.changed_cases] == [("f/1", "slower")]
    assert found.changed_cases[0].ratio == pytest.approx(3.0)


def test_a_case_that_met_the_same_burst_before_did_not_change_by_itself() -> None:
    """Two of its runs before were undisturbed, and none after; but one before was as slow as those."""
    others = [*campaign(cases=12, function="g"), *campaign(cases=3)]

    def with_case(levels: Sequence[float]) -> list[Measurement]:
        return [*others, *(Measurement("f", "f/own", run, level) for run, level in enumerate(levels, 1))]

    def words(before: Sequence[float], after: Sequence[float]) -> set[str]:
        return {change.change for change in compare_latencies(with_case(before), with_case(after))}

    assert words((1.0, 1.01, 1.9), (1.9, 1.92, 1.95)) == {"same"}
    assert words((1.0, 1.01, 1.02), (1.9, 1.92, 1.95)) == {"same", "slower"}


@pytest.mark.parametrize("ratio", [1.05, 1.19, 1 / 1.19])
def test_no_change_counts_that_is_less_than_the_least(ratio: float) -> None:
    found = the_change(campaign((1.0,) * 6), campaign((ratio,) * 6))
    assert found.change == "same"


def test_a_change_counts_only_where_the_intervals_part() -> None:
    noisy = (1.0, 1.35, 1.8)
    found = the_change(campaign(noisy), campaign([1.4 * level for level in noisy]))
    assert found.interval is not None
    assert found.interval[0] < 1 < found.interval[1]
    assert found.change == "insufficient data"


def test_insufficient_data_say_what_more_runs_would_do() -> None:
    noisy = (1.0, 1.2, 1.5)
    found = the_change(campaign(noisy), campaign(noisy))
    assert found.change == "insufficient data"
    assert found.why is not None
    number, _, rest = found.why.partition(" ")
    assert rest == "runs more a side would tell a change of 50 %"
    more = [noisy[run % 3] for run in range(3 + int(number))]
    assert the_change(campaign(more), campaign(more)).change == "same"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (campaign((1.0,)), campaign(), "1 run more a side is the least that tells a change"),
        ([], campaign(), "not measured on A"),
        (campaign(), [], "not measured on B"),
        (
            campaign((1.0, 30.0, 900.0)),
            campaign((1.0, 30.0, 900.0)),
            "too noisy: more than 30 runs more a side",
        ),
        (campaign(), [one._replace(case=f"{one.case}0") for one in campaign()], "no case was measured on both sides"),
    ],
)
def test_what_is_missing_is_named(before: list[Measurement], after: list[Measurement], why: str) -> None:
    found = the_change(before, after)
    assert found.change == "insufficient data"
    assert (found.why or "").startswith(why)


def test_zero_has_no_logarithm_and_is_left_out() -> None:
    zero = [one._replace(milliseconds=0.0) for one in campaign(function="g")]
    assert [change.function for change in compare_latencies(campaign() + zero, campaign() + zero)] == ["f"]


def test_the_best_run_exceeds_the_undisturbed_time_by_no_more_than_is_said() -> None:
    """Of exponential excesses, as the interval takes them to be: the share that lies outside is the one allowed."""
    draw = random.Random(14)
    outside = 0
    for _ in range(4000):
        runs = sorted(draw.expovariate(10) for _ in range(3))
        spread = Spread(2 * (runs[1] - runs[0]), 2)
        outside += runs[0] > greatest_excess(spread, 3, 0.05)
    assert 0.035 < outside / 4000 < 0.065


levels = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=6)


@given(levels, levels)
def test_what_is_slower_one_way_is_faster_the_other(before: list[float], after: list[float]) -> None:
    there = the_change(campaign(before), campaign(after))
    back = the_change(campaign(after), campaign(before))
    assert back.change == {"slower": "faster", "faster": "slower"}.get(there.change, there.change)
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.interval is not None
    assert back.interval is not None
    assert there.ratio * back.ratio == pytest.approx(1)
    assert there.interval[0] * back.interval[1] == pytest.approx(1)


@given(levels, levels, st.floats(1e-3, 1e3))
def test_another_unit_changes_nothing(before: list[float], after: list[float], factor: float) -> None:
    found = the_change(campaign(before), campaign(after))
    scaled = the_change(campaign([factor * level for level in before]), campaign([factor * level for level in after]))
    assert found.ratio == pytest.approx(scaled.ratio)
    assert found.interval == pytest.approx(scaled.interval)


def test_more_evidence_narrows_the_interval() -> None:
    widths = [greatest_excess(Spread(0.1, 2 * (n // 2)), n, ALPHA) for n in range(2, 12)]
    assert widths == sorted(widths, reverse=True)
    assert math.isinf(greatest_excess(Spread(0.1, 0), 1, ALPHA))
