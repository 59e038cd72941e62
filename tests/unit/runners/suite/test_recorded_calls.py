"""Recorded calls without a framework: their arrays, the book that counts them, and the suite that they are."""

from __future__ import annotations

import base64
import json
import sys
import tracemalloc
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol.enums import WITH_RECORDED_VALUES
from protocol.recording_format import MAX_SITES, MAX_VARIANTS
from runners.errors import SuiteError
from runners.suite.cases import Case, Inputs
from runners.suite.checks import TOLERANCES
from runners.suite.recording import replay, sites
from runners.suite.recording.arrays import MOST_VALUES, RecordedArray, describe
from runners.suite.recording.book import Book
from runners.suite.recording.reading import RecordedArguments, RecordedCall, functions_of

ARRAY = {"dtype": "float32", "shape": [2], "low": 0.0, "high": 1.0}
CALL: dict[str, Any] = {
    "function": "torch.foo",
    "name": "float32-1",
    "dtype": "float32",
    "call": {"tuple": [[{"array": 0}], {"mapping": []}]},
    "arrays": [ARRAY],
    "changes": [],
    "is_random": False,
    "gradient": {"wanted": [0], "results": [{**ARRAY, "dtype": "float64"}, None]},
}
MARK = {"type": "portolan-recording", "format": 1, "portolan": "0.1.0", "framework": "torch"}


def inputs() -> Inputs:
    return Inputs(np.random.default_rng(0), 0)


def case_of(call: RecordedCall) -> Case:
    return Case(
        call.id, call.function, "value", call.dtype, RecordedArguments(call.arrays), lambda _: dict, {},
        TOLERANCES[call.dtype], check=lambda _: None,
    )  # fmt: skip


def write_recording(folder: Path, **changes: Any) -> Path:
    file = folder / "recording.json"
    file.write_text(json.dumps({**MARK, "calls": [CALL], **changes}))
    return file


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([[3, -4], [5, 6]]), "int64"),
        (np.array([True, False]), "bool"),
        (np.array([0.0, -np.inf], np.float32), "bfloat16"),
        (np.zeros((0, 3), np.int32), "int32"),
        (np.asarray(7, np.uint8), "uint8"),
    ],
)
def test_whole_numbers_and_what_is_not_finite_are_kept(values: Any, dtype: str) -> None:
    drawn_array = RecordedArray.read(describe(values, dtype, with_values=False).written).made(inputs())
    assert np.array_equal(drawn_array, values)
    assert drawn_array.shape == values.shape


def test_floats_are_drawn_from_their_range_unless_their_values_are_asked_for() -> None:
    values = np.linspace(2.0, 3.0, 50, dtype=np.float32)
    array = describe(values, "float32", with_values=False)
    drawn_array = array.made(inputs())
    assert array.values is None
    assert drawn_array.shape == (50,)
    assert 2.0 <= drawn_array.min() < drawn_array.max() <= 3.0
    assert np.array_equal(describe(values, "float32", with_values=True).made(inputs()), values)


def test_values_unpack_to_no_more_than_their_shape_has() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(1 << 26), 9)).decode()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="buffer size must be a multiple"):
            RecordedArray("float32", (2,), values=bomb).made(inputs())
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_of_a_large_array_of_whole_numbers_there_is_the_range() -> None:
    array = describe(np.arange(MOST_VALUES + 1), "int64", with_values=False)
    assert (array.values, array.low, array.high) == (None, 0, MOST_VALUES)
    assert array.made(inputs()).dtype == np.int64


def test_the_book_grows_with_distinct_calls_alone_and_tells_all() -> None:
    messages: list[Mapping[str, Any]] = []
    book = Book(messages.append)
    entry = book.open("torch.foo", {})
    for number in range(3 * MAX_SITES):
        entry.met(("train.py", number), 0.5)
    book.tell_counts()
    ((number, seconds, sites),) = messages[-1]["counts"]
    assert (number, seconds) == (0, 1.5 * MAX_SITES)
    assert len(sites) == MAX_SITES + 1
    assert sites[-1] == ["", 0, 2 * MAX_SITES]
    assert [book.takes("torch.bar") for _ in range(MAX_VARIANTS + 1)][-2:] == [True, False]
    book.tell_counts()
    assert messages[-1]["counts"] == []


