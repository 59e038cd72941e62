"""Cases of ``torch.optim.lr_scheduler``: schedules of the learning rate.

The optimizer is plain gradient descent, whose steps show which rate it really used. Each call creates the optimizer and
its schedule, because over many calls one schedule would exceed the range of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.sequences import aligned

Array = np.ndarray[Any, Any]


def descend(context: Context, start: Any, gradients: Sequence[Any], *, lr: float, **options: Any) -> Callable[[], Any]:
    """Prepare a step of the optimizer and of the schedule for each gradient. It returns the position and all rates."""

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        optimizer = torch.optim.SGD([place], lr=lr)
        scheduler = context.function(optimizer, **options)
        rates = [scheduler.get_last_lr()]
        for gradient in gradients:
            place.grad = gradient
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        return place.detach(), rates

    return call


def descend_at_a_rate_on_the_device(
    context: Context, start: Any, gradients: Sequence[Any], rate: Any, **options: Any
) -> Callable[[], Any]:
    """Prepare steps whose rate is an array on the device, which the schedule changes in place."""

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        optimizer = torch.optim.SGD([place], lr=rate.clone())
        scheduler = context.function(optimizer, **options)
        rates = [optimizer.param_groups[0]["lr"].clone()]
        for gradient in gradients:
            place.grad = gradient
            optimizer.step()
            scheduler.step()
            rates.append(optimizer.param_groups[0]["lr"].clone())
        return place.detach(), rates

    return call


def descend_resumed(
    context: Context, start: Any, gradients: Sequence[Any], *, lr: float, **options: Any
) -> Callable[[], Any]:
    """Prepare steps that each use a new optimizer and a new schedule, which load the state of the previous ones."""

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        saved: list[Any] = []
        for gradient in gradients:
            optimizer = torch.optim.SGD([place], lr=lr)
            scheduler = context.function(optimizer, **options)
            for part, state in zip((optimizer, scheduler), saved):
                part.load_state_dict(state)
            place.grad = gradient
            optimizer.step()
            scheduler.step()
            saved = [optimizer.state_dict(), scheduler.state_dict()]
        return place.detach(), scheduler.get_last_lr()

    return call


def descend_in_groups(
    context: Context, one: Any, other: Any, gradients: Sequence[Any], *, rates: Sequence[float], **options: Any
) -> Callable[[], Any]:
    def call() -> Any:
        places = [torch.nn.Parameter(tensor.clone()) for tensor in (one, other)]
        groups = [{"params": [place], "lr": rate} for place, rate in aligned(places, rates)]
        optimizer = torch.optim.SGD(groups, lr=1.0)
        scheduler = context.function(optimizer, **options)
        for gradient in gradients:
            for place in places:
                place.grad = gradient
            optimizer.step()
            scheduler.step()
        return [parameter.detach() for parameter in places], scheduler.get_last_lr()

    return call


def descend_from_an_epoch(
    context: Context, start: Any, gradients: Sequence[Any], *, lr: float, **options: Any
) -> Callable[[], Any]:
    """Prepare steps with a schedule that begins at a later epoch. The optimizer has the rate of this epoch."""

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        optimizer = torch.optim.SGD([{"params": [place], "initial_lr": 1.0}], lr=lr)
        scheduler = context.function(optimizer, **options)
        rates = [scheduler.get_last_lr()]
        for gradient in gradients:
            place.grad = gradient
            optimizer.step()
            scheduler.step()
            rates.append(scheduler.get_last_lr())
        return place.detach(), rates

    return call


def chained(
    context: Context, start: Any, gradients: Sequence[Any], *, lr: float, gammas: Sequence[float]
) -> Callable[[], Any]:
    """Prepare steps with several schedules of one optimizer. Their factors multiply."""

    def call() -> Any:
        place = torch.nn.Parameter(start.clone())
        optimizer = torch.optim.SGD([place], lr=lr)
        schedulers = [context.function(optimizer, gamma=gamma) for gamma in gammas]
        for gradient in gradients:
            place.grad = gradient
            optimizer.step()
            for scheduler in schedulers:
                scheduler.step()
        return place.detach(), [group["lr"] for group in optimizer.param_groups]

    return call


def path(*shape: int, count: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (inputs.normal(*shape), [inputs.normal(*shape) for _ in range(count)])


def decayed(start: Array, gradients: Sequence[Array], lr: float, gamma: float) -> Array:
    """Compute the position after k steps: start - Σ lr γᵏ gradientₖ."""
    return start - sum((lr * gamma**k * gradient for k, gradient in enumerate(gradients)), np.zeros(start.shape))


def exponential_reference(
    start: Array, gradients: Sequence[Array], *, lr: float, gamma: float
) -> tuple[Array, list[list[float]]]:
    return decayed(start, gradients, lr, gamma), [[lr * gamma**k] for k in range(len(gradients) + 1)]


exponential = Function("torch.optim.lr_scheduler.ExponentialLR", reference=exponential_reference, prepare=descend)

exponential.value("large-layer", path(256, 128, count=3), lr=0.5, gamma=0.5)
exponential.value("ten-epochs", path(6, 5, count=10), lr=0.1, gamma=0.9)
exponential.value("float64", path(6, 5, count=5), dtype="float64", lr=0.1, gamma=0.7)
exponential.value("bfloat16", path(6, 5, count=1), dtype="bfloat16", lr=0.5, gamma=0.25)
exponential.value("gamma-one-keeps-the-rate", path(4, count=4), lr=0.25, gamma=1.0)
exponential.value("gamma-above-one-grows", path(4, count=4), lr=0.125, gamma=2.0)
exponential.value("many-epochs", path(3, count=60), lr=1.0, gamma=0.8)
exponential.value(
    "resumed-from-state",
    path(6, 5, count=4),
    reference=lambda start, gradients, *, lr, gamma: (
        decayed(start, gradients, lr, gamma),
        [lr * gamma ** len(gradients)],
    ),
    prepare=descend_resumed,
    lr=0.2,
    gamma=0.6,
)
exponential.value(
    "groups",
    lambda inputs: (inputs.normal(5), inputs.normal(5), [inputs.normal(5) for _ in range(3)]),
    reference=lambda one, other, gradients, *, rates, gamma: (
        [decayed(place, gradients, rate, gamma) for place, rate in aligned((one, other), rates)],
        [rate * gamma ** len(gradients) for rate in rates],
    ),
    prepare=descend_in_groups,
    rates=(0.5, 0.125),
    gamma=0.5,
)
exponential.value(
    "two-schedules-multiply",
    path(5, count=3),
    reference=lambda start, gradients, *, lr, gammas: (
        decayed(start, gradients, lr, float(np.prod(gammas))),
        [lr * float(np.prod(gammas)) ** len(gradients)],
    ),
    prepare=chained,
    lr=0.5,
    gammas=(0.5, 0.75),
)
exponential.value(
    "rate-on-the-device",
    lambda inputs: (inputs.normal(5), [inputs.normal(5) for _ in range(3)], np.array(0.5)),
    reference=lambda start, gradients, rate, *, gamma: (
        decayed(start, gradients, float(rate), gamma),
        [np.asarray(rate * gamma**k) for k in range(len(gradients) + 1)],
    ),
    prepare=descend_at_a_rate_on_the_device,
    gamma=0.75,
)
exponential.value(
    "begun-at-an-epoch",
    path(6, 5, count=3),
    reference=lambda start, gradients, *, lr, gamma, last_epoch: (
        decayed(start, gradients, lr, gamma),
        [[lr * gamma**number] for number in range(len(gradients) + 1)],
    ),
    prepare=descend_from_an_epoch,
    lr=0.5,
    gamma=0.5,
    last_epoch=4,
)

FUNCTIONS: list[Function] = [exponential]
