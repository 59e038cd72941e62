"""If a function has a finding, its callers have one too, with the shortest path to the function."""

from __future__ import annotations

from coordinator.assess.callers import callers
from coordinator.assess.findings import assess
from coordinator.assess.names import Names
from coordinator.assess.sites import Guard, GuardKind, Site
from tests.unit.coordinator.assess.cases import FUNCTION, several, site, source, target


def ways(calls: dict[str, set[str]], *sites: Site) -> dict[str, tuple[str, ...]]:
    code = source(*sites, calls={name: frozenset(callees) for name, callees in calls.items()})
    assessment = assess(code, target({FUNCTION: several(3, "usual", "failed")}), Names(frozenset({FUNCTION})))
    return {caller.name: caller.path for caller in callers(assessment, code)}


def test_a_caller_is_reached_by_the_shortest_way() -> None:
    calls = {"train.main": {"train.epoch", "train.step"}, "train.epoch": {"train.step"}, "train.other": {"train.no"}}
    assert ways(calls, site(within="step")) == {
        "train.step": ("train.step",),
        "train.epoch": ("train.epoch", "train.step"),
        "train.main": ("train.main", "train.step"),
    }


def test_a_circle_ends() -> None:
    calls = {"train.step": {"train.again"}, "train.again": {"train.step"}}
    assert ways(calls, site(within="step")) == {
        "train.step": ("train.step",),
        "train.again": ("train.again", "train.step"),
    }


def test_code_at_the_top_of_a_file_and_guarded_places_have_no_callers() -> None:
    calls = {"train.main": {"train.step"}}
    assert ways(calls, site(within="")) == {}
    assert ways(calls, site(within="step", guards=[Guard(GuardKind.version, 1, "v > 2")])) == {}
