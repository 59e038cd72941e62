"""Cases of transformers: the whole model and its encoder layer.

A case's arguments are the state dictionary, the sequences, and a dictionary of masks. The reference is in
``attention.py``. Dropout is 0 except in cases about dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Tolerance
from runners.torch.suites.paper import attention, construction, library_modules
from runners.torch.suites.paper.gradients import DIFFERENCES, backward

Array = np.ndarray[Any, Any]
Weights = Mapping[str, Any]
Masks = Mapping[str, Any]

# Each sublayer rounds its result to bfloat16, relative to the size of this result.
ROUNDED_SUBLAYERS = Tolerance(8e-3, 2e-2)
# The result depends on a dozen successive float32 products.
DEEP = Tolerance(1e-4, 5e-5)


def training(context: Context, weights: Weights, *sequences_and_masks: Any, **options: Any) -> Callable[[], Any]:
    *sequences, masks = sequences_and_masks
    module = construction.build(context, weights, options)
    return lambda: module(*sequences, **masks)


def evaluating(context: Context, weights: Weights, *sequences_and_masks: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call without gradients. For this, torch uses a different, fused implementation."""
    *sequences, masks = sequences_and_masks
    module = construction.build(context, weights, options).eval()

    def call() -> Any:
        with torch.no_grad():
            return module(*sequences, **masks)

    return call


def batch_first(values: Array, options: Mapping[str, Any]) -> Array:
    """Return the values with the axes (batch, time, features), for any layout in the options."""
    if values.ndim == 2:
        return values[np.newaxis]
    return values if options.get("batch_first", False) else values.swapaxes(0, 1)


def as_given(values: Array, example: Array, options: Mapping[str, Any]) -> Array:
    if example.ndim == 2:
        return np.asarray(values[0])
    return values if options.get("batch_first", False) else values.swapaxes(0, 1)


