"""Variants: what each changes of a call, what it leaves alone, and that drawing one again gives the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from freezing.common.variants import LARGE_ELEMENTS, VARIANTS, Call, Variant
from protocol.enums import REFUSES

BY_NAME: Mapping[str, Variant] = {variant.name: variant for variant in VARIANTS}
INDICES = np.array([0, 2, 1])


def call_of(*arrays: Any, dtype: str = "float32", inputs: Any = None, options: str = '{"mapping":[]}') -> Call:
    slots = ",".join(f'{{"array":{number}}}' for number in range(len(arrays)))
    written = json.loads(f'{{"tuple":[[{slots}],{options}]}}')
    numbers = frozenset(range(len(arrays)) if inputs is None else inputs)
    return Call("f/1", dtype, frozenset({"plain"}), tuple(map(np.asarray, arrays)), written, numbers)


def vary(name: str, call: Call) -> Call:
    new_call = BY_NAME[name].of(call)
    assert new_call is not None
    return new_call


def floats(*shape: int) -> Any:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def test_every_name_is_there_once() -> None:
    assert len(BY_NAME) == len(VARIANTS)


def test_each_is_drawn_equal_again_and_leaves_the_arrays_that_it_is_given() -> None:
    call = call_of(floats(3, 4), INDICES, options='{"mapping":[["dim",1]]}')
    before = [array.copy() for array in call.arrays]
    for variant in VARIANTS:
        one, other = variant.of(call), variant.of(call)
        if one is None or other is None:
            continue
        assert all(map(lambda a, b: np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), one.arrays, other.arrays))
        assert one.written == other.written
        assert all(map(np.array_equal, call.arrays, before)), variant.name


def test_non_finite_values_stand_in_the_inputs_alone() -> None:
    new_call = vary("non-finite", call_of(floats(3, 4), INDICES, floats(5), inputs=(0, 1)))
    values = new_call.arrays[0]
    assert (np.isnan(values).sum(), np.isposinf(values).sum(), np.isneginf(values).sum()) == (1, 1, 1)
    assert new_call.arrays[1].tolist() == INDICES.tolist()
    assert np.isfinite(new_call.arrays[2]).all()


def test_one_nan_is_one() -> None:
    new_call = vary("nan", call_of(floats(3), floats(3)))
    assert [int(np.isnan(array).sum()) for array in new_call.arrays] == [1, 0]


@pytest.mark.parametrize("name", ["non-finite", "nan", "tails", "float16"])
def test_a_call_without_floats_has_no_variant_of_floats(name: str) -> None:
    assert BY_NAME[name].of(call_of(INDICES, dtype="int64")) is None
    assert BY_NAME[name].of(call_of(floats(0, 3))) is None


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_tails_are_finite_in_their_dtype_and_never_subnormal(dtype: str) -> None:
    stored_as = "float32" if dtype == "bfloat16" else dtype
    values = vary("tails", call_of(floats(40).astype(stored_as), dtype=dtype)).arrays[0]
    assert values.dtype == stored_as
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 0.9 * np.finfo(stored_as).max
    assert not ((values != 0) & (np.abs(values) < np.finfo(stored_as).tiny)).any()


def test_alike_are_equal_and_large() -> None:
    values = vary("alike", call_of(floats(2, 3))).arrays[0]
    assert np.unique(values).size == 1
    assert values.max() >= 1e10


def test_sizes_grow_together_and_an_axis_of_one_stays() -> None:
    odd = vary("sized-odd", call_of(floats(3, 4), floats(4, 1), INDICES))
    assert [array.shape for array in odd.arrays] == [(7, 9), (9, 1), (7,)]
    assert odd.arrays[0][3:6, :4].tolist() == floats(3, 4).tolist()
    assert set(odd.arrays[2].tolist()) == {0, 1, 2}


def test_the_largest_array_of_a_large_call_just_passes_the_mark() -> None:
    large = vary("sized-large", call_of(floats(3, 4), floats(4)))
    shape = large.arrays[0].shape
    assert LARGE_ELEMENTS < large.arrays[0].size < 1.1 * LARGE_ELEMENTS
    assert large.arrays[1].shape == shape[1:]


def test_more_rows_leave_the_size_of_a_row() -> None:
    rows = vary("sized-rows", call_of(floats(3, 4, 4), floats(3, 4), floats(4, 3), np.float32(2), INDICES))
    count = len(rows.arrays[0])
    assert LARGE_ELEMENTS < rows.arrays[0].size < 1.1 * LARGE_ELEMENTS
    assert [array.shape for array in rows.arrays] == [(count, 4, 4), (count, 4), (4, 3), (), (count,)]
    assert rows.arrays[0][3:6].tolist() == floats(3, 4, 4).tolist()


def test_weights_and_states_have_no_more_rows() -> None:
    rows = vary("sized-rows", call_of(floats(3, 4), floats(3, 4), inputs=(1,)))
    assert rows.arrays[0].shape == (3, 4)
    assert rows.arrays[1].size > LARGE_ELEMENTS


@pytest.mark.parametrize("name", ["sized-odd", "sized-large", "sized-rows"])
def test_an_array_with_strides_of_its_own_keeps_its_size(name: str) -> None:
    call = call_of(floats(3, 4))
    call.written["tuple"][0][0]["strides"] = [1, 3]
    assert BY_NAME[name].of(call) is None


@pytest.mark.parametrize(("name", "value"), [("index-far", 1000), ("index-negative", -1), ("index-below", -1000)])
def test_one_index_is_not_there(name: str, value: int) -> None:
    new_call = vary(name, call_of(floats(3), INDICES))
    assert sum(new_call.arrays[1] != INDICES) == 1
    assert value in new_call.arrays[1]


def test_an_index_stays_within_its_dtype() -> None:
    assert vary("index-far", call_of(np.zeros(3, np.uint8), dtype="uint8")).arrays[0].max() == 255


def test_an_emptied_call_has_no_elements() -> None:
    assert [array.shape for array in vary("emptied", call_of(floats(3, 1), floats(2))).arrays] == [(0, 0), (0,)]


def test_one_array_is_shorter_than_those_it_goes_with() -> None:
    assert [array.shape for array in vary("shorter", call_of(floats(3, 4), floats(3, 4))).arrays] == [(3, 4), (3, 3)]
    assert BY_NAME["shorter"].of(call_of(floats(3, 4))) is None


def test_an_option_is_changed_in_a_call_of_its_own() -> None:
    call = call_of(floats(3), options='{"mapping":[["dim",1],["keepdim",true]]}')
    new_call = vary("option-far", call)
    assert new_call.written["tuple"][1]["mapping"] == [["dim", 100], ["keepdim", True]]
    assert call.written["tuple"][1]["mapping"][0] == ["dim", 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_a_call_in_small_integers_keeps_its_indices(dtype: str) -> None:
    new_call = vary(dtype, call_of(floats(3, 4) - 6, INDICES))
    assert (new_call.dtype, str(new_call.arrays[0].dtype), str(new_call.arrays[1].dtype)) == (dtype, dtype, "int64")


def test_a_refusal_is_tagged_as_one_and_another_dtype_by_its_class_alone() -> None:
    assert REFUSES in BY_NAME["index-far"].tags
    assert BY_NAME["nan"].tags == ("non-finite",)
    assert BY_NAME["float16"].tags == ()
