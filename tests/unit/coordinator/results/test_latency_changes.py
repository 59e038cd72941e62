"""Slower and faster: what counts as a change of latency, and how many more runs would decide an open case."""

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
    between_halves,
    compare_latencies,
    greatest_excess,
)
from coordinator.results.comparison.models import LatencyComparison
from tests.unit.coordinator.results.noisy_host import Host

PLANTED = 20
QUIET = (1.0, 1.01, 1.02)


def campaign(levels: Sequence[float] = QUIET, cases: int = 3, function: str = "f") -> list[Measurement]:
    """A campaign in which each case has these levels, one per run."""
    return [
        Measurement(function, f"{function}/{case}", run, level * (case + 1))
        for case in range(cases)
        for run, level in enumerate(levels, 1)
    ]


def the_change(before: list[Measurement], after: list[Measurement]) -> LatencyChange:
    (change,) = compare_latencies(before, after)
    return change


@pytest.mark.parametrize("loops", [0, 1, 2, 4])
def test_planted_slowdowns_are_found_on_a_busy_host(loops: int) -> None:
    """The goals of the repeatability bench, on a simulated host on which this many loops use the cores.

    The goals apply to changes that can be detected between equal campaigns. On a busy host they do not apply to calls
    that last longer than the scheduler's time slice, and to few calls with several threads.
    """
    host, seeds = Host(loops), range(2)
    functions = host.functions * len(seeds)
    found_count = alarms = told_count = 0
    for seed in seeds:
        before, after = (host.campaign(3 * seed + part) for part in range(2))
        same = compare_latencies(before, after)
        alarms += sum(change.changed for change in same)
        can_tell = [change.function for change in same if change.change == "same"]
        told_count += len(can_tell)
        planted_functions = random.Random(seed).sample(can_tell, PLANTED)
        slower = host.campaign(3 * seed + 2, planted_functions)
        found_count += sum(
            c.change == "slower" for c in compare_latencies(before, slower) if c.function in planted_functions
        )
    assert found_count >= (0.9 if loops else 0.95) * PLANTED * len(seeds)
    assert alarms <= 0.01 * functions
    assert told_count >= (0.95 if not loops else 0.8 if loops == 1 else 0.4) * functions


@pytest.mark.parametrize(("before", "after"), [(0, 4), (4, 0), (4, 16), (16, 16)])
def test_a_host_that_is_busier_in_one_campaign_is_no_change_of_a_function(before: int, after: int) -> None:
    changes = [
        change
        for seed in range(3)
        for change in compare_latencies(Host(before).campaign(2 * seed), Host(after).campaign(2 * seed + 1))
    ]
    assert sum(change.changed for change in changes if Host.is_threaded(change.function)) == 0


def with_contended_runs(measurements: Sequence[Measurement], *runs: int) -> list[Measurement]:
    """The same campaign, except that in these runs threads waited for a core and the calls took five hundred times as
    long."""
    return [
        one._replace(contended=True, contended_share=0.9, milliseconds=500 * one.milliseconds)
        if one.run in runs
        else one._replace(contended_share=0.0)
        for one in measurements
    ]


def test_runs_in_which_threads_waited_for_a_core_do_not_count_where_there_are_others() -> None:
    change = the_change(campaign(), with_contended_runs(campaign(), 1))
    assert change.change == "same"
    assert change.runs == (3, 2)
    assert change.contended == (None, pytest.approx(0.3))


@pytest.mark.parametrize("contended_runs", [(1, 2), (1, 2, 3)])
def test_a_side_of_which_no_two_runs_had_their_cores_says_nothing(contended_runs: tuple[int, ...]) -> None:
    change = the_change(campaign(), with_contended_runs(campaign(), *contended_runs))
    assert (change.change, change.interval) == ("insufficient data", None)
    assert "of all runs of one side, or of all but one" in str(change.why)


def test_three_runs_that_all_waited_do_not_agree() -> None:
    """This holds on both sides: the scheduler's time slices are equally long, whatever the call takes."""
    contended_campaign = with_contended_runs(campaign(), 1, 2, 3)
    slower = [one._replace(milliseconds=2 * one.milliseconds) for one in contended_campaign]
    assert the_change(contended_campaign, contended_campaign).change == "insufficient data"
    assert the_change(contended_campaign, slower).change == "insufficient data"


def test_one_crowded_case_says_nothing_of_its_function() -> None:
    crowded_campaign = [
        one._replace(contended=True, contended_share=1.0, milliseconds=9e3) if one.case == "f/0" else one
        for one in campaign()
    ]
    change = the_change(campaign(), crowded_campaign)
    assert (change.change, change.cases) == ("same", 2)


def threaded_campaign(levels: Sequence[float], share: float) -> list[Measurement]:
    """A campaign with a function of which this share of samples waited for a core, and twenty functions of which none
    did."""
    others = [one for number in range(20) for one in campaign(function=f"g{number:02}")]
    return [*others, *(one._replace(contended_share=share) for one in campaign(levels))]


