"""Cases of data that are written to disk and read back: ``simple_save``, ``list_variables``, the state of a reader.

Every case writes into its own folder, which is deleted afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, Prepare
from runners.tensorflow.suites.paper.graphing import (
    initialised,
    matching,
    new_variable,
    own_graph,
    refusal,
    session_of,
    v1,
)

Array = np.ndarray[Any, Any]

simple_save = Function("tf.compat.v1.saved_model.simple_save")


def loaded(folder: str, feeds: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a saved model, by the names in its signature. The model is loaded as users do, for any
    device."""
    with tf.Graph().as_default() as graph, session_of(graph) as session:
        model = v1.saved_model.load(session, ["serve"], folder)
        signature = model.signature_def["serving_default"]
        given = {signature.inputs[key].name: value for key, value in feeds.items()}
        found = session.run({key: tensor.name for key, tensor in signature.outputs.items()}, given)
    return {key: value.tolist() for key, value in found.items()}


def saved(context: Context, x: Any, w: Any) -> Callable[[], Any]:
    """Prepare a layer that is initialized, saved, and loaded in another graph."""
    with own_graph(context) as graph:
        rows = v1.placeholder(x.dtype, [None, x.shape[1]], name="rows")
        weights = new_variable("weights", tf.constant(w.numpy()))
        scores = tf.matmul(rows, weights)
        shares = tf.nn.softmax(scores)
    session, values = initialised(graph), x.numpy()

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            with graph.as_default():
                context.function(session, f"{folder}/model", {"rows": rows}, {"scores": scores, "shares": shares})
            return loaded(f"{folder}/model", {"rows": values})

    return call


def scored(x: Array, w: Array) -> Any:
    scores = x @ w
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return {"scores": scores.tolist(), "shares": (powers / powers.sum(1, keepdims=True)).tolist()}


simple_save.behaviour(
    "layer-32x16",
    lambda inputs: [inputs.normal(32, 16) / 4, inputs.normal(16, 8)],
    matching(scored),
    prepare=saved,
)
simple_save.behaviour(
    "layer-float64",
    lambda inputs: [inputs.normal(5, 4), inputs.normal(4, 3)],
    matching(scored, "float64"),
    prepare=saved,
    dtype="float64",
)


def saved_after_updates(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a model that is saved after updates. Its values are the session's current values, not the first ones."""
    with own_graph(context) as graph:
        total = new_variable("total", tf.zeros(x.shape, x.dtype))
        given = v1.placeholder(x.dtype, x.shape)
        added = v1.assign_add(total, given)
        output = total + given
        first = v1.global_variables_initializer()
    session, values = session_of(graph), x.numpy()

    def call() -> Any:
        session.run(first)
        for _ in range(3):
            session.run(added, {given: values})
        with tempfile.TemporaryDirectory() as folder, graph.as_default():
            context.function(session, f"{folder}/model", {"given": given}, {"output": output})
            # The saved model must not contain this later update.
            session.run(added, {given: values})
            return loaded(f"{folder}/model", {"given": values})["output"]

    return call


simple_save.behaviour(
    "state-of-the-session",
    lambda inputs: [inputs.normal(4, 3)],
    matching(lambda x: (4 * x).tolist()),
    prepare=saved_after_updates,
)


def refused(context: Context, x: Any) -> Callable[[], Any]:
    with own_graph(context) as graph:
        given = v1.placeholder(x.dtype, x.shape)
        held = new_variable("held", tf.ones(x.shape, x.dtype))
        output = given * held
    ready, bare = initialised(graph), session_of(graph)

    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder, graph.as_default():

            def save(session: Any, where: str) -> str:
                return refusal(lambda: context.function(session, f"{folder}/{where}", {"x": given}, {"y": output}))

            names = [save(bare, "bare"), save(ready, "model"), save(ready, "model")]
            files = sorted(file.name for file in Path(folder, "model").iterdir())
        return names, files, x * 2

    return call


simple_save.behaviour(
    "files-and-errors",
    lambda inputs: [inputs.normal(3)],
    matching(
        lambda x: (
            # Save variables without values, then into a new folder, then into an existing folder.
            ["FailedPreconditionError", "nothing", "AssertionError"],
            ["saved_model.pb", "variables"],
            2 * x,
        )
    ),
    prepare=refused,
)


list_variables = Function("tf.train.list_variables")


def kept_by(save: Callable[..., str]) -> Prepare:
    """Return a ``prepare`` for the listing of a checkpoint. ``save(on, folder, *arrays)`` writes the checkpoint and
    returns its path."""

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        folder = tempfile.TemporaryDirectory()
        path = save(context, folder.name, *arrays)

        def call(_kept: Any = folder) -> Any:
            return context.function(path)

        return call

    return prepare


def as_objects(context: Context, folder: str, x: Any, y: Any) -> str:
    model = tf.Module()
    model.weights, model.bias = tf.Variable(x), tf.Variable(y)
    return str(tf.train.Checkpoint(model=model).write(f"{folder}/kept"))


def as_objects_counted(context: Context, folder: str, x: Any, y: Any) -> str:
    """Save two checkpoints and return their folder, which stands for the latest checkpoint."""
    tf.train.Checkpoint(values=tf.Variable(y)).save(f"{folder}/kept")
    tf.train.Checkpoint(values=tf.Variable(x)).save(f"{folder}/kept")
    return folder


def by_a_saver(context: Context, folder: str, x: Any, y: Any) -> str:
    with own_graph(context) as graph:
        with v1.variable_scope("layer"):
            new_variable("weights", tf.constant(x.numpy()))
            new_variable("bias", tf.constant(y.numpy()))
        v1.train.create_global_step()
        saver = v1.train.Saver()
    with initialised(graph) as session:
        return str(saver.save(session, f"{folder}/kept", global_step=7, write_meta_graph=False))


ATTRIBUTE = ".ATTRIBUTES/VARIABLE_VALUE"


def two_arrays(inputs: Inputs) -> Any:
    return [inputs.normal(64, 32), inputs.normal(32)]


list_variables.value(
    "of-objects",
    two_arrays,
    reference=lambda x, y: [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", []),
        (f"model/bias/{ATTRIBUTE}", list(y.shape)),
        (f"model/weights/{ATTRIBUTE}", list(x.shape)),
    ],
    prepare=kept_by(as_objects),
)
list_variables.value(
    "latest-of-a-folder",
    two_arrays,
    reference=lambda x, y: [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", []),
        (f"save_counter/{ATTRIBUTE}", []),
        (f"values/{ATTRIBUTE}", list(x.shape)),
    ],
    prepare=kept_by(as_objects_counted),
)
list_variables.value(
    "of-a-saver",
    two_arrays,
    reference=lambda x, y: [("global_step", []), ("layer/bias", list(y.shape)), ("layer/weights", list(x.shape))],
    prepare=kept_by(by_a_saver),
)
list_variables.value(
    "scalar-and-no-elements",
    lambda inputs: [np.asarray(1.5), inputs.normal(0, 3)],
    dtype="float64",
    reference=lambda x, y: [("global_step", []), ("layer/bias", [0, 3]), ("layer/weights", [])],
    prepare=kept_by(by_a_saver),
)


def nowhere(context: Context, x: Any) -> Callable[[], Any]:
    def call() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "broken.index").write_bytes(b"no index at all")
            return [
                refusal(lambda: context.function(folder)),
                refusal(lambda: context.function(f"{folder}/missing")),
                refusal(lambda: context.function(f"{folder}/broken")),
            ]

    return call


