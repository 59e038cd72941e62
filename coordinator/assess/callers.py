"""Finds the user's functions that directly or indirectly call a function with a finding. This module does no I/O."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.assess.findings import Assessment
from coordinator.assess.sites import AssessedSource, function_of
from coordinator.assess.verdicts import SiteVerdict


@dataclass(frozen=True)
class CallingFunction:
    """A user's function that calls, directly or indirectly, a function with a finding."""

    name: str
    verdicts: tuple[SiteVerdict, ...]
    path: tuple[str, ...]
    """The functions on the call path from this function to the function with the finding, including both."""


def callers(assessment: Assessment, source: AssessedSource) -> tuple[CallingFunction, ...]:
    """The functions that lead to a serious finding, each with its shortest call path. The function that leads to the
    most findings comes first."""
    called_by: dict[str, set[str]] = defaultdict(set)
    for caller, names in source.calls.items():
        for name in names:
            called_by[name].add(caller)
    paths: dict[str, dict[SiteVerdict, tuple[str, ...]]] = defaultdict(dict)
    for finding in assessment.serious:
        starts = {inner for site in finding.places if (inner := function_of(site, source.modules))}
        for name, path in _ways(starts, called_by).items():
            paths[name][finding.verdict] = path
    functions = (CallingFunction(name, tuple(ways), min(ways.values(), key=len)) for name, ways in paths.items())
    return tuple(sorted(functions, key=lambda caller: (-len(caller.verdicts), len(caller.path), caller.name)))


def _ways(starts: set[str], called_by: Mapping[str, set[str]]) -> dict[str, tuple[str, ...]]:
    """The shortest call path to one of ``starts``, for every function that calls one directly or indirectly. The path
    of a function in ``starts`` contains only this function."""
    ways: dict[str, tuple[str, ...]] = {name: (name,) for name in sorted(starts)}
    waiting = deque(ways)
    while waiting:
        name = waiting.popleft()
        for caller in sorted(called_by.get(name, ())):
            if caller not in ways:
                ways[caller] = (caller, *ways[name])
                waiting.append(caller)
    return ways
