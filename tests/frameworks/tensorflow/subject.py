"""TensorFlow as its tests know it: how its functions are read, and which exceptions from the claims are known."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.keywords import Reading
from tests.frameworks.common.subject import Subject
from tests.frameworks.tensorflow.arrays import ARRAYS
from tests.frameworks.tensorflow.dialect import DIALECT
from tests.frameworks.tensorflow.operations import TensorFlowOperations
from tests.frameworks.tensorflow.processor import (
    BY_ONEDNN_ALONE,
    ENDED_BY_ONEDNN,
    KERNELS_OF_CONVOLUTIONS,
    WITH_ONEDNN,
)
from tests.frameworks.tensorflow.wrappers import wrapper_of

GONE: dict[str, str] = {
    "tf.contrib.framework.nest.map_structure_up_to": "tf.__internal__.nest.map_structure_up_to",
    "tf.estimator.CheckpointSaverHook": "tf.compat.v1.train.CheckpointSaverHook",
    "tf.estimator.LoggingTensorHook": "tf.compat.v1.train.LoggingTensorHook",
    "tf.distribute.Strategy.get_per_replica_batch_size": "tf.distribute.InputContext.get_per_replica_batch_size",
    "tf.keras.optimizers.experimental.Adadelta": "tf.keras.optimizers.Adadelta",
    "tf.python.ops.numpy_ops.clip": "tf.experimental.numpy.clip",
}
"""Names as the paper printed them that this TensorFlow does not have, and what stands for them today."""

FAULTY: dict[str, str] = {
    "tf.experimental.numpy.clip/bfloat16": "the result is of float64",
}
"""Cases that this TensorFlow gets wrong on the CPU too, and how."""

WITHOUT_MUTANTS: dict[str, str] = {
    "tf.data.Dataset.shard/nothing-left": "its right result holds nothing",
}
"""Value cases on which no mutant can come to bear, and why."""

OF_PART: dict[str, str] = {
    "tf.compat.v1.Session.run/control-dependency-orders": "the second of two fetches is run for its effect",
    "tf.data.Dataset.shard/cardinality": "how many rows, not what is in them",
}
"""Value cases that use some of what their function returns, and what that is; another mutant they must notice."""


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

A_COPY = "the call gets a copy that the case has made, and its first value does not decide the result"
WRITTEN_OVER_UNSEEN: dict[str, str] = {
    "tf.compat.v1.Session.run/four-largest": A_COPY,
    "tf.compat.v1.Session.run/largest-of-columns": A_COPY,
    "tf.compat.v1.Session.run/position-of-the-largest": A_COPY,
    "tf.compat.v1.test.compute_gradient_error": "where it differentiates is a copy, and the result is no value of it",
    "tf.constant/traced": "the call gets a copy that the case has made, when it is traced",
    "tf.Tensor.eval/bool": A_COPY,
    "tf.Tensor.get_shape/in-a-function": "the shape alone, of the result of a function",
    "tf.Variable/in-a-graph": "the call gets a copy that the case has made, when the graph is",
}
"""Functions and cases that do not notice when the array that they are given is written over, and why."""

RIGHT_ONCE_UNSEEN: dict[str, str] = {
    "tf.data.Dataset.shard/cardinality": "how many rows, not what is in them",
    "tf.data.experimental.dense_to_ragged_batch/all-empty": "its rows hold nothing",
    "tf.experimental.numpy.random.standard_normal/scalar": "zero is a draw as good as any other",
    "tf.lookup.KeyValueTensorInitializer/knows-its-dtypes": "its dtypes, not its values",
    "tf.lookup.KeyValueTensorInitializer/no-queries": "no value is asked for",
}
"""Cases that do not notice zeros in place of a later result, and why."""

BY_THE_GRAPH = "the function adds an assertion to a graph, which raises when it runs"
REFUSED_LATER: dict[str, str] = {
    "tf.debugging.assert_less/float32-one-equal-256x128-in-a-function": BY_THE_GRAPH,
    "tf.debugging.assert_less/message-in-a-function": BY_THE_GRAPH,
    "tf.keras.optimizers.Adadelta/refuses-two-ways-to-cut": "a class, whose case looks at the message",
    "tf.data.experimental.dense_to_ragged_batch/refuses-batches-of-nothing": "it returns what the data set applies",
    "tf.data.experimental.shuffle_and_repeat/refuses-no-buffer": "it returns what the data set applies",
}
"""Refusals whose function returns, and where the error comes from."""

SUBJECT = Subject(
    framework=FRAMEWORK,
    arrays=ARRAYS,
    dialect=DIALECT,
    wrapper_of=wrapper_of,
    reading=READING,
    doubling="tf.math.add",
    operations=lambda _: TensorFlowOperations(),
    brought=("keras",),
    mutants_share=6,
    library_share=8,
    gone=GONE,
    faulty=FAULTY,
    by_processor=WITH_ONEDNN,
    by_processor_in_library=KERNELS_OF_CONVOLUTIONS,
    ended_by_some=ENDED_BY_ONEDNN,
    refused_by_some=BY_ONEDNN_ALONE,
    without_mutants=WITHOUT_MUTANTS,
    of_part=OF_PART,
    written_over_unseen=WRITTEN_OVER_UNSEEN,
    right_once_unseen=RIGHT_ONCE_UNSEEN,
    without_value=WITHOUT_VALUE,
    unused=UNUSED,
    not_fed=NOT_FED,
    refused_later=REFUSED_LATER,
    errors=(lambda: tf.errors.InvalidArgumentError(None, None, "refused"),),
)
