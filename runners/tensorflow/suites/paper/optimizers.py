"""Cases of optimizers: Adadelta.

A case has the values of variables, and the gradients of each step. The call makes the steps and returns the values. The
reference computes the published update rule in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.suite.sequences import aligned
from runners.tensorflow.suites.paper.calls import refused, refusing

Array = np.ndarray[Any, Any]
GOES_ON = "the variables and the optimizer's state go on from the last step"
# The first use of Keras imports it, which takes seconds. It is imported here, in the process that forks the children.
Variable = tf.keras.Variable


def stepped(
    context: Context, values: Sequence[Any], gradients: Sequence[Sequence[Any]], **options: Any
) -> Callable[[], Any]:
    """Prepare one step for each entry of ``gradients``. The optimizer is built for the variables before the call."""
    variables = [Variable(value, dtype=value.dtype.name) for value in values]
    optimizer = context.function(**options)
    optimizer.build(variables)

    def call() -> Any:
        for of_step in gradients:
            optimizer.apply_gradients(aligned(of_step, variables))
        return [tf.convert_to_tensor(variable) for variable in variables]

    return context.compiled(call)


def training(*shapes: tuple[int, ...], count: int = 1) -> Callable[[Inputs], Any]:
    return lambda inputs: (
        [inputs.normal(*shape) for shape in shapes],
        [[inputs.normal(*shape) for shape in shapes] for _ in range(count)],
    )


def trimmed(
    gradients: Sequence[Array], clipnorm: float | None, clipvalue: float | None, global_clipnorm: float | None
) -> list[Array]:
    """Clip each gradient's norm, the norm of all gradients together, or each element, depending on the option."""
    if clipnorm is not None:
        return [gradient * min(1.0, clipnorm / np.linalg.norm(gradient)) for gradient in gradients]
    if global_clipnorm is not None:
        together = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
        return [gradient * min(1.0, global_clipnorm / together) for gradient in gradients]
    return [gradient if clipvalue is None else np.clip(gradient, -clipvalue, clipvalue) for gradient in gradients]


def adadelta_reference(
    values: Sequence[Array],
    gradients: Sequence[Sequence[Array]],
    *,
    learning_rate: Any = 1e-3,
    rho: float = 0.95,
    epsilon: float = 1e-7,
    weight_decay: float | None = None,
    clipnorm: float | None = None,
    clipvalue: float | None = None,
    global_clipnorm: float | None = None,
    ema_momentum: float = 0.0,
    ema_overwrite_frequency: int | None = None,
    **_: Any,
) -> list[Array]:
    """Compute Zeiler's algorithm 1, with its step multiplied by the learning rate. Weight decay is separate from the
    gradient, and comes before the step.

    The moving average begins with the values after the first step. After every ``ema_overwrite_frequency`` steps it
    replaces the values.
    """
    values = [value.copy() for value in values]
    squares, steps = ([np.zeros(value.shape) for value in values] for _ in range(2))
    average: list[Array] = []
    for number, of_step in enumerate(gradients, 1):
        for place, gradient in enumerate(trimmed(of_step, clipnorm, clipvalue, global_clipnorm)):
            if weight_decay is not None:
                values[place] -= values[place] * weight_decay * learning_rate
            squares[place] = rho * squares[place] + (1 - rho) * gradient**2
            step = -np.sqrt(steps[place] + epsilon) / np.sqrt(squares[place] + epsilon) * gradient
            steps[place] = rho * steps[place] + (1 - rho) * step**2
            values[place] += learning_rate * step
        before = average or [value.copy() for value in values]
        average = [ema_momentum * old + (1 - ema_momentum) * value for old, value in aligned(before, values)]
        if ema_overwrite_frequency and number % ema_overwrite_frequency == 0:
            values = [value.copy() for value in average]
    return values


def accumulated(
    values: Sequence[Array], gradients: Sequence[Sequence[Array]], *, gradient_accumulation_steps: int, **options: Any
) -> list[Array]:
    """Compute one step for every ``gradient_accumulation_steps`` gradients, with their mean."""
    count = gradient_accumulation_steps
    bundles = [gradients[start : start + count] for start in range(0, len(gradients) - count + 1, count)]
    return adadelta_reference(
        values, [[sum(of_one) / count for of_one in aligned(*bundle)] for bundle in bundles], **options
    )


def scaled_down(
    values: Sequence[Array], gradients: Sequence[Sequence[Array]], *, loss_scale_factor: float, **options: Any
) -> list[Array]:
    smaller = [[gradient / loss_scale_factor for gradient in of_step] for of_step in gradients]
    return adadelta_reference(values, smaller, **options)


# The learning rate and epsilon are large, so that steps are as large as the values. By default, a step is about 1e-6.
LARGE: dict[str, Any] = {"learning_rate": 1.0, "epsilon": 1e-2}

