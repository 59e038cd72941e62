"""Every case is right on the CPU: the references and the function agree where nothing is in the way."""

from __future__ import annotations

from runners.suite.cases import Case
from runners.suite.device import Device
from runners.tensorflow import FRAMEWORK
from tests.frameworks.common.right import assert_charts_the_study, assert_known, assert_right, assert_unique
from tests.frameworks.common.running import cases, each
from tests.frameworks.tensorflow.processor import BY_ONEDNN_ALONE, WITH_ONEDNN

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


@each(cases(FRAMEWORK))
def test_every_case_is_right_on_the_cpu(cpu: Device, case: Case) -> None:
    assert_right(cpu, case, gone=GONE, faulty=FAULTY, by_processor=WITH_ONEDNN, refused_by_some=BY_ONEDNN_ALONE)


def test_case_ids_are_unique() -> None:
    assert_unique(FRAMEWORK)


def test_everything_named_as_gone_or_faulty_is_charted() -> None:
    assert_known(FRAMEWORK, [*GONE, *FAULTY, *WITH_ONEDNN, *BY_ONEDNN_ALONE])


def test_the_functions_of_the_study_are_charted() -> None:
    assert_charts_the_study(FRAMEWORK)