def change_of_threaded(share: float) -> LatencyChange:
    """The change between runs like those of ``LSTMCell`` on two cores with four processes. Nothing had really
    changed."""
    before, after = threaded_campaign((1.54, 1.45, 1.13), share), threaded_campaign((1.65, 1.80, 2.14), share)
    (threaded_change,) = (change for change in compare_latencies(before, after) if change.function == "f")
    return threaded_change


def test_a_function_that_waited_is_judged_by_its_own_runs_alone() -> None:
    assert change_of_threaded(0.0).change == "slower", "as even as the others, these would have changed"
    change = change_of_threaded(0.3)
    assert change.change == "insufficient data"
    assert change.interval is not None
    assert change.interval[0] < 1 < change.interval[1]


@pytest.mark.parametrize(("share", "change"), [(0.0, "slower"), (0.1, "same"), (0.3, "insufficient data")])
def test_a_change_has_to_be_greater_where_more_samples_waited(share: float, change: str) -> None:
    """Waits that only one campaign had may also be in those of its samples that did not count as waiting."""
    busy_campaign = threaded_campaign([1.29 * level for level in QUIET], share)
    (measured_change,) = (
        measured_change
        for measured_change in compare_latencies(threaded_campaign(QUIET, 0.0), busy_campaign)
        if measured_change.function == "f"
    )
    assert measured_change.change == change


def test_no_change_counts_that_is_smaller_than_between_the_halves_of_a_campaign() -> None:
    """Its best and its second-best runs differ by 1.4 times in two of twenty-one functions."""
    others = [one for number in range(19) for one in campaign(function=f"g{number:02}")]
    restless = [one for name in "hk" for one in campaign((1.0, 1.4, 1.41), function=name)]
    before, after = ([*others, *restless, *campaign(levels)] for levels in (QUIET, [1.3 * level for level in QUIET]))

    def change(before: list[Measurement], after: list[Measurement]) -> str:
        return {of_function.function: of_function.change for of_function in compare_latencies(before, after)}["f"]

    assert between_halves(before) == pytest.approx(1.4)
    assert change(before, after) == "same"
    quiet_before, quiet_after = ([one for one in side if one.function not in "hk"] for side in (before, after))
    assert between_halves(quiet_before) == pytest.approx(1.01)
    assert change(quiet_before, quiet_after) == "slower"


def test_a_host_that_shows_as_much_by_itself_cannot_show_a_change() -> None:
    restless = [one for number in range(5) for one in campaign((1.0, 1.7, 1.8), function=f"g{number}")]
    slower = [*restless, *campaign([1.5 * level for level in QUIET])]
    changes = {change.function: change for change in compare_latencies([*restless, *campaign()], slower)}
    assert changes["f"].change == "insufficient data"
    assert changes["f"].why == "the host alone shows changes of ×1.7, so a change of 50 % could not be detected"


def test_a_campaign_of_one_run_has_no_halves() -> None:
    assert between_halves(campaign((1.0,))) is None
    assert between_halves(with_contended_runs(campaign(), 1, 2)) is None


def test_a_run_that_met_a_burst_changes_nothing() -> None:
    """The mean over runs, and the median of two runs, would report that the case became half as slow again."""
    change = the_change(campaign(), campaign((1.0, 1.02, 2.5)))
    assert change.change == "same"
    assert change.ratio == pytest.approx(1.0)


def test_a_slowdown_of_one_case_is_one_of_its_function() -> None:
    after = [one._replace(milliseconds=one.milliseconds * 3) if one.case == "f/1" else one for one in campaign()]
    change = the_change(campaign(), after)
    assert change.change == "slower"
    assert change.ratio == pytest.approx(1.0)
    assert [(case.case, case.change) for case in change.changed_cases] == [("f/1", "slower")]
    assert change.changed_cases[0].ratio == pytest.approx(3.0)


def test_a_case_that_met_the_same_burst_before_did_not_change_by_itself() -> None:
    """Two of its earlier runs were undisturbed, and no later run was. But one earlier run was as slow as the later
    ones."""
    others = [*campaign(cases=12, function="g"), *campaign(cases=3)]

    def with_case(levels: Sequence[float]) -> list[Measurement]:
        return [*others, *(Measurement("f", "f/own", run, level) for run, level in enumerate(levels, 1))]

    def words(before: Sequence[float], after: Sequence[float]) -> set[str]:
        return {change.change for change in compare_latencies(with_case(before), with_case(after))}

    assert words((1.0, 1.01, 1.9), (1.9, 1.92, 1.95)) == {"same"}
    assert words((1.0, 1.01, 1.02), (1.9, 1.92, 1.95)) == {"same", "slower"}