def test_what_was_counted_once_is_counted_again_but_for_crossings() -> None:
    messages: list[dict[str, Any]] = []
    book = Book(messages.append)
    entry = book.open("jax.numpy.tanh", {})
    book.first(entry, ("train.py", 3), 1.0)
    with book.tally() as tally:
        entry.met(("train.py", 3), 0.5)
        entry.met(("train.py", 4), 0.25)
        other = book.open("jax.numpy.sin", {})
        book.first(other, ("train.py", 5), 0.125)
        book.cross("jax.numpy.array", "to_device", ("train.py", 6))
    for _ in range(10):
        book.again(tally)
    assert (entry.seconds, entry.sites) == (1.75 + 7.5, {("train.py", 3): 12, ("train.py", 4): 11})
    assert (other.seconds, other.sites) == (0.125 * 11, {("train.py", 5): 11})
    book.tell_counts()
    assert [counts for number, _, counts in messages[-1]["counts"] if number == 2] == [[["train.py", 6, 1]]]


def test_a_tally_holds_what_was_counted_within_and_nothing_else_of_the_book() -> None:
    book = Book(lambda _: None)
    entries = [book.open("jax.numpy.tanh", {}) for _ in range(1_000)]
    for entry in entries:
        entry.met(("main.py", 3))
    with book.tally() as outer:
        for number in range(100_000):
            entries[number % 2].met(("train.py", number), 0.5)
        with book.tally() as inner:
            entries[2].met(("train.py", 3))
        book.again(inner)
    assert len(outer) == 2 * MAX_SITES + 1
    assert len(inner) == 1
    entries[2].met(("train.py", 3))
    assert len(outer) == 2 * MAX_SITES + 1
    outer.again()
    assert [entry.seconds for entry in entries[:3]] == [50_000.0, 50_000.0, 0.0]
    assert [sum(entry.sites.values()) for entry in entries[:4]] == [100_001, 100_001, 6, 1]


def test_the_names_of_generated_files_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "MOST_FILES", 10)
    lines = sites.Sites("/somewhere", ())

    def site_in(file: str) -> sites.Site:
        names: dict[str, Any] = {"of": lines.of, "frame": sys._getframe}
        exec(compile("\nsite = of(frame())", file, "exec"), names)
        site: sites.Site = names["site"]
        return site

    tracemalloc.start()
    try:
        for number in range(1_000):
            assert site_in(f"/somewhere/{'x' * 10_000}/{number}.py")[1] == 2
        own = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, sites.__file__)])
        assert sum(trace.size for trace in own.traces) < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_recording_is_a_suite_with_a_case_for_each_call_and_for_its_gradient(tmp_path: Path) -> None:
    (function,) = functions_of(write_recording(tmp_path), "torch", case_of)
    plain, gradient = function.cases
    assert (plain.id, gradient.id) == ("torch.foo/float32-1", "torch.foo/float32-1-gradient")
    assert [array.dtype for array in gradient.arguments.arrays] == ["float32", "float64"]  # type: ignore[attr-defined]


def test_a_case_says_whether_it_has_the_values_of_the_program(tmp_path: Path) -> None:
    whole_numbers = describe(np.array([3, 4], np.int32), "int32", with_values=False)
    calls = [{**CALL, "arrays": [array], "gradient": None} for array in (ARRAY, whole_numbers.written)]
    (function,) = functions_of(
        write_recording(tmp_path, calls=calls),
        "torch",
        lambda call: replay.case_of(call, lambda _: dict, replay.Openness(), framework="torch", recordable=()),
    )
    assert [WITH_RECORDED_VALUES in case.tags for case in function.cases] == [False, True]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"type": "portolan-bundle"}, "is not a recording of Portolan: create one with portolan-runner record"),
        ({"format": 2, "portolan": "9.0"}, r"has format 2 \(made by portolan 9.0\).* reads formats up to 1: up"),
        ({"framework": "jax"}, "is a recording of jax: serve it with a runner of that framework"),
        ({"calls": [{**CALL, "arrays": 3}]}, "is not a valid recording .* record it again"),
        ({"calls": None}, "is not a valid recording"),
        ({"calls": [{**CALL, "call": {**CALL["call"], "way": "steps"}}]}, "a call has more than its arguments"),
    ],
)
def test_a_recording_that_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, changes: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(SuiteError, match=message) as excinfo:
        functions_of(write_recording(tmp_path, **changes), "torch", case_of)
    assert "\n" not in str(excinfo.value)


def test_what_is_no_json_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "recording.json"
    file.write_text("[")
    with pytest.raises(SuiteError, match="is not a recording"):
        functions_of(file, "torch", case_of)
