"""The case of a second shape: which two cases make it, and what its preparation does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.enums import GRADIENT, RECOMPILED
from runners.errors import UntestedError
from runners.suite.cases import Case, Context, Function
from runners.suite.frozen import PACK, QUICK, FrozenArguments, PackWriter, frozen_functions
from runners.suite.second_shapes import KEPT, AfterAnotherShape, kept_pairs, pair_of, with_second_shapes

Shape = tuple[int, ...]
Frozen = Callable[..., list[Function]]


def prepared(written: str) -> Any:
    return written


@pytest.fixture
def frozen_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Frozen:
    """A suite of cases of one function, from their names, shapes and tags; those given by ``others`` besides."""
    package = tmp_path / f"suite_{tmp_path.name}".replace("-", "_").replace("[", "_").replace("]", "_")
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    def freeze(*cases: tuple[str, Shape, str], **others: dict[str, Any]) -> list[Function]:
        writer = PackWriter()
        for number, (name, shape, tags) in enumerate(cases):
            dtype = "int64" if "whole" in tags else "float64"
            digest = writer.add(np.full(shape, number, dtype), dtype)
            case = {"function": "one.two", "name": name, "dtype": "float64", "kind": "value", "tolerance": [0, 0]}
            more = {"call": "{}", "result": "1", "expected": [], "arrays": [digest], "tags": tags.split()}
            writer.cases.append(case | more | others.get(name, {}))
        writer.write(package / PACK, {})
        return frozen_functions(package.name, prepared)

    return freeze


def names(pair: tuple[Case, Case] | None) -> list[str]:
    return [case.id.rpartition("/")[2] for case in pair or ()]


def test_two_cases_of_one_call_in_two_shapes_make_one(frozen_case: Frozen) -> None:
    in_place = {"in_place": [0]}
    before = frozen_case(("a", (3,), "plain real quick"), ("b", (5,), "plain real quick sized-odd"), b=in_place)
    (function,) = with_second_shapes(before)
    first, case, second = function.cases
    assert case.id == "one.two/b-recompiled"
    assert case.tags == (*second.tags, RECOMPILED)
    assert isinstance(case.arguments, FrozenArguments)
    assert [array.shape for array in case.arguments(case.inputs())] == [(5,), (3,)]
    assert case.in_place == (0, 1)
    assert (case.reference, case.tolerance, case.dtype) == (second.reference, second.tolerance, second.dtype)
    assert case.prepare == AfterAnotherShape("{}", 1)  # type: ignore[arg-type]
    assert [first, second] == before[0].cases


def test_large_arrays_make_no_second_shape(frozen_case: Frozen) -> None:
    before = frozen_case(("a", (3,), "plain"), ("b", (5,), "plain sized-large"), ("c", (7,), "plain sized-rows"))
    assert with_second_shapes(before) == before


@pytest.mark.parametrize(
    ("cases", "pair"),
    [
        ([("a", (3,), "plain"), ("b", (3,), "plain")], []),
        ([("a", (3,), "plain"), ("b", (0,), "plain")], []),
        ([("a", (3,), "plain"), ("b", (5,), "plain whole")], []),
        ([("a", (3,), "plain"), ("b", (5,), "non-finite")], []),
        ([("a", (3,), "plain"), ("b", (5,), "tails")], []),
        ([("a", (3,), "plain"), ("b", (5,), "wrong-on-the-host")], []),
        ([("a", (3,), "plain"), ("b", (), "0-dim")], ["b", "a"]),
        ([("a", (3,), "plain"), ("b", (2, 2), "plain"), ("c", (5,), "plain")], ["a", "c"]),
        ([("a", (3,), "plain"), ("b", (5,), "plain"), ("c", (7,), f"plain {QUICK}")], ["a", "c"]),
        ([("a", (3,), ""), ("b", (5,), f"{GRADIENT} plain"), ("c", (), "")], ["a", "c"]),
    ],
)
def test_the_plainest_pair_is_taken(frozen_case: Frozen, cases: list[tuple[str, Shape, str]], pair: list[str]) -> None:
    (function,) = frozen_case(*cases)
    assert names(pair_of(function.cases)) == pair
    assert len(with_second_shapes([function])[0].cases) == len(cases) + bool(pair)


@pytest.mark.parametrize(
    "other",
    [{"call": "[]"}, {"dtype": "float32"}, {"kind": "behaviour"}, {"kind": "behaviour", "refuses": "ValueError"}],
)
def test_two_calls_that_differ_in_more_than_shapes_make_none(frozen_case: Frozen, other: dict[str, Any]) -> None:
    (function,) = frozen_case(("a", (3,), "plain"), ("b", (5,), "plain"), b=other)
    assert pair_of(function.cases) is None


def test_both_calls_are_prepared_in_the_way_of_the_framework(frozen_case: Frozen) -> None:
    functions = frozen_case(("a", (3,), "plain"), ("b", (5,), "plain"))
    (function,) = with_second_shapes(functions, lambda function, prepare: f"{function.name} {prepare}")  # type: ignore[arg-type, return-value]
    assert function.cases[1].prepare.prepare == "one.two {}"  # type: ignore[attr-defined]


def test_the_first_shape_is_called_and_read_before_and_unwatched() -> None:
    events: list[str] = []

    @contextlib.contextmanager
    def surroundings(so_far: Any = None) -> Iterator[None]:
        events.append("unwatched")
        yield
        events.append("watched")

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        events.append(f"prepare {arrays}")
        return lambda: arrays

    context = Context(None, "there", "toy", None, lambda tree: tree, surroundings=surroundings, to_host=events.append)
    call = AfterAnotherShape(prepare, 1)(context, "second", "first")
    assert events == ["unwatched", "prepare ('first',)", ("first",), "watched", "prepare ('second',)"]
    assert call() == ("second",)


def test_nothing_is_tested_where_the_first_shape_fails_already() -> None:
    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        return lambda: 1 / 0

    context = Context(None, "there", "toy", None, lambda tree: tree)
    with pytest.raises(UntestedError, match="the call in the first shape raised ZeroDivisionError"):
        AfterAnotherShape(prepare, 0)(context)


@pytest.mark.parametrize("is_remade", [True, False])
def test_a_pair_that_is_kept_stays_though_a_new_case_makes_a_better_one(
    frozen_case: Frozen, tmp_path: Path, is_remade: bool
) -> None:
    functions = frozen_case(("a", (3,), "plain"), ("b", (2, 2), "plain"), ("c", (5,), f"plain {QUICK}"))
    path = tmp_path / KEPT
    path.write_text(json.dumps({"one.two": ["a", "b", is_remade]}))
    (function,) = with_second_shapes(functions, lambda _, written: f"remade {written}", kept_pairs(path))
    (case,) = (case for case in function.cases if RECOMPILED in case.tags)
    assert case.id == "one.two/b-recompiled"
    assert case.prepare == AfterAnotherShape("remade {}" if is_remade else "{}", 1)  # type: ignore[arg-type]
    assert isinstance(case.arguments, FrozenArguments)
    assert [array.shape for array in case.arguments(case.inputs())] == [(2, 2), (3,)]


def test_a_function_without_a_kept_pair_has_the_best_one(frozen_case: Frozen, tmp_path: Path) -> None:
    functions = frozen_case(("a", (3,), "plain"), ("b", (5,), "plain"))
    path = tmp_path / KEPT
    path.write_text(json.dumps({"one.three": ["a", "b", False]}))
    (function,) = with_second_shapes(functions, kept=kept_pairs(path))
    assert [case.id for case in function.cases if RECOMPILED in case.tags] == ["one.two/b-recompiled"]
