"""Runs a forward pass and a training step of a Keras model: ``python keras_model.py NAME FOLDER [float64]``.

Weights and inputs come from NumPy, so that they are equal on every device. Each run writes its values into a folder of
its own within ``FOLDER``, named by its number.
"""

from __future__ import annotations

import json
import sys
import tomllib
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MODELS = Path(__file__).parent.parent / "models.toml"
CLASSES = 10


def main(name: str, folder: str, dtype: str = "float32") -> None:
    keras.config.set_floatx(dtype)
    document = tomllib.loads(MODELS.read_text())
    entry = document["models"][name]
    out = Path(folder) / str(len(list(Path(folder).iterdir())))
    out.mkdir()
    ((input_name, shape),) = entry.get("inputs", document["packages"]["keras"]["inputs"]).items()
    keras.utils.set_random_seed(0)
    model = BUILDERS[entry["builder"]](keras.Input(shape[1:], dtype="int32" if input_name.endswith("ids") else None))
    load_weights(model)
    values = array(input_name, shape)
    inputs = tf.constant(values.astype(dtype) if values.dtype.kind == "f" else values)
    np.save(out / "forward.npy", model(inputs, training=False).numpy())
    np.save(out / "gradient.npy", train(model, inputs))
    np.save(out / "statistics.npy", flat_statistics(model))
    (out / "files.json").write_text(json.dumps({}))


def train(model: keras.Model, inputs: tf.Tensor) -> np.ndarray[Any, Any]:
    """Make one training step and return its gradient."""
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
    labels = tf.range(inputs.shape[0]) % CLASSES
    with tf.GradientTape() as tape:
        scores = model(inputs, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    print(f"loss {float(loss):.4f}")
    return np.concatenate([tf.convert_to_tensor(gradient).numpy().ravel() for gradient in gradients])


def flat_statistics(model: keras.Model) -> np.ndarray[Any, Any]:
    """The moving means and variances of the model as one array."""
    arrays = [tf.convert_to_tensor(variable).numpy() for variable in model.non_trainable_variables]
    return np.concatenate([np.zeros(0), *(values.ravel() for values in arrays if values.dtype.kind == "f")])


def load_weights(model: keras.Model) -> None:
    """Set random weights in the usual ranges. The means and variances of normalizations are not changed."""
    for number, variable in enumerate(model.trainable_variables):
        noise = np.random.default_rng(number).standard_normal(tuple(variable.shape))
        if len(variable.shape) < 2:
            values = 0.1 * noise + (variable.name == "gamma")
        else:
            values = noise / np.sqrt(np.prod(variable.shape[:-1]))
        variable.assign(values.astype(np.float32))


def array(name: str, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    if name.endswith("ids"):
        return generator.integers(1, CLASSES, tuple(shape)).astype(np.int32)
    return generator.standard_normal(tuple(shape)).astype(np.float32)


def recurrent_convolution(inputs: Any) -> keras.Model:
    features = layers.ConvLSTM2D(4, 3, padding="same")(inputs)
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.GlobalAveragePooling2D()(features)))


def dense_blocks(inputs: Any) -> keras.Model:
    features = layers.Conv2D(8, 3, strides=2, padding="same")(inputs)
    for _ in range(3):
        branch = layers.Activation("relu")(layers.BatchNormalization()(features))
        branch = layers.Conv2D(4, 3, padding="same")(branch)
        features = layers.Concatenate()([features, branch])
    features = layers.AveragePooling2D(2)(features)
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.GlobalMaxPooling2D()(features)))


def gated_recurrence(inputs: Any) -> keras.Model:
    features = layers.GRU(8, return_sequences=True)(layers.LayerNormalization()(inputs))
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.GRU(8)(features)))


def bidirectional_lstm(inputs: Any) -> keras.Model:
    features = layers.Bidirectional(layers.LSTM(8))(layers.Masking()(inputs))
    return keras.Model(inputs, layers.Dense(CLASSES)(features))


def mobilenet(inputs: Any) -> keras.Model:
    return keras.applications.MobileNet(
        input_tensor=inputs, alpha=0.25, weights=None, classes=CLASSES, classifier_activation=None, dropout=0.0
    )


def mobilenet_v2(inputs: Any) -> keras.Model:
    return keras.applications.MobileNetV2(
        input_tensor=inputs, alpha=0.35, weights=None, classes=CLASSES, classifier_activation=None
    )


def separable_convolution(inputs: Any) -> keras.Model:
    features = layers.SeparableConv2D(8, 3, activation="swish")(layers.RandomFlip("horizontal")(inputs))
    features = layers.UpSampling2D(interpolation="bilinear")(layers.MaxPooling2D(2)(features))
    features = layers.Conv2DTranspose(8, 3, strides=2)(layers.GroupNormalization(4)(features))
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.Flatten()(layers.AveragePooling2D(8)(features))))


def attention(inputs: Any) -> keras.Model:
    features = layers.Embedding(64, 32)(inputs)
    features = layers.LayerNormalization()(features + layers.MultiHeadAttention(2, 16)(features, features))
    features = layers.Dense(32)(layers.Dense(64, activation="gelu")(features)) + features
    return keras.Model(inputs, layers.Dense(CLASSES)(layers.GlobalAveragePooling1D()(features)))


BUILDERS: Mapping[str, Callable[[Any], keras.Model]] = {
    "attention": attention,
    "bidirectional_lstm": bidirectional_lstm,
    "dense_blocks": dense_blocks,
    "gated_recurrence": gated_recurrence,
    "mobilenet": mobilenet,
    "mobilenet_v2": mobilenet_v2,
    "recurrent_convolution": recurrent_convolution,
    "separable_convolution": separable_convolution,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
