"""Drawing variants: which parts of a varied call are kept, and which are excluded because nothing determines their
values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from freezing.common.determined import require_determined
from freezing.common.gate import SampleGate
from freezing.common.variants import VARIANTS, Call, Variant
from freezing.tensorflow.functions import PublicFunction
from freezing.tensorflow.varied import sample_of
from protocol.enums import REFUSES
from runners.errors import LeftOutError
from runners.suite.frozen import PackWriter

BY_NAME = {variant.name: variant for variant in VARIANTS}
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
