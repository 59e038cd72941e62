"""Transformers in NumPy: attention, encoder layers and decoder layers, written from the equations.

Cases in ``transformers.py`` compare torch's results with the results of this module. Torch and this module compute with
the same state dictionaries. All arrays have the axes (batch, time, features).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from runners.suite.cases import Inputs
from runners.suite.optional import optional

special = optional("scipy.special")

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Array]


def layer_weights(
    inputs: Inputs, prefix: str, width: int, hidden: int, *, decoder: bool, bias: bool
) -> dict[str, Array]:
    """Return the weights of one encoder or decoder layer, with torch's names."""
    shapes: dict[str, tuple[int, ...]] = {}
    for attention in ("self_attn", "multihead_attn") if decoder else ("self_attn",):
        shapes[f"{attention}.in_proj_weight"] = (3 * width, width)
        shapes[f"{attention}.in_proj_bias"] = (3 * width,)
        shapes[f"{attention}.out_proj.weight"] = (width, width)
        shapes[f"{attention}.out_proj.bias"] = (width,)
    shapes |= {"linear1.weight": (hidden, width), "linear1.bias": (hidden,)}
    shapes |= {"linear2.weight": (width, hidden), "linear2.bias": (width,)}
    weights = {name: inputs.normal(*shape) / math.sqrt(shape[-1]) for name, shape in shapes.items()}
    for place in range(1, 4 if decoder else 3):
        weights |= norm_weights(inputs, f"norm{place}.", width, bias=True)
    return {prefix + name: weight for name, weight in weights.items() if bias or not name.endswith("bias")}


def norm_weights(inputs: Inputs, prefix: str, width: int, *, bias: bool) -> dict[str, Array]:
    weights = {f"{prefix}weight": inputs.uniform(width, low=0.5, high=1.5)}
    return {**weights, f"{prefix}bias": inputs.normal(width) / 2} if bias else weights


def normalise(values: Array, weights: Weights, prefix: str, eps: float) -> Array:
    centred = values - values.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    return np.asarray(scaled * weights[f"{prefix}weight"]) + weights.get(f"{prefix}bias", 0.0)


def attend(query: Array, memory: Array, weights: Weights, prefix: str, heads: int, mask: Array) -> Array:
    """Compute multi-head attention. ``mask`` is added to the scores, whose axes are (batch, heads, query, key)."""
    width = query.shape[-1]
    of_query, of_key, of_value = np.split(weights[f"{prefix}in_proj_weight"], 3)
    biases = np.split(weights.get(f"{prefix}in_proj_bias", np.zeros(3 * width)), 3)

    def split(values: Array) -> Array:
        return values.reshape(*values.shape[:2], heads, width // heads).swapaxes(1, 2)

    q = split(query @ of_query.T + biases[0])
    k = split(memory @ of_key.T + biases[1])
    v = split(memory @ of_value.T + biases[2])
    shares = special.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(width // heads) + mask, axis=-1)
    joined = (shares @ v).swapaxes(1, 2).reshape(query.shape)
    return project(joined, weights, f"{prefix}out_proj.")


def project(values: Array, weights: Weights, prefix: str) -> Array:
    return values @ weights[f"{prefix}weight"].T + weights.get(f"{prefix}bias", 0.0)


def feed_forward(values: Array, weights: Weights, prefix: str, activation: str) -> Array:
    hidden = project(values, weights, f"{prefix}linear1.")
    active = np.maximum(hidden, 0) if activation == "relu" else hidden / 2 * (1 + special.erf(hidden / math.sqrt(2)))
    return project(active, weights, f"{prefix}linear2.")


def as_scores(mask: Array | None, padding: Array | None) -> Array:
    """Return the numbers to add to the scores. A Boolean mask gives minus infinity where it is True. Other masks give
    their own numbers."""
    added = np.zeros((1, 1, 1, 1))
    if mask is not None:
        added = added + (np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask)
    if padding is not None:
        rows = np.atleast_2d(padding)
        added = added + (np.where(rows, -np.inf, 0.0) if rows.dtype == bool else rows)[:, None, None, :]
    return added


def encode(
    values: Array,
    weights: Weights,
    prefix: str,
    mask: Array,
    *,
    nhead: int,
    activation: str = "relu",
    norm_first: bool = False,
    layer_norm_eps: float = 1e-5,
) -> Array:
    """Compute one encoder layer."""

    def norm(place: int, array: Array) -> Array:
        return normalise(array, weights, f"{prefix}norm{place}.", layer_norm_eps)

    def attention(array: Array) -> Array:
        return attend(array, array, weights, f"{prefix}self_attn.", nhead, mask)

    def feed(array: Array) -> Array:
        return feed_forward(array, weights, prefix, activation)

    if norm_first:
        values = values + attention(norm(1, values))
        return values + feed(norm(2, values))
    values = norm(1, values + attention(values))
    return norm(2, values + feed(values))


def decode(
    values: Array,
    memory: Array,
    weights: Weights,
    prefix: str,
    mask: Array,
    memory_mask: Array,
    *,
    nhead: int,
    activation: str = "relu",
    norm_first: bool = False,
    layer_norm_eps: float = 1e-5,
) -> Array:
    """Compute one decoder layer: self-attention, then attention to ``memory``, the encoder's output."""

    def norm(place: int, array: Array) -> Array:
        return normalise(array, weights, f"{prefix}norm{place}.", layer_norm_eps)

    def attention(array: Array) -> Array:
        return attend(array, array, weights, f"{prefix}self_attn.", nhead, mask)

    def recall(array: Array) -> Array:
        return attend(array, memory, weights, f"{prefix}multihead_attn.", nhead, memory_mask)

    def feed(array: Array) -> Array:
        return feed_forward(array, weights, prefix, activation)

    if norm_first:
        values = values + attention(norm(1, values))
        values = values + recall(norm(2, values))
        return values + feed(norm(3, values))
    values = norm(1, values + attention(values))
    values = norm(2, values + recall(values))
    return norm(3, values + feed(values))
