"""The gradients that TensorFlow computes wrongly on the CPU, as a person has confirmed, and their cases.

``docs/explanation/defects.md`` has a script for each. Differences judge them. If differences and the CPU differ, the
reason may also be a kink nearby, so only reviewed gradients may have a case that fails on the CPU.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from freezing.common.agreement import fill, tolerance_of
from freezing.common.wrong import WRONG, clearly_differ
from protocol.enums import JUDGED_BY, WRONG_ON_HOST, Judge
from runners.suite.checks import leaves
from runners.suite.frozen import PackWriter
from runners.suite.rounding import rounded

if TYPE_CHECKING:
    from freezing.common.samples import Sample
    from freezing.tensorflow.gradients import Derivative

REVIEWED: Mapping[str, Collection[str]] = {
    "tf.math.cumprod": ["zero-inside"],
    "tf.nn.gelu": ["infinity"],
    "tf.nn.moments": ["second-order"],
    "tf.nn.silu": ["infinity"],
    "tf.keras.ops.layer_normalization": ["second-order"],
}
"""The variant of the inputs, or the order, for which the gradient of each function is wrong."""


def wrong_case(derivative: Derivative, sample: Sample, pack: PackWriter) -> dict[str, Any] | None:
    """Make the case of a gradient that the CPU gets clearly wrong. None if the CPU does not, or if there are no
    differences."""
    device = derivative.device

    def arguments() -> Any:
        arrays = device.to_device(rounded([pack.array(digest) for digest in sample.arrays], sample.dtype), sample.dtype)
        return derivative.arguments(sample.call, arrays)[0]

    host_result = device.to_host(derivative.call(*arguments()))
    try:
        with np.errstate(all="ignore"):
            expected = fill(host_result, derivative.slopes(arguments()))
    except Exception:  # the function has no float64, or its gradient has no limit
        return None
    tolerance = tolerance_of(sample.dtype, host_result)
    pairs = zip(leaves(host_result), leaves(expected), strict=True)
    if not any(clearly_differ(one.values, other.values, tolerance).any() for one, other in pairs):
        return None
    result, digests = pack.add_tree(expected)
    return {
        "function": derivative.name,
        "name": f"{sample.name}-{WRONG}",
        "dtype": sample.dtype,
        "arrays": list(sample.arrays),
        "call": sample.call,
        "kind": "value",
        "result": result,
        "expected": digests,
        "tolerance": [tolerance.relative, tolerance.absolute],
        "tags": [*sample.kinds, f"{JUDGED_BY}{Judge.differences}", WRONG_ON_HOST],
    }
