"""Pairs made of two frozen calls: which cases go together, and how the pair is written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from freezing.common.agreement import Reference
from freezing.common.gate import Arguments, GatedFunction
from freezing.common.pairs import PairSubject, PlainCase, PlainCases, draw_pair, links_of
from runners.errors import LeftOutError
from runners.suite.checks import Leaf
from runners.suite.device import Device
from runners.suite.frozen import Pack, PackWriter
from runners.suite.pairs import FIRST_RESULT, FirstCall, first_of, with_result
from runners.suite.trees import mapped


def plain(written: Any, *arrays: Any, dtype: str = "float32", result: Any = None) -> PlainCase:
    given = tuple(np.asarray(array) for array in arrays)
    returned = None if result is None else np.asarray(result)
    of_result = {"f": dtype, "b": "bool", "i": "int64"}
    result_dtype = None if returned is None else of_result[returned.dtype.kind]
    return PlainCase(written, given, dtype, frozenset({"plain"}), result_dtype, returned)


def call(*arguments: Any, **options: Any) -> Any:
    return {"tuple": [list(arguments), {"mapping": [list(option) for option in options.items()]}]}


ONE = {"array": 0}
FIRST = plain(call(ONE, 2), [1.0, 2.0], result=[2.0, 3.0])


def test_the_result_takes_the_place_of_the_first_array_of_its_dtype() -> None:
    second = plain(call(ONE, {"array": 1}, {"array": 2}), [True, False], [5.0, 6.0], [7.0, 8.0])
    (link,) = links_of([FIRST], [second], distinct=False)
    pack = PackWriter()
    sample = link.sample("after-f-float32", "f", pack, ["tag"], {"nested": True})
    written = json.loads(sample.call)
    assert written["tuple"] == [[{"array": 1}, {"array": 3}, {"array": 2}], {"mapping": []}]
    assert written["nested"] is True
    assert first_of(sample.call) == FirstCall("f", json.dumps(FIRST.written, separators=(",", ":")))
    assert [pack.array(digest).tolist() for digest in sample.arrays] == [[1, 2], [True, False], [7, 8]]
    assert (sample.dtype, sample.kinds[-1]) == ("float32", "tag")


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(plain(call(ONE), [1.0, 2.0], dtype="float16"), id="another precision"),
        pytest.param(plain(call(ONE), [True]), id="no array of that dtype"),
        pytest.param(plain(call({"array": 0, "strides": [2]}), [1.0, 2.0]), id="strides of its own"),
        pytest.param(plain(call(ONE, ONE), [1.0, 2.0]), id="the same array twice"),
        pytest.param(plain(call(ONE), np.zeros(2_000)), id="too large"),
    ],
)
def test_cases_that_do_not_go_together_make_no_pair(second: PlainCase) -> None:
    assert links_of([FIRST], [second], distinct=False) == []


def test_equal_shapes_come_first() -> None:
    scalar, longer, equal = (plain(call(ONE), array) for array in (1.0, [1.0, 2.0, 3.0], [1.0, 2.0]))
    links = links_of([FIRST], [scalar, longer, equal], distinct=False)
    assert [link.second for link in links] == [equal, longer, scalar]


def test_where_equals_have_no_order_the_result_has_none() -> None:
    second, equals = plain(call(ONE), [1.0, 2.0]), plain(call(ONE), [1.0, 2.0], result=[4.0, 4.0])
    assert [link.first for link in links_of([equals, FIRST], [second], distinct=True)] == [FIRST]


def test_wrapping_numbers_are_from_all_of_a_narrow_dtype() -> None:
    first = plain(call(ONE, ONE), np.arange(200.0), result=np.arange(200.0))
    (link,) = links_of([first], [plain(call(ONE, {"array": 1}), np.arange(200.0), [-70.0, 2.5])], distinct=False)
    wrapping = link.wrapping(np.random.default_rng(0))
    assert wrapping is not None
    (drawn,) = wrapping.first.arrays
    assert (drawn.dtype, wrapping.dtype) == (np.int8, "int8")
    assert drawn.min() < -100
    assert drawn.max() > 100
    assert wrapping.second.arrays[1].tolist() == [-9, 2]


def test_the_result_is_put_into_its_place() -> None:
    assert with_result([[1, FIRST_RESULT], {"of": (FIRST_RESULT,)}], "result") == [[1, "result"], {"of": ("result",)}]


class Host:
    """A device whose arrays are NumPy's."""

    def to_device(self, tree: Any, dtype: str) -> Any:
        return tree

    def to_host(self, tree: Any) -> Any:
        return mapped(tree, lambda array: Leaf(array, str(array.dtype), "host"), np.ndarray)

    def seed(self, seed: int) -> None:
        pass


