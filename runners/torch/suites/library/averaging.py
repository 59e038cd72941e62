"""Handwritten cases of combined learning-rate schedules and of averaged weights.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from runners.suite.cases import Context, Function
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in
from runners.torch.suites.library.modes import follow_schedule, linear_layer, of_layer

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def two_steps(values: Array, gradient: Array, both_rates: float) -> Array:
    return values - both_rates * gradient


def chart_schedule(name: str, both_rates: float, prepare: Any = follow_schedule, **options: Any) -> None:
    """Add a case for a schedule. ``both_rates`` is the sum of the learning rates of its first two steps."""
    charted(
        f"torch.optim.lr_scheduler.{name}",
        lambda values, gradient, **_: two_steps(values, gradient, both_rates),
        prepare,
    ).value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS, **options)


for name, both_rates, options in (
    ("ConstantLR", 0.625, {"factor": 0.25, "total_iters": 1}),
    # The second rate is midway between the first rate and the minimum.
    ("CosineAnnealingWarmRestarts", 0.75, {"T_0": 2}),
    ("CyclicLR", 0.5, {"base_lr": 0.125, "max_lr": 0.375, "step_size_up": 1, "cycle_momentum": False}),
    ("MultiplicativeLR", 0.75, {"lr_lambda": lambda epoch: 0.5**epoch}),
    (
        "OneCycleLR",
        0.375,
        {"max_lr": 0.25, "total_steps": 4, "pct_start": 0.5, "div_factor": 2.0, "cycle_momentum": False},
    ),
    ("PolynomialLR", 0.75, {"total_iters": 2}),
):
    chart_schedule(name, both_rates, **options)


def follow_two_schedules(context: Context, values: Any, gradient: Any) -> Callable[[], Any]:
    """Prepare two steps of descent. The first step uses the first of two schedules, the second step uses the second."""
    from torch.optim.lr_scheduler import ConstantLR, ExponentialLR

    def sequence(optimizer: Any) -> Any:
        schedules = [ConstantLR(optimizer, 0.5, total_iters=1), ExponentialLR(optimizer, 0.5)]
        return context.function(optimizer, schedules, milestones=[1])

    return _follow(sequence, values, gradient)


def follow_both_schedules(context: Context, values: Any, gradient: Any) -> Callable[[], Any]:
    """Prepare two steps of descent. Two schedules together change the learning rate of the second step."""
    from torch.optim.lr_scheduler import ExponentialLR, StepLR

    def chain(optimizer: Any) -> Any:
        return context.function([ExponentialLR(optimizer, 0.5), StepLR(optimizer, 1, gamma=0.5)])

    return _follow(chain, values, gradient)


def _follow(make_schedule: Callable[[Any], Any], values: Any, gradient: Any, *measures: Any) -> Callable[[], Any]:
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        schedule = make_schedule(optimizer)
        for _ in range(2):
            parameter.grad = gradient.clone()
            optimizer.step()
            schedule.step(*measures)
        return parameter.detach()

    return call


chart_schedule("SequentialLR", 0.75, follow_two_schedules)
chart_schedule("ChainedScheduler", 0.625, follow_both_schedules)


def follow_a_plateau(context: Context, values: Any, gradient: Any) -> Callable[[], Any]:
    """Prepare three steps of descent. The learning rate of the last step is halved, because the loss on the device has
    not decreased."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        schedule = context.function(optimizer, factor=0.5, patience=0)
        for _ in range(3):
            parameter.grad = gradient.clone()
            optimizer.step()
            schedule.step((gradient**2).sum())
        return parameter.detach()

    return call


chart_schedule("ReduceLROnPlateau", 1.25, follow_a_plateau)


def follow_own_schedule(context: Context, values: Any, gradient: Any) -> Callable[[], Any]:
    """Prepare two steps of descent with a schedule that is a subclass of the function."""

    class Halving(context.function):  # type: ignore[misc, name-defined]
        def get_lr(self) -> list[float]:
            return [0.5 / 2**self.last_epoch for _ in self.optimizer.param_groups]

    return _follow(Halving, values, gradient)


chart_schedule("LRScheduler", 0.75, follow_own_schedule)


def averaged(context: Context, values: Any, weight: Any, other: Any) -> Callable[[], Any]:
    """Prepare the output of a layer with the mean of two weights that the layer had one after the other."""
    import torch

    def call() -> Any:
        layer = linear_layer(weight)
        with context.surroundings():
            average = context.function(layer)
        average.update_parameters(layer)
        with torch.no_grad():
            layer.weight.copy_(other)
        average.update_parameters(layer)
        return average(values).detach()

    return call


def updated(context: Context, values: Any, weight: Any, other: Any) -> Callable[[], Any]:
    """Prepare the same output as ``averaged``. The case's function updates the average."""
    import torch

    def call() -> Any:
        layer = linear_layer(weight)
        average = torch.optim.swa_utils.AveragedModel(layer)
        context.function(average, layer)
        with torch.no_grad():
            layer.weight.copy_(other)
        context.function(average, layer)
        return average(values).detach()

    return call


def decayed(context: Context, values: Any, weight: Any, other: Any) -> Callable[[], Any]:
    """Prepare a product with a weight that has moved a quarter of the way to another weight."""

    def call() -> Any:
        averages = [weight.clone()]
        context.function(0.75)(averages, [other], 1)
        return values @ averages[0].T

    return call


def two_weights(inputs: Any) -> list[Array]:
    return [*of_layer(inputs), of_layer(inputs)[1]]


for name, prepare, share in (
    ("AveragedModel", averaged, 0.5),
    ("AveragedModel.update_parameters", updated, 0.5),
    ("get_ema_multi_avg_fn", decayed, 0.25),
):
    charted(
        f"torch.optim.swa_utils.{name}",
        lambda values, weight, other, share=share: values @ ((1 - share) * weight + share * other).T,
        prepare,
    ).value("float32-linear", two_weights, tags=TAGS)
