"""Handwritten cases of distributions: their samples and their properties.

They cover the most used functions without samples in torch's own tests. NumPy judges values, as in ``by_hand.py``.
Samples are judged by their mean and standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, Inputs
from runners.suite.frozen import QUICK
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in, spread_about
from runners.torch.suites.library.training import normal_log_density

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)

DRAWS: dict[str, tuple[list[float], float, float]] = {
    "Beta": ([2.0, 2.0], 0.5, math.sqrt(1 / 20)),
    "Exponential": ([2.0], 0.5, 0.5),
    "Gamma": ([4.0, 2.0], 2.0, 1.0),
    "Uniform": ([-1.0, 1.0], 0.0, 1 / math.sqrt(3)),
}
"""For each distribution, by its name: the parameters, the mean and the standard deviation."""


def drawn(context: Context, *parameters: Any, distribution: str) -> Callable[[], Any]:
    """Prepare 2,000 samples of a distribution whose parameters are on the device."""
    import torch

    source = getattr(torch.distributions, distribution)(*parameters)
    return lambda: context.function(source, (2000,))


drawing = charted("torch.distributions.Distribution.sample", prepare=drawn)
for name, (parameters, middle, deviation) in DRAWS.items():
    drawing.statistics(
        f"float32-{name.lower()}",
        lambda inputs, parameters=parameters: list(map(np.float64, parameters)),  # type: ignore[misc]
        spread_about(middle, deviation),
        distribution=name,
        tags=("by-hand", "form-only", "random", "0-dim", QUICK),
    )


def of_normal(context: Context, values: Any, middle: Any, deviation: Any) -> Callable[[], Any]:
    """Prepare the call of a normal distribution's method with some values."""
    import torch

    normal = torch.distributions.Normal(middle, deviation)
    return lambda: context.function(normal, values)


def about_normal(inputs: Inputs) -> list[Array]:
    return [inputs.normal(3, 4), inputs.normal(4), np.exp(inputs.normal(4))]


def normal_shares(values: Array, middle: Array, deviation: Array) -> Array:
    return np.asarray(np.vectorize(math.erf)((values - middle) / (deviation * math.sqrt(2))) / 2 + 0.5)


for method, reference in {"log_prob": normal_log_density, "cdf": normal_shares}.items():
    charted(f"torch.distributions.Normal.{method}", reference, of_normal).value("float32-3x4", about_normal, tags=TAGS)


def entropy_of_categories(context: Context, weights: Any) -> Callable[[], Any]:
    import torch

    categorical = torch.distributions.Categorical(weights)
    return lambda: context.function(categorical)


def entropy(weights: Array) -> Array:
    shares = weights / weights.sum(-1, keepdims=True)
    return np.asarray(-(shares * np.log(shares)).sum(-1))


charted("torch.distributions.Categorical.entropy", entropy, entropy_of_categories).value(
    "float32-3x5", lambda inputs: [np.exp(inputs.normal(3, 5))], tags=TAGS
)


def between_normals(context: Context, *parameters: Any) -> Callable[[], Any]:
    from torch.distributions import Normal

    one, other = Normal(*parameters[:2]), Normal(*parameters[2:])
    return lambda: context.function(one, other)


def normal_divergence(middle: Array, deviation: Array, other_middle: Array, other_deviation: Array) -> Array:
    share = (deviation / other_deviation) ** 2
    return np.asarray(((middle - other_middle) / other_deviation) ** 2 / 2 + (share - 1 - np.log(share)) / 2)


charted("torch.distributions.kl_divergence", normal_divergence, between_normals).value(
    "float32-4",
    lambda inputs: [inputs.normal(4), np.exp(inputs.normal(4)), inputs.normal(4), np.exp(inputs.normal(4))],
    tags=TAGS,
)


def log_normal_density(context: Context, values: Any, middle: Any, deviation: Any) -> Callable[[], Any]:
    """Prepare the logarithm of the density of a log-normal distribution, which transforms a normal distribution."""
    import torch

    normal = torch.distributions.Normal(middle, deviation)
    return lambda: context.function(normal, [torch.distributions.ExpTransform()]).log_prob(values)


charted(
    "torch.distributions.TransformedDistribution",
    lambda values, *parameters: normal_log_density(np.log(values), *parameters) - np.log(values),
    log_normal_density,
).value(
    "float32-exponential",
    lambda inputs: [np.exp(inputs.normal(3, 4)), inputs.normal(4), np.exp(inputs.normal(4))],
    tags=TAGS,
)


def transformed(context: Context, values: Any, *arguments: Any) -> Callable[[], Any]:
    """Prepare the transformed array, its inverse transform, and the logarithm of the Jacobian determinant."""

    def call() -> Any:
        transform = context.function(*arguments)
        result = transform(values)
        return result, transform.inv(result), transform.log_abs_det_jacobian(values, result)

    return call


affine = charted(
    "torch.distributions.AffineTransform",
    lambda values, shift, factor: (shift + factor * values, values, np.broadcast_to(np.log(abs(factor)), values.shape)),
    transformed,
)
affine.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(4), -1 - inputs.uniform(4)], tags=TAGS)


def composed(context: Context, values: Any) -> Callable[[], Any]:
    import torch

    return lambda: context.function(
        [torch.distributions.AffineTransform(1.0, 2.0), torch.distributions.ExpTransform()]
    )(values)


charted("torch.distributions.ComposeTransform", lambda values: np.exp(1 + 2 * values), composed).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)


def into_positive(context: Context, values: Any) -> Callable[[], Any]:
    import torch

    return lambda: context.function(torch.distributions.constraints.positive)(values)


for name in ("biject_to", "transform_to"):
    charted(f"torch.distributions.{name}", np.exp, into_positive).value(
        "float32-positive", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
    )
