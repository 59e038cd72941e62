"""Calls that double their array. Most use the host or another device; some only look similar.

Run as a separate process, this module prints the outcome of each call by its name, as JSON.
"""

from __future__ import annotations

import copy
import ctypes
import json
import pickle
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback
from jax.experimental.compute_on import compute_on

from protocol.enums import TimingPolicy
from runners.suite.cases import Context, Function
from tests.frameworks.common.running import run
from tests.frameworks.jax.second import start

Call = Callable[[Any], Any]


def first() -> jax.Device:
    return jax.devices()[0]


def twice(x: Any) -> Any:
    return x + x


double = jax.jit(twice)


def put_elsewhere(x: Any) -> Any:
    return jax.device_put(twice(jax.device_put(x, first())), jax.devices()[1])


def put_elsewhere_and_back_unused(x: Any) -> Any:
    return twice(jax.device_put(jax.device_put(x, first()), jax.devices()[1]))


def put_by_a_sharding(x: Any) -> Any:
    elsewhere = jax.sharding.SingleDeviceSharding(first())
    return jax.device_put(double(jax.device_put(x, elsewhere)), jax.devices()[1])


def moved_by_its_method(x: Any) -> Any:
    return twice(x.to_device(first())).to_device(jax.devices()[1])


def compiled_for_another(x: Any) -> Any:
    return jax.device_put(jax.jit(twice, device=first())(x), jax.devices()[1])


def sharded_to_another(x: Any) -> Any:
    elsewhere = jax.sharding.SingleDeviceSharding(first())
    return jax.device_put(jax.jit(twice, in_shardings=elsewhere)(x), jax.devices()[1])


def on_a_mesh_of_another(x: Any) -> Any:
    mesh = jax.sharding.Mesh([first()], "i")
    elsewhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    return jax.device_put(double(jax.device_put(x, elsewhere)), jax.devices()[1])


def computed_by_default_elsewhere(x: Any) -> Any:
    with jax.default_device(first()):
        factor = jnp.ones((3, 4)) * 2
    return x * jax.device_put(factor, jax.devices()[1])


def made_by_default_elsewhere(x: Any) -> Any:
    with jax.default_device(first()):
        zeros = jnp.zeros((3, 4))
    return twice(x + zeros)


def by_asarray(x: Any) -> Any:
    return jnp.asarray(np.asarray(x) * 2)


def by_array_and_put(x: Any) -> Any:
    return jax.device_put(np.array(x) * 2, jax.devices()[1])


def by_a_function_of_numpy(x: Any) -> Any:
    return jnp.asarray(np.add(x, x))


def by_dunder_array(x: Any) -> Any:
    return jnp.asarray(x.__array__() * 2)


def by_numpy_as_an_argument(x: Any) -> Any:
    return x + np.asarray(x)


def by_numpy_in_a_compiled_call(x: Any) -> Any:
    return double(np.asarray(x))


def by_tolist(x: Any) -> Any:
    return jnp.asarray(x.tolist()) * 2


def by_items(x: Any) -> Any:
    return jnp.asarray([x[row, column].item() * 2 for row in range(3) for column in range(4)]).reshape(3, 4)


def by_floats(x: Any) -> Any:
    return jnp.stack([jnp.asarray(float(value) * 2) for value in x.ravel()]).reshape(3, 4)


def by_one_float(x: Any) -> Any:
    scale = float(x.sum() * 0) + 2
    return x * scale


def by_one_int(x: Any) -> Any:
    return x * int(x[0, 0] * 0 + 2)


def by_device_get(x: Any) -> Any:
    return jnp.asarray(jax.device_get(x) * 2)


def by_device_get_of_one(x: Any) -> Any:
    return x * jax.device_get(x[0, 0] * 0 + 2)


def by_dlpack(x: Any) -> Any:
    return jnp.asarray(np.from_dlpack(x) * 2)


