"""Probes for JAX: other dtypes, tracing, derivatives, callbacks, two devices, other platforms, too much memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback, sparse

from runners.suite.cases import Context
from runners.suite.device import Device
from tests.unit.coordinator.causes.harvest.calls import (
    MATRIX,
    VECTOR,
    Probe,
    callable_functions,
    casting,
    draw_names,
    transform_call,
)

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
WIDE = ("float64", "complex128", "int64")
_DTYPES_WORDS = """
bfloat16 float16 float64 complex64 complex128 bool int8 int16 int32 int64 uint8 uint32 float8_e5m2
float8_e4m3fn int4
"""
DTYPES = _DTYPES_WORDS.split()
MODULES = {
    "jax.numpy": jnp,
    "jax.numpy.linalg": jnp.linalg,
    "jax.numpy.fft": jnp.fft,
    "jax.lax": jax.lax,
    "jax.lax.linalg": jax.lax.linalg,
    "jax.nn": jax.nn,
    "jax.nn.initializers": jax.nn.initializers,
    "jax.scipy.special": jax.scipy.special,
    "jax.scipy.linalg": jax.scipy.linalg,
    "jax.scipy.signal": jax.scipy.signal,
    "jax.scipy.fft": jax.scipy.fft,
    "jax.scipy.ndimage": jax.scipy.ndimage,
    "jax.scipy.stats.norm": jax.scipy.stats.norm,
    "jax.scipy.stats": jax.scipy.stats,
    "jax.random": jax.random,
    "jax.ops": jax.ops,
    "jax.image": jax.image,
}
_WITHOUT_WORDS = """
save savez savez_compressed load set_printoptions get_printoptions printoptions fromfile
"""
WITHOUT = _WITHOUT_WORDS.split()


def set_up() -> None:
    assert jax.device_count() == 2


def _array(values: np.ndarray[Any, Any], dtype: str) -> jax.Array:
    return jnp.asarray(values).astype("bool" if dtype == "bool" else getattr(jnp, dtype))


def probes(device: Device, is_chosen: Callable[[str], bool]) -> Iterator[Probe]:
    for name, prepare in _specials().items():
        if is_chosen(name):
            yield Probe(name, "as it is", prepare)
    for name, function, arguments in callable_functions(MODULES, WITHOUT, is_chosen, device):
        for dtype in draw_names(name, DTYPES, 7):
            scope = dtype if dtype in WIDE else "float32"
            yield Probe(name, dtype, casting(arguments, dtype, _array, function), scope)
        for how in draw_names(name, tuple(TRANSFORMS), 6):
            yield Probe(name, how, transform_call(TRANSFORMS[how], function, arguments, _array))


def _total(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: sum(
        jnp.sum(jnp.real(leave)) for leave in jax.tree.leaves(function(*arguments)) if isinstance(leave, jax.Array)
    )


def _elsewhere(function: Callable[..., Any], first: Any, *rest: Any) -> Any:
    here, there = jax.devices()
    both = jax.device_put(first, here), jax.device_put(rest or first, there)
    return jax.jit(lambda a, b: (function(a, *b) if rest else function(a), b))(*both)


def _added_elsewhere(function: Callable[..., Any], *arguments: Any) -> Any:
    here, there = jax.devices()
    return jax.device_put(jax.tree.leaves(function(*arguments))[0], here) + jax.device_put(jnp.ones(()), there)


def _arrays(arguments: Any) -> Any:
    return [argument for argument in arguments if not isinstance(argument, int)]


def _each_row(function: Callable[..., Any], *arguments: Any) -> Any:
    """Map the function over a new first axis of all arrays. Numbers are the same for all rows."""
    axes = tuple(None if isinstance(argument, int) else 0 for argument in arguments)
    stacked_arguments = [
        argument if axis is None else jax.tree.map(lambda a: jnp.stack([a, a]), argument)
        for axis, argument in zip(axes, arguments, strict=True)
    ]
    return jax.vmap(function, in_axes=axes)(*stacked_arguments)


def _branch_on_total(function: Callable[..., Any], *arguments: Any) -> Any:
    return jax.jit(lambda *arguments: 1 if _total(function)(*arguments) > 0 else 2)(*arguments)


def _over_shards(function: Callable[..., Any], *arguments: Any) -> Any:
    mesh = jax.make_mesh((2,), ("a",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
    return jax.jit(function, in_shardings=spread)(*arguments)


def _mapped_over_devices(function: Callable[..., Any], *arguments: Any) -> Any:
    return jax.pmap(function)(*jax.tree.map(lambda each: jnp.stack([each] * 3), arguments))


def _forward_in_transpose(function: Callable[..., Any], *arguments: Any) -> Any:
    _, pullback = jax.vjp(lambda *arguments: jax.jvp(_total(function), arguments, arguments)[1], *arguments)
    return pullback(jnp.ones(()))


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jit": lambda function, *given: jax.jit(function)(*given),
    "jit with nonzero": lambda function, *given: jax.jit(lambda *it: jnp.nonzero(jnp.ravel(_total(function)(*it))))(
        *given
    ),
    "jit with a filter": lambda function, *given: jax.jit(
        lambda *it: (a := jnp.ravel(it[0]))[a > _total(function)(*it)]
    )(*given),
    "jit with NumPy": lambda function, *given: jax.jit(lambda *it: np.sum(function(*it)))(*given),
    "jit with a number": lambda function, *given: jax.jit(lambda *it: float(_total(function)(*it)))(*given),
    "jit with a shape": lambda function, *given: jax.jit(lambda *it: jnp.zeros(_total(function)(*it).astype(int)))(
        *given
    ),
    "jit with a branch": _branch_on_total,
    "jit with an index": lambda function, *given: jax.jit(lambda *it: [1, 2][jnp.argmax(_total(function)(*it))])(
        *given
    ),
    "grad": lambda function, *given: jax.grad(_total(function))(*given),
    "grad of whole numbers": lambda function, *given: jax.grad(_total(function))(
        *jax.tree.map(lambda each: jnp.asarray(each).astype(jnp.int32), given)
    ),
    "hessian": lambda function, *given: jax.hessian(_total(function))(*given),
    "jacfwd": lambda function, *given: jax.jacfwd(function)(*given),
    "grad of jvp": _forward_in_transpose,
    "vmap": lambda function, *given: _each_row(function, *given),
    "vmap in jit": lambda function, *given: jax.jit(partial(_each_row, function))(*_arrays(given)),
    "pmap": _mapped_over_devices,
    "sharded": _over_shards,
    "two devices": _elsewhere,
    "added on another device": _added_elsewhere,
    "lowered for tpu": lambda function, *given: jax.jit(function).trace(*given).lower(lowering_platforms=("tpu",)),
    "lowered for cuda": lambda function, *given: jax.jit(function).trace(*given).lower(lowering_platforms=("cuda",)),
    "on cuda": lambda function, *given: jax.device_put(function(*given), jax.devices("cuda")[0]),
    "compiled for gpu": lambda function, *given: jax.jit(function, backend="gpu")(*given),
    "exported": lambda function, *given: jax.export.export(jax.jit(function), platforms=("cpu", "tpu"))(*given),
    "sparse": lambda function, *given: sparse.sparsify(function)(
        *[sparse.BCOO.fromdense(argument) for argument in given]
    ),
    "scanned": lambda function, *given: jax.lax.scan(lambda a, _: (function(a, *given[1:]), None), given[0], length=2),
    "in cond": lambda function, *given: jax.lax.cond(True, function, lambda *it: it[0].astype(jnp.int32), *given),
    "a string": lambda function, *given: function("a", *given[1:]),
    "objects": lambda function, *given: function(np.array([None, "a"], dtype=object), *given[1:]),
}


def _specials() -> dict[str, Callable[[Context], Callable[[], Any]]]:
    vector, matrix = jnp.asarray(VECTOR), jnp.asarray(MATRIX)

    def effect(value: Any) -> Any:
        raise ValueError("from the host")

    shape = jax.ShapeDtypeStruct((4,), jnp.float32)

    def use_donated() -> Any:
        array = jnp.ones(4)
        jax.jit(lambda a: a + 1, donate_argnums=0)(array)
        array.delete()
        return array + 1

    def leak_tracer() -> Any:
        leaks: list[Any] = []
        jax.jit(lambda a: leaks.append(a) or a)(vector)
        return leaks[0] + 1

    calls: dict[str, Callable[[], Any]] = {
        "jax.numpy.linalg.eig": lambda: jax.jit(jnp.linalg.eig).trace(matrix).lower(lowering_platforms=("tpu",)),
        "jax.numpy.linalg.eigvals": lambda: jax.jit(jnp.linalg.eigvals, backend="tpu")(matrix),
        "jax.scipy.linalg.schur": lambda: (
            jax.jit(jax.scipy.linalg.schur).trace(matrix).lower(lowering_platforms=("tpu",))
        ),
        "jax.scipy.linalg.sqrtm": lambda: jax.grad(lambda a: jax.scipy.linalg.sqrtm(a).real.sum())(matrix),
        "jax.lax.linalg.hessenberg": lambda: (
            jax.jit(jax.lax.linalg.hessenberg).trace(matrix).lower(lowering_platforms=("tpu",))
        ),
        "jax.lax.linalg.schur": lambda: jax.jit(jax.lax.linalg.schur).trace(matrix).lower(lowering_platforms=("cuda",)),
        "jax.lax.linalg.tridiagonal": lambda: (
            jax.jit(jax.lax.linalg.tridiagonal).trace(matrix).lower(lowering_platforms=("tpu",))
        ),
        "jax.scipy.linalg.expm": lambda: jax.jit(lambda a, n: jax.scipy.linalg.expm(a, max_squarings=n))(matrix, 3),
        "jax.pure_callback": lambda: jax.pure_callback(effect, shape, vector),
        "jax.pure_callback.grad": lambda: jax.grad(lambda a: jax.pure_callback(np.sin, shape, a).sum())(vector),
        "jax.pure_callback.vmap": lambda: jax.vmap(lambda a: jax.pure_callback(np.sin, shape, a))(matrix),
        "jax.pure_callback.shape": lambda: jax.pure_callback(lambda a: a[:2], shape, vector),
        "jax.experimental.io_callback": lambda: io_callback(effect, shape, vector),
        "jax.experimental.io_callback.grad": lambda: jax.grad(lambda a: io_callback(np.sin, shape, a).sum())(vector),
        "jax.debug.callback": lambda: jax.debug.callback(effect, vector) or jax.effects_barrier(),
        "jax.numpy.zeros": lambda: jnp.zeros(2**42),
        "jax.numpy.ones": lambda: jnp.ones((2**21, 2**21)),
        "jax.numpy.eye": lambda: jnp.eye(2**21),
        "jax.numpy.arange": lambda: jnp.arange(2**42),
        "jax.numpy.outer": lambda: jnp.outer(jnp.ones(2**21), jnp.ones(2**21)),
        "jax.numpy.linspace": lambda: jnp.linspace(0, 1, 2**40),
        "jax.numpy.tile": lambda: jnp.tile(vector, 2**40),
        "jax.random.normal": lambda: jax.random.normal(jax.random.key(1), (2**20, 2**20)),
        "jax.numpy.repeat": lambda: jnp.repeat(vector, 2**40),
        "jax.numpy.matmul": lambda: jnp.matmul(jnp.ones((2**21, 1)), jnp.ones((1, 2**21))),
        "jax.numpy.unique": lambda: jax.jit(jnp.unique)(vector),
        "jax.numpy.where": lambda: jax.jit(lambda a: jnp.where(a > 0.5))(vector),
        "jax.numpy.argwhere": lambda: jax.jit(jnp.argwhere)(vector),
        "jax.numpy.compress": lambda: jax.jit(jnp.compress)(vector > 0.5, vector),
        "jax.numpy.reshape": lambda: jax.jit(jnp.reshape)(matrix, 16),
        "jax.numpy.split": lambda: jax.jit(jnp.split)(matrix, 2),
        "jax.numpy.arange.jit": lambda: jax.jit(jnp.arange)(4),
        "jax.lax.while_loop": lambda: jax.grad(
            lambda a: jax.lax.while_loop(lambda b: b.sum() < 9, lambda b: b * 2, a).sum()
        )(vector),
        "jax.lax.fori_loop": lambda: jax.grad(
            lambda a: jax.lax.fori_loop(0, a[0].astype(int), lambda _, b: b * 2, a).sum()
        )(vector),
        "jax.lax.cond": lambda: jax.lax.cond(vector, lambda: 1, lambda: 2),
        "jax.lax.scan": lambda: jax.lax.scan(lambda a, b: (a.astype(jnp.float16), b), vector[0], vector),
        "jax.lax.switch": lambda: jax.lax.switch(0.5, [lambda: 1, lambda: 2]),
        "jax.lax.psum": lambda: jax.lax.psum(vector, "a"),
        "jax.lax.all_gather": lambda: jax.lax.all_gather(vector, "a"),
        "jax.lax.axis_index": lambda: jax.lax.axis_index("a"),
        "jax.pmap": lambda: jax.pmap(lambda a: a)(jnp.ones((3, 2))),
        "jax.jit.donate": use_donated,
        "jax.jit.leak": leak_tracer,
        "jax.jit.static": lambda: jax.jit(lambda a: a, static_argnums=0)(vector),
        "jax.jit.string": lambda: jax.jit(lambda a: a)("text"),
        "jax.device_put": lambda: jax.device_put(vector, jax.devices("tpu")[0]),
        "jax.devices": lambda: jax.devices("cuda"),
        "jax.experimental.pallas": _pallas,
        "jax.export.export": lambda: jax.export.export(jax.jit(jnp.linalg.eigh), platforms=("tpu",))(matrix),
        "jax.custom_vjp": lambda: jax.jvp(_custom(), (vector,), (vector,)),
        "jax.custom_jvp": lambda: jax.grad(jax.custom_jvp(lambda a: a.sum()))(vector),
        "jax.checkpoint": lambda: jax.jit(jax.checkpoint(lambda a: 1 if a.sum() > 0 else a))(vector),
        "jax.dlpack.from_dlpack": lambda: jax.dlpack.from_dlpack(vector.astype(jnp.float8_e5m2).__dlpack__()),
        "jax.numpy.asarray": lambda: jnp.asarray(np.array(["a", "b"])),
        "jax.numpy.array": lambda: jnp.array([1, "a"]),
        "jax.numpy.datetime": lambda: jnp.asarray(np.array(["2020-01-01"], dtype="datetime64[D]")),
        "jax.random.key": lambda: jax.random.key(1) + 1,
        "jax.random.key.impl": lambda: jax.random.key(1, impl="none"),
        "jax.random.bits": lambda: jax.random.bits(jax.random.key(1), (2,), "int32"),
        "jax.random.randint": lambda: jax.random.randint(jax.random.key(1), (2,), 0, 3, "float32"),
        "jax.random.uniform": lambda: jax.random.uniform(jax.random.key(1), (2,), "int32"),
        "jax.lax.approx_max_k": lambda: jax.lax.approx_max_k(jnp.arange(8), 2),
        "jax.lax.conv": lambda: jax.lax.conv(jnp.ones((1, 1, 4, 4)), jnp.ones((1, 1, 2, 2), jnp.int32), (1, 1), "SAME"),
        "jax.lax.dot_general": lambda: jax.lax.dot_general(
            matrix, matrix, (((0,), (0,)), ((), ())), precision=jax.lax.DotAlgorithmPreset.TF32_TF32_F32
        ),
        "jax.lax.reduce_precision": lambda: jax.lax.reduce_precision(jnp.arange(3), 5, 2),
        "jax.lax.bitcast_convert_type": lambda: jax.lax.bitcast_convert_type(vector, jnp.complex64),
        "jax.lax.ragged_all_to_all": lambda: jax.lax.ragged_all_to_all(
            vector, vector, *[jnp.arange(2)] * 4, axis_name="a"
        ),
        "jax.lax.ragged_dot": lambda: jax.lax.ragged_dot(matrix, matrix[None].astype(int), jnp.array([4])),
        "jax.nn.dot_product_attention": lambda: jax.nn.dot_product_attention(
            *[jnp.ones((1, 4, 2, 8), jnp.float16)] * 3, implementation="cudnn"
        ),
        "jax.nn.scaled_matmul": lambda: jax.nn.scaled_matmul(
            *[jnp.ones((1, 32, 32), jnp.float8_e4m3fn)] * 2, *[jnp.ones((1, 32, 1), jnp.float8_e8m0fnu)] * 2
        ),
        "jax.ffi.ffi_call": lambda: jax.ffi.ffi_call("no_such_target", shape)(vector),
        "jax.experimental.sparse.BCOO": lambda: jnp.sin(sparse.BCOO.fromdense(matrix)),
        "jax.profiler.save_device_memory_profile": lambda: jax.profiler.save_device_memory_profile(
            "/dev/null", backend="tpu"
        ),
        "jax.make_mesh": lambda: jax.make_mesh((8,), ("a",)),
        "jax.NamedSharding": lambda: jax.device_put(
            jnp.ones(3), jax.NamedSharding(jax.make_mesh((2,), ("a",)), jax.P("a"))
        ),
        "jax.shard_map": lambda: jax.shard_map(
            lambda a: a, mesh=jax.make_mesh((2,), ("a",)), in_specs=jax.P("a"), out_specs=jax.P()
        )(jnp.ones(4)),
        "jax.distributed": lambda: jax.experimental.multihost_utils.sync_global_devices("a"),
        "jax.memory.pinned": lambda: jax.device_put(
            vector, jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="nowhere")
        ),
    }
    return {name: lambda context, call=call: call for name, call in calls.items()}


def _custom() -> Any:
    double = jax.custom_vjp(lambda a: a * 2)
    double.defvjp(lambda a: (a * 2, None), lambda _, b: (b * 2,))
    return double


def _pallas() -> Any:
    from jax.experimental import pallas

    def kernel(array: Any, out: Any) -> None:
        out[...] = array[...] + 1

    return pallas.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((4,), jnp.float32))(jnp.ones(4))
