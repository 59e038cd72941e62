"""Graph mode is watched: on which device a session ran each operation, and where fetched values were computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from protocol.enums import Placement, Verdict
from protocol.outcomes import Outcome
from runners.suite.cases import Context, Function
from runners.suite.device import Device, Proof
from runners.tensorflow.placement.sessions import device_of, fetched, watch_sessions
from runners.tensorflow.suites.paper.graphing import in_session, own_graph, session_of, v1

TWO_CPUS = v1.ConfigProto(allow_soft_placement=False, device_count={"CPU": 2})


def nodes_of_run(session: Any, fetches: Any, feeds: Any = None) -> set[tuple[str, str]]:
    nodes: set[tuple[str, str]] = set()
    with watch_sessions(lambda node: nodes.add((node.op, device_of(node.device)))):
        session.run(fetches, feeds)
    return nodes


def test_every_operation_is_noted_where_it_ran() -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/device:CPU:0"):
            start = v1.placeholder(tf.float32, [4])
            one = tf.exp(start)
        with tf.device("/device:CPU:1"):
            other = tf.tanh(one)
    with v1.Session(graph=graph, config=TWO_CPUS) as session:
        assert nodes_of_run(session, other, {start: np.ones(4)}) == {("Exp", "CPU:0"), ("Tanh", "CPU:1")}


def test_what_nobody_pinned_is_noted_too() -> None:
    with tf.Graph().as_default() as graph:
        start = v1.placeholder(tf.float32, [4])
        end = tf.tanh(start)
    assert fetched(np.ones(4), end).placed == "host"
    with v1.Session(graph=graph) as session:
        assert nodes_of_run(session, end, {start: np.ones(4)}) == {("Tanh", "CPU:0")}


def test_who_asks_for_metadata_gets_them_and_the_watch_ends() -> None:
    with tf.Graph().as_default() as graph:
        end = tf.constant(2.0) * 3
    operations: set[str] = set()
    with v1.Session(graph=graph) as session:
        with watch_sessions(lambda node: operations.add(node.op)):
            metadata = v1.RunMetadata()
            session.run(end, options=v1.RunOptions(trace_level=v1.RunOptions.SOFTWARE_TRACE), run_metadata=metadata)
        session.run(end)
    assert metadata.step_stats.dev_stats
    assert not operations


def test_an_operation_elsewhere_is_a_fallback(accelerator: Device) -> None:
    with tf.Graph().as_default() as graph, tf.device("/device:CPU:1"):
        start = v1.placeholder(tf.float32, [3])
        end = tf.tanh(start)
    proof = Proof()
    with v1.Session(graph=graph, config=TWO_CPUS) as session, accelerator.tracing(proof):
        session.run(end, {start: np.ones(3)})
    assert "CPU:1" in proof.devices
    assert proof.fallbacks["Tanh"] == 1


def test_python_in_a_graph_is_a_fallback(accelerator: Device, outcome_of: Any) -> None:
    function = Function("tf.exp", np.exp)
    function.value(
        "in-python",
        lambda inputs: [inputs.normal(5)],
        prepare=in_session(lambda context, x: context.function(v1.py_func(lambda each: each, [x], tf.float32))),
    )
    outcome: Outcome = outcome_of(accelerator, function)
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert outcome.placement is Placement.fell_back
    assert set(outcome.proof.fallbacks) == {"PyFunc"}


def test_what_a_session_fetched_is_on_its_device(cpu: Device, outcome_of: Any) -> None:
    function = Function("tf.exp", lambda x: {"a": np.exp(x), "b": [x]})
    function.value(
        "fetched",
        lambda inputs: [inputs.normal(5)],
        prepare=in_session(lambda context, x: {"a": context.function(x), "b": [x]}),
        dtype="bfloat16",
    )
    outcome: Outcome = outcome_of(cpu, function)
    assert outcome.verdict is Verdict.passed, outcome.evidence
    assert outcome.placement is Placement.on_device
    assert outcome.proof.devices == ["CPU:0"]


def test_a_kernel_that_is_missing_is_no_silent_detour(cpu: Device) -> None:
    context = Context(tf.exp, "/device:GPU:0", "gpu", tf.float32, to_device=lambda tree: tree)
    with own_graph(context) as graph:
        end = tf.exp(tf.constant([1.0]))
    with session_of(graph) as session, pytest.raises(tf.errors.InvalidArgumentError, match="GPU"):
        session.run(end)


def test_xla_compiles_what_a_graph_holds(xla: Device) -> None:
    """The graph is not only placed on XLA: the session runs one compiled operation, or raises an error."""
    context = Context(tf.exp, xla.handle, "xla", tf.float32, to_device=lambda tree: tree, compiled=xla.compiled)
    with own_graph(context) as graph:
        start = v1.placeholder(tf.float32, [3])
        end = context.compiled(lambda: tf.exp(start))()
        words = context.compiled(lambda: tf.strings.join([tf.strings.as_string(start), "'"]))()
    with session_of(graph) as session:
        assert np.array_equal(session.run(end, {start: np.zeros(3)}), np.ones(3))
        # Strings are what the compiler has not.
        with pytest.raises(tf.errors.OpError, match=r"(?i)compil"):
            session.run(words, {start: np.zeros(3)})