def equations(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the reference supports."""
    known = ("nhead", "activation", "norm_first", "layer_norm_eps")
    return {name: options[name] for name in known if name in options}


def encoder_weights(inputs: Inputs, *, d_model: int, dim_feedforward: int, bias: bool = True, **_: Any) -> Weights:
    return attention.layer_weights(inputs, "", d_model, dim_feedforward, decoder=False, bias=bias)


def encoder_reference(weights: Weights, values: Array, masks: Masks, **options: Any) -> Array:
    added = attention.as_scores(masks.get("src_mask"), masks.get("src_key_padding_mask"))
    result = attention.encode(batch_first(values, options), weights, "", added, **equations(options))
    return as_given(result, values, options)


encoder_layer = Function("torch.nn.TransformerEncoderLayer", reference=encoder_reference, prepare=training)


def encoder_case(
    name: str,
    *shape: int,
    masks: Masks | None = None,
    dtype: str = "float32",
    prepare: Any = None,
    tolerance: Tolerance | None = None,
    **options: Any,
) -> None:
    chosen = {"d_model": shape[-1], "dropout": 0.0, **options}
    encoder_layer.value(
        name,
        lambda inputs: (encoder_weights(inputs, **chosen), inputs.normal(*shape), dict(masks or {})),
        dtype=dtype,
        tolerance=tolerance or (DEEP if dtype == "float32" else None),
        prepare=prepare,
        **chosen,
    )


def causal(length: int) -> Array:
    return np.triu(np.ones((length, length), dtype=bool), 1)


def one_of_nan(inputs: Inputs, *shape: int) -> Array:
    """Make a batch whose first sequence has a NaN in its second step."""
    values = inputs.normal(*shape)
    values[0, 1, 2] = np.nan
    return values


LAST_PADDED = {"src_key_padding_mask": np.array([[False] * 6, [False] * 4 + [True] * 2])}

encoder_case("sequence", 32, 8, 64, nhead=4, dim_feedforward=128)
encoder_case("float64", 5, 2, 8, nhead=2, dim_feedforward=12, dtype="float64")
encoder_case(
    "bfloat16",
    5,
    2,
    16,
    nhead=2,
    dim_feedforward=16,
    dtype="bfloat16",
    tolerance=ROUNDED_SUBLAYERS,
)
encoder_case("gelu", 5, 2, 8, nhead=2, dim_feedforward=12, activation="gelu")
encoder_case("norm-first", 5, 2, 8, nhead=2, dim_feedforward=12, norm_first=True)
encoder_case("causal-mask", 2, 6, 8, nhead=2, dim_feedforward=12, batch_first=True, masks={"src_mask": causal(6)})
encoder_case("padded-sequences", 2, 6, 8, nhead=2, dim_feedforward=12, batch_first=True, masks=LAST_PADDED)
encoder_case("evaluating", 4, 6, 16, nhead=4, dim_feedforward=32, batch_first=True, prepare=evaluating)
encoder_case(
    "evaluating-norm-first",
    4,
    6,
    16,
    nhead=4,
    dim_feedforward=32,
    batch_first=True,
    norm_first=True,
    prepare=evaluating,
)
encoder_case("large-epsilon", 5, 2, 8, nhead=2, dim_feedforward=12, layer_norm_eps=0.5)
encoder_case(
    "causal-by-word",
    2,
    6,
    8,
    nhead=2,
    dim_feedforward=12,
    batch_first=True,
    masks={"src_mask": causal(6), "is_causal": True},
)
encoder_layer.value(
    "nan-stays-in-its-sequence",
    lambda inputs: (encoder_weights(inputs, d_model=8, dim_feedforward=12), one_of_nan(inputs, 2, 5, 8), {}),
    tolerance=DEEP,
    d_model=8,
    nhead=2,
    dim_feedforward=12,
    dropout=0.0,
    batch_first=True,
)
encoder_layer.value(
    "dropout-one-leaves-the-norms",
    lambda inputs: (encoder_weights(inputs, d_model=8, dim_feedforward=12), inputs.normal(5, 2, 8), {}),
    reference=lambda weights, values, _, **__: attention.normalise(
        attention.normalise(values, weights, "norm1.", 1e-5), weights, "norm2.", 1e-5
    ),
    tolerance=DEEP,
    d_model=8,
    nhead=2,
    dim_feedforward=12,
    dropout=1.0,
)
encoder_layer.value(
    "gradient",
    lambda inputs: (
        encoder_weights(inputs, d_model=4, dim_feedforward=3),
        inputs.normal(3, 2, 4),
        inputs.normal(3, 2, 4),
    ),
    dtype="float64",
    tolerance=DIFFERENCES,
    reference=backward(lambda weights, values, **options: encoder_reference(weights, values, {}, **options)),
    prepare=construction.gradients,
    d_model=4,
    nhead=2,
    dim_feedforward=3,
    dropout=0.0,
    activation="gelu",
)


def model_weights(
    inputs: Inputs,
    *,
    d_model: int,
    dim_feedforward: int,
    num_encoder_layers: int,
    num_decoder_layers: int,
    bias: bool = True,
    **_: Any,
) -> Weights:
    weights: dict[str, Array] = {}
    for part, count in (("encoder", num_encoder_layers), ("decoder", num_decoder_layers)):
        for place in range(count):
            weights |= attention.layer_weights(
                inputs,
                f"{part}.layers.{place}.",
                d_model,
                dim_feedforward,
                decoder=part == "decoder",
                bias=bias,
            )
        weights |= attention.norm_weights(inputs, f"{part}.norm.", d_model, bias=bias)
    return weights


def model_reference(weights: Weights, source: Array, target: Array, masks: Masks, **options: Any) -> Array:
    chosen = equations(options)
    eps = options.get("layer_norm_eps", 1e-5)
    memory, values = batch_first(source, options), batch_first(target, options)
    scores = attention.as_scores(masks.get("src_mask"), masks.get("src_key_padding_mask"))
    for place in range(options["num_encoder_layers"]):
        memory = attention.encode(memory, weights, f"encoder.layers.{place}.", scores, **chosen)
    memory = attention.normalise(memory, weights, "encoder.norm.", eps)
    scores = attention.as_scores(masks.get("tgt_mask"), masks.get("tgt_key_padding_mask"))
    recalled = attention.as_scores(masks.get("memory_mask"), masks.get("memory_key_padding_mask"))
    for place in range(options["num_decoder_layers"]):
        values = attention.decode(values, memory, weights, f"decoder.layers.{place}.", scores, recalled, **chosen)
    return as_given(attention.normalise(values, weights, "decoder.norm.", eps), target, options)


model = Function("torch.nn.Transformer", reference=model_reference, prepare=training)


def model_case(
    name: str,
    source: tuple[int, ...],
    target: tuple[int, ...],
    *,
    masks: Masks | None = None,
    layers: int = 1,
    dtype: str = "float32",
    prepare: Any = None,
    tolerance: Tolerance | None = None,
    **options: Any,
) -> None:
    chosen = {
        "d_model": source[-1],
        "num_encoder_layers": layers,
        "num_decoder_layers": layers,
        "dropout": 0.0,
        **options,
    }
    model.value(
        name,
        lambda inputs: (
            model_weights(inputs, **chosen),
            inputs.normal(*source),
            inputs.normal(*target),
            dict(masks or {}),
        ),
        dtype=dtype,
        tolerance=tolerance or (DEEP if dtype == "float32" else None),
        prepare=prepare,
        **chosen,
    )


model_case("translation", (24, 4, 64), (16, 4, 64), nhead=4, dim_feedforward=128, layers=2)
model_case("float64", (5, 2, 8), (4, 2, 8), nhead=2, dim_feedforward=12, dtype="float64")
model_case(
    "bfloat16",
    (5, 2, 16),
    (4, 2, 16),
    nhead=2,
    dim_feedforward=16,
    dtype="bfloat16",
    tolerance=ROUNDED_SUBLAYERS,
)
model_case("gelu-norm-first", (5, 2, 8), (4, 2, 8), nhead=2, dim_feedforward=12, activation="gelu", norm_first=True)
model_case("without-bias", (2, 5, 8), (2, 4, 8), nhead=4, dim_feedforward=12, batch_first=True, bias=False)
model_case("unbatched", (5, 8), (3, 8), nhead=2, dim_feedforward=12)
model_case("one-token", (1, 2, 8), (1, 2, 8), nhead=2, dim_feedforward=12)
model_case("causal-target", (5, 2, 8), (6, 2, 8), nhead=2, dim_feedforward=12, masks={"tgt_mask": causal(6)})
model_case(
    "numeric-mask",
    (5, 2, 8),
    (4, 2, 8),
    nhead=2,
    dim_feedforward=12,
    masks={"memory_mask": np.linspace(-2, 2, 20).reshape(4, 5)},
)
model_case(
    "padded-source",
    (2, 6, 8),
    (2, 4, 8),
    nhead=2,
    dim_feedforward=12,
    batch_first=True,
    masks={**LAST_PADDED, "memory_key_padding_mask": LAST_PADDED["src_key_padding_mask"]},
)
model_case(
    "evaluating",
    (2, 6, 16),
    (2, 4, 16),
    nhead=4,
    dim_feedforward=32,
    layers=2,
    batch_first=True,
    prepare=evaluating,
)
model_case("large-epsilon", (5, 2, 8), (4, 2, 8), nhead=2, dim_feedforward=12, layer_norm_eps=0.5)
for part, mask in {"src": "src_mask", "tgt": "tgt_mask", "memory": "memory_mask"}.items():
    model_case(
        f"causal-by-word-{part}",
        (6, 2, 8),
        (6, 2, 8),
        nhead=2,
        dim_feedforward=12,
        masks={mask: causal(6), f"{part}_is_causal": True},
    )
model.value(
    "nan-stays-in-its-sequence",
    lambda inputs: (
        model_weights(inputs, d_model=8, dim_feedforward=12, num_encoder_layers=1, num_decoder_layers=1),
        one_of_nan(inputs, 2, 5, 8),
        inputs.normal(2, 4, 8),
        {},
    ),
    tolerance=DEEP,
    d_model=8,
    nhead=2,
    dim_feedforward=12,
    num_encoder_layers=1,
    num_decoder_layers=1,
    dropout=0.0,
    batch_first=True,
)
model.value(
    "gradient",
    lambda inputs: (
        model_weights(inputs, d_model=4, dim_feedforward=3, num_encoder_layers=1, num_decoder_layers=1),
        inputs.normal(3, 2, 4),
        inputs.normal(2, 2, 4),
        inputs.normal(2, 2, 4),
    ),
    dtype="float64",
    tolerance=DIFFERENCES,
    reference=backward(
        lambda weights, source, target, **options: model_reference(weights, source, target, {}, **options)
    ),
    prepare=construction.gradients,
    d_model=4,
    nhead=2,
    dim_feedforward=3,
    num_encoder_layers=1,
    num_decoder_layers=1,
    dropout=0.0,
    activation="gelu",
)

# PyTorch has samples for all combinations of layouts, masks and biases. Taking every n-th sample includes each option.
library_modules.add_cases(
    encoder_layer,
    lambda inputs, sample: (
        encoder_weights(inputs, **sample.options),
        *sample.arguments(inputs),
        sample.keywords(inputs),
    ),
    every=5,
    tolerance=DEEP,
)
library_modules.add_cases(
    model,
    lambda inputs, sample: (
        model_weights(inputs, **sample.options),
        *sample.arguments(inputs),
        sample.keywords(inputs),
    ),
    every=7,
    tolerance=DEEP,
)

FUNCTIONS: list[Function] = [encoder_layer, model]
