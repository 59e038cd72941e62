"""Tests of options: the listed options of a case are those with which it calls its function."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from protocol.catalogue import CaseOptions
from runners.calls_by_hand import options_seen
from runners.suite.cases import Case
from runners.suite.device import Device
from runners.suite.options import options_of
from tests.frameworks.common.running import cases, run
from tests.frameworks.common.selection import Selection, check_cases
from tests.frameworks.common.subject import Subject

SHARE = 20
KNOWN = 0.95
"""The smallest share of a suite's cases whose calls are known."""


class Recorder:
    """Replaces the function: records the arguments of the first call, and then ends the case."""

    def __init__(self) -> None:
        self.given: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        self.given = self.given or (arguments, keywords)
        raise RuntimeError("recorded")


def test_the_options_of_a_case_say_how_it_calls_its_function(
    cpu: Device, subject: Subject, selection: Selection
) -> None:
    every = [*cases(subject.framework, suite="library"), *cases(subject.framework)]
    cases_with_calls = [case for case in every if "calls" in options_of(case)]
    assert len(cases_with_calls) > len(every) / 2
    check_cases(selection.drawn(cases_with_calls, SHARE, "options"), lambda case: assert_called_so(cpu, case))


def test_the_options_that_were_recorded_are_those_of_the_calls(
    cpu: Device, subject: Subject, selection: Selection
) -> None:
    suites = {name: subject.framework.load_suites()[name] for name in ("paper", "library")}
    for suite in suites.values():
        options = [options_of(case, suite.recorded.get(case.id)) for case in suite.cases]
        assert sum("calls" in one for one in options) > KNOWN * len(options), suite.name
    recordings = {id: options for suite in suites.values() for id, options in suite.recorded.items()}
    by_hand = [case for suite in suites.values() for case in suite.cases if case.id in suite.recorded]
    assert all(CaseOptions.model_validate(options) for options in recordings.values())
    check_cases(
        selection.drawn(by_hand, SHARE, "recorded"), lambda case: assert_seen_so(cpu, case, recordings[case.id])
    )


def assert_seen_so(cpu: Device, case: Case, recording: Mapping[str, Any]) -> None:
    assert "calls" not in options_of(case)
    options = options_seen(cpu, case)
    assert options is not None, "record it anew: python -m runners.calls_by_hand"
    assert options["dtypes"] == recording["dtypes"]
    assert list(map(_form, options["calls"])) == list(map(_form, recording["calls"]))


def _form(call: Mapping[str, Any]) -> tuple[int, list[str], bool]:
    return call["positional"], sorted(call.get("keywords", {})), "receiver" in call


def assert_called_so(cpu: Device, case: Case) -> None:
    recorder = Recorder()
    run(cpu, dataclasses.replace(case, given=recorder))
    assert recorder.given is not None
    arguments, keywords = recorder.given
    options = options_of(case)
    (call,) = options["calls"]
    assert call["positional"] + ("receiver" in call) == len(arguments)
    assert sorted(call.get("keywords", {})) == sorted(keywords)
    assert set(_dtypes([arguments, keywords])) <= set(options["dtypes"])


def _dtypes(tree: Any) -> Iterator[str]:
    """The dtypes of the framework's own arrays in a tree."""
    if isinstance(tree, Mapping):
        yield from _dtypes(list(tree.values()))
    elif isinstance(tree, (list, tuple)):
        for member in tree:
            yield from _dtypes(member)
    elif hasattr(tree, "dtype") and hasattr(tree, "shape"):
        yield getattr(tree.dtype, "name", None) or str(tree.dtype).rpartition(".")[2]
