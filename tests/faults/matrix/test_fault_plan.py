"""The schedule of faults depends only on the seed, is complete, and never combines faults that exclude each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from tests.faults.matrix.kinds import KINDS
from tests.faults.matrix.plan import LANES, Planned, schedule

SEEDS = range(20)


def schedule_rows(faults: list[Planned]) -> list[tuple[str, str, float]]:
    return [(fault.kind.name, fault.target, fault.begins_s) for fault in faults]


def test_a_seed_repeats_its_schedule() -> None:
    assert schedule_rows(schedule(KINDS, 7, 300.0)) == schedule_rows(schedule(KINDS, 7, 300.0))
    assert schedule_rows(schedule(KINDS, 7)) != schedule_rows(schedule(KINDS, 8))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_kind_happens_once(seed: int) -> None:
    assert sorted(fault.kind.name for fault in schedule(KINDS, seed)) == sorted(kind.name for kind in KINDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_lasts_past_the_given_time(seed: int) -> None:
    faults = schedule(KINDS, seed, 600.0)
    assert faults
    assert max(fault.ends_s for fault in faults) <= 600.0
    assert min(fault.begins_s for fault in faults) < 5.0


@pytest.mark.parametrize("seed", SEEDS)
def test_faults_overlap_and_never_where_they_hold_the_same(seed: int) -> None:
    faults = schedule(KINDS, seed)
    together = [
        (one, other)
        for one, other in combinations(faults, 2)
        if one.begins_s < other.ends_s and other.begins_s < one.ends_s
    ]
    assert len(together) > len(KINDS) / 2
    assert not [pair for pair in together if pair[0].holds & pair[1].holds]
    for fault in faults:
        beside = [other for other in faults if other.begins_s <= fault.begins_s < other.ends_s]
        assert len(beside) <= LANES
