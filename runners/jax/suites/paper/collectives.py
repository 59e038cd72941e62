"""Cases of functions that communicate between the members of a named axis: ``lax.all_gather``, ``lax.pmax``.

The axis is either that of ``jax.vmap``, or it consists of devices. On a machine with one device, this device is the
only member of an axis of devices. A case that needs a second device is skipped if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec

from runners.suite.cases import Context, Function, Prepare

AXIS = "members"


def along_vmap(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call with one member for each index of the first axis. All members are on one device."""
    mapped = jax.vmap(lambda member: context.function(member, AXIS, **options), axis_name=AXIS)
    return context.compiled(lambda: mapped(x))


def along_jitted_vmap(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    mapped = jax.jit(jax.vmap(lambda member: context.function(member, AXIS, **options), axis_name=AXIS))
    return context.compiled(lambda: mapped(x))


def along_pmap(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call with one device, under ``jax.pmap``."""
    mapped = jax.pmap(lambda member: context.function(member, AXIS, **options), AXIS, devices=[context.device])
    return context.compiled(lambda: mapped(x))


def sharded_over(count: int) -> Prepare:
    """Return a ``prepare`` for this many devices. Each device has a part of the first axis."""

    def prepare(context: Context, x: Any, **options: Any) -> Callable[[], Any]:
        others = [device for device in jax.devices() if device != context.device]
        mesh = Mesh(np.array([context.device, *others][:count]), (AXIS,))
        mapped = jax.jit(
            jax.shard_map(
                lambda part: context.function(part, AXIS, **options),
                mesh=mesh,
                in_specs=PartitionSpec(AXIS),
                out_specs=PartitionSpec(AXIS),
                # Without the check, every device may return its own copy of the gathered array.
                check_vma=False,
            )
        )
        spread = jax.device_put(x, jax.NamedSharding(mesh, PartitionSpec(AXIS)))
        jax.block_until_ready(spread)
        return context.compiled(lambda: mapped(spread))

    return prepare


def gradient_along_vmap(context: Context, x: Any, upstream: Any, **options: Any) -> Callable[[], Any]:
    mapped = jax.vmap(lambda member: context.function(member, AXIS, **options), axis_name=AXIS)

    def forward_and_backward(x: Any, upstream: Any) -> list[Any]:
        result, backward = jax.vjp(mapped, x)
        return [result, *backward(upstream)]

    both = jax.jit(forward_and_backward)
    return context.compiled(lambda: both(x, upstream))


def one_device_only(context: Context) -> str | None:
    count = len(jax.devices())
    return None if count > 1 else f"it speaks between two devices; there is {count}"


def gathered(x: Any, axis: int = 0, tiled: bool = False) -> Any:
    """Return all members for every member, stacked or concatenated along ``axis``."""
    return np.stack([(np.concatenate if tiled else np.stack)(list(x), axis)] * len(x))


def gathered_in_shards(x: Any, axis: int = 0, tiled: bool = False, axis_index_groups: Any = None) -> Any:
    """Return the whole array, which is the only part on one device."""
    return x if tiled else x[None]


all_gather = Function("jax.lax.all_gather", gathered, prepare=along_vmap)
all_gather.value("float32-16x64x32", lambda inputs: [inputs.normal(16, 64, 32)])
all_gather.value("float64", lambda inputs: [inputs.normal(4, 7)], dtype="float64")
all_gather.value("bfloat16", lambda inputs: [inputs.normal(4, 7)], dtype="bfloat16")
all_gather.value("complex64", lambda inputs: [inputs.normal(4, 3) + 1j * inputs.normal(4, 3)], dtype="complex64")
all_gather.value("int32-last-axis", lambda inputs: [inputs.integers(4, 7, dtype="int32")], dtype="int32", axis=1)
all_gather.value("bool", lambda inputs: [inputs.booleans(4, 9)], dtype="bool")
all_gather.value("tiled", lambda inputs: [inputs.normal(4, 6, 5)], tiled=True)
all_gather.value("tiled-last-axis", lambda inputs: [inputs.normal(4, 6, 5)], axis=1, tiled=True)
all_gather.value("scalars", lambda inputs: [inputs.normal(8)])
all_gather.value("jitted", lambda inputs: [inputs.normal(8, 64, 16)], prepare=along_jitted_vmap)
all_gather.value("pmap", lambda inputs: [inputs.normal(1, 64, 128)], prepare=along_pmap)
all_gather.value(
    "one-device", lambda inputs: [inputs.normal(64, 128)], prepare=sharded_over(1), reference=gathered_in_shards
)
all_gather.value(
    "one-device-tiled",
    lambda inputs: [inputs.normal(64, 128)],
    prepare=sharded_over(1),
    reference=gathered_in_shards,
    axis=1,
    tiled=True,
)
all_gather.value(
    "one-group",
    lambda inputs: [inputs.normal(64, 128)],
    prepare=sharded_over(1),
    reference=gathered_in_shards,
    axis_index_groups=[[0]],
)
all_gather.value(
    "gradient",
    lambda inputs: [inputs.normal(4, 6), inputs.normal(4, 4, 6)],
    prepare=gradient_along_vmap,
    reference=lambda x, upstream: [gathered(x), upstream.sum(0)],
)
all_gather.value("nan-and-infinities", lambda inputs: [np.array([[np.nan, 1.0, np.inf], [-np.inf, 0.0, np.nan]])])
all_gather.value(
    "two-devices",
    lambda inputs: [inputs.normal(8, 16)],
    prepare=sharded_over(2),
    reference=lambda x: np.concatenate([x.reshape(2, 4, 16)] * 2),
)


def highest(x: Any) -> Any:
    """Return, for every member, the maximum of all members for each element."""
    return np.stack([x.max(0)] * len(x))


pmax = Function("jax.lax.pmax", highest, prepare=along_vmap)
pmax.value("float32-16x64x32", lambda inputs: [inputs.normal(16, 64, 32)])
pmax.value("float64", lambda inputs: [inputs.normal(5, 7)], dtype="float64")
pmax.value("float16", lambda inputs: [inputs.normal(5, 7)], dtype="float16")
pmax.value("bfloat16", lambda inputs: [inputs.normal(5, 7)], dtype="bfloat16")
pmax.value("int32", lambda inputs: [inputs.integers(5, 7, dtype="int32")], dtype="int32")
pmax.value("uint8", lambda inputs: [inputs.integers(5, 40, low=0, high=256, dtype="uint8")], dtype="uint8")
pmax.value("bool", lambda inputs: [inputs.rng.random((3, 40)) < 0.3], dtype="bool")
pmax.value("scalars", lambda inputs: [inputs.normal(8)])
pmax.value("infinities", lambda inputs: [np.array([[1.0, -np.inf, np.inf], [-2.0, -np.inf, 5.0], [0.5, 3.0, -np.inf]])])
pmax.value("nan-wins", lambda inputs: [np.array([[1.0, np.nan, 4.0], [2.0, 7.0, -1.0]])])
pmax.value(
    "tree",
    lambda inputs: [[inputs.normal(4, 6), inputs.integers(4, 3, dtype="int32")]],
    reference=lambda tree: [highest(leaf) for leaf in tree],
)
pmax.value("jitted", lambda inputs: [inputs.normal(8, 64, 16)], prepare=along_jitted_vmap)
pmax.value("pmap", lambda inputs: [inputs.normal(1, 64, 128)], prepare=along_pmap)
pmax.value("one-device", lambda inputs: [inputs.normal(64, 128)], prepare=sharded_over(1), reference=lambda x: x)
pmax.value(
    "one-group",
    lambda inputs: [inputs.normal(1, 64)],
    prepare=along_pmap,
    reference=lambda x, axis_index_groups: x,
    axis_index_groups=[[0]],
)
pmax.value(
    "two-devices",
    lambda inputs: [inputs.normal(8, 16)],
    prepare=sharded_over(2),
    reference=lambda x: np.concatenate([np.maximum(x[:4], x[4:])] * 2),
)

for function in (all_gather, pmax):
    function.cases[-1] = replace(function.cases[-1], not_applicable=one_device_only)

FUNCTIONS: list[Function] = [all_gather, pmax]
