"""Results and gradients that TensorFlow computes wrongly on the CPU, as a review has confirmed, and their cases.

``docs/explanation/defects.md`` has a script for each. If a reference and the CPU differ, the reference may follow
another definition, or there may be a kink nearby. So only reviewed functions may have a case that fails on the CPU.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from freezing.common.agreement import fill, tolerance_of
from freezing.common.wrong import case_failing_on_host, clearly_differ, is_close
from protocol.enums import Judge
from runners.errors import UnjudgedError
from runners.suite.checks import leaves
from runners.suite.frozen import PackWriter
from runners.suite.rounding import rounded

if TYPE_CHECKING:
    from freezing.common.gate import GatedFunction
    from freezing.common.samples import Sample

WRONG_GRADIENTS: Mapping[str, Collection[str]] = {
    "tf.keras.activations.gelu": ["infinity"],
    "tf.keras.activations.silu": ["infinity"],
    "tf.keras.ops.layer_normalization": ["second-order"],
    "tf.math.cumprod": ["zero-inside"],
    "tf.nn.gelu": ["infinity"],
    "tf.nn.moments": ["second-order"],
    "tf.nn.silu": ["infinity"],
}
"""The variant of the inputs, or the order, for which the gradient of each function is wrong. Differences judge it."""
WRONG_VALUES: Mapping[str, Collection[str]] = {
    "tf.experimental.numpy.signbit": ["tails"],
    "tf.keras.ops.isclose": ["non-finite"],
    "tf.math.igamma": ["alike"],
    "tf.math.igammac": ["alike"],
}
"""The variants for which the result of each function is wrong. NumPy or SciPy judges it."""
JUDGES = (Judge.numpy, Judge.differences)
"""The references that do not share their formulas with the CPU's computation."""


def wrong_case(subject: GatedFunction, sample: Sample, pack: PackWriter) -> dict[str, Any] | None:
    """Make the case of a call that the CPU gets clearly wrong. None if the CPU does not, if it is nearly right for some
    elements, or if it has no reference of other formulas."""
    device = subject.device

    def fresh() -> Any:
        arrays = device.to_device(rounded([pack.array(digest) for digest in sample.arrays], sample.dtype), sample.dtype)
        return subject.arguments(sample.call, arrays)

    try:
        arguments, options = fresh()
        host_result = device.to_host(subject.call(*arguments, **options))
        kind, reference = next(subject.references(sample.dtype, fresh))
        if kind not in JUDGES:
            raise UnjudgedError(kind)
        with np.errstate(all="ignore"):
            reference_result = fill(host_result, reference())
    except Exception:  # there is no reference, or it cannot compute the call
        return None
    tolerance = tolerance_of(sample.dtype, host_result)
    pairs = [
        (one.values, other.values) for one, other in zip(leaves(host_result), leaves(reference_result), strict=True)
    ]
    wrong_places = [clearly_differ(one, other, tolerance) for one, other in pairs]
    is_clear = all((wrong | is_close(*pair, tolerance)).all() for wrong, pair in zip(wrong_places, pairs, strict=True))
    if not is_clear or not any(places.any() for places in wrong_places):
        return None
    return case_failing_on_host(subject.name, sample, kind, reference_result, tolerance, pack)
