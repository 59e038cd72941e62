"""The bench of repeatability judges campaigns of a simulated host as it describes, and some campaigns must not pass."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from bench.busy import busy
from bench.repeatability import FEWEST_FOUND, PLANTED, CampaignLatencies, LoadTrial, between_loads, judge, planted_among
from tests.unit.coordinator.results.noisy_host import CORES, Host


def trial(loops: int, factor: float = 1.5, runs: int = 3) -> LoadTrial:
    """A trial with this many loops on each of the two cores of the simulated host."""
    host = Host(CORES * loops, functions=44, runs=runs)
    first, again = (host.campaign(seed) for seed in (1, 2))
    planted_functions = planted_among([f"f{number}" for number in range(host.functions)], seed=3)
    slower = host.campaign(4, planted_functions, factor)
    campaigns = (CampaignLatencies(levels, levels) for levels in (first, again, slower))
    return LoadTrial(loops, *campaigns, planted_functions)


@pytest.mark.parametrize("loops", [0, 2])
def test_on_a_simulated_host_every_target_is_met(loops: int) -> None:
    figures = judge(trial(loops), {"seed": 3})
    assert [figure.name for figure in figures] == [
        f"{name}_beside_{loops}_loops_a_core"
        for name in ("false_alarms", "planted_slowdowns_found", "insufficient_data")
    ]
    assert [figure.met for figure in figures] == ([True, True, None] if loops else [True, True, True])
    assert loops or figures[1].value >= FEWEST_FOUND


def test_a_busier_host_is_no_false_alarm_and_a_slower_function_is_one() -> None:
    quiet, busy_one, slower = trial(0), trial(2), trial(0, factor=3.0)
    assert between_loads([quiet, busy_one], {}).met
    assert not between_loads([quiet, slower._replace(before=slower.slower)], {}).met


def test_a_slowdown_that_is_none_is_not_found() -> None:
    alarms, detection, _ = judge(trial(0, factor=1.0), {})
    assert alarms.met
    assert (detection.value, detection.met) == (0.0, False)


def test_one_run_a_side_is_insufficient() -> None:
    _, detection, unknown = judge(trial(0, runs=1), {})
    assert not detection.met
    assert (unknown.value, unknown.met) == (1.0, False)


def test_at_most_half_of_the_functions_are_slowed() -> None:
    assert len(planted_among([f"f{number}" for number in range(100)], seed=1)) == PLANTED
    assert len(planted_among([f"f{number}" for number in range(8)], seed=1)) == 4


def test_the_loops_run_meanwhile_and_end_with_it(tmp_path: Path) -> None:
    before = children()
    with busy(2, tmp_path):
        assert len(children() - before) == 2
    assert children() <= before


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}
