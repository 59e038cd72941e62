"""Frozen cases: what is written is read again, to the bit, and by nothing but JSON and NumPy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.enums import REFUSES
from runners.errors import UnfreezableError
from runners.suite.cases import Context, Function
from runners.suite.checks import Accepted, Leaf, Mismatch
from runners.suite.frozen import (
    MOST_WHOLE,
    PACK,
    QUICK,
    VARIANTS_PACK,
    FrozenForm,
    FrozenRefusal,
    Named,
    Pack,
    PackWriter,
    Refusing,
    Slot,
    as_text,
    block_of,
    decode,
    form,
    frozen_functions,
    packs_in,
    quick_functions,
)

NAMES = st.text(max_size=8)
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    NAMES,
    st.builds(Named, st.sampled_from(["dtype", "device", "format"]), NAMES),
    st.builds(
        Slot,
        st.integers(0, 9),
        st.none() | st.sampled_from(["float32", "bfloat16"]),
        st.none() | st.lists(st.integers(0, 9), max_size=3).map(tuple),
        st.none() | st.integers(1, 9),
    ),
    st.builds(slice, st.none() | st.integers(), st.none() | st.integers(), st.none() | st.integers()),
    st.just(Ellipsis),
)
TREES = st.recursive(
    PLAIN,
    lambda members: st.one_of(
        st.lists(members, max_size=4),
        st.lists(members, max_size=4).map(tuple),
        st.dictionaries(NAMES, members, max_size=3),
    ),
    max_leaves=12,
)
DTYPES = ["bool", "uint8", "int8", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def same(one: Any, other: Any) -> bool:
    """Equal in type too, NaN equal to NaN, and 0.0 not to -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return (math.isnan(one) and math.isnan(other)) or (
            one == other and math.copysign(1, one) == math.copysign(1, other)
        )
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    return bool(one == other)


@given(TREES)
def test_a_tree_is_read_as_it_was_written(tree: Any) -> None:
    text = as_text(tree)
    assert same(decode(json.loads(text), lambda slot: slot), tree)
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are no JSON


