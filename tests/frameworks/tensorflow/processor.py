"""Data that depend on the processor: TensorFlow uses oneDNN's kernels on some processors, and its own on others."""

from __future__ import annotations

import re

_TOLERANCE = "(tolerance 1e-05 relative, 1e-05 absolute)"
_NAN_AS_ZERO = f"result: 6 of 24 values differ, first at [0, 0, 0]: expected nan, got 0.0 {_TOLERANCE}"
_MOMENTS = '{"mapping":[["dtype","float32"],["shape",[2]]]}'
_NORMALIZED = ",".join(['[{"mapping":[["dtype","float32"],["shape",[2,3,4,2]]]}', *[_MOMENTS] * 4])
_EMPTY_RESERVE = (
    f'expected the form {_NORMALIZED},{{"mapping":[["dtype","float32"],["shape",[]]]}}], '
    f'got {_NORMALIZED},{{"mapping":[["dtype","float32"],["shape",[0]]]}}]'
)
WITH_ONEDNN = {
    "tf.nn.conv3d/empty-batch": "result: expected shape (0, 3, 3, 3, 2), got (0, 5, 5, 5, 3)",
    "tf.nn.softmax/float32-one-cube-non-finite": _NAN_AS_ZERO,
    "tf.keras.activations.softmax/float32-one-cube-non-finite": _NAN_AS_ZERO,
    "tf.keras.ops.softmax/float32-one-cube-non-finite": _NAN_AS_ZERO.replace("[0, 0, 0]", "[0, 0, 1]"),
    "tf.nn.max_pool3d/float32-pool-volume-1-nan": "result: 1 of 8 values differ, first at [0, 1, 0, 0, 1]: "
    f"expected nan, got 0.98525435 {_TOLERANCE}",
    "tf.raw_ops.FusedBatchNormV3/float32-normalised-planes": _EMPTY_RESERVE,
    "tf.raw_ops.FusedBatchNormV3/float32-normalised-planes-1": _EMPTY_RESERVE,
}
"""Cases that are wrong if TensorFlow uses oneDNN, which it does on some processors, each with its mismatch."""

ENDED_BY_ONEDNN = {
    "tf.keras.ops.conv_transpose/float32-plane-back-plain-option-below": "a dimension below 0 fails its own check",
}
"""Cases in which oneDNN ends the process, each with the reason."""

BY_ONEDNN_ALONE = dict.fromkeys(
    (
        "tf.nn.conv3d/channels-first",
        "tf.nn.conv3d/channels-first-dilations",
        "tf.nn.conv3d/channels-first-strided-valid",
        "tf.nn.conv3d/dilations",
        "tf.nn.conv3d/dilations-valid",
        "tf.nn.conv3d/gradient-dilations",
        "tf.nn.conv2d_transpose/channels-first",
        "tf.nn.conv2d_transpose/channels-first-valid",
        "tf.nn.conv2d_transpose/dilations",
        "tf.nn.conv2d_transpose/dilations-valid",
    ),
    "no kernel without oneDNN",
)
"""Cases that raise an error if TensorFlow uses its own CPU kernels, as on processors for which it does not use
oneDNN."""

KERNELS_OF_CONVOLUTIONS = re.compile("conv(?!ert)|correlate|extract_patches", re.IGNORECASE)
"""Functions of the suite ``library`` whose results depend on the kernels, for narrow floats and for a filter that is
longer than its input."""
