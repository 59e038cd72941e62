"""Cases of ``torch.optim``: optimizers.

A case has parameters, and the gradients of each step. The call makes the steps and returns the parameters. The
references compute the published update rules in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

# The first optimizer of a process imports this module, which takes seconds. It is imported here, in the process that
# forks the children, and not in the first call of each child.
import torch._dynamo

from runners.suite.cases import Context, Function, Inputs
from runners.suite.sequences import aligned
from runners.torch.suites.paper import library_modules

Array = np.ndarray[Any, Any]
GOES_ON = "the parameters and the optimizer's state go on from the last step"


def owned(parameters: Sequence[Any]) -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(parameter.clone()) for parameter in parameters]


def steps(
    context: Context, parameters: Sequence[Any], gradients: Sequence[Sequence[Any]], **options: Any
) -> Callable[[], Any]:
    """Prepare one step of the optimizer for each entry of ``gradients``."""
    trained = owned(parameters)
    optimizer = context.function(trained, **options)

    def call() -> Any:
        for of_step in gradients:
            for parameter, gradient in aligned(trained, of_step):
                parameter.grad = gradient.clone()
            optimizer.step()
        return [parameter.detach() for parameter in trained]

    return call


def steps_in_groups(
    context: Context, parameters: Sequence[Any], gradients: Sequence[Sequence[Any]], *, rates: Sequence[float]
) -> Callable[[], Any]:
    """Prepare steps with each parameter in its own group, with its own learning rate."""
    trained = owned(parameters)
    optimizer = context.function([{"params": [parameter], "lr": rate} for parameter, rate in aligned(trained, rates)])

    def call() -> Any:
        for of_step in gradients:
            for parameter, gradient in aligned(trained, of_step):
                parameter.grad = gradient.clone()
            optimizer.step()
        return [parameter.detach() for parameter in trained]

    return call


def steps_resumed(
    context: Context, parameters: Sequence[Any], gradients: Sequence[Sequence[Any]], **options: Any
) -> Callable[[], Any]:
    """Prepare steps that each use a new optimizer, which loads the state of the previous optimizer."""
    trained = owned(parameters)

    def call() -> Any:
        saved = None
        for of_step in gradients:
            optimizer = context.function(trained, **options)
            if saved is not None:
                optimizer.load_state_dict(saved)
            for parameter, gradient in aligned(trained, of_step):
                parameter.grad = gradient.clone()
            optimizer.step()
            saved = optimizer.state_dict()
        return [parameter.detach() for parameter in trained]

    return call


def steps_by_closure(
    context: Context, parameters: Sequence[Any], gradients: Sequence[Sequence[Any]], **options: Any
) -> Callable[[], Any]:
    """Prepare one step with a closure, which computes the sum of the products of each parameter with its gradient."""
    trained = owned(parameters)
    optimizer = context.function(trained, **options)
    (of_step,) = gradients

    def closure() -> Any:
        optimizer.zero_grad()
        loss = sum((parameter * gradient).sum() for parameter, gradient in aligned(trained, of_step))
        loss.backward()
        return loss

    def call() -> Any:
        loss = optimizer.step(closure)
        return [*(parameter.detach() for parameter in trained), loss.detach()]

    return call


def with_loss(reference: Callable[..., list[Array]]) -> Callable[..., list[Array]]:
    """Return a reference for the parameters after the step and the loss before it."""

    def both(parameters: Sequence[Array], gradients: Sequence[Sequence[Array]], **options: Any) -> list[Array]:
        losses = [(parameter * gradient).sum() for parameter, gradient in aligned(parameters, gradients[0])]
        return [*reference(parameters, gradients, **options), np.asarray(sum(losses))]

    return both


def training(*shapes: tuple[int, ...], count: int = 1) -> Callable[[Inputs], Any]:
    """Make parameters of these shapes, and the gradients of ``count`` steps."""
    return lambda inputs: (
        [inputs.normal(*shape) for shape in shapes],
        [[inputs.normal(*shape) for shape in shapes] for _ in range(count)],
    )


def adamax_reference(
    parameters: Sequence[Array],
    gradients: Sequence[Sequence[Array]],
    *,
    lr: float = 2e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    maximize: bool = False,
    **_: Any,
) -> list[Array]:
    """Compute algorithm 2 of Kingma and Ba. ``maximize`` changes the sign of the gradient before the weight decay is
    added."""
    results = []
    for place, parameter in enumerate(parameters):
        mean, largest = np.zeros(parameter.shape), np.zeros(parameter.shape)
        for number, of_step in enumerate(gradients, start=1):
            gradient = (-1 if maximize else 1) * of_step[place] + weight_decay * parameter
            mean = betas[0] * mean + (1 - betas[0]) * gradient
            largest = np.maximum(betas[1] * largest, np.abs(gradient) + eps)
            parameter = parameter - lr / (1 - betas[0] ** number) * mean / largest
        results.append(parameter)
    return results


adamax = Function("torch.optim.Adamax", reference=adamax_reference, prepare=steps, unrepeatable=GOES_ON)

adamax.value("large-layer", training((256, 128), (256,)), lr=0.1)
adamax.value("default-rate", training((5, 4)))
adamax.value("five-steps", training((6, 5), (5,), count=5), lr=0.05)
adamax.value("float64", training((6, 5), count=3), dtype="float64", lr=0.05)
adamax.value("bfloat16", training((6, 5)), dtype="bfloat16", lr=0.25)
adamax.value("weight-decay", training((6, 5), count=3), lr=0.05, weight_decay=0.5)
adamax.value("maximize", training((6, 5), count=3), lr=0.05, maximize=True)
adamax.value("other-betas", training((6, 5), count=4), lr=0.05, betas=(0.5, 0.6), eps=0.1)
adamax.value("one-parameter-at-a-time", training((6, 5), (3,), (2, 2), count=3), lr=0.05, foreach=False)
adamax.value("all-parameters-at-once", training((6, 5), (3,), (2, 2), count=3), lr=0.05, foreach=True)
adamax.value("zero-dimensional", training((), count=3), lr=0.05)
adamax.value("resumed-from-state", training((6, 5), count=3), prepare=steps_resumed, lr=0.05)


def in_groups(reference: Callable[..., list[Array]]) -> Callable[..., list[Array]]:
    """Apply the reference to each parameter separately, with its own learning rate."""

    def each_alone(
        parameters: Sequence[Array], gradients: Sequence[Sequence[Array]], *, rates: Sequence[float]
    ) -> list[Array]:
        return [
            reference([parameter], [[of_step[place]] for of_step in gradients], lr=rate)[0]
            for place, (parameter, rate) in enumerate(aligned(parameters, rates))
        ]

    return each_alone


adamax.value(
    "groups",
    training((4, 3), (5,), count=2),
    reference=in_groups(adamax_reference),
    prepare=steps_in_groups,
    rates=(0.1, 0.02),
)
for sample in library_modules.optimizer_samples("torch.optim.Adamax"):
    adamax.value(sample.name, training((10, 5), (10,), count=2), **sample.options)
adamax.value(
    "closure",
    training((6, 5), (4,)),
    reference=with_loss(adamax_reference),
    prepare=steps_by_closure,
    lr=0.05,
)
adamax.value(
    "nan-and-infinities",
    lambda inputs: ([inputs.normal(5)], [[np.array([np.nan, 1.0, -np.inf, 0.5, 2.0])], [inputs.normal(5)]]),
    lr=0.1,
)


def rprop_reference(
    parameters: Sequence[Array],
    gradients: Sequence[Sequence[Array]],
    *,
    lr: float = 1e-2,
    etas: tuple[float, float] = (0.5, 1.2),
    step_sizes: tuple[float, float] = (1e-6, 50.0),
    maximize: bool = False,
    **_: Any,
) -> list[Array]:
    """Compute the rule of Riedmiller and Braun without weight-backtracking. The step size grows while the gradient
    keeps its sign. After a change of sign, it shrinks and one update is skipped."""
    results = []
    for place, parameter in enumerate(parameters):
        previous, size = np.zeros(parameter.shape), np.full(parameter.shape, lr)
        for of_step in gradients:
            gradient = -of_step[place] if maximize else of_step[place]
            agreement = np.sign(gradient * previous)
            size = np.clip(size * np.choose((agreement + 1).astype(int), (etas[0], 1.0, etas[1])), *step_sizes)
            gradient = np.where(agreement < 0, 0.0, gradient)
            parameter = parameter - np.sign(gradient) * size
            previous = gradient
        results.append(parameter)
    return results


rprop = Function("torch.optim.Rprop", reference=rprop_reference, prepare=steps, unrepeatable=GOES_ON)

rprop.value("large-layer", training((256, 128), (256,)), lr=0.1)
rprop.value("turning-gradients", training((12, 5), count=6), lr=0.05)
rprop.value("float64", training((6, 5), count=4), dtype="float64", lr=0.05)
rprop.value("bfloat16", training((6, 5)), dtype="bfloat16", lr=0.25)
rprop.value("maximize", training((6, 5), count=4), lr=0.05, maximize=True)
rprop.value("other-etas", training((6, 5), count=5), lr=0.05, etas=(0.25, 2.0))
rprop.value("bounded-steps", training((6, 5), count=6), lr=0.05, step_sizes=(0.04, 0.055))
rprop.value("one-parameter-at-a-time", training((6, 5), (3,), count=3), lr=0.05, foreach=False)
rprop.value("all-parameters-at-once", training((6, 5), (3,), count=3), lr=0.05, foreach=True)
rprop.value("resumed-from-state", training((6, 5), count=4), prepare=steps_resumed, lr=0.05)
rprop.value(
    "zero-gradient-stays",
    lambda inputs: ([inputs.normal(6)], [[np.array([0.0, 1.0, -1.0, 0.0, 2.0, -3.0])]]),
    lr=0.1,
)
rprop.value(
    "groups",
    training((4, 3), (5,), count=3),
    reference=in_groups(rprop_reference),
    prepare=steps_in_groups,
    rates=(0.1, 0.02),
)
for sample in library_modules.optimizer_samples("torch.optim.Rprop"):
    rprop.value(sample.name, training((10, 5), (10,), count=3), **sample.options)
rprop.value(
    "closure",
    training((6, 5), (4,)),
    reference=with_loss(rprop_reference),
    prepare=steps_by_closure,
    lr=0.05,
)

FUNCTIONS: list[Function] = [adamax, rprop]
