"""What depends on the processor: TensorFlow takes the kernels of oneDNN on some, and its own on the others."""

from __future__ import annotations

import re

WITH_ONEDNN = {
    "tf.nn.conv3d/empty-batch": "result: expected shape (0, 3, 3, 3, 2), got (0, 5, 5, 5, 3)",
}
"""Cases that it gets wrong where it takes oneDNN, which it does on some processors."""

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
"""Cases that TensorFlow's own kernels for the CPU refuse, so that they raise on processors where it takes no oneDNN."""

KERNELS_OF_CONVOLUTIONS = re.compile("conv(?!ert)|correlate|extract_patches", re.IGNORECASE)
"""Functions of the suite ``library`` whose narrow floats, and what they make of a filter that is longer than its input,
vary with the kernels."""
