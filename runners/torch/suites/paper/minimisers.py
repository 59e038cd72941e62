"""Cases of ``torch.optim.LBFGS``, an optimizer that evaluates the function that it minimizes.

For each function, either the minimum has a closed form, or NumPy computes the iterates by the published recursion.
Steps are few and histories short, because a lazy device compiles each length of the history, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned
from runners.torch.suites.paper import library_modules

Array = np.ndarray[Any, Any]

# A function is flat at its minimum. If the loss is exact to a precision, the position is exact only to the square root
# of this precision.
AT_MINIMUM = {"float32": Tolerance(1e-3, 1e-3), "float64": Tolerance(1e-5, 1e-5)}


def minimise_quadratic(context: Context, matrix: Any, linear: Any, start: Any, **options: Any) -> Callable[[], Any]:
    """Prepare one ``step`` on x·Ax/2 - b·x. It returns x, and the initial loss, which is the result of ``step``.

    Each call here and below creates a new optimizer. A second ``step`` of the same optimizer would begin at the minimum
    and do nothing.
    """

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        optimizer = context.function([place], **options)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = place @ (matrix @ place) / 2 - linear @ place
            loss.backward()
            return loss

        first = optimizer.step(closure)
        return place.detach(), first.detach()

    return call


def fit_regression(context: Context, features: Any, targets: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a least-squares fit of two parameters, a matrix and an offset."""

    def call() -> Any:
        weight = torch.nn.Parameter(torch.zeros_like(features[0]).unsqueeze(1))
        offset = torch.nn.Parameter(torch.zeros_like(features[0, :1]))
        optimizer = context.function([weight, offset], **options)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = ((features @ weight + offset - targets) ** 2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        return weight.detach(), offset.detach()

    return call


def quadratic(size: int, spread: float = 4.0) -> Callable[[Inputs], Any]:
    """Make a symmetric matrix with eigenvalues from 1 to ``spread``, a linear term and a starting point."""

    def arguments(inputs: Inputs) -> Any:
        rotation, _ = np.linalg.qr(inputs.normal(size, size))
        matrix = rotation @ np.diag(np.linspace(1, spread, size)) @ rotation.T
        return (matrix + matrix.T) / 2, inputs.normal(size), inputs.normal(size)

    return arguments


def orthogonal_features(count: int, width: int) -> Callable[[Inputs], Any]:
    """Make uncorrelated features with mean zero, so that few steps reach the minimum."""

    def arguments(inputs: Inputs) -> Any:
        basis, _ = np.linalg.qr(np.hstack([np.ones((count, 1)), inputs.normal(count, width)]))
        return basis[:, 1:] * np.sqrt(count), inputs.normal(count, 1) + 1

    return arguments


def loss_at(matrix: Array, linear: Array, place: Array) -> Array:
    return np.asarray(place @ matrix @ place / 2 - linear @ place)


def iterates(
    matrix: Array, linear: Array, start: Array, *, lr: float, max_iter: int, history_size: int = 100, **_: Any
) -> tuple[Array, Array]:
    """Compute Nocedal's two-loop recursion with a fixed step. The length of the first step is at most 1 in the
    1-norm."""
    place, gradient = start, matrix @ start - linear
    history: list[tuple[Array, Array]] = []
    for number in range(max_iter):
        direction = -gradient
        factors = []
        for moved, turned in reversed(history):
            factor = (moved @ direction) / (moved @ turned)
            factors.append(factor)
            direction = direction - factor * turned
        if history:
            moved, turned = history[-1]
            direction = direction * (moved @ turned) / (turned @ turned)
        for (moved, turned), factor in aligned(history, reversed(factors)):
            direction = direction + moved * (factor - (turned @ direction) / (moved @ turned))
        length = lr if number else lr * min(1.0, 1 / np.abs(gradient).sum())
        next_place = place + length * direction
        next_gradient = matrix @ next_place - linear
        history = [*history, (next_place - place, next_gradient - gradient)][-history_size:]
        place, gradient = next_place, next_gradient
    return place, loss_at(matrix, linear, start)


def solution(matrix: Array, linear: Array, start: Array, **_: Any) -> tuple[Array, Array]:
    return np.linalg.solve(matrix, linear), loss_at(matrix, linear, start)


lbfgs = Function("torch.optim.LBFGS", reference=iterates, prepare=minimise_quadratic)

lbfgs.value("first-step", quadratic(12), lr=0.5, max_iter=1)
lbfgs.value("second-step", quadratic(12), lr=0.5, max_iter=2, max_eval=9)
lbfgs.value("three-steps-float64", quadratic(8), dtype="float64", lr=0.8, max_iter=3, max_eval=9)
lbfgs.value("short-history", quadratic(8), dtype="float64", lr=0.8, max_iter=3, max_eval=9, history_size=1)
lbfgs.value(
    "rate-on-the-device",
    lambda inputs: (*quadratic(6)(inputs), np.array(0.5)),
    reference=lambda matrix, linear, start, rate, **options: iterates(matrix, linear, start, lr=float(rate), **options),
    prepare=lambda context, matrix, linear, start, rate, **options: minimise_quadratic(
        context, matrix, linear, start, lr=rate, **options
    ),
    max_iter=2,
    max_eval=9,
)
lbfgs.value("one-dimension", quadratic(1), dtype="float64", lr=0.5, max_iter=2, max_eval=9)
lbfgs.value(
    "minimum-of-a-quadratic",
    quadratic(64, spread=1.0),
    reference=solution,
    tolerance=AT_MINIMUM["float32"],
    lr=1.0,
    max_iter=60,
    line_search_fn="strong_wolfe",
    history_size=3,
)
lbfgs.value(
    "minimum-without-line-search",
    quadratic(16, spread=1.0),
    dtype="float64",
    reference=solution,
    tolerance=AT_MINIMUM["float64"],
    lr=1.0,
    max_iter=60,
    history_size=3,
)


lbfgs.value(
    "stops-where-the-change-is-small",
    quadratic(8),
    dtype="float64",
    reference=lambda matrix, linear, start, *, lr, **_: iterates(matrix, linear, start, lr=lr, max_iter=1),
    lr=0.5,
    max_iter=6,
    tolerance_change=0.5,
)


def least_squares(features: Array, targets: Array, **_: Any) -> tuple[Array, Array]:
    extended = np.hstack([features, np.ones((len(features), 1))])
    solved = np.linalg.lstsq(extended, targets, rcond=None)[0]
    return solved[:-1], solved[-1]


lbfgs.value(
    "least-squares-of-two-parameters",
    orthogonal_features(128, 4),
    reference=least_squares,
    prepare=fit_regression,
    tolerance=AT_MINIMUM["float32"],
    lr=1.0,
    max_iter=20,
    history_size=3,
)


def check_stays(observed: Any, matrix: Array, linear: Array, start: Array, **_: Any) -> None:
    place, _loss = observed
    assert np.array_equal(place.values, start), f"moved away from the minimum, to {place.values}"


lbfgs.behaviour(
    "stays-at-the-minimum",
    lambda inputs: (np.eye(4), np.zeros(4), np.zeros(4)),
    check_stays,
    prepare=minimise_quadratic,
    lr=1.0,
)
for sample in library_modules.optimizer_samples("torch.optim.LBFGS"):
    if "line_search_fn" in sample.options:
        lbfgs.value(
            sample.name,
            quadratic(6, spread=1.0),
            reference=solution,
            tolerance=AT_MINIMUM["float32"],
            **sample.options,
        )
    else:
        lbfgs.value(
            sample.name,
            quadratic(6),
            tolerance=Tolerance(1e-4, 1e-4),
            **{"lr": 1.0, "max_iter": 2, "max_eval": 9, **sample.options},
        )

FUNCTIONS: list[Function] = [lbfgs]
