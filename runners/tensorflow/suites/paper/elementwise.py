"""Cases of functions that compute each element separately: ``tf.math.igammac``, NumPy's ``clip``."""

from __future__ import annotations

from typing import Any

import numpy as np

from runners.suite.cases import Function
from runners.suite.checks import EXACT, Tolerance
from runners.suite.optional import optional
from runners.tensorflow.suites.paper.calls import gradient, in_graph, of_unknown_shapes, refused, refusing, traced

special = optional("scipy.special")

NAN, INF = float("nan"), float("inf")
ITERATED = Tolerance(1e-4, 1e-6)
"""The tolerance for float32: a kernel sums a series or a continued fraction, whose terms are float32 powers and
log-gammas."""


def upper_gamma(a: Any, x: Any) -> Any:
    return np.asarray(special.gammaincc(a, x))


def upper_gamma_backward(a: Any, x: Any, upstream: Any) -> Any:
    """Compute the gradients: with respect to ``x`` by a closed form, with respect to ``a`` by central differences in
    float64."""
    step = 1e-5 * a
    by_a = (upper_gamma(a + step, x) - upper_gamma(a - step, x)) / (2 * step)
    by_x = -np.exp(-x + (a - 1) * np.log(x) - special.gammaln(a))
    return [upper_gamma(a, x), upstream * by_a, upstream * by_x]


igammac = Function("tf.math.igammac", upper_gamma)
igammac.value(
    "float32-64x128",
    lambda inputs: [inputs.uniform(64, 128, low=0.2, high=8), inputs.uniform(64, 128, high=10)],
    tolerance=ITERATED,
)
igammac.value(
    "float64",
    lambda inputs: [inputs.uniform(20, 30, low=0.2, high=20), inputs.uniform(20, 30, high=20)],
    dtype="float64",
)
igammac.value(
    "broadcast",
    lambda inputs: [inputs.uniform(12, 1, low=0.2, high=8), inputs.uniform(15, high=8)],
    tolerance=ITERATED,
)
igammac.value("scalars", lambda inputs: [np.asarray(2.5), np.asarray(1.25)], tolerance=ITERATED)
igammac.value(
    "large",
    lambda inputs: [inputs.uniform(40, low=200, high=400), inputs.uniform(40, low=200, high=400)],
    # For powers of some hundreds, the logarithm loses two more digits.
    tolerance=Tolerance(2e-3, 1e-4),
)
igammac.value("zero-and-infinity", lambda inputs: [np.array([0.5, 2.0, 3.0]), np.array([0.0, 0.0, INF])])
igammac.value(
    "nan",
    lambda inputs: [np.array([NAN, 1.0, 2.0]), np.array([1.0, NAN, 3.0])],
    tolerance=ITERATED,
)
igammac.value("empty", lambda inputs: [inputs.uniform(0, 4), inputs.uniform(0, 4)])
igammac.value(
    "traced",
    lambda inputs: [inputs.uniform(12, low=0.2, high=8), inputs.uniform(12, high=8)],
    prepare=traced,
    tolerance=ITERATED,
)
igammac.value(
    "in-graph",
    lambda inputs: [inputs.uniform(12, low=0.2, high=8), inputs.uniform(12, high=8)],
    prepare=in_graph,
    tolerance=ITERATED,
)
for dtype in ("float32", "float64"):
    igammac.value(
        f"gradient-{dtype}",
        lambda inputs: [
            inputs.uniform(40, low=0.5, high=6),
            inputs.uniform(40, low=0.5, high=6),
            inputs.uniform(40, low=1, high=2),
        ],
        dtype=dtype,
        # A kernel computes the derivative with respect to the first argument by a separate series; the reference uses
        # differences.
        tolerance=Tolerance(1e-3, 1e-4) if dtype == "float32" else Tolerance(1e-6, 1e-7),
        reference=upper_gamma_backward,
        prepare=gradient,
    )


def clipped(a: Any, a_min: Any, a_max: Any) -> Any:
    result = a
    if a_min is not None:
        result = np.where(result < a_min, a_min, result)
    if a_max is not None:
        result = np.where(result > a_max, a_max, result)
    return np.asarray(result)


def clipped_backward(a: Any, a_min: Any, a_max: Any, upstream: Any) -> Any:
    return [clipped(a, a_min, a_max), upstream * ((a >= a_min) & (a <= a_max))]


# The study names a module that was never public. The public function is below.
gone = Function("tf.python.ops.numpy_ops.clip", clipped)
gone.value("float32-64x128", lambda inputs: [inputs.normal(64, 128), -0.5, 0.75], tolerance=EXACT)
gone.value("no-lower-limit", lambda inputs: [inputs.normal(33, 17), None, 0.25], tolerance=EXACT)

clip = Function("tf.experimental.numpy.clip", clipped)
clip.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), -0.5, 0.75], tolerance=EXACT)
for dtype in ("float64", "float16"):
    clip.value(dtype, lambda inputs: [inputs.normal(9, 20), -0.5, 0.75], dtype=dtype, tolerance=EXACT)
for dtype in ("int32", "int64"):
    clip.value(
        dtype,
        lambda inputs, dtype=dtype: [  # type: ignore[misc]
            inputs.integers(9, 20, dtype=dtype),
            np.asarray(-3, dtype),
            np.asarray(4, dtype),
        ],
        dtype=dtype,
    )
clip.value("bfloat16", lambda inputs: [inputs.normal(9, 20), -0.5, 0.75], dtype="bfloat16", tolerance=EXACT)
clip.value("no-lower-limit", lambda inputs: [inputs.normal(33, 17), None, 0.25], tolerance=EXACT)
clip.value("no-upper-limit", lambda inputs: [inputs.normal(33, 17), -0.25, None], tolerance=EXACT)
clip.value(
    "limits-of-each-row",
    lambda inputs: [inputs.normal(9, 20), -inputs.uniform(9, 1), inputs.uniform(9, 1)],
    tolerance=EXACT,
)
clip.value(
    "limits-of-each-column",
    lambda inputs: [inputs.normal(9, 20), -inputs.uniform(20), inputs.uniform(20)],
    tolerance=EXACT,
)
clip.value("infinities", lambda inputs: [np.array([-INF, INF, 0.25, -3.0]), -1.0, 1.0], tolerance=EXACT)
clip.value("scalar", lambda inputs: [np.asarray(3.5), -1.0, 1.5])
clip.value("empty", lambda inputs: [inputs.normal(0, 4), -1.0, 1.0])
clip.value(
    "traced",
    lambda inputs: [inputs.normal(9, 20), -inputs.uniform(20), inputs.uniform(20)],
    prepare=traced,
    tolerance=EXACT,
)
clip.value(
    "of-unknown-shapes",
    lambda inputs: [inputs.normal(9, 20), -inputs.uniform(20), inputs.uniform(20)],
    prepare=of_unknown_shapes,
    tolerance=EXACT,
)
clip.value(
    "gradient",
    lambda inputs: [inputs.normal(9, 20), -0.5, 0.75, inputs.normal(9, 20)],
    reference=clipped_backward,
    prepare=gradient,
    tolerance=EXACT,
)
clip.behaviour(
    "refuses-no-limits",
    lambda inputs: [inputs.normal(3), None, None],
    refused,
    prepare=refusing(ValueError),
    refuses=True,
)
clip.value("nan-stays", lambda inputs: [np.array([NAN, -INF, INF, 0.25]), -1.0, 1.0], tolerance=EXACT)

FUNCTIONS: list[Function] = [igammac, gone, clip]
