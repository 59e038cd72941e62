"""Handwritten cases of Keras: layers whose weights the case sets, models, and subclasses of the base classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.sequences import aligned
from runners.tensorflow.suites.library.by_hand import TAGS, Array, chart_in, one_value

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def layer(context: Context, values: Any, *weights: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a layer that is built for its input and has the given weights. Only its call is compiled."""
    built = context.function(**options)
    built.build(tuple(values.shape))
    for variable, weight in aligned(built.weights, weights):
        variable.assign(weight)
    return context.compiled(lambda: built(values))


def sigmoid(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))


def rectified(values: Array) -> Array:
    return np.maximum(values, 0)


dense = charted("tf.keras.layers.Dense", lambda values, kernel, bias, **_: values @ kernel + bias, layer)
dense.value(
    "float32-3x4",
    lambda inputs: [inputs.normal(3, 4), inputs.normal(4, 5), inputs.normal(5)],
    units=5,
    tags=TAGS,
)
dense.value(
    "float32-relu",
    lambda inputs: [inputs.normal(2, 3, 4), inputs.normal(4, 5), inputs.normal(5)],
    reference=lambda values, kernel, bias, **_: rectified(values @ kernel + bias),
    units=5,
    activation="relu",
    tags=TAGS,
)


def convolved(values: Array, kernel: Array, bias: Array, **_: Any) -> Array:
    """Compute a convolution without padding as a sum of shifted products."""
    rows, columns = (values.shape[axis + 1] - kernel.shape[axis] + 1 for axis in (0, 1))
    shifts = np.ndindex(kernel.shape[:2])
    return np.asarray(sum(values[:, i : i + rows, j : j + columns] @ kernel[i, j] for i, j in shifts) + bias)


charted("tf.keras.layers.Conv2D", convolved, layer).value(
    "float32-valid",
    lambda inputs: [inputs.normal(2, 6, 5, 3), inputs.normal(3, 2, 3, 4), inputs.normal(4)],
    filters=4,
    kernel_size=(3, 2),
    tags=TAGS,
)


def normalised(values: Array, scale: Array, shift: Array, mean: Array, variance: Array) -> Array:
    return (values - mean) / np.sqrt(variance + 1e-3) * scale + shift


charted("tf.keras.layers.BatchNormalization", normalised, layer).value(
    "float32-evaluating",
    lambda inputs: [inputs.normal(5, 3), *(inputs.uniform(3, low=0.5, high=1.5) for _ in range(4))],
    tags=TAGS,
)


def normalised_rows(values: Array, scale: Array, shift: Array) -> Array:
    apart = values - values.mean(-1, keepdims=True)
    return np.asarray(apart / np.sqrt(values.var(-1, keepdims=True) + 1e-3) * scale + shift)


charted("tf.keras.layers.LayerNormalization", normalised_rows, layer).value(
    "float32-4x6", lambda inputs: [inputs.normal(4, 6), inputs.normal(6), inputs.normal(6)], tags=TAGS
)


def lstm_step(values: Array, held: Array, cell: Array, kernel: Array, recurrent: Array, bias: Array) -> Any:
    """Compute one LSTM step. Keras has the gates in the order input, forget, cell, output."""
    taken, kept, new, shown = np.split(values @ kernel + held @ recurrent + bias, 4, -1)
    cell = sigmoid(kept) * cell + sigmoid(taken) * np.tanh(new)
    return sigmoid(shown) * np.tanh(cell), cell


def lstm(values: Array, *weights: Array, units: int) -> Array:
    held = cell = np.zeros((len(values), units))
    for step in range(values.shape[1]):
        held, cell = lstm_step(values[:, step], held, cell, *weights)
    return held


def lstm_weights(inputs: Inputs) -> list[Array]:
    return [inputs.normal(3, 16) / 2, inputs.normal(4, 16) / 2, inputs.normal(16)]


def one_step(context: Context, values: Any, held: Any, cell: Any, *weights: Any, units: int) -> Callable[[], Any]:
    built = context.function(units)
    built.build(tuple(values.shape))
    for variable, weight in aligned(built.weights, weights):
        variable.assign(weight)
    return context.compiled(lambda: built(values, [held, cell]))


def one_step_of_lstm(*arrays: Array, units: int) -> Any:
    held, cell = lstm_step(*arrays)
    return [held, [held, cell]]


