"""The subject TensorFlow: how signatures of its functions are read, and the known exceptions in its tests."""

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
"""Names in the paper that this TensorFlow version does not have, each with its current replacement."""

FAULTY: dict[str, str] = {
    "tf.experimental.numpy.clip/bfloat16": "the result is of float64",
}
"""Cases that this TensorFlow version also gets wrong on the CPU, each with its error."""

WITHOUT_MUTANTS: dict[str, str] = {
    "tf.data.Dataset.shard/nothing-left": "its right result holds nothing",
}
"""Value cases that no mutant can affect, each with the reason."""

OF_PART: dict[str, str] = {
    "tf.compat.v1.Session.run/control-dependency-orders": "the second of two fetches is run for its effect",
    "tf.data.Dataset.shard/cardinality": "how many rows, not what is in them",
}
"""Value cases that use only a part of their function's result, each with this part. They must detect mutants that
change this part."""


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
"""Keywords that affect no value in any function."""

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
"""Keywords that could affect values but are passed in no case, each with the reason."""

NOT_FED: dict[str, str] = {
    "tf.compat.v1.is_variable_initialized": "it reads no value",
    "tf.data.experimental.from_list": "it moves elements of Python's own from the host",
    "tf.io.parse_single_sequence_example": "it takes a message, in which floats are bytes",
    "tf.keras.optimizers.experimental.Adadelta": "this TensorFlow has none",
    "tf.linalg.svd": "nothing is promised of a factorisation of NaN",
    "tf.python.ops.numpy_ops.clip": "this TensorFlow has none",
}
"""Functions of floats for which no case has NaN, each with the reason."""

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
"""Functions and cases that do not detect an overwritten array argument, each with the reason."""

RIGHT_ONCE_UNSEEN: dict[str, str] = {
    "tf.data.Dataset.shard/cardinality": "how many rows, not what is in them",
    "tf.data.experimental.dense_to_ragged_batch/all-empty": "its rows hold nothing",
    "tf.experimental.numpy.random.standard_normal/scalar": "zero is a draw as good as any other",
    "tf.lookup.KeyValueTensorInitializer/knows-its-dtypes": "its dtypes, not its values",
    "tf.lookup.KeyValueTensorInitializer/no-queries": "no value is asked for",
}
"""Cases that do not detect zeros in a later result, each with the reason."""

BY_THE_GRAPH = "the function adds an assertion to a graph, which raises when it runs"
REFUSED_LATER: dict[str, str] = {
    "tf.debugging.assert_less/float32-one-equal-256x128-in-a-function": BY_THE_GRAPH,
    "tf.debugging.assert_less/message-in-a-function": BY_THE_GRAPH,
    "tf.keras.optimizers.Adadelta/refuses-two-ways-to-cut": "a class, whose case looks at the message",
    "tf.data.experimental.dense_to_ragged_batch/refuses-batches-of-nothing": "it returns what the data set applies",
    "tf.data.experimental.shuffle_and_repeat/refuses-no-buffer": "it returns what the data set applies",
}
"""Refusals whose function returns, each with the origin of the error."""

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
