"""A suite's module says how its cases are timed where nobody asks for anything else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from protocol.catalogue import CatalogueSuite
from protocol.enums import TimedCases, TimingPolicy
from runners.suite.catalogue import pieces
from runners.suite.suites import Suite, load_suite
from tests.own_suite import MODULE, write_module


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, *constants: str) -> Suite:
    """The suite of a module in this folder, with these constants behind its functions."""
    write_module(folder, MODULE + "".join(f"{constant}\n" for constant in constants), name)
    monkeypatch.syspath_prepend(str(folder))
    return load_suite(name, name)


def test_a_module_without_these_constants_is_timed_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load(tmp_path, monkeypatch, "silent_suite")
    assert (suite.timing, suite.timed_cases) == (TimingPolicy.steady, TimedCases.all)


def test_the_catalogue_has_what_the_module_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = load(tmp_path, monkeypatch, "quick_suite", "TIMING = 'quick'", "TIMED_CASES = 'representative'")
    (piece,) = pieces({"quick_suite": suite})
    offered_suite = CatalogueSuite.model_validate(piece)
    assert (offered_suite.timing, offered_suite.timed_cases) == (TimingPolicy.quick, TimedCases.representative)


def test_the_revision_does_not_depend_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = ("TIMING = 'off'", "TIMED_CASES = 'representative'")
    silent, declaring = tmp_path / "silent", tmp_path / "declaring"
    with monkeypatch.context() as context:
        before = load(silent, context, "one_suite")
        revision, digests = before.revision, dict(before.digests)
    monkeypatch.delitem(sys.modules, "one_suite")
    after = load(declaring, monkeypatch, "one_suite", *constants)
    assert after.timing is TimingPolicy.off
    assert (after.revision, dict(after.digests)) == (revision, digests)


@pytest.mark.parametrize("value", ["'sometimes'", "None", "['off']"])
def test_another_word_is_refused_with_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    name = f"wrong_suite_{abs(hash(value))}"
    with pytest.raises(ValueError, match=rf"TIMING of {name} is .*; write one of off, quick, steady, paper"):
        load(tmp_path, monkeypatch, name, f"TIMING = {value}")
