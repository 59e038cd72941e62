"""Cases of loss modules, compared with their closed forms.

A case's first argument contains the arrays for the constructor (weights of classes). The next two arguments are the
input and the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.optional import optional
from runners.torch.suites.paper import library_modules

special = optional("scipy.special")

Array = np.ndarray[Any, Any]
Constants = Mapping[str, Any]


def loss(context: Context, constants: Constants, values: Any, target: Any, **options: Any) -> Callable[[], Any]:
    criterion = context.function(**constants, **options)
    return lambda: criterion(values, target)


def loss_and_gradient(
    context: Context, constants: Constants, values: Any, target: Any, **options: Any
) -> Callable[[], Any]:
    """Prepare the loss and its gradient with respect to the input."""
    criterion = context.function(**constants, **options)
    leaf = values.detach().requires_grad_()

    def call() -> Any:
        result = criterion(leaf, target)
        return result, torch.autograd.grad(result, leaf)[0]

    return call


def reduced(losses: Array, reduction: str) -> Array:
    if reduction == "none":
        return losses
    if reduction == "sum":
        return np.asarray(losses.sum())
    if reduction == "batchmean":
        return np.asarray(losses.sum() / (losses.shape[0] if losses.ndim else 1))
    return np.asarray(losses.mean()) if losses.size else np.asarray(np.nan)


def share(losses: Array, reduction: str) -> float:
    """Return the weight of one element's loss in the result, which is a factor of its gradient."""
    return {"mean": 1 / losses.size, "batchmean": 1 / losses.shape[0] if losses.ndim else 1.0}.get(reduction, 1.0)


def bce_reference(constants: Constants, logits: Array, target: Array, *, reduction: str = "mean") -> Array:
    positive = constants.get("pos_weight", 1.0)
    # For the positive class, the loss is -log sigmoid(x) = log(1 + e^-x); for the other class, log(1 + e^x).
    losses = positive * target * np.logaddexp(0, -logits) + (1 - target) * np.logaddexp(0, logits)
    return reduced(losses * constants.get("weight", 1.0), reduction)


def bce_gradient(constants: Constants, logits: Array, target: Array, *, reduction: str = "mean") -> Any:
    positive = constants.get("pos_weight", 1.0)
    slope = (1 - target) * special.expit(logits) - positive * target * special.expit(-logits)
    slope = slope * constants.get("weight", 1.0) * share(logits, reduction)
    return bce_reference(constants, logits, target, reduction=reduction), slope


