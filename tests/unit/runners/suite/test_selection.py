"""A run of tests always checks the frozen cases that a change touches, or a sample of them if they are many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from runners.suite.cases import Function
from runners.suite.framework import Framework
from runners.suite.frozen import VARIANTS_PACK, PackWriter
from tests import levels
from tests.frameworks.common import selection

FOLDER = PurePath("suite")
FILE = str(FOLDER / VARIANTS_PACK)
Changed = Callable[..., set[str]]


def packed(path: Path, cases: dict[str, float]) -> bytes:
    pack = PackWriter()
    pack.cases += [
        {"function": "torch.abs", "name": name, "arrays": [pack.add(np.array([value]), "float64")]}
        for name, value in cases.items()
    ]
    pack.write(path, {})
    return path.read_bytes()


@pytest.fixture
def changed_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changed:
    """Returns a function that gives the cases that are checked when a file with some cases becomes one with others."""
    monkeypatch.setattr(selection, "ROOT", tmp_path)
    (tmp_path / FOLDER).mkdir()

    def changed(before: dict[str, float] | None, now: dict[str, float]) -> set[str]:
        content = None if before is None else packed(tmp_path / "before.npz", before)
        packed(tmp_path / FILE, now)
        monkeypatch.setattr(selection, "content_before", {FILE: content}.__getitem__)
        return set(selection._changed_frozen_cases(FOLDER, {FILE}))

    return changed


def test_a_new_and_a_changed_case_are_checked_and_no_other(changed_cases: Changed) -> None:
    assert changed_cases({"a": 1.0, "b": 2.0, "gone": 3.0}, {"a": 1.0, "b": 2.5, "c": 4.0}) == {
        "torch.abs/b",
        "torch.abs/c",
    }


def test_every_case_of_a_new_file_is_checked(changed_cases: Changed) -> None:
    assert changed_cases(None, {"a": 1.0}) == {"torch.abs/a"}


def test_of_many_changed_cases_a_sample_is_checked_unless_all_tests_run(
    changed_cases: Changed, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"{number}": float(number) for number in range(3 * selection.MOST_CHANGED)}
    monkeypatch.setattr(levels, "LEVEL", 1)
    assert len(changed_cases({}, many)) == selection.MOST_CHANGED
    monkeypatch.setattr(levels, "LEVEL", 2)
    assert len(changed_cases({}, many)) == len(many)


@pytest.mark.parametrize(("cases", "checked_cases"), [(3, 3), (3 * selection.MOST_CHANGED, selection.MOST_CHANGED)])
def test_of_the_cases_of_a_changed_module_as_many_are_checked(
    cases: int, checked_cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = Function("torch.abs", lambda: None)
    for number in range(cases):
        function.value(f"{number}", lambda inputs: [inputs.normal(3)], reference=np.abs)
    monkeypatch.setattr(levels, "LEVEL", 1)
    monkeypatch.setattr(selection, "_definitions", lambda name: [("suite/module.py", [function]), ("other.py", [])])
    monkeypatch.setattr(selection, "touched", lambda: frozenset({"suite/module.py"}))
    framework = cast(Framework, SimpleNamespace(name="torch", load_suites=dict))
    assert len(selection.Selection(framework)._touched) == checked_cases
