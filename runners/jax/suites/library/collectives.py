"""Handwritten cases of functions that communicate between the members of a named axis, and of programs for several
devices.

They cover the most used functions without a recipe. NumPy judges them, as in ``by_hand.py``. The axis is either that of
``jax.vmap``, whose members are all on one device, or the devices of ``jax.pmap``, here one device.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.jax.suites.library.by_hand import TAGS, Array, chart_in, square_sines
from runners.suite.cases import Context, Function

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)

AXIS = "members"


def along_vmap(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    import jax

    return partial(jax.vmap(lambda member: context.function(member, AXIS, **options), axis_name=AXIS), values)


def along_pmap(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    import jax

    mapped = jax.pmap(lambda member: context.function(member, AXIS, **options), AXIS, devices=[context.device])
    return lambda: mapped(values)


def for_each_member(reduce: Callable[..., Any]) -> Callable[[Array], Array]:
    return lambda values: np.broadcast_to(reduce(values, axis=0), values.shape)


REDUCTIONS: dict[str, Any] = {"pmean": np.mean, "psum": np.sum, "pmin": np.min}

for name, reduce in REDUCTIONS.items():
    collective = charted(f"jax.lax.{name}", for_each_member(reduce), along_vmap)
    collective.value("float32-vmap", lambda inputs: [inputs.normal(5, 3)], tags=TAGS)
    collective.value("float32-pmap", lambda inputs: [inputs.normal(1, 3)], prepare=along_pmap, tags=TAGS)
turn = charted("jax.lax.ppermute", lambda values, perm: np.roll(values, -1, 0), along_vmap)
turn.value("float32-turned", lambda inputs: [inputs.normal(3, 4)], perm=[(0, 2), (1, 0), (2, 1)], tags=TAGS)
exchange = charted("jax.lax.all_to_all", lambda values, **_: values.swapaxes(0, 1), along_vmap)
exchange.value("float32-square", lambda inputs: [inputs.normal(3, 3, 2)], split_axis=0, concat_axis=0, tags=TAGS)


def own_place(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call that adds to each member its index on the axis."""
    import jax

    return partial(jax.vmap(lambda member: member + context.function(AXIS), axis_name=AXIS), values)


charted("jax.lax.axis_index", lambda values: values + np.arange(len(values))[:, None], own_place).value(
    "float32-vmap", lambda inputs: [inputs.normal(5, 3)], tags=TAGS
)


def over_one_device(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a compiled program in which each device gets a part of the rows. Here one device gets all rows."""
    import jax
    from jax.sharding import Mesh, PartitionSpec

    mesh = Mesh(np.array([context.device]), (AXIS,))
    mapped = jax.jit(
        context.function(square_sines, mesh=mesh, in_specs=PartitionSpec(AXIS), out_specs=PartitionSpec(AXIS))
    )
    return lambda: mapped(values)


def constrained(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a compiled program that specifies the devices of its result."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    sharding = NamedSharding(Mesh(np.array([context.device]), (AXIS,)), PartitionSpec(AXIS))
    program = jax.jit(lambda values: context.function(square_sines(values), sharding))
    return lambda: program(values)


for name, prepare in {"jax.shard_map": over_one_device, "jax.lax.with_sharding_constraint": constrained}.items():
    charted(name, lambda values: np.sin(values) ** 2, prepare).value(
        "float32-one-device", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
    )