def logits_and_target(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: ({}, 3 * inputs.normal(*shape), inputs.uniform(*shape))


bce = Function("torch.nn.BCEWithLogitsLoss", reference=bce_reference, prepare=loss)

bce.value("batch", logits_and_target(128, 64))
bce.value("float64", logits_and_target(7, 5), dtype="float64")
bce.value("bfloat16", logits_and_target(16, 8), dtype="bfloat16")
# The loss is a difference of terms up to 8, whose rounding errors are relative to their own size.
bce.value("float16", logits_and_target(16, 8), dtype="float16", reduction="none", tolerance=Tolerance(2e-3, 1e-2))
bce.value("each-element", logits_and_target(3, 4, 5), reduction="none")
bce.value("sum", logits_and_target(9), reduction="sum")
bce.value("zero-dimensional", lambda inputs: ({}, np.array(0.3), np.array(1.0)))
bce.value("empty-mean-is-nan", logits_and_target(0, 3))
bce.value("empty-sum-is-zero", logits_and_target(0, 3), reduction="sum")
bce.value(
    "huge-logits-stay-finite",
    lambda inputs: (
        {},
        np.array([1e4, -1e4, 1e4, -1e4, 90.0, -90.0]),
        np.array([1.0, 0.0, 0.0, 1.0, 0.5, 0.5]),
    ),
    reduction="none",
)
bce.value(
    "weights-broadcast",
    lambda inputs: (
        {"weight": inputs.uniform(5), "pos_weight": inputs.uniform(6, 1, low=0.5, high=4)},
        inputs.normal(6, 5),
        inputs.booleans(6, 5).astype(float),
    ),
)
bce.value(
    "gradient",
    lambda inputs: ({"pos_weight": inputs.uniform(8, high=3)}, 3 * inputs.normal(32, 8), inputs.uniform(32, 8)),
    reference=bce_gradient,
    prepare=loss_and_gradient,
    reduction="sum",
)


def smooth_l1_reference(
    _: Constants, values: Array, target: Array, *, beta: float = 1.0, reduction: str = "mean"
) -> Array:
    distance = np.abs(values - target)
    square = distance**2 / (2 * beta) if beta else distance
    return reduced(np.where(distance < beta, square, distance - beta / 2), reduction)


def smooth_l1_gradient(
    _: Constants, values: Array, target: Array, *, beta: float = 1.0, reduction: str = "mean"
) -> Any:
    slope = np.clip((values - target) / beta, -1, 1) * share(values, reduction)
    return smooth_l1_reference({}, values, target, beta=beta, reduction=reduction), slope


def value_and_target(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: ({}, 2 * inputs.normal(*shape), inputs.normal(*shape))


smooth_l1 = Function("torch.nn.SmoothL1Loss", reference=smooth_l1_reference, prepare=loss)

smooth_l1.value("batch", value_and_target(128, 64))
smooth_l1.value("float64", value_and_target(7, 5), dtype="float64")
smooth_l1.value("bfloat16", value_and_target(16, 8), dtype="bfloat16")
smooth_l1.value("bfloat16-each-element", value_and_target(16, 8), dtype="bfloat16", reduction="none")
smooth_l1.value("float16", value_and_target(16, 8), dtype="float16")
smooth_l1.value("each-element", value_and_target(3, 4, 5), reduction="none")
smooth_l1.value("sharp-bend", value_and_target(12, 5), beta=0.25, reduction="none")
smooth_l1.value("beta-zero-is-l1", value_and_target(12, 5), beta=0.0)
smooth_l1.value("zero-dimensional", value_and_target(), reduction="sum")
smooth_l1.value("empty-mean-is-nan", value_and_target(0, 4))
smooth_l1.value(
    "at-the-bend",
    lambda inputs: ({}, np.array([0.0, 0.5, -0.5, 1.5, -1.5, 0.25]), np.zeros(6)),
    beta=0.5,
    reduction="none",
)
smooth_l1.value(
    "infinite-and-nan",
    lambda inputs: ({}, np.array([np.inf, -np.inf, np.nan, 1.0]), np.array([0.0, 0.0, 0.0, np.nan])),
    reduction="none",
)
smooth_l1.value("gradient", value_and_target(32, 8), reference=smooth_l1_gradient, prepare=loss_and_gradient, beta=2.0)
smooth_l1.value(
    "gradient-bfloat16",
    value_and_target(8, 8),
    dtype="bfloat16",
    reference=smooth_l1_gradient,
    prepare=loss_and_gradient,
    reduction="sum",
)


def divergence_reference(
    _: Constants, log_probability: Array, target: Array, *, log_target: bool = False, reduction: str = "mean"
) -> Array:
    if log_target:
        return reduced(np.exp(target) * (target - log_probability), reduction)
    # 0 log 0 is 0, as usual in information theory.
    return reduced(special.xlogy(target, target) - target * log_probability, reduction)


def divergence_gradient(
    _: Constants, log_probability: Array, target: Array, *, log_target: bool = False, reduction: str = "mean"
) -> Any:
    result = divergence_reference({}, log_probability, target, log_target=log_target, reduction=reduction)
    return result, -(np.exp(target) if log_target else target) * share(log_probability, reduction)


def distributions(*shape: int) -> Callable[[Inputs], Any]:
    """Make the logarithms of some distributions, and other distributions, both along the last axis."""

    def arguments(inputs: Inputs) -> Any:
        one, other = inputs.uniform(*shape, low=0.1), inputs.uniform(*shape, low=0.1)
        return {}, np.log(one / one.sum(-1, keepdims=True)), other / other.sum(-1, keepdims=True)

    return arguments


def log_distributions(*shape: int) -> Callable[[Inputs], Any]:
    def arguments(inputs: Inputs) -> Any:
        constants, one, other = distributions(*shape)(inputs)
        return constants, one, np.log(other)

    return arguments


divergence = Function("torch.nn.KLDivLoss", reference=divergence_reference, prepare=loss)

divergence.value("batch", distributions(128, 64), reduction="batchmean")
divergence.value("float64", distributions(7, 5), dtype="float64", reduction="batchmean")
divergence.value("bfloat16", distributions(8, 4), dtype="bfloat16", reduction="none")
divergence.value("float16", distributions(8, 4), dtype="float16", reduction="none")
divergence.value("each-element", distributions(3, 4, 5), reduction="none")
divergence.value("log-target", log_distributions(6, 8), reduction="sum", log_target=True)
divergence.value("empty-sum-is-zero", distributions(0, 3), reduction="sum")
divergence.value(
    "zero-probability-counts-nothing",
    lambda inputs: (
        {},
        np.log([[0.25, 0.25, 0.5], [0.1, 0.2, 0.7]]),
        np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]),
    ),
    reduction="none",
)
divergence.value(
    "gradient",
    distributions(16, 8),
    reference=divergence_gradient,
    prepare=loss_and_gradient,
    reduction="batchmean",
)
divergence.value(
    "gradient-log-target",
    log_distributions(16, 8),
    reference=divergence_gradient,
    prepare=loss_and_gradient,
    reduction="sum",
    log_target=True,
)

library_modules.add_cases(bce, lambda inputs, sample: (sample.constants(inputs), *sample.arguments(inputs)))
bce.value(
    "nan",
    lambda inputs: ({}, np.array([np.nan, 1.0, 2.0, -0.5]), np.array([0.5, np.nan, 1.0, 0.25])),
    reduction="none",
)
library_modules.add_cases(smooth_l1, lambda inputs, sample: ({}, *sample.arguments(inputs)))
# PyTorch's targets are arbitrary numbers, but a probability must not be negative.
library_modules.add_cases(
    divergence, lambda inputs, sample: ({}, *(np.abs(argument) for argument in sample.arguments(inputs)))
)
divergence.value(
    "nan-and-infinities",
    lambda inputs: ({}, np.array([np.nan, -1.0, -np.inf, -2.0]), np.array([0.5, np.nan, 0.25, np.inf])),
    reduction="none",
)
divergence.value(
    "nan-and-infinities-log-target",
    lambda inputs: ({}, np.array([np.nan, -1.0, -np.inf, -2.0]), np.array([-0.5, np.nan, -1.0, 0.0])),
    reduction="none",
    log_target=True,
)

FUNCTIONS: list[Function] = [bce, smooth_l1, divergence]