@given(st.data())
def test_arrays_are_read_to_the_bit(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("pack") / "frozen.npz"
    writer = PackWriter()
    given_arrays = []
    for _ in range(data.draw(st.integers(0, 5))):
        dtype = data.draw(st.sampled_from(DTYPES))
        shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
        content = data.draw(st.binary(min_size=16 * math.prod(shape), max_size=16 * math.prod(shape)))
        bits = np.frombuffer(content, np.uint8)
        array = (bits[: math.prod(shape)] > 127) if dtype == "bool" else bits.view(dtype)[: math.prod(shape)]
        given_arrays.append((writer.add(array.reshape(shape), dtype), dtype, array.reshape(shape)))
    writer.write(path, {"from": "here"})
    pack = Pack(path)
    for digest, dtype, array in given_arrays:
        read = pack.array(digest)
        assert (pack.dtype(digest), read.dtype, read.shape) == (dtype, array.dtype, array.shape)
        assert read.tobytes() == array.tobytes()
        assert writer.array(digest).tobytes() == array.tobytes()


def test_bfloat16_is_kept_by_its_bits(tmp_path: Path) -> None:
    writer = PackWriter()
    values = np.array([1.0, -2.5, np.inf, -np.inf, np.nan, 0.0, 3.0e38, 1 / 3], np.float32)
    digest = writer.add(values, "bfloat16")
    writer.write(tmp_path / "frozen.npz", {})
    pack = Pack(tmp_path / "frozen.npz")
    assert pack.arrays["bfloat16"].dtype == np.uint16
    np.testing.assert_array_equal(pack.array(digest)[:6], values[:6])
    assert abs(pack.array(digest)[6] / 3.0e38 - 1) < 2.0**-8
    assert abs(pack.array(digest)[7] * 3 - 1) < 2.0**-8


def test_equal_arrays_are_kept_once_and_others_apart(tmp_path: Path) -> None:
    writer = PackWriter()
    one = writer.add(np.arange(6.0), "float64")
    assert writer.add(np.arange(6.0), "float64") == one
    apart = {
        one,
        writer.add(np.arange(6.0).reshape(2, 3), "float64"),
        writer.add(np.arange(6.0), "float32"),
        writer.add(np.arange(6), "int64"),
    }
    assert len(apart) == 4
    writer.write(tmp_path / "frozen.npz", {})
    assert Pack(tmp_path / "frozen.npz").arrays["float64"].size == 12


def test_a_copy_is_given_so_that_a_call_cannot_change_the_next_ones_inputs(tmp_path: Path) -> None:
    writer = PackWriter()
    digest = writer.add(np.zeros(3), "float64")
    writer.write(tmp_path / "frozen.npz", {})
    pack = Pack(tmp_path / "frozen.npz")
    pack.array(digest)[:] = 7
    assert pack.array(digest).tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(3, 4), (5,), (1, 7), (2, 1, 3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_a_large_array_that_repeats_is_kept_once_and_read_whole(
    tmp_path: Path, shape: tuple[int, ...], dtype: str
) -> None:
    block = np.arange(math.prod(shape)).reshape(shape) % 2 == 0 if dtype == "bool" else -np.arange(math.prod(shape))
    whole = np.asarray(block).reshape(shape).astype("float32" if dtype == "bfloat16" else dtype)
    for axis, size in enumerate(shape):
        whole = np.take(whole, np.arange(60 * size + 1 if size > 1 else 1) % size, axis)
    whole = np.repeat(whole[None], 1 + MOST_WHOLE // whole.size, 0)
    writer = PackWriter()
    digest = writer.add(whole, dtype)
    writer.write(tmp_path / PACK, {})
    pack = Pack(tmp_path / PACK)
    assert pack.arrays[dtype].size <= math.prod(shape)
    assert (pack.array(digest).tobytes(), pack.array(digest).shape) == (whole.tobytes(), whole.shape)
    assert writer.array(digest).tobytes() == whole.tobytes()
    again = PackWriter()
    again.take(pack, {"arrays": [digest], "expected": []})
    assert again.array(digest).tobytes() == whole.tobytes()


def test_only_equal_bits_repeat() -> None:
    zeros = np.zeros(2 * MOST_WHOLE, np.float32)
    assert block_of(zeros).size == 1
    zeros[-1] = -0.0
    assert block_of(zeros).size == zeros.size
    assert block_of(np.full(2 * MOST_WHOLE, np.nan)).size == 1


def test_a_small_array_is_kept_whole() -> None:
    assert block_of(np.zeros(MOST_WHOLE)).size == MOST_WHOLE


def refused_case(**others: Any) -> dict[str, Any]:
    case = {
        "function": "one.two",
        "name": "a-index-far",
        "dtype": "float32",
        "arrays": [],
        "call": "{}",
        "expected": [],
    }
    return case | {"kind": "behaviour", "refuses": "IndexError", "tags": ["plain", REFUSES]} | others


def test_variants_are_read_beside_the_cases_that_they_are_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "some_suite"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    base, variants = PackWriter(), PackWriter()
    digest = base.add(np.arange(3.0), "float64")
    own = variants.add(np.arange(4.0), "float64")
    result, expected = base.add_tree(1)
    value = {"function": "one.two", "name": "a", "dtype": "float64", "kind": "value", "tolerance": [0, 0], "tags": []}
    base.cases.append(value | {"arrays": [digest], "call": "{}", "result": result, "expected": expected})
    variants.cases.append(refused_case(arrays=[own]))
    base.write(package / PACK, {})
    assert [case["name"] for case in packs_in(package).cases] == ["a"]
    variants.write(package / VARIANTS_PACK, {})
    (function,) = frozen_functions("some_suite", lambda written: lambda context, *arrays: lambda: 1)
    assert [case.id for case in function.cases] == ["one.two/a", "one.two/a-index-far"]
    assert [len(case.arguments(case.inputs())[0]) for case in function.cases] == [3, 4]
    assert [case.refuses for case in function.cases] == [False, True]
    assert function.cases[1].tags.count(REFUSES) == 1


def test_an_array_of_the_cases_is_not_kept_with_the_variants_too(tmp_path: Path) -> None:
    base, variants = PackWriter(), PackWriter()
    shared = base.add(np.arange(3.0), "float64")
    assert variants.add(np.arange(3.0), "float64") == shared
    own = variants.add(np.arange(4.0), "float64")
    base.write(tmp_path / PACK, {})
    variants.leave_to(Pack(tmp_path / PACK))
    variants.write(tmp_path / VARIANTS_PACK, {})
    assert Pack(tmp_path / VARIANTS_PACK).arrays["float64"].size == 4
    both = packs_in(tmp_path)
    assert [both.array(digest).tolist() for digest in (shared, own)] == [[0, 1, 2], [0, 1, 2, 3]]


@pytest.mark.parametrize("late", [False, True])
def test_a_refusal_may_come_with_the_call_or_with_its_values(late: bool) -> None:
    def raise_index_error(*_: Any) -> Any:
        raise IndexError("9 of 3")

    def to_host(tree: list[Any]) -> list[Any]:
        return raise_index_error() if late and tree else tree

    context = Context(None, "there", "toy", None, lambda tree: tree, to_host=to_host)
    refusing = Refusing(lambda context, *arrays: (lambda: 1) if late else raise_index_error)
    error = refusing(context)()
    assert error == "IndexError"
    FrozenRefusal("ValueError")(error)


def test_a_refusal_may_come_with_an_argument_that_the_call_changed_and_leaves_the_others_as_they_are() -> None:
    def to_host(tree: Any) -> Any:
        for array in tree[1] if isinstance(tree[0], int) else tree:
            if array.size == 0:
                raise RuntimeError("its size cannot be computed")
        return [Leaf(array.copy(), "float32", "there") for array in tree]

    context = Context(None, "there", "toy", None, lambda values: [value.copy() for value in values], to_host=to_host)
    array = np.ones(3, np.float32)
    call = Refusing(lambda context, array: lambda: array.resize(0, refcheck=False) or 1)(context, array)
    assert [call(), call()] == ["RuntimeError", "RuntimeError"]
    assert array.tolist() == [1, 1, 1]


def test_a_call_that_returns_is_accepted_and_not_merely_wrong() -> None:
    context = Context(None, "there", "toy", None, lambda tree: tree)
    returned = Refusing(lambda context, *arrays: lambda: 1)(context)()
    with pytest.raises(Accepted, match="the host refuses it with IndexError"):
        FrozenRefusal("IndexError")(returned)


def test_the_manifest_is_read_without_the_arrays(tmp_path: Path) -> None:
    writer = PackWriter()
    writer.add(np.zeros(3), "float64")
    writer.cases.append({"function": "one.two"})
    writer.write(tmp_path / "frozen.npz", {})
    pack = Pack(tmp_path / "frozen.npz")
    (tmp_path / "frozen.npz").unlink()
    assert [case["function"] for case in pack.cases] == ["one.two"]


def test_what_has_no_written_form_is_refused() -> None:
    with pytest.raises(UnfreezableError, match="a set has no written form"):
        as_text([1, {2}])
    with pytest.raises(UnfreezableError, match="'spiral'"):
        decode({"spiral": 1}, lambda slot: slot)


def test_a_form_is_of_shapes_and_dtypes_and_not_of_values() -> None:
    def leaf(values: Any, dtype: str = "float32") -> Leaf:
        return Leaf(np.asarray(values), dtype, "cpu")

    check = FrozenForm(as_text(form([leaf([1.0, 2.0]), 3])))
    check([leaf([5.0, 6.0]), 9], "an argument")
    for wrong in ([leaf([5.0]), 9], [leaf([5.0, 6.0], "float64"), 9], [leaf([5.0, 6.0]), 9.0], [leaf([5.0, 6.0])], 3):
        with pytest.raises(Mismatch, match="expected the form"):
            check(wrong)


def test_the_quick_form_has_the_cases_that_bear_its_tag() -> None:
    function = Function("one.two", reference=lambda: 1)
    function.value("a", lambda inputs: [])
    function.value("b", lambda inputs: [], tags=[QUICK])
    (quick,) = quick_functions([function])
    assert [case.id for case in quick.cases] == ["one.two/b"]
    assert len(function.cases) == 2