list_variables.behaviour(
    "nothing-there",
    lambda inputs: [inputs.normal(2)],
    matching(lambda x: ["ValueError", "NotFoundError", "OpError"]),
    prepare=nowhere,
)


restore_state = Function("tf.compat.v1.TextLineReader.restore_state")


def reading(context: Context, make_reader: Callable[[], Any]) -> Any:
    """Build a graph with a reader, a queue of its inputs, and operations for both."""
    with own_graph(context) as graph:
        reader = make_reader()
        queue = tf.queue.FIFOQueue(10, [tf.string], shapes=[()])
        names = v1.placeholder(tf.string, [None])
        state = v1.placeholder(tf.string, [])
        operations = {
            "fill": queue.enqueue_many([names]),
            "read": reader.read(queue)[1],
            "produced": reader.num_records_produced(),
            "serialize": reader.serialize_state(),
            "restore": context.function(reader, state),
        }
    return graph, names, state, operations


def of_lines(context: Context, lines: Any) -> Callable[[], Any]:
    """Prepare a reader of lines, which has no state to restore. It raises an error, and begins again with the next
    file."""

    def call() -> Any:
        graph, names, state, operations = reading(context, v1.TextLineReader)
        with tempfile.TemporaryDirectory() as folder, session_of(graph) as session:
            path = Path(folder, "lines")
            path.write_text("".join(f"{line}\n" for line in lines))
            session.run(operations["fill"], {names: [str(path)] * 2})
            read = [session.run(operations["read"]).decode()]
            refused = [
                refusal(lambda: session.run(operations["serialize"])),
                refusal(lambda: session.run(operations["restore"], {state: b"whatever"})),
            ]
            read += [session.run(operations["read"]).decode() for _ in lines]
            return read, refused, int(session.run(operations["produced"]))

    return call


restore_state.behaviour(
    "lines-have-none",
    lambda inputs: [["one", "", "three 3"]],
    matching(lambda lines: (lines[:1] + lines, ["UnimplementedError"] * 2, len(lines))),
    prepare=of_lines,
)


def of_names(context: Context, names_read: Any) -> Callable[[], Any]:
    """Prepare a reader that returns its inputs. Restoring its state brings it back to an earlier position. All readers
    share this method."""

    def call() -> Any:
        graph, names, state, operations = reading(context, v1.IdentityReader)
        with session_of(graph) as session:
            session.run(operations["fill"], {names: names_read})
            read = [session.run(operations["read"]).decode() for _ in range(2)]
            kept = session.run(operations["serialize"])
            read.append(session.run(operations["read"]).decode())
            counts = [int(session.run(operations["produced"]))]
            session.run(operations["restore"], {state: kept})
            counts.append(int(session.run(operations["produced"])))
            wrong = refusal(lambda: session.run(operations["restore"], {state: b"no state"}))
            return read, counts, wrong

    return call


restore_state.behaviour(
    "goes-back",
    lambda inputs: [["a", "b", "c", "d"]],
    matching(lambda names: (names[:3], [3, 2], "InvalidArgumentError")),
    prepare=of_names,
)

FUNCTIONS: list[Function] = [simple_save, list_variables, restore_state]
