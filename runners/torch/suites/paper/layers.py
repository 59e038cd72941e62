"""Cases of neural network layers: linear, the LSTM cell, GELU and pooling.

Each module's forward pass is one layer, for which NumPy computes the equations. Convolutions, losses, normalization,
dropout and transformers have their own files.
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
from runners.suite.sequences import aligned
from runners.torch.suites.paper import construction, library_modules
from runners.torch.suites.paper.gradients import DIFFERENCES, backward
from runners.torch.suites.paper.windows import adaptive_averages, with_edges

special = optional("scipy.special")

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]


def linear_weights(inputs: Inputs, in_features: int, out_features: int, bias: bool = True) -> Weights:
    weights = {"weight": inputs.normal(out_features, in_features) / math.sqrt(in_features)}
    return {**weights, "bias": inputs.normal(out_features)} if bias else weights


def linear_reference(weights: Weights, values: Array, **_: Any) -> Array:
    return values @ weights["weight"].T + weights.get("bias", 0.0)


def linear_gradients(weights: Weights, values: Array, cotangent: Array, **_: Any) -> Any:
    of_weights = {"weight": cotangent.T @ values, "bias": cotangent.sum(axis=0)}
    return linear_reference(weights, values), [cotangent @ weights["weight"]], of_weights


linear = Function("torch.nn.Linear", reference=linear_reference, prepare=construction.forward)


def linear_case(name: str, *shape: int, dtype: str = "float32", prepare: Any = None, **options: Any) -> None:
    linear.value(
        name,
        lambda inputs: (linear_weights(inputs, **options), inputs.normal(*shape)),
        dtype=dtype,
        prepare=prepare,
        **options,
    )


linear_case("batch", 256, 128, in_features=128, out_features=64)
linear_case("float64", 16, 12, dtype="float64", in_features=12, out_features=5)
# No bias in narrow types: a device may round the product before it adds the bias, and cancellation would magnify this
# error.
linear_case("bfloat16", 16, 32, dtype="bfloat16", in_features=32, out_features=8, bias=False)
linear_case("float16", 16, 32, dtype="float16", in_features=32, out_features=8, bias=False)
linear_case("three-dimensions", 3, 5, 7, in_features=7, out_features=4)
linear_case("empty-batch", 0, 6, in_features=6, out_features=3)
linear_case("one-feature", 9, 1, in_features=1, out_features=1)
linear_case("without-gradient", 64, 32, in_features=32, out_features=64, prepare=construction.forward_evaluating)
linear.value(
    "complex64",
    lambda inputs: (
        {name: weight + 1j * inputs.normal(*weight.shape) for name, weight in linear_weights(inputs, 6, 4).items()},
        inputs.normal(5, 6) + 1j * inputs.normal(5, 6),
    ),
    dtype="complex64",
    in_features=6,
    out_features=4,
)
linear.value(
    "transposed-input",
    lambda inputs: (linear_weights(inputs, 8, 3), inputs.normal(2, 8, 5)),
    reference=lambda weights, values, **_: linear_reference(weights, np.swapaxes(values, -1, -2)),
    prepare=construction.forward_transposed,
    in_features=8,
    out_features=3,
)
linear.value(
    "nan-stays-in-its-row",
    lambda inputs: (linear_weights(inputs, 4, 3), np.vstack([inputs.normal(2, 4), np.full((1, 4), np.nan)])),
    in_features=4,
    out_features=3,
)
linear.value(
    "gradient",
    lambda inputs: (linear_weights(inputs, 24, 8), inputs.normal(16, 24), inputs.normal(16, 8)),
    reference=linear_gradients,
    prepare=construction.gradients,
    in_features=24,
    out_features=8,
)
library_modules.add_cases(
    linear, lambda inputs, sample: (linear_weights(inputs, **sample.options), *sample.arguments(inputs))
)


def lstm_weights(inputs: Inputs, input_size: int, hidden_size: int, bias: bool = True) -> Weights:
    scale = 1 / math.sqrt(hidden_size)
    shapes: dict[str, tuple[int, ...]] = {
        "weight_ih": (4 * hidden_size, input_size),
        "weight_hh": (4 * hidden_size, hidden_size),
    }
    if bias:
        shapes |= {"bias_ih": (4 * hidden_size,), "bias_hh": (4 * hidden_size,)}
    return {name: inputs.normal(*shape) * scale for name, shape in shapes.items()}


def lstm_reference(
    weights: Weights, values: Array, hidden: Array | None = None, cell: Array | None = None, **options: Any
) -> tuple[Array, Array]:
    state = np.zeros((*values.shape[:-1], options["hidden_size"]))
    hidden, cell = state if hidden is None else hidden, state if cell is None else cell
    gates = values @ weights["weight_ih"].T + hidden @ weights["weight_hh"].T
    if options.get("bias", True):
        gates = gates + weights["bias_ih"] + weights["bias_hh"]
    let_in, forget, candidate, let_out = np.split(gates, 4, axis=-1)
    cell = special.expit(forget) * cell + special.expit(let_in) * np.tanh(candidate)
    return special.expit(let_out) * np.tanh(cell), cell


def lstm_forward(context: Context, weights: Weights, values: Any, *state: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that passes the state as one pair, if there is a state."""
    module = construction.build(context, weights, options)
    return lambda: module(values, state) if state else module(values)


