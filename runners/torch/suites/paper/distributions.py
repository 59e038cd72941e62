"""Cases of ``torch.distributions`` with parameters on the device.

Densities are compared with their closed form. Samples are judged by statistics whose distribution is known exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.optional import optional
from runners.torch.suites.paper import chance

special = optional("scipy.special")

Array = np.ndarray[Any, Any]


def relaxed_log_density(
    context: Context, temperature: Any, logits: Any, value: Any, **options: Any
) -> Callable[[], Any]:
    distribution = context.function(temperature, logits=logits, **options)
    return lambda: distribution.log_prob(value)


def relaxed_log_density_of_probs(context: Context, temperature: Any, probs: Any, value: Any) -> Callable[[], Any]:
    distribution = context.function(temperature, probs=probs)
    return lambda: distribution.log_prob(value)


def relaxed_gradient(context: Context, temperature: Any, logits: Any, value: Any) -> Callable[[], Any]:
    """Prepare the density and its gradient with respect to the logits."""
    leaf = logits.detach().requires_grad_()

    def call() -> Any:
        density = context.function(temperature, logits=leaf).log_prob(value)
        return density, torch.autograd.grad(density.sum(), leaf)[0]

    return call


def relaxed_density(temperature: Array, logits: Array, value: Array, **_: Any) -> Array:
    """Compute equation 10 of Maddison, Mnih and Teh, in logarithms. It does not require that the logits are
    normalized."""
    classes = logits.shape[-1]
    tilted = logits - temperature * np.log(value)
    return np.asarray(
        math.lgamma(classes)
        + (classes - 1) * np.log(temperature)
        + (tilted - np.log(value)).sum(-1)
        - classes * special.logsumexp(tilted, axis=-1)
    )


def relaxed_slope(temperature: Array, logits: Array, value: Array) -> tuple[Array, Array]:
    tilted = logits - temperature * np.log(value)
    return relaxed_density(temperature, logits, value), 1 - logits.shape[-1] * special.softmax(tilted, axis=-1)


def points(*shape: int, temperature: float = 0.7) -> Callable[[Inputs], Any]:
    """Make a temperature, logits, and points inside the simplex."""

    def arguments(inputs: Inputs) -> Any:
        raw = inputs.uniform(*shape, low=0.2, high=1.0)
        return np.array(temperature), inputs.normal(*shape), raw / raw.sum(-1, keepdims=True)

    return arguments


relaxed = Function(
    "torch.distributions.RelaxedOneHotCategorical", reference=relaxed_density, prepare=relaxed_log_density
)

# The density of a point multiplies the rounding errors of its coordinates by the number of classes.
SUMS_OF_LOGARITHMS = Tolerance(1e-4, 1e-4)

relaxed.value("log-density", points(128, 16), tolerance=SUMS_OF_LOGARITHMS)
relaxed.value("log-density-float64", points(6, 4), dtype="float64")
relaxed.value("log-density-of-one-point", points(5), tolerance=SUMS_OF_LOGARITHMS)
relaxed.value("two-classes", points(9, 2, temperature=1.5), dtype="float64")
relaxed.value("hot", points(6, 4, temperature=25.0), dtype="float64")
relaxed.value("without-validation", points(2, 3, 4), tolerance=SUMS_OF_LOGARITHMS, validate_args=False)
relaxed.value(
    "one-distribution-many-points",
    lambda inputs: (np.array(0.5), inputs.normal(4), points(7, 4)(inputs)[2]),
    tolerance=SUMS_OF_LOGARITHMS,
)
relaxed.value(
    "unnormalised-probabilities",
    lambda inputs: (np.array(0.8), inputs.uniform(6, 4, low=0.5, high=3.0), points(6, 4)(inputs)[2]),
    reference=lambda temperature, probs, value: relaxed_density(temperature, np.log(probs), value),
    prepare=relaxed_log_density_of_probs,
    tolerance=SUMS_OF_LOGARITHMS,
)
relaxed.value(
    "gradient",
    points(8, 5),
    dtype="float64",
    reference=relaxed_slope,
    prepare=relaxed_gradient,
)


def draw(context: Context, temperature: Any, logits: Any, *, shape: tuple[int, ...]) -> Callable[[], Any]:
    distribution = context.function(temperature, logits=logits)
    return lambda: distribution.rsample(torch.Size(shape))


def draw_and_differentiate(
    context: Context, temperature: Any, logits: Any, *, shape: tuple[int, ...]
) -> Callable[[], Any]:
    """Prepare samples, and the gradient of their weighted sum with respect to the logits, through the sampling."""
    leaf = logits.detach().requires_grad_()

    def call() -> Any:
        sample = context.function(temperature, logits=leaf).rsample(torch.Size(shape))
        weights = torch.arange(sample.shape[-1], device=sample.device, dtype=sample.dtype)
        return sample, torch.autograd.grad((sample * weights).sum(), leaf)[0]

    return call


def four_classes(temperature: float) -> Callable[[Inputs], Any]:
    return lambda inputs: (np.array(temperature), np.log([0.1, 0.2, 0.3, 0.4]))


def assert_on_simplex(samples: Array, what: str) -> None:
    assert np.all(samples >= 0), f"{what}: a sample has a negative coordinate, {samples.min()}"
    assert np.allclose(samples.sum(-1), 1, atol=1e-4), f"{what}: coordinates of a sample do not sum to 1"


def check_winners(observed: Any, _temperature: Array, logits: Array, *, shape: tuple[int, ...]) -> None:
    """Check that the largest coordinate is distributed like a draw of the categorical distribution, which holds at any
    temperature."""
    samples = observed.values
    assert samples.shape == (*shape, *logits.shape), f"drew {samples.shape}"
    assert_on_simplex(samples, "samples")
    winners = samples.argmax(-1)
    for place, probability in enumerate(special.softmax(logits)):
        chance.assert_share(int((winners == place).sum()), winners.size, probability, f"class {place} wins")


def check_logistic(observed: Any, temperature: Array, logits: Array, *, shape: tuple[int, ...]) -> None:
    """Check the logarithm of the ratio of two coordinates. Multiplied by the temperature, it has a logistic
    distribution around the difference of the logits."""
    samples = observed.values.astype(np.float64)
    assert_on_simplex(samples, "samples")
    for place in range(1, logits.shape[-1]):
        difference = np.log(samples[..., place]) - np.log(samples[..., 0])
        centred = temperature * difference - (logits[place] - logits[0])
        chance.assert_distribution(centred, special.expit, f"log ratio of coordinates {place} and 0")
    half = len(samples) // 2
    chance.assert_uncorrelated(samples[:half, 0], samples[half:, 0], "first and second half of the samples")


def check_nearly_one_hot(observed: Any, _temperature: Array, logits: Array, *, shape: tuple[int, ...]) -> None:
    """Check that a sample is nearly a one-hot vector at a low temperature."""
    samples = observed.values
    assert_on_simplex(samples, "samples")
    one_hot = int((samples.max(-1) > 0.99).sum())
    assert one_hot > 0.9 * len(samples), f"only {one_hot} of {len(samples)} samples are nearly one-hot"
    for place, probability in enumerate(special.softmax(logits)):
        chance.assert_share(int((samples.argmax(-1) == place).sum()), len(samples), probability, f"class {place}")


def check_batch(observed: Any, _temperature: Array, logits: Array, *, shape: tuple[int, ...]) -> None:
    """Check that each distribution of a batch is sampled with its own logits."""
    samples = observed.values
    assert samples.shape == (*shape, *logits.shape), f"drew {samples.shape}"
    winners = samples.argmax(-1)
    for row, probabilities in enumerate(special.softmax(logits, axis=-1)):
        for place, probability in enumerate(probabilities):
            won = int((winners[:, row] == place).sum())
            chance.assert_share(won, len(winners), probability, f"distribution {row}, class {place}")


def check_pathwise(observed: Any, temperature: Array, logits: Array, *, shape: tuple[int, ...]) -> None:
    """Check the gradient. A sample is a softmax of (logits + noise) / temperature, so its derivative follows from the
    sample."""
    samples, gradient = (leaf.values.astype(np.float64) for leaf in observed)
    weights = np.arange(logits.shape[-1])
    pulled = samples * (weights - (samples @ weights)[:, None]) / temperature
    expected = pulled.sum(0)
    scale = np.abs(pulled).sum(0)
    assert np.all(np.abs(gradient - expected) <= 1e-3 * scale), f"gradient {gradient}, expected {expected}"


relaxed.statistics("samples", four_classes(0.5), check_logistic, prepare=draw, shape=(8192,))
relaxed.statistics("winners", four_classes(2.0), check_winners, prepare=draw, shape=(64, 128))
relaxed.statistics("samples-float64", four_classes(1.0), check_logistic, dtype="float64", prepare=draw, shape=(4096,))
relaxed.statistics("cold-is-one-hot", four_classes(0.02), check_nearly_one_hot, prepare=draw, shape=(4096,))
relaxed.statistics(
    "batch",
    lambda inputs: (np.array(0.7), np.log([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])),
    check_batch,
    prepare=draw,
    shape=(4096,),
)
relaxed.statistics(
    "gradient-through-samples",
    four_classes(0.8),
    check_pathwise,
    prepare=draw_and_differentiate,
    shape=(1024,),
)

FUNCTIONS: list[Function] = [relaxed]