gone = Function("tf.keras.optimizers.experimental.Adadelta", adadelta_reference, stepped, unrepeatable=GOES_ON)
gone.value("large-layer", training((256, 128), (256,)), **LARGE)
gone.value("five-steps", training((6, 5), (5,), count=5), **LARGE)

adadelta = Function("tf.keras.optimizers.Adadelta", adadelta_reference, stepped, unrepeatable=GOES_ON)
adadelta.value("large-layer", training((256, 128), (256,)), **LARGE)
adadelta.value("five-steps", training((6, 5), (5,), count=5), **LARGE)
adadelta.value("default-rate-float64", training((5, 4), count=3), dtype="float64", tolerance=Tolerance(1e-10, 1e-10))
adadelta.value("float64", training((6, 5), count=3), dtype="float64", **LARGE)
for dtype in ("float16", "bfloat16"):
    adadelta.value(
        dtype,
        training((6, 5)),
        dtype=dtype,
        # The mean of squares is rounded before the division, so several rounding errors follow each other.
        tolerance=Tolerance(4e-3, 4e-3) if dtype == "float16" else Tolerance(1.2e-2, 1.2e-2),
        **LARGE,
    )
adadelta.value("rho", training((6, 5), count=3), rho=0.5, **LARGE)
adadelta.value("weight-decay", training((6, 5), count=3), weight_decay=0.1, **LARGE)
adadelta.value("each-gradient-cut", training((6, 5), (5,), count=2), clipnorm=0.2, **LARGE)
adadelta.value("elements-cut", training((6, 5), (5,), count=2), clipvalue=0.1, **LARGE)
adadelta.value("all-gradients-cut-together", training((6, 5), (5,), count=2), global_clipnorm=0.2, **LARGE)
adadelta.value("scalar", training(()), **LARGE)
adadelta.value(
    "no-gradient-no-step",
    lambda inputs: ([inputs.normal(4)], [[np.zeros(4)]] * 2),
    reference=lambda values, gradients, **_: values,
    **LARGE,
)


def resumed(
    context: Context, values: Sequence[Any], gradients: Sequence[Sequence[Any]], **options: Any
) -> Callable[[], Any]:
    """Prepare steps that each use a new optimizer with the state of the previous one."""
    variables = [Variable(value, dtype=value.dtype.name) for value in values]
    optimizers = [context.function(**options) for _ in gradients]
    for optimizer in optimizers:
        optimizer.build(variables)

    def call() -> Any:
        for number, of_step in enumerate(gradients):
            if number:
                for new, old in aligned(optimizers[number].variables, optimizers[number - 1].variables):
                    new.assign(old)
            optimizers[number].apply_gradients(aligned(of_step, variables))
        return [tf.convert_to_tensor(variable) for variable in variables]

    return context.compiled(call)


adadelta.value("resumed", training((6, 5), count=3), prepare=resumed, **LARGE)


def minimised(context: Context, start: Any, target: Any, *, steps: int, **options: Any) -> Callable[[], Any]:
    variable = Variable(start)
    optimizer = context.function(**options)
    optimizer.build([variable])

    def call() -> Any:
        for _ in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum((variable - target) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, variable.value), variable)])
        return [tf.convert_to_tensor(variable), optimizer.iterations.value]

    return context.compiled(call)


def minimised_reference(start: Array, target: Array, *, steps: int, **options: Any) -> Any:
    value, gradients = start, []
    for _ in range(steps):
        gradients.append([2 * (value - target)])
        (value,) = adadelta_reference([start], gradients, **options)
    return [value, np.asarray(steps)]


adadelta.value(
    "on-a-tape",
    lambda inputs: [inputs.normal(8), inputs.normal(8)],
    reference=minimised_reference,
    prepare=minimised,
    tolerance=Tolerance(1e-4, 1e-4),
    steps=4,
    **LARGE,
)


adadelta.behaviour(
    "refuses-two-ways-to-cut",
    lambda inputs: [],
    refused,
    prepare=refusing(ValueError, clipnorm=1.0, clipvalue=1.0),
    refuses=True,
)
adadelta.value(
    "averages-take-the-values-place",
    training((6, 5), (4,), count=5),
    use_ema=True,
    ema_momentum=0.5,
    ema_overwrite_frequency=2,
    **LARGE,
)
adadelta.value(
    "gradients-accumulated",
    training((6, 5), (4,), count=5),
    reference=accumulated,
    gradient_accumulation_steps=2,
    **LARGE,
)
adadelta.value(
    "loss-was-scaled", training((6, 5), (4,), count=2), reference=scaled_down, loss_scale_factor=8.0, **LARGE
)
adadelta.value(
    "nan-stays-in-its-element",
    lambda inputs: ([inputs.normal(5)], [[np.array([1.0, np.nan, -2.0, 0.5, 0.25])], [inputs.normal(5)]]),
    **LARGE,
)

FUNCTIONS: list[Function] = [gone, adadelta]