def lstm_gradients(
    context: Context, weights: Weights, *inputs_and_cotangents: Any, **options: Any
) -> Callable[[], Any]:
    *inputs, cotangents = inputs_and_cotangents
    module = construction.build(context, weights, options)
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    names, parameters = aligned(*module.named_parameters())

    def call() -> Any:
        result = module(leaves[0], tuple(leaves[1:]))
        found = torch.autograd.grad(result, [*leaves, *parameters], cotangents)
        return result, list(found[: len(leaves)]), dict(aligned(names, found[len(leaves) :]))

    return call


lstm_cell = Function("torch.nn.LSTMCell", reference=lstm_reference, prepare=lstm_forward)


def lstm_case(
    name: str, *batch: int, dtype: str = "float32", tolerance: Tolerance | None = None, **options: Any
) -> None:
    hidden = options["hidden_size"]
    lstm_cell.value(
        name,
        lambda inputs: (
            lstm_weights(inputs, **options),
            inputs.normal(*batch, options["input_size"]),
            inputs.normal(*batch, hidden),
            inputs.normal(*batch, hidden),
        ),
        dtype=dtype,
        tolerance=tolerance,
        **options,
    )


lstm_case("batch", 64, input_size=64, hidden_size=64)
lstm_case("float64", 5, input_size=4, hidden_size=3, dtype="float64")
lstm_case("bfloat16", 8, input_size=16, hidden_size=8, dtype="bfloat16")
# The rounding error of a gate is multiplied by the cell, which may be larger than the result.
lstm_case("float16", 8, input_size=16, hidden_size=8, dtype="float16", tolerance=Tolerance(2e-3, 3e-3))
lstm_case("without-bias", 5, input_size=4, hidden_size=6, bias=False)
lstm_case("unbatched", input_size=4, hidden_size=3)
lstm_case("one-unit", 7, input_size=1, hidden_size=1)
lstm_case("empty-batch", 0, input_size=4, hidden_size=3)
lstm_cell.value(
    "without-state",
    lambda inputs: (lstm_weights(inputs, 6, 5), inputs.normal(3, 6)),
    input_size=6,
    hidden_size=5,
)
lstm_cell.value(
    "saturated",
    lambda inputs: (lstm_weights(inputs, 4, 3), 200 * inputs.normal(6, 4), inputs.normal(6, 3), inputs.normal(6, 3)),
    input_size=4,
    hidden_size=3,
)
lstm_cell.value(
    "gradient",
    lambda inputs: (
        lstm_weights(inputs, 3, 2),
        inputs.normal(4, 3),
        inputs.normal(4, 2),
        inputs.normal(4, 2),
        (inputs.normal(4, 2), inputs.normal(4, 2)),
    ),
    dtype="float64",
    tolerance=DIFFERENCES,
    reference=backward(lstm_reference),
    prepare=lstm_gradients,
    input_size=3,
    hidden_size=2,
)
library_modules.add_cases(
    lstm_cell, lambda inputs, sample: (lstm_weights(inputs, **sample.options), *sample.arguments(inputs))
)
lstm_cell.value(
    "nan-stays-in-its-row",
    lambda inputs: (
        lstm_weights(inputs, 4, 3),
        np.vstack([inputs.normal(2, 4), np.full((1, 4), np.nan)]),
        np.vstack([np.full((1, 3), np.nan), inputs.normal(2, 3)]),
        np.vstack([inputs.normal(1, 3), [[np.inf, -np.inf, np.nan]], inputs.normal(1, 3)]),
    ),
    input_size=4,
    hidden_size=3,
)


