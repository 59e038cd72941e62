"""Runs layers of both interfaces of flax, forward and once backward."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

key = jax.random.key(0)
flat, image, sequence = jnp.ones((2, 8)), jnp.ones((2, 8, 8, 4)), jnp.ones((2, 6, 8))
for layer, x in (
    (linen.Dense(4), flat), (linen.DenseGeneral((2, 3)), flat), (linen.Conv(4, (3, 3)), image),
    (linen.ConvTranspose(4, (3, 3)), image), (linen.ConvLocal(4, (3, 3)), image),
    (linen.BatchNorm(use_running_average=False), flat), (linen.LayerNorm(), flat), (linen.GroupNorm(2), image),
    (linen.RMSNorm(), flat), (linen.InstanceNorm(), image), (linen.WeightNorm(linen.Dense(4)), flat),
    (linen.MultiHeadDotProductAttention(2), sequence), (linen.SelfAttention(2), sequence),
    (linen.RNN(linen.LSTMCell(4)), sequence), (linen.RNN(linen.GRUCell(4)), sequence),
    (linen.RNN(linen.OptimizedLSTMCell(4)), sequence), (linen.RNN(linen.MGUCell(4)), sequence),
    (linen.Dropout(0.5, deterministic=False), flat), (linen.Embed(10, 4), jnp.arange(4)), (linen.PReLU(), flat),
    (linen.Einsum((8, 4), "ab,bc->ac"), flat),
):  # fmt: skip
    variables = layer.init({"params": key, "dropout": key}, x)

    def total(parameters: Any, layer: Any = layer, x: Any = x, variables: Any = variables) -> Any:
        mutable = [name for name in variables if name != "params"]
        out = layer.apply({**variables, "params": parameters}, x, rngs={"dropout": key}, mutable=mutable)
        return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(out[0]))

    if "params" in variables:
        jax.jit(jax.grad(total))(variables["params"])
    else:
        layer.apply(variables, x, rngs={"dropout": key})

for pool in (linen.max_pool, linen.avg_pool):
    pool(image, (2, 2), (2, 2), "SAME")
for activation in (linen.gelu, linen.softplus, linen.swish):
    activation(flat)
linen.combine_masks(linen.make_causal_mask(flat), linen.make_attention_mask(flat, flat))

streams = nnx.Rngs(0)
for layer, x in (
    (nnx.Linear(8, 4, rngs=streams), flat), (nnx.Conv(4, 4, (3, 3), rngs=streams), image),
    (nnx.BatchNorm(8, rngs=streams), flat), (nnx.LayerNorm(8, rngs=streams), flat),
    (nnx.GroupNorm(4, 2, rngs=streams), image), (nnx.RMSNorm(8, rngs=streams), flat),
    (nnx.Embed(10, 4, rngs=streams), jnp.arange(4)), (nnx.Dropout(0.5, rngs=streams), flat),
    (nnx.ConvTranspose(4, 4, (3, 3), rngs=streams), image), (nnx.Einsum("ab,bc->ac", (8, 4), rngs=streams), flat),
    (nnx.MultiHeadAttention(2, 8, rngs=streams, decode=False), sequence),
    (nnx.RNN(nnx.LSTMCell(8, 4, rngs=streams)), sequence), (nnx.RNN(nnx.GRUCell(8, 4, rngs=streams)), sequence),
):  # fmt: skip
    layer(x)
metric = nnx.MultiMetric(
    accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"), w=nnx.metrics.Welford("loss")
)
metric.update(logits=flat, labels=jnp.array([1, 2]), loss=flat[0])
metric.compute()