def by_bytes(x: Any) -> Any:
    return jnp.asarray(np.frombuffer(x.tobytes(), "float32").reshape(3, 4) * 2)


def by_pickle(x: Any) -> Any:
    return twice(pickle.loads(pickle.dumps(x)))


def by_its_pointer(x: Any) -> Any:
    raw = (ctypes.c_float * x.size).from_address(x.unsafe_buffer_pointer())
    return jnp.asarray(np.array(raw).reshape(3, 4) * 2)


def by_its_shards(x: Any) -> Any:
    return jnp.asarray(np.asarray(x.addressable_shards[0].data) * 2)


def by_its_text(x: Any) -> Any:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", str(x))]
    return jnp.asarray(numbers).reshape(3, 4) * 0 + twice(x)


def by_host_memory(x: Any) -> Any:
    host = jax.device_put(x, x.sharding.with_memory_kind("pinned_host"))
    return twice(jax.device_put(host, x.sharding))


def by_host_compute(x: Any) -> Any:
    def on_the_host(values: Any) -> Any:
        with compute_on("device_host"):
            return values * 2

    return jax.jit(on_the_host)(x)


def in_a_thread(x: Any) -> Any:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(np.asarray(x) * 2))
    thread.start()
    thread.join()
    return jnp.asarray(results[0])


