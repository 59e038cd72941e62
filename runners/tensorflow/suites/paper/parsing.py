"""Cases of parsing serialized messages: ``tf.io.parse_single_sequence_example``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Accepted, Expected
from runners.suite.sequences import aligned

Array = np.ndarray[Any, Any]


def feature(values: Any) -> Any:
    """Return a feature: numbers from an array, bytes from a list (a NumPy array of bytes would lose trailing zeros)."""
    if isinstance(values, list):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if values.dtype.kind == "f":
        return tf.train.Feature(float_list=tf.train.FloatList(value=values.reshape(-1)))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values.reshape(-1)))


def message(context: Mapping[str, Any], frames: Mapping[str, Any]) -> Array:
    """Return a serialized SequenceExample with one feature per name, and a list of features per name."""
    lists = {name: tf.train.FeatureList(feature=[feature(row) for row in rows]) for name, rows in frames.items()}
    example = tf.train.SequenceExample(
        context=tf.train.Features(feature={name: feature(values) for name, values in context.items()}),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    )
    return np.array(example.SerializeToString(), dtype=object)


def parsed(context: Context, serialised: Any, *_: Any, **features: Any) -> Callable[[], Any]:
    """Prepare the parsing of a message. Only the reference gets the message's values, which are further arguments."""
    return context.compiled(lambda: context.function(serialised, **features))


def sparse(rows: Sequence[Any]) -> dict[str, Array]:
    """Return the parts of a SparseTensor whose rows may have different lengths."""
    lengths = [len(values) for values in rows]
    places = [[row, column] for row, length in enumerate(lengths) for column in range(length)]
    return {
        "indices": np.array(places, "int64").reshape(-1, 2),
        "values": np.concatenate(rows),
        "shape": np.array([len(rows), max(lengths)]),
    }


def cut(rows: Array, lengths: Array) -> list[Array]:
    return [row[:length] for row, length in aligned(rows, lengths)]


parse = Function("tf.io.parse_single_sequence_example", prepare=parsed)
FLOATS, WHOLE, BYTES = tf.float32, tf.int64, tf.string


def video(inputs: Inputs) -> Any:
    frames, label = inputs.normal(128, 64), inputs.integers(3)
    return [message({"label": label}, {"frames": frames}), frames, label]


parse.value(
    "float32-frames-128x64-and-label",
    video,
    reference=lambda serialised, frames, label, **_: ({"label": label}, {"frames": frames}),
    tolerance=EXACT,
    context_features={"label": tf.io.FixedLenFeature([3], WHOLE)},
    sequence_features={"frames": tf.io.FixedLenSequenceFeature([64], FLOATS)},
)


def matrices(inputs: Inputs) -> Any:
    frames = inputs.normal(4, 2, 3)
    return [message({}, {"frames": frames}), frames]


parse.value(
    "frames-of-two-axes",
    matrices,
    reference=lambda serialised, frames, **_: ({}, {"frames": frames}),
    tolerance=EXACT,
    sequence_features={"frames": tf.io.FixedLenSequenceFeature([2, 3], FLOATS)},
)


def uneven(inputs: Inputs) -> Any:
    rows, lengths = inputs.normal(5, 4), np.array([2, 0, 4, 1, 3])
    tags = inputs.integers(6)
    return [message({"tags": tags}, {"rows": cut(rows, lengths)}), rows, lengths, tags]


parse.value(
    "sparse",
    uneven,
    reference=lambda serialised, rows, lengths, tags, **_: (
        {"tags": {"indices": np.arange(6).reshape(-1, 1), "values": tags, "shape": np.array([6])}},
        {"rows": sparse(cut(rows, lengths))},
    ),
    tolerance=EXACT,
    context_features={"tags": tf.io.VarLenFeature(WHOLE)},
    sequence_features={"rows": tf.io.VarLenFeature(FLOATS)},
)
parse.value(
    "ragged",
    uneven,
    reference=lambda serialised, rows, lengths, tags, **_: (
        {"tags": tags},
        {
            "rows": {
                "values": np.concatenate(cut(rows, lengths)),
                "row_splits": [np.cumsum([0, *lengths]).astype("int32")],
            }
        },
    ),
    tolerance=EXACT,
    context_features={"tags": tf.io.RaggedFeature(WHOLE)},
    sequence_features={"rows": tf.io.RaggedFeature(FLOATS)},
)
parse.value(
    "strings",
    lambda inputs: [message({"name": [b"Palma"]}, {"words": [[b"a", b"bay"], [b"the", b"cape\0"]]})],
    reference=lambda serialised, **_: (
        {"name": Expected(np.asarray(b"Palma"), "string")},
        {"words": Expected(np.array([[b"a", b"bay"], [b"the", b"cape\0"]], object), "string")},
    ),
    context_features={"name": tf.io.FixedLenFeature([], BYTES)},
    sequence_features={"words": tf.io.FixedLenSequenceFeature([2], BYTES)},
)


def some(inputs: Inputs) -> Any:
    present = inputs.normal(2)
    return [message({"present": present, "unasked": np.ones(1)}, {}), present]


parse.value(
    "missing-takes-its-default",
    some,
    reference=lambda serialised, present, **_: (
        {"present": present, "missing": np.array([2.5, -1.0, 0.5])},
        {},
    ),
    tolerance=EXACT,
    context_features={
        "present": tf.io.FixedLenFeature([2], FLOATS, default_value=[0.0, 0.0]),
        "missing": tf.io.FixedLenFeature([3], FLOATS, default_value=[2.5, -1.0, 0.5]),
    },
)
parse.value(
    "missing-list-is-empty",
    lambda inputs: [message({}, {"other": np.ones((1, 1))})],
    reference=lambda serialised, **_: (
        {},
        {
            "frames": np.zeros((0, 4)),
            "rows": {
                "indices": np.zeros((0, 2), "int64"),
                "values": np.zeros(0, "int64"),
                "shape": np.zeros(2, "int64"),
            },
        },
    ),
    sequence_features={
        "frames": tf.io.FixedLenSequenceFeature([4], FLOATS, allow_missing=True),
        "rows": tf.io.VarLenFeature(WHOLE),
    },
)


def failing(context: Context, *messages: Any, **features: Any) -> Callable[[], Any]:
    def call() -> list[str]:
        found = []
        for serialised in messages:
            try:
                parsed(context, serialised, example_name="the log", **features)()
            except tf.errors.InvalidArgumentError as error:
                if "XLA" in error.message:
                    # The compiler rejects every program that parses; this error is not about the message.
                    raise
                found.append(str(error.message))
            else:
                found.append("no error")
        return found

    return call


def check_failing(observed: Any, *_: Any, **__: Any) -> None:
    assert len(observed) == 3
    for place, (text, word) in enumerate(aligned(observed, ("depth", "depth", "Invalid"))):
        if text == "no error":
            raise Accepted(f"message {place} was parsed")
        assert word in text, f"message {place}: the error does not name what is wrong: {text}"
    for text in observed[1:]:
        assert "the log" in text, f"the error does not name the example: {text}"


parse.behaviour(
    "refuses-missing-mistyped-and-broken",
    lambda inputs: [
        message({"other": np.ones(1)}, {}),
        message({"depth": np.ones(1, "int64")}, {}),
        np.array(b"\xff no message \xff", dtype=object),
    ],
    check_failing,
    prepare=failing,
    context_features={"depth": tf.io.FixedLenFeature([], FLOATS)},
    refuses=True,
)

FUNCTIONS: list[Function] = [parse]