def gelu_reference(_: Weights, values: Array, *, approximate: str = "none") -> Array:
    if approximate == "tanh":
        return np.asarray(values / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (values + 0.044715 * values**3))))
    return np.asarray(values * special.ndtr(values))


def gelu_gradients(_: Weights, values: Array, cotangent: Array) -> Any:
    slope = special.ndtr(values) + values * np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi)
    return gelu_reference({}, values), [cotangent * slope], {}


gelu = Function("torch.nn.GELU", reference=gelu_reference, prepare=construction.forward)

gelu.value("matrix", lambda inputs: ({}, 3 * inputs.normal(128, 128)))
gelu.value("tanh", lambda inputs: ({}, 3 * inputs.normal(64, 32)), approximate="tanh")
gelu.value("float64", lambda inputs: ({}, 3 * inputs.normal(6, 7)), dtype="float64")
gelu.value("tanh-float64", lambda inputs: ({}, 3 * inputs.normal(6, 7)), dtype="float64", approximate="tanh")
gelu.value("bfloat16", lambda inputs: ({}, 3 * inputs.normal(16, 8)), dtype="bfloat16")
gelu.value("float16", lambda inputs: ({}, 3 * inputs.normal(16, 8)), dtype="float16")
gelu.value("far-tails", lambda inputs: ({}, np.array([-1e4, -40.0, -9.0, -5.0, 0.0, 5.0, 40.0, 1e4])))
gelu.value("nan", lambda inputs: ({}, np.array([np.nan, -1.0, np.nan, 2.0])))
gelu.value("zero-dimensional", lambda inputs: ({}, np.array(0.75)))
gelu.value("empty", lambda inputs: ({}, inputs.normal(0, 3)))
gelu.value(
    "transposed-input",
    lambda inputs: ({}, inputs.normal(5, 8)),
    reference=lambda _, values: gelu_reference({}, values.T),
    prepare=construction.forward_transposed,
)
gelu.value(
    "gradient",
    lambda inputs: ({}, 2 * inputs.normal(32, 8), inputs.normal(32, 8)),
    reference=gelu_gradients,
    prepare=construction.gradients,
)
library_modules.add_cases(gelu, lambda inputs, sample: ({}, *sample.arguments(inputs)))


def pooling_reference(_: Weights, values: Array, *, output_size: Any) -> Array:
    return adaptive_averages(values, output_size, axes=3)


pooling = Function("torch.nn.AdaptiveAvgPool3d", reference=pooling_reference, prepare=construction.forward)


def pooling_case(name: str, *shape: int, to: Any, dtype: str = "float32") -> None:
    pooling.value(name, lambda inputs: ({}, inputs.normal(*shape)), dtype=dtype, output_size=to)


pooling_case("volume", 2, 8, 16, 16, 16, to=(4, 5, 6))
pooling_case("float64", 2, 3, 5, 6, 7, to=(2, 3, 4), dtype="float64")
pooling_case("bfloat16", 2, 3, 4, 6, 8, to=2, dtype="bfloat16")
pooling_case("global-average", 2, 4, 5, 6, 7, to=1)
pooling_case("larger-than-the-input", 1, 2, 2, 3, 2, to=(3, 5, 4))
pooling_case("same-size", 1, 2, 3, 4, 5, to=(None, 4, None))
pooling_case("empty-batch", 0, 2, 4, 4, 4, to=2)
pooling.value(
    "gradient",
    lambda inputs: ({}, inputs.normal(1, 2, 3, 4, 5), inputs.normal(1, 2, 2, 3, 2)),
    dtype="float64",
    tolerance=DIFFERENCES,
    reference=backward(pooling_reference),
    prepare=construction.gradients,
    output_size=(2, 3, 2),
)
library_modules.add_cases(pooling, lambda inputs, sample: ({}, *sample.arguments(inputs)))
pooling.value(
    "nan-and-infinity-reach-their-windows",
    lambda inputs: ({}, with_edges(inputs.normal(1, 2, 4, 6, 4))),
    output_size=(2, 3, 2),
)

FUNCTIONS: list[Function] = [linear, lstm_cell, gelu, pooling]
