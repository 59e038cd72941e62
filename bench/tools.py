"""Each framework's own way to time a call, as its documentation describes it.

A ``Tool`` returns two things for a case: the call as Portolan's harness would time it, and a function that times the
same call with the framework's own tool.
"""

from __future__ import annotations

import contextlib
import statistics
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runners.isolation import timing as clock
from runners.suite.cases import Case, Context, just_call
from runners.suite.checks import Leaf
from runners.suite.device import Device
from runners.suite.rounding import rounded

Timed = tuple[clock.Call, Callable[[float], float]]
"""The call, and a function that takes a budget in seconds and returns the median in µs measured by the framework's
tool."""


class NotForThisToolError(Exception):
    """Raised if the tool cannot time this case."""


@dataclass(frozen=True)
class Tool:
    words: str
    timed: Callable[[Device, Case], Timed]


def prepare(device: Device, case: Case) -> clock.Call:
    """The call that the harness would time, prepared in the same way."""
    context = _on(device, case)
    return case.prepare(context, *device.to_device(_inputs(case), case.dtype), **case.options)


def _on(device: Device, case: Case) -> Context:
    return Context(
        function=device.lookup(case.looked_up),
        device=device.handle,
        target=device.name,
        dtype=device.dtype(case.dtype),
        to_device=lambda tree: device.to_device(rounded(tree, case.dtype), case.dtype),
        compiled=device.compiled,
    )


def _inputs(case: Case) -> list[Any]:
    return list(rounded(list(case.arguments(case.inputs())), case.dtype))


def torch(device: Device, case: Case) -> Timed:
    import torch as framework
    from torch.utils import benchmark

    call = prepare(device, case)
    timer = benchmark.Timer("call()", globals={"call": call}, num_threads=framework.get_num_threads())
    return call, lambda budget_s: 1e6 * timer.blocked_autorange(min_run_time=budget_s).median


def jax(device: Device, case: Case) -> Timed:
    from jax import block_until_ready

    call = prepare(device, case)
    timer = timeit.Timer("wait(call())", globals={"call": call, "wait": block_until_ready})

    def median(budget_s: float) -> float:
        number, took = timer.autorange()
        rounds = max(3, round(budget_s / took))
        return 1e6 * statistics.median(timer.repeat(rounds, number)) / number

    return call, median


def tensorflow(device: Device, case: Case) -> Timed:
    """Prepare a call for TensorFlow's tool, which times a session's run of one operation. So Portolan's side also runs
    a session.

    Inputs are placeholders, because TensorFlow would compute constants in advance.
    """
    import tensorflow as tf

    if case.prepare is not just_call or case.kind != "value":
        raise NotForThisToolError(case.id)
    context = _on(device, case)
    graph = tf.Graph()
    host = [device.to_host(device.to_device(array, case.dtype)) for array in _inputs(case)]
    with graph.as_default(), tf.device(context.device):
        arguments = [_placeholder(array) for array in host]
        leaves = tf.nest.flatten(context.function(*arguments, **case.options), expand_composites=True)
        operation = tf.group(*[leave.op for leave in leaves if tf.is_tensor(leave)])
    session = tf.compat.v1.Session(graph=graph)

    def median(budget_s: float) -> float:
        began = timeit.default_timer()
        session.run(operation)
        count = max(10, round(budget_s / max(timeit.default_timer() - began, 1e-6)))
        # This call also prints its result.
        with graph.as_default(), contextlib.redirect_stdout(None):
            benchmark = tf.test.Benchmark().run_op_benchmark(
                session, operation, burn_iters=2, min_iters=min(count, 2_000), store_memory_usage=False
            )
        return 1e6 * float(benchmark["wall_time"])

    return lambda: session.run(operation), median


def _placeholder(value: Any) -> Any:
    import tensorflow as tf

    if not isinstance(value, Leaf):
        return value
    constant = tf.constant(value.values, dtype=value.dtype)
    return tf.compat.v1.placeholder_with_default(constant, value.values.shape)


TOOLS: Mapping[str, Tool] = {
    "torch": Tool("torch.utils.benchmark.Timer.blocked_autorange", torch),
    "jax": Tool("timeit around block_until_ready, as in JAX's documentation", jax),
    "tensorflow": Tool("tf.test.Benchmark.run_op_benchmark", tensorflow),
}