class Same(GatedFunction):
    """Returns its array."""

    def __init__(self, name: str) -> None:
        super().__init__(name, lambda array: array, cast(Device, Host()))

    def arguments(self, call: str, arrays: Sequence[Any]) -> Arguments:
        return [arrays[-1]], {}

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [fresh()[0][0]]


class Whole(Same):
    """Converts its array to whole numbers."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.call = convert

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        yield "numpy", lambda: [convert(fresh()[0][0])]


def convert(array: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return array.astype(np.int32)


def draw(folder: Path, subject: PairSubject, *numbers: float) -> Pack:
    """Draw the pair of the functions f and g, each with one case on these numbers."""
    pack = PackWriter()
    digest = pack.add(np.array(numbers, np.float32), "float32")
    case = {"name": "1", "dtype": "float32", "arrays": [digest], "call": json.dumps(call(ONE)), "expected": [digest]}
    pack.cases = [
        {**case, "function": name, "kind": "value", "result": json.dumps(ONE), "tags": ["plain"]} for name in "fg"
    ]
    pack.write(folder / "cases.npz", {})
    draw_pair(subject, PlainCases(Pack(folder / "cases.npz")), folder / "pair.npz")
    return Pack(folder / "pair.npz")


@pytest.mark.parametrize(("step", "kinds"), [(0, ["value"]), (1, [])])
def test_a_pair_whose_values_vary_is_left_out(tmp_path: Path, step: int, kinds: list[str]) -> None:
    counter = itertools.count(0, step)
    subject = PairSubject(Same("f"), Same("g"), lambda written, arrays: arrays[0] + np.float32(next(counter)))
    pair = draw(tmp_path, subject, 1, 2)
    assert [case["kind"] for case in pair.cases] == kinds
    assert [reason for _, _, reason, _ in pair.about["left_out"]] == ["not deterministic"] * (1 - len(kinds))


@pytest.mark.parametrize(("number", "reasons"), [(2.75, []), (1e30, ["not determined"])])
def test_a_pair_that_converts_a_number_beyond_its_integer_type_is_left_out(
    tmp_path: Path, number: float, reasons: list[str]
) -> None:
    """The first function returns the number, so that no array of the call that the gate looks at is converted."""
    first = Same("f")
    first.call = lambda array: array * np.float32(number)
    subject = PairSubject(first, Whole("g"), lambda written, arrays: convert(arrays[0] * np.float32(number)))
    pair = draw(tmp_path, subject, 1, 2)
    assert [reason for _, _, reason, _ in pair.about["left_out"]] == reasons
    assert len(pair.cases) == 1 - len(reasons)


class RefusedPair(PairSubject):
    """Two functions that are refused as one program."""

    def require_program(self, call: str, arrays: Sequence[Any]) -> None:
        raise LeftOutError("another result in a graph", "")


def test_a_pair_that_one_program_computes_otherwise_is_left_out(tmp_path: Path) -> None:
    pair = draw(tmp_path, RefusedPair(Same("f"), Same("g"), lambda written, arrays: arrays[0]), 1, 2)
    assert [reason for _, _, reason, _ in pair.about["left_out"]] == ["another result in a graph"]
