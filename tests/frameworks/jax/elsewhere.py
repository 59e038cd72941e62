"""A separate process with two devices: if calls are forced onto the second, does anything run on the first?

Prints the outcome of each call by its name, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from runners.suite.cases import Context, Function, Prepare, just_call
from tests.frameworks.common.running import run
from tests.frameworks.jax.second import start


def with_jit(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    call = jax.jit(context.function)
    return lambda: call(x, y)


def with_vmap(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    call = jax.vmap(context.function)
    return lambda: call(x, y)


def with_gradient(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """The gradient of ``x + y``. It equals the incoming gradient."""
    return lambda: jax.vjp(context.function, x, y)[1](context.function(x, y))[0]


def with_a_host_array(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    host = np.asarray(y)
    return lambda: context.function(x, host)


def beside_the_first(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    other = jax.device_put(y, jax.devices()[0])
    return lambda: context.function(x, other)


def beside_the_first_compiled(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    other = jax.device_put(y, jax.devices()[0])
    return lambda: jax.jit(context.function)(x, other)


def taken_to_the_first(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    first = jax.devices()[0]
    return lambda: context.function(*jax.device_put((x, y), first))


def fetch_result(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    return lambda: np.asarray(context.function(x, y))


def addition(prepare: Prepare) -> Function:
    add = Function("jax.numpy.add", np.add, prepare)
    add.value("two", lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)])
    return add


def by_default_on_the_first(context: Context, shape: Any) -> Callable[[], Any]:
    def call() -> Any:
        with jax.default_device(jax.devices()[0]):
            return context.function(shape)

    return call


def creation(prepare: Prepare) -> Function:
    ones = Function("jax.numpy.ones", lambda shape: np.ones(shape), prepare)
    ones.value("created", lambda inputs: [(16, 16)])
    return ones


def main() -> None:
    device = start()
    functions = {
        "eager": addition(just_call),
        "jit": addition(with_jit),
        "vmap": addition(with_vmap),
        "gradient": addition(with_gradient),
        "with a host array": addition(with_a_host_array),
        "beside the first": addition(beside_the_first),
        "beside the first, compiled": addition(beside_the_first_compiled),
        "taken to the first": addition(taken_to_the_first),
        "fetched": addition(fetch_result),
        "created": creation(just_call),
        "created on the first": creation(by_default_on_the_first),
    }
    outcomes = {name: run(device, function.cases[0]).model_dump(mode="json") for name, function in functions.items()}
    values = device.to_device([np.ones(3), jnp.ones(3), 1.5], "float32")
    outcomes["put"] = {"committed": values[0].committed, "devices": sorted(map(str, values[0].devices()))}
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
