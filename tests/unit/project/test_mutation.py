"""A mutant is a different program of the same module, and code that only describes has no mutants."""

from __future__ import annotations

from functools import cache

import pytest

from tests.mutation import equivalents
from tests.mutation.areas import AREAS
from tests.mutation.candidates import PROJECT, CandidateError, Mutant, candidates, draw
from tests.mutation.equivalents import Equivalent, read_equivalents
from tests.mutation.operators import changes
from tests.mutation.trial import TestRun, stages_of


def mutants_of(source: str) -> set[str]:
    text = source.encode()
    return {change.apply(text).decode() for change in changes(text) if change.makes_a_program(text)}


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a <= b", {"x = a < b"}),
        ("x = a is None", {"x = a is not None"}),
        ("x = (a) == (b)", {"x = (a) != (b)"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x =  a"}),
        ("x = 3", {"x = 4"}),
        ("x = 200", {"x = 400"}),
        ("x = 2.5", {"x = 5.0"}),
        ("x = True", {"x = False"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = {a, b}", {"x = {b,}", "x = {a,}"}),
        ("x = a in (b, c)", {"x = a not in (b, c)", "x = a in (c,)", "x = a in (b,)"}),
        ("x = frozenset((a, b))", {"x = frozenset((b,))", "x = frozenset((a,))"}),
        ("def f():\n    if a:\n        return b\n    return c", {"def f():\n    if a:\n        pass\n    return c"}),
        ("x = 'ä' if a else min(b, c)", {"x = 'ä' if a else max(b, c)"}),
    ],
)
def test_each_operator_makes_its_mistake(source: str, mutants: set[str]) -> None:
    assert mutants_of(source) == mutants


@pytest.mark.parametrize(
    "source",
    [
        '"""Not 3 but 4."""',
        "log.info('so many', limit=3)",
        "x: Literal[3]",
        "def f(x: Literal[3]) -> Literal[4]: ...",
        "@lru_cache(maxsize=3)\ndef f(): ...",
        "assert x < 3",
        "raise ValueError(3)",
        "x = f'{3:>3}'",
        "def __repr__(self):\n    return a < b",
        "if TYPE_CHECKING:\n    x = 3",
    ],
)
def test_what_only_says_something_has_no_mutants(source: str) -> None:
    assert mutants_of(source) == set()


@cache
def every_mutant() -> list[Mutant]:
    return [mutant for area in AREAS for mutant in candidates(area)]


def test_a_draw_has_mutants_of_every_area_and_follows_from_its_seed() -> None:
    mutants = every_mutant()
    drawn_mutants = draw(mutants, 30, 1)
    assert len(set(map(str, drawn_mutants))) == 30
    assert {mutant.area for mutant in drawn_mutants} == set(AREAS)
    assert draw([*mutants], 30, 1) == drawn_mutants != draw(mutants, 30, 2)


def test_every_module_that_decides_has_mutants_and_tests_that_are_there() -> None:
    mutants = every_mutant()
    assert {mutant.file for mutant in mutants} == {file for area in AREAS.values() for file in area.modules}
    tests = {
        test
        for mutant in {mutant.file: mutant for mutant in mutants}.values()
        for stage in stages_of(mutant)
        for test in stage
    }
    assert [test for test in tests if not (PROJECT / test).is_file()] == []


def test_the_tests_that_import_a_module_come_first_and_those_with_processes_last() -> None:
    (mutant, *_) = candidates("lost attempts")
    stages = stages_of(mutant)
    assert stages[0] == ["tests/unit/coordinator/dispatch/test_lost_attempts.py"]
    assert stages[1] == ["tests/integration/coordinator/dispatch/test_losses.py"]
    assert "tests/integration/coordinator/dispatch/test_queue.py" in stages[3]
    assert stages[-1][-1].startswith("tests/faults/")


def test_a_declared_equivalent_is_not_drawn_and_one_that_fits_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mutants = every_mutant()
    first = mutants[0]
    entry = Equivalent(first.file, first.text, first.change.operator, "for this test")
    monkeypatch.setattr(equivalents, "EQUIVALENTS", (entry,))
    assert read_equivalents(mutants) == {first}
    drawn_mutants = draw(mutants, 30, 1)
    assert set(drawn_mutants) - set(draw(mutants, 30, 1, {drawn_mutants[0]})) == {drawn_mutants[0]}
    monkeypatch.setattr(equivalents, "EQUIVALENTS", (entry._replace(text="no such line"),))
    with pytest.raises(CandidateError, match="remove the entry"):
        read_equivalents(mutants)


@pytest.mark.parametrize(
    ("output", "test"),
    [
        ("FAILED tests/unit/test_a.py::test_b - assert 1 == 2", "tests/unit/test_a.py::test_b"),
        ("FAILED tests/unit/test_a.py::test_b[a - b] - no", "tests/unit/test_a.py::test_b[a - b]"),
        ("ERROR tests/unit/test_a.py - ImportError", "tests/unit/test_a.py"),
        ("ImportError while loading conftest", "pytest itself (ImportError while loading conftest)"),
    ],
)
def test_the_test_that_noticed_is_named(output: str, test: str) -> None:
    assert TestRun([], 1, f"collected 3 items\n{output}\n").culprit == test