charted("tf.keras.layers.LSTM", lstm, layer).value(
    "float32-2x5x3", lambda inputs: [inputs.normal(2, 5, 3), *lstm_weights(inputs)], units=4, tags=TAGS
)
charted("tf.keras.layers.LSTMCell", one_step_of_lstm, one_step).value(
    "float32-2x3",
    lambda inputs: [inputs.normal(2, 3), inputs.normal(2, 4), inputs.normal(2, 4), *lstm_weights(inputs)],
    units=4,
    tags=TAGS,
)


def plain_layer(context: Context, *values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a layer without weights. Several arrays are passed as a list."""
    made = context.function(**options)
    given = list(values) if len(values) > 1 else values[0]
    return context.compiled(lambda: made(given))


def flattened(values: Array) -> Array:
    return values.reshape(len(values), -1)


charted("tf.keras.layers.Flatten", flattened, plain_layer).value(
    "float32-2x3x4", lambda inputs: [inputs.normal(2, 3, 4)], tags=TAGS
)
charted("tf.keras.layers.Add", lambda *values: sum(values), plain_layer).value(
    "float32-three", lambda inputs: [inputs.normal(2, 3), inputs.normal(2, 3), inputs.normal(2, 3)], tags=TAGS
)
charted("tf.keras.layers.Concatenate", lambda *values, axis: np.concatenate(values, axis), plain_layer).value(
    "float32-columns", lambda inputs: [inputs.normal(2, 3), inputs.normal(2, 4)], axis=-1, tags=TAGS
)
charted("tf.keras.layers.GlobalAveragePooling2D", lambda values: values.mean((1, 2)), plain_layer).value(
    "float32-2x4x5x3", lambda inputs: [inputs.normal(2, 4, 5, 3)], tags=TAGS
)
one_value(FUNCTIONS, "tf.keras.layers.Dropout", lambda values, **_: values, plain_layer, rate=0.5)
one_value(FUNCTIONS, "tf.keras.layers.Activation", lambda values, **_: np.tanh(values), plain_layer, activation="tanh")


def lambda_layer(context: Context, values: Any) -> Callable[[], Any]:
    made = context.function(lambda given: given * given + 1)
    return context.compiled(lambda: made(values))


def own_layer(context: Context, values: Any, *weights: Any) -> Callable[[], Any]:
    """Prepare a subclass of the layer or model, as users define one. It multiplies by a weight."""

    class Scaled(context.function):  # type: ignore[misc, name-defined]
        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape=(shape[-1],), initializer="zeros", name="scale")
            self.built = True

        def call(self, given: Any) -> Any:
            return given * self.scale

    return layer(dataclasses.replace(context, function=Scaled), values, *weights)


one_value(FUNCTIONS, "tf.keras.layers.Lambda", lambda values: values**2 + 1, lambda_layer)
for name in ("tf.keras.layers.Layer", "tf.keras.Model"):
    charted(name, lambda values, scale: values * scale, own_layer).value(
        "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(4)], tags=TAGS
    )


def traced_model(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a subclass of the model whose call is a ``tf.function`` and creates the weights. On a target that
    compiles, the model is called within a compiled function, which must use the same weights as the first call."""

    class Traced(context.function):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(3)

        @tf.function  # type: ignore[untyped-decorator]
        def call(self, given: Any) -> Any:
            return self.dense(given)

    model = Traced()
    first = model(values)
    return context.compiled(lambda: model(values) - first + values[:, :3])


next(function for function in FUNCTIONS if function.name == "tf.keras.Model").value(
    "float32-traced-call",
    lambda inputs: [inputs.normal(2, 4)],
    reference=lambda values: values[:, :3],
    prepare=traced_model,
    tags=TAGS,
)


def in_sequence(context: Context, values: Any, kernel: Any, bias: Any) -> Callable[[], Any]:
    """Prepare a model with a chain of layers: flatten, a dense layer and its activation."""
    layers = tf.keras.layers
    chain = context.function([layers.Flatten(), layers.Dense(bias.shape[0]), layers.Activation("tanh")])
    chain.build(tuple(values.shape))
    chain.layers[1].kernel.assign(kernel)
    chain.layers[1].bias.assign(bias)
    return context.compiled(lambda: chain(values))


for name in ("tf.keras.Sequential", "tf.keras.models.Sequential"):
    charted(name, lambda values, kernel, bias: np.tanh(flattened(values) @ kernel + bias), in_sequence).value(
        "float32-2x3x2", lambda inputs: [inputs.normal(2, 3, 2), inputs.normal(6, 4), inputs.normal(4)], tags=TAGS
    )
