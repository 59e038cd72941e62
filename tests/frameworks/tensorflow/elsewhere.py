"""A separate process with several devices: if calls are forced onto one, does anything run on another?

Prints the outcome of each call by its name, as JSON. The devices are a second logical CPU, and XLA's view of the host,
which lacks the kernels of many operations. Before the last calls, settings of the runner are undone, to show that they
are needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TF_XLA_FLAGS": "--tf_xla_enable_xla_devices", "TF_CPP_MIN_LOG_LEVEL": "3"}

import numpy as np
import tensorflow as tf

from protocol.outcomes import Outcome
from runners.suite.cases import Context, Function, Prepare, just_call
from runners.tensorflow.devices import Cpu
from runners.tensorflow.placement.sessions import fetched, unsoftened
from runners.tensorflow.placement.watch import Watch
from runners.tensorflow.suites.paper import graphing
from runners.tensorflow.suites.paper.calls import traced
from tests.frameworks.common.running import run


class SecondCpu(Cpu):
    is_host = False
    watch_type = Watch

    @property
    def handle(self) -> str:
        return "/device:CPU:1"

    def on_device(self, device: str) -> bool:
        return device == "CPU:1"


class XlaCpu(Cpu):
    is_host = False
    watch_type = Watch
    kind = "XLA_CPU"


def on_the_first(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.device("/device:CPU:0"):
            return context.function(x, y)

    return call


def taken_to_the_first(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tf.device("/device:CPU:0"):
            return context.function(tf.identity(x), tf.identity(y))

    return call


def taken_there_and_back(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    elsewhere = taken_to_the_first(context, x, y)
    return lambda: tf.identity(elsewhere())


def in_a_graph(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """Like ``graphing.in_session``. Each session counts the CPUs itself, so it must be configured for two."""
    with graphing.own_graph(context) as graph:
        return _run(context, graph, x, y)


def in_a_graph_without_a_device(context: Context, x: Any, y: Any) -> Callable[[], Any]:
    """``Graph.as_default`` ignores the device that was entered before it."""
    with tf.Graph().as_default() as graph:
        return _run(context, graph, x, y)


def _run(context: Context, graph: Any, *arguments: Any) -> Callable[[], Any]:
    stand_ins, feeds = graphing.stand_ins(arguments)
    fetch = context.function(*stand_ins)
    config = unsoftened()
    config.device_count["CPU"] = 2
    session = tf.compat.v1.Session(graph=graph, config=config)
    return lambda: fetched(session.run(fetch, feeds), fetch)


def pivots(context: Context, matrix: Any) -> Callable[[], Any]:
    return lambda: context.function(matrix)[1]


def pivots_traced(context: Context, matrix: Any) -> Callable[[], Any]:
    function = tf.function(lambda given: context.function(given)[1])
    return lambda: function(matrix)


def addition(prepare: Prepare) -> Function:
    add = Function("tf.math.add", np.add, prepare)
    add.value("two", lambda inputs: [inputs.normal(16, 16), inputs.normal(16, 16)])
    return add


def decomposition(prepare: Prepare) -> Function:
    """``tf.linalg.lu``, for which XLA's device has no kernel."""
    lu = Function("tf.linalg.lu", lambda matrix: np.array([1, 0], "int32"), prepare)
    lu.value("swapped", lambda inputs: [np.array([[0.0, 1.0], [1.0, 0.0]])])
    return lu


def filling() -> Function:
    ones = Function("tf.ones", lambda shape: np.ones(shape))
    ones.value("created", lambda inputs: [(16, 16)])
    return ones


def counting() -> Function:
    total = Function(
        "tf.data.Dataset.range",
        lambda count: np.arange(count),
        lambda context, count: lambda: _elements(context, count),
    )
    total.value("read", lambda inputs: [5])
    return total


def _elements(context: Context, count: int) -> Any:
    return tf.stack(list(context.function(count)))


def outcome_on(device: Cpu, function: Function) -> dict[str, Any]:
    outcome: Outcome = run(device, function.cases[0])
    return outcome.model_dump(mode="json")


def main() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    second, xla = SecondCpu(), XlaCpu()
    second.prime()
    told_of = {
        "eager": outcome_on(second, addition(just_call)),
        "function": outcome_on(second, addition(traced)),
        "graph": outcome_on(second, addition(in_a_graph)),
        "created": outcome_on(second, filling()),
        "data set": outcome_on(second, counting()),
        "a graph without a device": outcome_on(second, addition(in_a_graph_without_a_device)),
        "on the first": outcome_on(second, addition(on_the_first)),
        "taken to the first": outcome_on(second, addition(taken_to_the_first)),
        "taken there and back": outcome_on(second, addition(taken_there_and_back)),
        "no kernel": outcome_on(xla, decomposition(pivots)),
        "no kernel, in a function": outcome_on(xla, decomposition(pivots_traced)),
    }
    tf.config.set_soft_device_placement(True)
    tf.config.experimental.set_device_policy("silent")
    told_of["no kernel, allowed"] = outcome_on(xla, decomposition(pivots))
    told_of["on the first, allowed"] = outcome_on(second, addition(on_the_first))
    print(json.dumps(told_of))


if __name__ == "__main__":
    main()
