"""Drawing variants: which parts of a varied call are kept, and which are excluded because nothing determines their
values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from freezing.common.determined import require_determined
from freezing.common.gate import SampleGate
from freezing.common.variants import VARIANTS, Call, Variant
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.reached import functions_by_operation
from freezing.tensorflow.spread import WithNan
from freezing.tensorflow.variants import SUITE, chosen_functions, drawn_functions, kind_of
from freezing.tensorflow.varied import NAN_INSIDE, NUMBER_VARIANTS, SIZED, sample_of
from freezing.tensorflow.wrong_on_host import WRONG_VALUES, wrong_case
from protocol.enums import GRADIENT, REFUSES, WRONG_ON_HOST, Ending
from runners.errors import LeftOutError
from runners.suite.device import Device
from runners.suite.frozen import PackWriter, packs_in
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.running import run

BY_NAME = {variant.name: variant for variant in (*VARIANTS, *SIZED, *NUMBER_VARIANTS)}
ONE = '{"tuple":[[{"array":0}],{"mapping":[]}]}'
TWO = '{"tuple":[[{"array":0},{"array":1}],{"mapping":[]}]}'


def call_of(name: str, call_text: str, *arrays: Any) -> Call:
    inputs = tuple(map(np.asarray, arrays))
    return Call(
        f"{name}/one", "float32", frozenset({"plain"}), inputs, json.loads(call_text), frozenset(range(len(inputs)))
    )


def floats(*values: float) -> Any:
    return np.array(values, np.float32)


def has_one_result(name: str, call: Call, *, together: bool = False) -> bool:
    pack = PackWriter()
    sample = sample_of({"name": "one"}, call, BY_NAME["tails"], pack)
    try:
        require_determined(PublicFunction(name), sample, pack, together=together)
    except LeftOutError:
        return False
    return True


@pytest.mark.parametrize(("name", "values", "is_determined"), [
    ("tf.math.reduce_sum", (1e30, 10.0, 1e10), True),
    ("tf.math.reduce_sum", (1e30, 10.0, -1e30), False),
    ("tf.math.sin", (1e10,), False),
    ("tf.math.exp", (100.0,), True),
])  # fmt: skip
def test_a_result_that_the_last_digits_decide_is_not_determined(
    name: str, values: tuple[float, ...], is_determined: bool
) -> None:
    assert has_one_result(name, call_of(name, ONE, floats(*values))) is is_determined


def test_the_spread_of_equal_numbers_is_determined_if_they_are_moved_together() -> None:
    call = call_of("tf.math.reduce_variance", ONE, floats(7.5e10, 7.5e10, 7.5e10))
    assert has_one_result("tf.math.reduce_variance", call, together=True)
    assert not has_one_result("tf.math.reduce_variance", call)


def refusal_cases(name: str, variant: Variant, call: Call) -> list[dict[str, Any]]:
    variant_call, pack = variant.of(call), PackWriter()
    assert variant_call is not None
    gate = SampleGate(PublicFunction(name), pack)
    gate.admit_refused([sample_of({"name": "one"}, variant_call, variant, pack)], 1)
    return gate.cases


def test_an_index_that_is_not_there_is_refused() -> None:
    (case,) = refusal_cases("tf.gather", BY_NAME["index-far"], call_of("tf.gather", TWO, floats(1, 2, 3), [0, 2]))
    assert (case["name"], case["refuses"]) == ("one-index-far", "InvalidArgumentError")
    assert REFUSES in case["tags"]


def test_what_is_answered_is_no_refusal() -> None:
    assert refusal_cases("tf.math.sin", BY_NAME["not-a-number"], call_of("tf.math.sin", ONE, floats(1, 2))) == []


def test_a_kernel_that_is_not_there_is_no_refusal() -> None:
    with pytest.raises(tf.errors.NotFoundError) as error:
        tf.nn.avg_pool3d(tf.zeros([1, 2, 2, 2, 1], tf.float64), 2, 2, "VALID")
    assert not PublicFunction("tf.nn.avg_pool3d").is_refusal(error.value)


def sized(name: str, *arrays: Any) -> list[Any]:
    call = BY_NAME[name].of(call_of("tf.abs", ONE, *arrays))
    assert call is not None
    return list(call.arrays)


def test_the_inside_of_an_image_is_larger_and_its_channels_are_not() -> None:
    image, kernel = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3), np.ones((3, 1), np.float32)
    larger, same = sized("inside-odd", image, kernel)
    assert (larger.shape, same.shape) == ((1, 5, 9, 3), (3, 1))
    largest, _ = sized("inside-large", image, kernel)
    assert largest.size > 100_000
    assert largest.shape[-1] == 3
    assert BY_NAME["inside-odd"].of(call_of("tf.abs", ONE, floats(1, 2))) is None


def test_more_rows_keep_the_order_of_their_numbers_and_the_length_of_the_others() -> None:
    data, ids, other = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([0, 0, 1]), floats(1, 2)
    more_data, more_ids, same = sized("rows-odd", data, ids, other)
    assert more_data.shape == (7, 2)
    assert more_ids.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert same.tolist() == [1, 2]
    many_data, many_ids, _ = sized("rows-large", data, ids, other)
    assert many_data.size > 100_000
    assert len(many_ids) == len(many_data)


def test_scaled_copies_of_different_elements_are_different() -> None:
    (copies,) = sized("copies-odd", np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    assert copies.shape == (5, 7)
    assert np.unique(copies).size > 30


def test_the_numbers_of_a_call_grow_with_its_arrays() -> None:
    text = '{"tuple":[[{"array":0},[7,3],1],{"mapping":[["rate",{"tuple":[1,2]}],["half",true],["axis",-1]]}]}'
    image = np.arange(24, dtype=np.float32).reshape(1, 2, 4, 3)
    inside, whole = (BY_NAME[name].of(call_of("tf.abs", text, image)) for name in ("numbers-odd", "shapes-odd"))
    assert inside is not None
    assert whole is not None
    assert [inside.arrays[0].shape, whole.arrays[0].shape] == [(1, 5, 9, 3), (1, 5, 9, 7)]
    arguments, options = inside.written["tuple"]
    assert arguments == [{"array": 0}, [15, 7], 1]
    assert options == {"mapping": [["rate", {"tuple": [1, 5]}], ["half", True], ["axis", -1]]}
    assert inside.written == whole.written


def test_a_call_without_larger_numbers_has_no_such_variant() -> None:
    assert BY_NAME["shapes-odd"].of(call_of("tf.abs", ONE, floats(1, 2))) is None


@pytest.mark.parametrize(("name", "kind"), [
    ("float32-one-numbers-odd", "numbers"),
    ("float32-one-nan-inside-2", "one-nan"),
    ("float32-one-tied-gradient", "gradient-defined"),
    ("float32-one-infinity-gradient-wrong", "wrong"),
    ("float32-one-bfloat16-gradient", "gradient-dtypes"),
    ("float32-one", None),
    ("float32-one-nan", "non-finite"),
    ("float32-one-int8", "dtypes"),
    ("float32-one-no-rows", "empty"),
    ("float32-one-sized-large", "sizes"),
    ("float32-one-rows-odd", "sizes"),
    ("float32-one-gradient", "gradient"),
    ("float32-one-nan-gradient", "gradient-there"),
    ("float32-one-second-order", "second-order"),
    ("float32-one-index-below", REFUSES),
])  # fmt: skip
def test_the_name_of_a_case_tells_its_kind(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_missing_functions_are_those_without_a_variant_of_the_kind(tmp_path: Path) -> None:
    drawn = drawn_functions(REFUSES)
    assert "tf.gather_nd" in drawn
    names = tmp_path / "names"
    names.write_text("tf.matmul tf.gather_nd no.function tf.abs")
    assert chosen_functions(REFUSES, tmp_path, only_missing=False, names=names) == [
        "tf.matmul",
        "tf.gather_nd",
        "tf.abs",
    ]
    missing = chosen_functions(REFUSES, tmp_path, only_missing=True, names=names)
    assert missing == [name for name in ("tf.matmul", "tf.abs") if name not in drawn]
    assert (SUITE / "variants.npz").exists()


@pytest.mark.parametrize(("name", "kind"), [
    ("float32-one-nan-gradient", "gradient-there"),
    ("float32-one-vast-gradient", "gradient-there"),
    ("float32-one-bfloat16-gradient", "gradient-dtypes"),
    ("float32-one-gradient", "gradient"),
])  # fmt: skip
def test_the_kind_of_a_gradient_is_that_of_its_inputs(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_a_raw_operation_that_a_public_function_runs_has_no_variants_of_other_values() -> None:
    names = chosen_functions("non-finite", SUITE, only_missing=False, names=None)
    assert "tf.raw_ops.BlockLSTMV2" in names
    assert "tf.raw_ops.Tanh" not in names
    assert "tf.tanh" in functions_by_operation()["tf.raw_ops.Tanh"]


def test_one_nan_reaches_the_elements_that_depend_on_it() -> None:
    image = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
    text = '{"tuple":[[{"array":0}],{"mapping":[["size",{"tuple":[4,4]}]]}]}'
    new_call = NAN_INSIDE[0].of(call_of("tf.image.resize", text, image))
    assert new_call is not None
    assert new_call.arrays[0].shape == (1, 5, 7, 1)
    assert np.isnan(new_call.arrays[0]).sum() == 1
    pack = PackWriter()
    gate = SampleGate(WithNan("tf.image.resize"), pack)
    gate.admit([sample_of({"name": "one"}, new_call, NAN_INSIDE[0], pack)], 1)
    (case,) = gate.cases
    result = pack.array(case["expected"][0])
    assert 0 < np.isnan(result).sum() < result.size


def test_an_index_that_depends_on_nan_is_not_determined() -> None:
    pack, (nan,) = PackWriter(), (variant for variant in VARIANTS if variant.name == "nan")
    new_call = nan.of(call_of("tf.argmax", ONE, floats(1, 2, 3)))
    assert new_call is not None
    gate = SampleGate(WithNan("tf.argmax"), pack)
    gate.admit([sample_of({"name": "one"}, new_call, nan, pack)], 1)
    assert gate.cases == []


@pytest.mark.parametrize(("function", "end"), [
    ("tf.image.non_max_suppression", "-no-rows"),
    ("tf.image.resize", "-nan-inside"),
    ("tf.nn.moments", "-alike"),
    ("tf.reduce_max", "-nan-gradient"),
    ("tf.reduce_max", "-tied-gradient"),
])  # fmt: skip
def test_the_suite_has_unusual_inputs_of(function: str, end: str) -> None:
    names = [case["name"] for case in packs_in(SUITE).cases if case["function"] == function]
    assert any(name.endswith(end) for name in names)


def test_a_reviewed_result_has_a_case_that_fails_on_the_cpu(cpu: Device) -> None:
    cases = [case for function in FRAMEWORK.load_suites()["library"].functions for case in function.cases]
    wrong = [case for case in cases if WRONG_ON_HOST in case.tags and GRADIENT not in case.tags]
    assert {case.function for case in wrong} == set(WRONG_VALUES)
    for case in wrong:
        assert run(cpu, case).ending is Ending.mismatched, case.id


def test_a_result_that_numpy_confirms_or_that_is_nearly_right_is_not_wrong() -> None:
    (tails,) = (variant for variant in VARIANTS if variant.name == "tails")
    pack = PackWriter()
    sample = sample_of({"name": "one"}, call_of("tf.math.sin", ONE, floats(1, 2)), tails, pack)
    assert wrong_case(PublicFunction("tf.math.sin"), sample, pack) is None
    assert wrong_case(WithNan("tf.math.sin"), sample, pack) is None, "the function itself judges it"