@pytest.mark.parametrize("ratio", [1.05, 1.19, 1 / 1.19])
def test_no_change_counts_that_is_less_than_the_least(ratio: float) -> None:
    change = the_change(campaign((1.0,) * 6), campaign((ratio,) * 6))
    assert change.change == "same"


def test_a_change_counts_only_where_the_intervals_part() -> None:
    noisy = (1.0, 1.35, 1.8)
    change = the_change(campaign(noisy), campaign([1.4 * level for level in noisy]))
    assert change.interval is not None
    assert change.interval[0] < 1 < change.interval[1]
    assert change.change == "insufficient data"


def test_insufficient_data_say_what_more_runs_would_do() -> None:
    noisy = (1.0, 1.2, 1.5)
    change = the_change(campaign(noisy), campaign(noisy))
    assert change.change == "insufficient data"
    assert change.why is not None
    number, _, rest = change.why.partition(" ")
    assert rest == "runs more per side would show a change of 50 %"
    more = [noisy[run % 3] for run in range(3 + int(number))]
    assert the_change(campaign(more), campaign(more)).change == "same"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (campaign((1.0,)), campaign(), "1 run more per side would be the minimum to show a change"),
        ([], campaign(), "not measured on A"),
        (campaign(), [], "not measured on B"),
        (
            campaign((1.0, 30.0, 900.0)),
            campaign((1.0, 30.0, 900.0)),
            "the host alone shows changes of ×30",
        ),
        (
            campaign((1.0, 1.01, 900.0, 901.0)),
            campaign((1.0, 1.01, 900.0, 901.0)),
            "too noisy: more than 30 more runs per side",
        ),
        (campaign(), [one._replace(case=f"{one.case}0") for one in campaign()], "no case was measured on both sides"),
    ],
)
def test_what_is_missing_is_named(before: list[Measurement], after: list[Measurement], why: str) -> None:
    change = the_change(before, after)
    assert change.change == "insufficient data"
    assert (change.why or "").startswith(why)


def test_zero_has_no_logarithm_and_is_left_out() -> None:
    zero = [one._replace(milliseconds=0.0) for one in campaign(function="g")]
    assert [change.function for change in compare_latencies(campaign() + zero, campaign() + zero)] == ["f"]


def test_the_best_run_exceeds_the_undisturbed_time_by_no_more_than_is_said() -> None:
    """The excess times are exponential, as the interval assumes. The share outside of the interval is the allowed
    share."""
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


@given(levels, levels, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_more_waiting_never_makes_a_change_of_none(
    before: list[float], after: list[float], less: float, more: float
) -> None:
    """A case that was unchanged, or undecided, with fewer waiting samples does not become changed with more."""
    less, more = sorted((less, more))
    sides = {
        share: [[one._replace(contended_share=share) for one in campaign(side)] for side in (before, after)]
        for share in (less, more)
    }
    if not the_change(*sides[less]).changed:
        assert not the_change(*sides[more]).changed


@given(levels)
def test_the_halves_of_a_campaign_bound_what_it_reports(runs: list[float]) -> None:
    """A change between two campaigns counts only if it is greater than the difference between the halves of one
    campaign."""
    halves = between_halves(campaign(runs))
    assert halves is not None
    assert halves >= 1
    assert not the_change(campaign(runs), campaign([halves * level for level in runs])).changed or halves < 1.2


@given(levels, levels, st.floats(1e-3, 1e3))
def test_another_unit_changes_nothing(before: list[float], after: list[float], factor: float) -> None:
    change = the_change(campaign(before), campaign(after))
    scaled_change = the_change(
        campaign([factor * level for level in before]), campaign([factor * level for level in after])
    )
    assert change.ratio == pytest.approx(scaled_change.ratio)
    assert change.interval == pytest.approx(scaled_change.interval)


def test_more_evidence_narrows_the_interval() -> None:
    widths = [greatest_excess(Spread(0.1, 2 * (n // 2)), n, ALPHA) for n in range(2, 12)]
    assert widths == sorted(widths, reverse=True)
    assert math.isinf(greatest_excess(Spread(0.1, 0), 1, ALPHA))


@pytest.mark.parametrize(
    ("halves", "words"),
    [
        ((1.078, 1.26), "A differs by up to ×1.08 and B differs by up to ×1.26"),
        ((1.078, None), "A differs by up to ×1.08 and B has no halves"),
    ],
)
def test_a_comparison_says_what_the_hosts_could_have_shown(halves: tuple[float, float | None], words: str) -> None:
    latencies = LatencyComparison(
        factor=1.5,
        least=1.2,
        between_halves=halves,
        refused=None,
        slower=0,
        faster=0,
        same=1,
        insufficient=0,
        changes=[],
    )
    assert words in latencies.host
    assert latencies.host.endswith("in 95 % of the functions: no smaller change counts")
