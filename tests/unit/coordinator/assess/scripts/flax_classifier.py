"""A classifier of images in flax: trained on all devices of a machine, and evaluated."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import checkpoints, train_state
from jax import lax, random
from jax.experimental import mesh_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class TrainState(train_state.TrainState):
    batch_stats: Any


class ResidualBlock(nn.Module):
    features: int
    strides: tuple[int, int] = (1, 1)

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = True) -> jax.Array:
        norm = functools.partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        residual = x
        y = nn.Conv(self.features, (3, 3), self.strides, use_bias=False)(x)
        y = jax.nn.relu(norm()(y))
        y = nn.Conv(self.features, (3, 3), use_bias=False)(y)
        y = norm(scale_init=nn.initializers.zeros_init())(y)
        if residual.shape != y.shape:
            residual = nn.Conv(self.features, (1, 1), self.strides, use_bias=False)(residual)
        return jax.nn.relu(residual + y)


class Classifier(nn.Module):
    classes: int = 10
    dtype: Any = jnp.bfloat16

    @nn.compact
    def __call__(self, x: jax.Array, train: bool = True) -> jax.Array:
        x = x.astype(self.dtype)
        for features in (32, 64, 128):
            x = ResidualBlock(features, strides=(2, 2))(x, train)
        x = jnp.mean(x, axis=(1, 2))
        x = nn.Dropout(0.1, deterministic=not train)(x)
        attention = self.param("query", jax.nn.initializers.normal(0.02), (self.classes, x.shape[-1]))
        logits = jnp.einsum("bd,cd->bc", x, attention.astype(self.dtype))
        return jnp.asarray(logits, jnp.float32)


def cross_entropy(logits: jax.Array, labels: jax.Array, smoothing: float = 0.1) -> jax.Array:
    targets = jax.nn.one_hot(labels, logits.shape[-1])
    targets = targets * (1 - smoothing) + smoothing / logits.shape[-1]
    return -jnp.sum(targets * jax.nn.log_softmax(logits, axis=-1), axis=-1).mean()


def compute_metrics(logits: jax.Array, labels: jax.Array) -> dict[str, jax.Array]:
    best = jnp.argsort(logits, axis=-1)[:, ::-1][:, :5]
    metrics = {
        "loss": cross_entropy(logits, labels),
        "accuracy": jnp.mean(jnp.argmax(logits, -1) == labels),
        "top5": jnp.any(best == labels[:, None], axis=-1).mean(),
    }
    return lax.pmean(metrics, axis_name="batch")


def augment(key: jax.Array, images: jax.Array) -> jax.Array:
    flip_key, crop_key, noise_key = random.split(key, 3)
    flipped = random.bernoulli(flip_key, 0.5, (images.shape[0], 1, 1, 1))
    images = jnp.where(flipped, images[:, :, ::-1], images)
    padded = jnp.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)), mode="reflect")
    offsets = random.randint(crop_key, (images.shape[0], 2), 0, 9)

    def crop(image: jax.Array, offset: jax.Array) -> jax.Array:
        return lax.dynamic_slice(image, (offset[0], offset[1], 0), (32, 32, 3))

    return jax.vmap(crop)(padded, offsets) + 0.01 * random.normal(noise_key, images.shape)


def train_step(state: TrainState, batch: dict[str, jax.Array], key: jax.Array, schedule: Any) -> tuple[TrainState, Any]:
    key = random.fold_in(key, state.step)
    dropout_key, augment_key = random.split(key)

    def loss_fn(params: Any) -> tuple[jax.Array, Any]:
        images = augment(augment_key, batch["image"])
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            images,
            mutable=["batch_stats"],
            rngs={"dropout": dropout_key},
        )
        penalty = sum(jnp.sum(x**2) for x in jax.tree_util.tree_leaves(params) if x.ndim > 1)
        return cross_entropy(logits, batch["label"]) + 1e-4 * 0.5 * penalty, (updates, logits)

    (_, (updates, logits)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    grads = lax.pmean(grads, axis_name="batch")
    grads = jax.tree_util.tree_map(lambda g: jnp.clip(jnp.nan_to_num(g), -1.0, 1.0), grads)
    new_state = state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"])
    metrics = compute_metrics(logits, batch["label"])
    metrics["rate"] = schedule(state.step)
    metrics["norm"] = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
    return new_state, metrics


def eval_step(state: TrainState, batch: dict[str, jax.Array]) -> Any:
    variables = {"params": state.params, "batch_stats": state.batch_stats}
    logits = state.apply_fn(variables, batch["image"], train=False, mutable=False)
    return compute_metrics(logits, batch["label"])


def batches(images: np.ndarray, labels: np.ndarray, size: int, key: jax.Array) -> Iterator[dict[str, Any]]:
    order = np.asarray(random.permutation(key, len(images)))
    for start in range(0, len(order) - size + 1, size):
        part = order[start : start + size]
        yield {"image": images[part], "label": labels[part]}


def shard(tree: Any) -> Any:
    devices = jax.local_device_count()
    return jax.tree.map(lambda x: x.reshape((devices, -1, *x.shape[1:])), tree)


@functools.partial(jax.jit, static_argnames="temperature")
def predict(logits: jax.Array, key: jax.Array, temperature: float = 1.0) -> jax.Array:
    best, _ = lax.top_k(logits, 3)
    masked = jnp.where(logits < best[:, -1:], -jnp.inf, logits)
    return random.categorical(key, masked / temperature, axis=-1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=128)
    args = parser.parse_args()
    jax.config.update("jax_default_matmul_precision", "high")
    print(jax.process_index(), jax.local_devices(), jax.default_backend(), jax.device_count())
    key = random.PRNGKey(0)
    key, init_key = random.split(key)
    images = np.random.rand(1024, 32, 32, 3).astype(np.float32)
    labels = np.random.randint(0, 10, 1024)

    model = Classifier()
    variables = jax.jit(model.init)({"params": init_key, "dropout": init_key}, jnp.ones((1, 32, 32, 3)))
    count = sum(x.size for x in jax.tree_util.tree_leaves(variables["params"]))
    print(f"{count} parameters")
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
    state = TrainState.create(
        apply_fn=model.apply, params=variables["params"], tx=tx, batch_stats=variables["batch_stats"]
    )
    state = jax_utils.replicate(state)
    p_train = jax.pmap(functools.partial(train_step, schedule=schedule), axis_name="batch", donate_argnums=(0,))
    p_eval = jax.pmap(eval_step, axis_name="batch")
    for epoch in range(args.epochs):
        key, epoch_key, step_key = random.split(key, 3)
        keys = random.split(step_key, jax.local_device_count())
        collected = []
        for batch in batches(images, labels, args.batch, epoch_key):
            state, metrics = p_train(state, shard(batch), keys)
            collected.append(metrics)
        means = jax.tree.map(lambda *xs: jnp.stack(xs).mean(), *jax.device_get(collected))
        print(f"epoch {epoch}: {means}")
        for batch in batches(images, labels, args.batch, epoch_key):
            metrics = jax.block_until_ready(p_eval(state, shard(batch)))
        checkpoints.save_checkpoint("/tmp/flax", jax_utils.unreplicate(state), epoch, keep=3)

    mesh = Mesh(mesh_utils.create_device_mesh((jax.device_count(),)), ("data",))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    x = jax.device_put(jnp.asarray(images[:128]), sharding)
    single = jax_utils.unreplicate(state)
    logits = jax.jit(lambda p, x: model.apply(p, x, train=False))(
        {"params": single.params, "batch_stats": single.batch_stats}, x
    )
    print(jnp.bincount(predict(logits, key), length=10))
    print(lax.stop_gradient(logits).std(), jnp.linalg.norm(logits), jnp.concatenate([logits, logits]).shape)

    def recur(carry: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        carry = jnp.tanh(carry + x)
        return carry, carry

    last, steps = lax.scan(recur, jnp.zeros(10), logits)
    print(last, steps.at[0].set(0.0).sum(), jnp.matmul(steps.T, steps).ravel()[:3])


if __name__ == "__main__":
    main()