def in_a_pool_elsewhere(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(put_elsewhere, x).result()


def by_a_pure_callback(x: Any) -> Any:
    return jax.pure_callback(lambda values: np.asarray(values) * 2, x, x)


def by_a_compiled_callback(x: Any) -> Any:
    return jax.jit(lambda values: io_callback(lambda seen: np.asarray(seen) * 2, values, values))(x)


def by_a_mask(x: Any) -> Any:
    """JAX itself converts a mask to indices with NumPy, on the host."""
    return twice(x[x == x].reshape(3, 4))


def by_numpy_while_it_compiles(x: Any) -> Any:
    return jax.jit(lambda values: values + np.asarray(x))(x)


def by_the_text_of_all(x: Any) -> Any:
    return jnp.asarray(json.loads(str(x.tolist()))) * 2


def by_unstack(x: Any) -> Any:
    return twice(x) + 0 * sum(float(value) for value in jnp.unstack(x.ravel()))


def by_split(x: Any) -> Any:
    return twice(x) + 0 * sum(float(value[0]) for value in jnp.split(x.ravel(), x.size))


def by_dynamic_index(x: Any) -> Any:
    values = x.ravel()
    entries = [jax.lax.dynamic_index_in_dim(values, place, keepdims=False) for place in range(x.size)]
    return twice(x) + 0 * sum(map(float, entries))


def only_at(calls: range) -> Call:
    """Uses NumPy only in some calls: the first call, the traced call, or the timed calls."""
    turns = count()
    return lambda x: by_asarray(x) if next(turns) in calls else twice(x)


PLANTS: dict[str, Call] = {
    function.__name__: function
    for function in [
        put_elsewhere,
        put_elsewhere_and_back_unused,
        put_by_a_sharding,
        moved_by_its_method,
        compiled_for_another,
        sharded_to_another,
        on_a_mesh_of_another,
        computed_by_default_elsewhere,
        made_by_default_elsewhere,
        by_asarray,
        by_array_and_put,
        by_a_function_of_numpy,
        by_dunder_array,
        by_numpy_as_an_argument,
        by_numpy_in_a_compiled_call,
        by_tolist,
        by_items,
        by_floats,
        by_device_get,
        by_dlpack,
        by_bytes,
        by_pickle,
        by_its_pointer,
        by_its_shards,
        by_its_text,
        by_host_memory,
        by_host_compute,
        in_a_thread,
        in_a_pool_elsewhere,
        by_a_pure_callback,
        by_a_compiled_callback,
        by_a_mask,
        by_numpy_while_it_compiles,
        by_the_text_of_all,
        by_unstack,
        by_split,
        by_dynamic_index,
    ]
} | {
    "at the first call alone": only_at(range(1)),
    "at the traced call alone": only_at(range(1, 2)),
    "at the timed calls alone": only_at(range(2, 1_000_000)),
}


def with_a_constant(x: Any) -> Any:
    zeros = jnp.zeros((3, 4))
    return jax.jit(lambda values: twice(values) + zeros)(x)


def with_numbers(x: Any) -> Any:
    return x * 2.0 + 0 - np.float32(0)


def with_a_host_array(x: Any) -> Any:
    return twice(x) + np.zeros((3, 4), "float32")


def put_where_it_is(x: Any) -> Any:
    return twice(jax.device_put(x, x.sharding))


def by_gradient(x: Any) -> Any:
    return jax.grad(lambda values: (values * values).sum())(x)


def by_loop(x: Any) -> Any:
    return jax.lax.fori_loop(0, 2, lambda turn, total: total + x, jnp.zeros_like(x))


def by_decision(x: Any) -> Any:
    return twice(x) if jnp.all(jnp.isfinite(x)) else x


def with_sizes_by_jax(x: Any) -> Any:
    """``nonzero`` reads one number, the size of its result."""
    rows, columns = jnp.nonzero(jnp.ones((3, 4)))
    return twice(x[rows, columns].reshape(3, 4))


def in_a_thread_on_the_device(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(double, x).result()


def compiled_ahead(x: Any) -> Any:
    return jax.jit(twice).lower(x).compile()(x)


def copied(x: Any) -> Any:
    return twice(copy.deepcopy(x))


def by_rows(x: Any) -> Any:
    return jnp.stack([row * 2 for row in x])


def across_both_devices(x: Any) -> Any:
    mesh = jax.sharding.Mesh(jax.devices(), "i")
    spec = jax.sharding.PartitionSpec(None, "i")
    array = jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    return jax.jit(jax.shard_map(twice, mesh=mesh, in_specs=spec, out_specs=spec))(array)


def with_nans_looked_for(x: Any) -> Any:
    """For the search for NaN, JAX uses the hook with which executions are counted, and removes its own hook
    afterwards."""
    with jax.debug_nans(True):
        return double(x)


def random_numbers(x: Any) -> Any:
    noise = jax.random.normal(jax.random.key(1), x.shape)
    return twice(x) + noise * 0


def looked_at_afterwards(x: Any) -> Any:
    result = twice(x)
    float(result.sum())
    return result


HONEST: dict[str, Call] = {
    function.__name__: function
    for function in [
        twice,
        double,
        with_a_constant,
        with_numbers,
        with_a_host_array,
        put_where_it_is,
        by_gradient,
        by_loop,
        by_decision,
        by_device_get_of_one,
        by_one_int,
        by_one_float,
        with_sizes_by_jax,
        in_a_thread_on_the_device,
        compiled_ahead,
        copied,
        by_rows,
        across_both_devices,
        with_nans_looked_for,
        random_numbers,
        looked_at_afterwards,
    ]
}


def nothing_executed(x: Any) -> Any:
    return x


def doubling(call: Call) -> Function:
    function = Function("jax.numpy.add", lambda x: x * 2, lambda context, x: lambda: call(x))
    function.value("doubled", lambda inputs: [inputs.normal(3, 4)])
    return function


def returning() -> Function:
    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        return lambda: nothing_executed(x)

    function = Function("jax.numpy.add", lambda x: x, prepare)
    function.value("returned", lambda inputs: [inputs.normal(3, 4)])
    return function


def main() -> None:
    device = start()
    functions = {name: doubling(call) for name, call in (PLANTS | HONEST).items()} | {"nothing": returning()}
    outcomes = {}
    for name, function in functions.items():
        timing = TimingPolicy.steady if "timed" in name else TimingPolicy.off
        outcomes[name] = run(device, function.cases[0], timing).model_dump(mode="json")
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
