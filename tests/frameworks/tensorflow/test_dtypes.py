"""Drawing variants in another dtype: which dtypes are tried for a function, with which values, and who judges them."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from freezing.common.variants import Call, Variant
from freezing.tensorflow.dtypes import first_reasons, groups_of, is_unchecked
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.variants import kind_of
from runners.suite.frozen import PackWriter

ONE = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
ALL = frozenset({"float16", "bfloat16", "int8", "uint8"})


def dtypes_to_try(name: str, *, present: Collection[str] = ()) -> list[set[str]]:
    return [{trial.variant.name.rpartition("-")[2] for trial in group} for group in groups_of(name, present)]


def variant(name: str) -> Variant:
    present = ALL - {name.rpartition("-")[2]}
    groups = groups_of("tf.abs", {"float16", "bfloat16"} if "int" in name else present)
    return next(trial.variant for group in groups for trial in group if trial.variant.name == name)


def call_of(text: str, *arrays: Any, dtype: str = "float32") -> Call:
    inputs = tuple(map(np.asarray, arrays))
    return Call("tf.abs/one", dtype, frozenset({"plain"}), inputs, json.loads(text), frozenset(range(len(inputs))))


@pytest.mark.parametrize(("name", "present", "dtype_groups"), [
    ("tf.abs", (), [{"float16"}, {"bfloat16"}, {"int8", "uint8"}]),
    ("tf.abs", ("float16",), [{"bfloat16"}, {"int8", "uint8"}]),
    ("tf.abs", ("bfloat16", "float16", "int8"), []),
    ("tf.raw_ops.Abs", (), [{"float16", "bfloat16"}, {"int8", "uint8"}]),
    ("tf.raw_ops.Abs", ("float16",), [{"int8", "uint8"}]),
    ("tf.math.cumsum", (), [{"int8", "uint8"}]),
    ("tf.linalg.inv", (), [{"int8", "uint8"}]),
    ("tf.raw_ops.Inv", (), [{"float16", "bfloat16"}, {"int8", "uint8"}]),
    ("tf.math.unsorted_segment_mean", (), [{"int8", "uint8"}]),
])  # fmt: skip
def test_a_function_gets_the_dtypes_that_it_lacks(
    name: str, present: Collection[str], dtype_groups: list[set[str]]
) -> None:
    assert sorted(map(sorted, dtypes_to_try(name, present=present))) == sorted(map(sorted, dtype_groups))


def test_integers_come_from_the_whole_range_of_their_dtype() -> None:
    call = variant("full-int8").of(call_of(ONE, np.zeros(1_000, np.float32)))
    assert call is not None
    assert (call.dtype, call.arrays[0].dtype) == ("int8", np.int8)
    assert (call.arrays[0].min(), call.arrays[0].max()) == (-128, 127)


def test_divisors_are_not_zero() -> None:
    call = variant("nonzero-int8").of(call_of(ONE, np.zeros(1_000, np.float32)))
    assert call is not None
    assert set(np.unique(call.arrays[0])) == {*range(-9, 0), *range(1, 10)}


def test_numbers_that_become_equal_are_not_rounded() -> None:
    round_all = variant("int8")
    assert round_all.of(call_of(ONE, np.array([0.1, 0.4], np.float32))) is None
    call = round_all.of(call_of(ONE, np.array([0.1, 0.6], np.float32)))
    assert call is not None
    assert call.arrays[0].tolist() == [0, 1]


def test_numbers_in_a_range_are_not_replaced_by_random_ones() -> None:
    names = {trial.variant.name for group in groups_of("tf.raw_ops.LowerBound", ()) for trial in group}
    assert names == {name for dtype in ALL for name in (dtype, f"made-{dtype}")}


def test_a_call_without_arrays_asks_for_the_dtype() -> None:
    with_option = variant("made-bfloat16")
    call = with_option.of(call_of('{"tuple":[[[2,3]],{"mapping":[["name","a"]]}]}'))
    assert call is not None
    assert call.written == {"tuple": [[[2, 3]], {"mapping": [["name", "a"], ["dtype", "bfloat16"]]}]}
    assert with_option.of(call_of('{"tuple":[[[2,3]],{"mapping":[["dtype","float32"]]}]}')) is None
    assert with_option.of(call_of(ONE, np.zeros(2, np.float32))) is None


def test_floats_of_small_integers_are_judged_in_float64() -> None:
    numbers = tf.constant([1, 2, 250], tf.uint8)
    references = PublicFunction("tf.divide").references("uint8", lambda: ([numbers, 3], {}))
    kind, reference = next(pair for pair in references if pair[0] != "numpy")
    assert kind == "float64"
    (result,) = reference()
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, [1 / 3, 2 / 3, 250 / 3])


@pytest.mark.parametrize(("judge", "values", "expected"), [
    ("itself", np.ones(2, np.float32), True),
    ("itself", np.ones(2, np.int8), False),
    ("float64", np.ones(2, np.float32), False),
])  # fmt: skip
def test_floats_that_only_the_cpu_itself_confirms_are_unchecked(judge: str, values: Any, *, expected: bool) -> None:
    pack = PackWriter()
    case = {"tags": ["plain", f"judged-by-{judge}"], "expected": [pack.add(values, str(values.dtype))]}
    assert is_unchecked(case, pack) is expected


@pytest.mark.parametrize("name", ["float32-one-full-int8", "float32-one-nonzero-uint8", "float32-one-made-float16"])
def test_the_name_of_such_a_case_tells_its_kind(name: str) -> None:
    assert kind_of(name) == "dtypes"


def test_one_reason_of_each_kind_is_listed_for_a_dtype() -> None:
    names = ("one-int8", "two-int8", "one-uint8")
    raising_samples = [("tf.abs", name, "raises on the CPU", name) for name in names]
    other = ("tf.abs", "two-int8", "not determined", "")
    assert list(first_reasons([*raising_samples, other])) == [raising_samples[0], raising_samples[2], other]
