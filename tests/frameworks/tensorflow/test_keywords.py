"""Every keyword that decides values is given by some case, and every function on floats is fed NaN, or it says why."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.keywords import Reading, assert_given, assert_words_known, of_functions
from tests.frameworks.common.nans import assert_fed
from tests.frameworks.common.right import assert_known
from tests.frameworks.tensorflow.processor import BY_ONEDNN_ALONE


def methods(owner: type) -> Sequence[str]:
    return ["__init__", "apply"] if issubclass(owner, tf.train.ExponentialMovingAverage) else ["__init__"]


READING = Reading(
    methods=methods,
    wrap=tf.autograph.experimental.do_not_convert,
    # Calling it makes an instance of another class.
    by_call=(tf.Variable,),
)
WITHOUT_VALUE: dict[str, str] = {
    "name": "it names the operation in its graph",
}
"""Keywords that decide no value, wherever they stand."""

UNUSED: dict[str, dict[str, str]] = {
    "tf.compat.v1.distributions.Normal": {"allow_nan_stats": "every statistic of a normal distribution is defined"},
    "tf.compat.v1.saved_model.simple_save": {"legacy_init_op": "an operation of one's own, for loaders to run"},
    "tf.compat.v1.train.CheckpointSaverHook": {
        "save_secs": "it saves by the clock",
        "scaffold": "another way to hand in the saver",
    },
    "tf.compat.v1.train.LoggingTensorHook": {"every_n_secs": "it logs by the clock"},
    "tf.compat.v1.variable_scope": {
        "auxiliary_name_scope": "it names operations",
        "caching_device": "it places copies of what is read",
        "values": "it checks that tensors are of the graph",
    },
    "tf.debugging.assert_less": {"summarize": "the message, which cases read, comes with an error"},
    "tf.fill": {"layout": "it places the result on several devices"},
    "tf.io.parse_single_sequence_example": {"example_name": "the message, which a case reads, comes with an error"},
    "tf.sets.intersection": {"validate_indices": "it checks the arguments"},
    "tf.signal.idct": dict.fromkeys(("axis", "n"), "TensorFlow refuses all but the default"),
    "tf.test.TestCase.assert_equal": {"msg": "the message, which cases read, comes with an error"},
}
"""Keywords that could decide values and that no case gives, and why."""

NOT_FED: dict[str, str] = {
    "tf.compat.v1.is_variable_initialized": "it reads no value",
    "tf.data.experimental.from_list": "it moves elements of Python's own from the host",
    "tf.io.parse_single_sequence_example": "it takes a message, in which floats are bytes",
    "tf.keras.optimizers.experimental.Adadelta": "this TensorFlow has none",
    "tf.linalg.svd": "nothing is promised of a factorisation of NaN",
    "tf.python.ops.numpy_ops.clip": "this TensorFlow has none",
}
"""Functions on floats that no case feeds NaN, and why."""


@of_functions(FRAMEWORK)
def test_every_keyword_that_decides_values_is_given(cpu: Device, chosen: Sequence[Case]) -> None:
    assert_given(cpu, chosen, READING, without_value=WITHOUT_VALUE, exceptions=UNUSED, refused_by_some=BY_ONEDNN_ALONE)


@of_functions(FRAMEWORK)
def test_every_function_on_floats_is_fed_nan(chosen: Sequence[Case]) -> None:
    assert_fed(chosen, NOT_FED)


def test_everything_named_as_an_exception_is_charted(cpu: Device) -> None:
    assert_known(FRAMEWORK, [*UNUSED, *NOT_FED])
    assert_words_known(FRAMEWORK, cpu, READING, WITHOUT_VALUE)
