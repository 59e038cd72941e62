"""Cases of distributions of TensorFlow 1: ``compat.v1.distributions.Normal`` and ``Laplace.log_survival_function``.

A method is called on an instance whose parameters are on the device. The references are SciPy and closed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.suite.checks import Tolerance
from runners.suite.optional import optional
from runners.tensorflow.suites.paper.graphing import refusal, v1

special = optional("scipy.special")
stats = optional("scipy.stats")

Array = np.ndarray[Any, Any]
HALF = Tolerance(4e-3, 4e-3)
"""The tolerance for float16: five rounding errors in a chain of elementary functions."""


def eagerly(call: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for ``call(function, *arguments, **options)``. It is compiled if the device is a
    compiler."""

    def prepare(context: Context, *arguments: Any, **options: Any) -> Callable[[], Any]:
        plain = tf.autograph.experimental.do_not_convert(lambda: call(context.function, *arguments, **options))
        return context.compiled(plain)

    return prepare


def with_gradients(call: Callable[..., Any]) -> Prepare:
    """Return a ``prepare`` for the result, and the gradients of its sum with respect to all arguments."""

    def taped(function: Any, *arguments: Any, **options: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(arguments)
            result = call(function, *arguments, **options)
        return [result, *tape.gradient(result, arguments)]

    return eagerly(taped)


def located(*shape: int) -> Callable[[Inputs], Any]:
    """Make values, locations and scales of one shape."""
    return lambda inputs: [inputs.normal(*shape) * 2, inputs.normal(*shape), inputs.uniform(*shape, low=0.5, high=2.0)]


def laplace_tail(function: Any, x: Any, loc: Any, scale: Any) -> Any:
    return function(v1.distributions.Laplace(loc, scale), x)


def laplace_log_survival(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    return np.where(z > 0, np.log(0.5) - z, np.log1p(-0.5 * np.exp(np.minimum(z, 0))))


def laplace_slopes(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    below = np.exp(np.minimum(z, 0))
    by_z = np.where(z > 0, -1.0, -0.5 * below / (1 - 0.5 * below))
    return [laplace_log_survival(x, loc, scale), by_z / scale, -by_z / scale, -by_z * z / scale]


tail = Function(
    "tf.compat.v1.distributions.Laplace.log_survival_function", laplace_log_survival, prepare=eagerly(laplace_tail)
)
tail.value("float32-128x128", located(128, 128))
tail.value("float64", located(5, 7), dtype="float64")
tail.value("float16", located(5, 7), dtype="float16", tolerance=HALF)
tail.value("one-scale-for-all", lambda inputs: [inputs.normal(6, 5), inputs.normal(5), np.asarray(0.75)])
tail.value("far-right-is-linear", lambda inputs: [inputs.uniform(50, low=50, high=5000), np.zeros(50), np.ones(50)])
tail.value(
    "far-left-keeps-its-digits",
    lambda inputs: [-inputs.uniform(20, low=15, high=60), np.zeros(20), np.ones(20)],
    tolerance=Tolerance(1e-4, 0.0),
)
tail.value(
    "infinities-and-nan", lambda inputs: [np.array([np.inf, -np.inf, np.nan, 0.0]), np.zeros(4), np.full(4, 2.0)]
)
tail.value("at-the-median", lambda inputs: [np.full(3, 1.5), np.full(3, 1.5), np.array([0.5, 1.0, 9.0])])
tail.value("no-elements", lambda inputs: [np.zeros((0, 3)), np.zeros(3), np.ones(3)])
tail.value("gradient", located(6, 8), prepare=with_gradients(laplace_tail), reference=laplace_slopes)


def normal_of(method: str) -> Callable[..., Any]:
    """Return a call of a normal distribution's method with values."""
    return lambda function, x, loc, scale, **options: getattr(function(loc, scale, **options), method)(x)


def normal_itself(method: str) -> Callable[..., Any]:
    """Return a call of a normal distribution's method without values."""
    return lambda function, loc, scale: getattr(function(loc, scale), method)()


def log_density(x: Any, loc: Any, scale: Any, **_: Any) -> Any:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale) - 0.5 * np.log(2 * np.pi)


def log_density_slopes(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    return [log_density(x, loc, scale), -z / scale, z / scale, (z * z - 1) / scale]


def cumulative(x: Any, loc: Any, scale: Any) -> Any:
    return special.ndtr((x - loc) / scale)


def parameters(inputs: Inputs) -> Any:
    return [inputs.normal(6, 5), inputs.uniform(6, 5, low=0.5, high=2.0)]


normal = Function("tf.compat.v1.distributions.Normal", log_density)
normal.value("float32-log-density-128x128", located(128, 128), prepare=eagerly(normal_of("log_prob")))
normal.value("float64-log-density", located(6, 5), dtype="float64", prepare=eagerly(normal_of("log_prob")))
normal.value(
    "float16-log-density", located(6, 5), dtype="float16", prepare=eagerly(normal_of("log_prob")), tolerance=HALF
)
normal.value(
    "log-density-broadcast",
    lambda inputs: [inputs.normal(7, 1, 5), inputs.normal(4, 1), np.asarray(1.5)],
    prepare=eagerly(normal_of("log_prob")),
)
normal.value(
    "log-density-infinities-and-nan",
    lambda inputs: [np.array([np.inf, -np.inf, np.nan, 0.0]), np.full(4, 0.5), np.ones(4)],
    prepare=eagerly(normal_of("log_prob")),
)
normal.value(
    "log-density-no-elements",
    lambda inputs: [np.zeros((0, 3)), np.zeros(3), np.ones(3)],
    prepare=eagerly(normal_of("log_prob")),
)
normal.value(
    "log-density-gradient", located(6, 8), prepare=with_gradients(normal_of("log_prob")), reference=log_density_slopes
)
normal.value(
    "density",
    located(33, 17),
    prepare=eagerly(normal_of("prob")),
    reference=lambda *given: np.exp(log_density(*given)),
)
normal.value("cumulative", located(33, 17), prepare=eagerly(normal_of("cdf")), reference=cumulative)
normal.value(
    "log-cumulative-far-left",
    lambda inputs: [-inputs.uniform(40, low=1, high=60), np.zeros(40), np.ones(40)],
    prepare=eagerly(normal_of("log_cdf")),
    reference=lambda x, loc, scale: special.log_ndtr((x - loc) / scale),
)
normal.value(
    "log-survival-far-right",
    lambda inputs: [inputs.uniform(40, low=1, high=60), np.zeros(40), np.ones(40)],
    prepare=eagerly(normal_of("log_survival_function")),
    reference=lambda x, loc, scale: special.log_ndtr((loc - x) / scale),
)
normal.value(
    "quantile",
    lambda inputs: [
        inputs.uniform(33, 17, low=0.01, high=0.99),
        inputs.normal(17),
        inputs.uniform(17, low=0.5, high=2.0),
    ],
    prepare=eagerly(normal_of("quantile")),
    reference=lambda p, loc, scale: loc + scale * special.ndtri(p),
)
for name, reference in {
    "mean": lambda loc, scale: loc + 0 * scale,
    "mode": lambda loc, scale: loc + 0 * scale,
    "stddev": lambda loc, scale: scale + 0 * loc,
    "variance": lambda loc, scale: scale**2 + 0 * loc,
}.items():
    normal.value(
        name,
        lambda inputs: [inputs.normal(6, 1), inputs.uniform(5, low=0.5, high=2.0)],
        prepare=eagerly(normal_itself(name)),
        reference=reference,
    )
normal.value(
    "entropy",
    parameters,
    prepare=eagerly(normal_itself("entropy")),
    reference=lambda loc, scale: 0.5 * np.log(2 * np.pi * np.e * scale**2),
)
normal.value(
    "batch-and-event-shape",
    lambda inputs: [inputs.normal(6, 1), inputs.uniform(5, low=0.5, high=2.0)],
    dtype="float64",
    prepare=eagerly(lambda function, loc, scale: _shapes(function(loc, scale))),
    reference=lambda loc, scale: [np.array([6, 5], "int32"), np.zeros(0, "int32")],
)


def _shapes(distribution: Any) -> Any:
    return [distribution.batch_shape_tensor(), distribution.event_shape_tensor()]


def divergence(function: Any, loc: Any, scale: Any, other_loc: Any, other_scale: Any) -> Any:
    return v1.distributions.kl_divergence(function(loc, scale), function(other_loc, other_scale))


normal.value(
    "divergence-of-two",
    lambda inputs: [*parameters(inputs), *parameters(inputs)],
    prepare=eagerly(divergence),
    reference=lambda loc, scale, other_loc, other_scale: (
        np.log(other_scale / scale) + (scale**2 + (loc - other_loc) ** 2) / (2 * other_scale**2) - 0.5
    ),
)


def drawn(context: Context, loc: Any, scale: Any, *, count: int) -> Callable[[], Any]:
    sample = tf.autograph.experimental.do_not_convert(lambda: context.function(loc, scale).sample([count]))
    return context.compiled(sample)


def check_drawn(observed: Any, loc: Array, scale: Array, *, count: int) -> None:
    values = observed.values.astype("float64")
    assert values.shape == (count, *loc.shape), f"drawn: {values.shape}"
    for place in np.ndindex(loc.shape):
        column = values[(slice(None), *place)]
        # A correct generator fails once in 10 million times. float16 has only some 2,000 values per unit.
        distance = stats.kstest(column, "norm", (loc[place], scale[place])).statistic
        assert distance < 2.8 / np.sqrt(count), f"{place}: {distance:.4f} from the normal distribution"
        assert abs(column.mean() - loc[place]) < 6 * scale[place] / np.sqrt(count), f"{place}: mean {column.mean()}"


def spread(inputs: Inputs) -> Any:
    return [np.array([-3.0, 0.0, 5.0]), np.array([0.5, 1.0, 4.0])]


def check_dtype(wanted: str) -> Callable[..., None]:
    def check(observed: Any, *arguments: Any, **options: Any) -> None:
        assert observed.dtype == wanted, f"expected {wanted}, got {observed.dtype}"
        check_drawn(observed, *arguments, **options)

    return check


normal.statistics("samples-float32", spread, check_dtype("float32"), prepare=drawn, count=20_000)
normal.statistics("samples-float64", spread, check_dtype("float64"), prepare=drawn, dtype="float64", count=5_000)
normal.statistics("samples-float16", spread, check_dtype("float16"), prepare=drawn, dtype="float16", count=2_000)


def drawn_twice(context: Context, loc: Any, scale: Any) -> Callable[[], Any]:
    """Prepare samples with one global seed. The first two have the same seed of the operation, and the third has
    another."""

    def seeded(seed: int) -> Any:
        # Setting the global seed resets the eager operations. Inside of a compiled program it would have no effect.
        tf.random.set_seed(5)
        plain = tf.autograph.experimental.do_not_convert(lambda: context.function(loc, scale).sample([64], seed=seed))
        return context.compiled(plain)()

    return lambda: [seeded(1), seeded(1), seeded(2)]


def check_repeats(observed: Any, *_: Any) -> None:
    one, again, other = (leaf.values for leaf in observed)
    assert np.array_equal(one, again), "the same seed drew other numbers"
    assert not np.array_equal(one, other), "another seed drew the same numbers"
    assert len(np.unique(one)) > 60, "numbers repeat"


normal.statistics("same-seed-repeats", spread, check_repeats, prepare=drawn_twice)
normal.value(
    "sample-follows-its-parameters",
    parameters,
    prepare=eagerly(lambda function, loc, scale: _slopes_of_sample(function, loc, scale)),
    reference=lambda loc, scale: [np.ones_like(loc), np.ones_like(scale)],
    tolerance=Tolerance(1e-4, 1e-4),
)


def _slopes_of_sample(function: Any, loc: Any, scale: Any) -> Any:
    """Compute the gradients of a sample's sum. With respect to the location it is one; with respect to the scale it is
    the standard normal number that was drawn."""
    with tf.GradientTape() as tape:
        tape.watch([loc, scale])
        sample = function(loc, scale).sample()
        total = tf.reduce_sum(sample)
    by_loc, by_scale = tape.gradient(total, [loc, scale])
    return [by_loc, by_scale * scale / (sample - loc)]


def mistaken(context: Context, loc: Any, scale: Any) -> Callable[[], Any]:
    def call() -> Any:
        return {
            "scale below zero": refusal(lambda: context.function(loc, -scale, validate_args=True)),
            "two dtypes": refusal(lambda: context.function(loc, tf.cast(scale, tf.float64))),
            "right": refusal(lambda: context.function(loc, scale, validate_args=True)),
        }

    return call


def check_mistaken(observed: Any, *_: Any) -> None:
    wanted = {"scale below zero": "InvalidArgumentError", "two dtypes": "ValueError", "right": "nothing"}
    assert observed == wanted, observed


normal.behaviour("arguments-are-validated", parameters, check_mistaken, prepare=mistaken)


def normal_survival(function: Any, x: Any, loc: Any, scale: Any) -> Any:
    return function(v1.distributions.Normal(loc, scale), x)


def survived(x: Any, loc: Any, scale: Any) -> Any:
    return special.ndtr((loc - x) / scale)


def survived_slopes(x: Any, loc: Any, scale: Any) -> Any:
    z = (x - loc) / scale
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return [survived(x, loc, scale), -density / scale, density / scale, density * z / scale]


survival = Function("tf.compat.v1.distributions.Normal.survival_function", survived, prepare=eagerly(normal_survival))
survival.value("float32-128x128", located(128, 128))
survival.value("float64", located(5, 7), dtype="float64")
survival.value("three-axes", located(3, 4, 5))
survival.value("one-scale-for-all", lambda inputs: [inputs.normal(6, 5), inputs.normal(5), np.asarray(0.75)])
survival.value(
    "far-right-keeps-its-digits",
    lambda inputs: [inputs.uniform(40, low=2, high=8), np.zeros(40), np.ones(40)],
    tolerance=Tolerance(1e-4, 0.0),
)
survival.value(
    "infinities-and-nan", lambda inputs: [np.array([np.inf, -np.inf, np.nan, 0.0]), np.zeros(4), np.full(4, 2.0)]
)
survival.value("no-elements", lambda inputs: [np.zeros((0, 3)), np.zeros(3), np.ones(3)])
survival.value("gradient", located(6, 8), prepare=with_gradients(normal_survival), reference=survived_slopes)


def shaped(context: Context, shape: Any) -> Callable[[], Any]:
    """Prepare a call whose argument is a shape, as a tensor on the device."""
    return context.compiled(tf.autograph.experimental.do_not_convert(lambda: context.function(shape)))


def shapes(shape: Any) -> Any:
    return {"loc": np.asarray(shape, "int32"), "scale": np.asarray(shape, "int32")}


param_shapes = Function("tf.compat.v1.distributions.Normal.param_shapes", shapes, prepare=shaped)
param_shapes.value("of-a-matrix", lambda inputs: [np.array([100, 30], "int32")], dtype="int32")
param_shapes.value("of-a-vector", lambda inputs: [np.array([7], "int32")], dtype="int32")
param_shapes.value("of-five-axes", lambda inputs: [np.array([2, 0, 3, 1, 4], "int32")], dtype="int32")
param_shapes.value("from-a-list", lambda inputs: [[4, 6]], dtype="int32")


def used_as_parameters(context: Context, shape: Any) -> Callable[[], Any]:
    """Prepare samples from a distribution whose parameters have the returned shapes. The samples must have the
    requested shape."""

    def call() -> Any:
        wanted = context.function([5, 6])
        distribution = v1.distributions.Normal(tf.zeros(wanted["loc"]) + shape, tf.ones(wanted["scale"]))
        return distribution.mean(), distribution.sample()

    return context.compiled(tf.autograph.experimental.do_not_convert(call))


def check_used(observed: Any, shape: Any) -> None:
    mean, sample = observed
    np.testing.assert_array_equal(mean.values, np.broadcast_to(shape, (5, 6)))
    assert sample.values.shape == (5, 6), f"sampled: {sample.values.shape}"


param_shapes.behaviour(
    "parameters-of-those-shapes", lambda inputs: [inputs.normal(6)], check_used, prepare=used_as_parameters
)

FUNCTIONS: list[Function] = [tail, normal, survival, param_shapes]
