"""Cases by hand: the functions used most of those that no recipe gives, judged by NumPy.

Functions of the first TensorFlow that are still there and still called, and those that take a function. ``portolan
catalogue coverage`` counts their uses. Importing this imports no framework.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, just_call
from runners.suite.frozen import QUICK

Array = np.ndarray[Any, Any]

TAGS = ("by-hand", "judged-by-numpy", "plain", QUICK)
FUNCTIONS: list[Function] = []


def charted(name: str, reference: Callable[..., Any], prepare: Any = just_call) -> Function:
    function = Function(name, reference=reference, prepare=prepare)
    FUNCTIONS.append(function)
    return function


def softmax(values: Array) -> Array:
    raised = np.exp(values - values.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


OF_ONE_ARRAY: dict[str, Callable[..., Any]] = {
    "tf.compat.v1.reduce_sum": np.sum,
    "tf.compat.v1.reduce_mean": np.mean,
    "tf.compat.v1.reduce_max": np.max,
    "tf.compat.v1.transpose": np.transpose,
    "tf.compat.v1.zeros_like": np.zeros_like,
    "tf.compat.v1.norm": lambda values: np.sqrt(np.sum(values**2)),
    "tf.compat.v1.nn.softmax": softmax,
}
for name, reference in OF_ONE_ARRAY.items():
    of_one = charted(name, reference)
    of_one.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
    of_one.value("float16-2x5", lambda inputs: [inputs.normal(2, 5)], dtype="float16", tags=TAGS)

for name, reference in {
    "tf.compat.v1.reduce_sum": lambda values, axis: values.sum(axis),
    "tf.compat.v1.reduce_mean": lambda values, axis: values.mean(axis),
    "tf.compat.v1.reduce_max": lambda values, axis: values.max(axis),
}.items():
    next(function for function in FUNCTIONS if function.name == name).value(
        "float32-axis", lambda inputs: [inputs.normal(3, 4)], reference=reference, axis=1, tags=TAGS
    )

expand_dims = charted("tf.compat.v1.expand_dims", lambda values, axis: np.expand_dims(values, axis))
expand_dims.value("float32-first", lambda inputs: [inputs.normal(3, 4)], axis=0, tags=TAGS)
expand_dims.value("int32-last", lambda inputs: [inputs.integers(3)], dtype="int32", axis=-1, tags=TAGS)
squeeze = charted("tf.compat.v1.squeeze", lambda values, axis=None: np.squeeze(values, axis))
squeeze.value("float32-all", lambda inputs: [inputs.normal(1, 3, 1)], tags=TAGS)
squeeze.value(
    "float32-one", lambda inputs: [inputs.normal(1, 3, 1)], axis=[0], reference=lambda v, axis: v[0], tags=TAGS
)
pad = charted("tf.compat.v1.pad", lambda values, paddings: np.pad(values, paddings))
pad.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], paddings=[[1, 0], [2, 1]], tags=TAGS)
argmax = charted("tf.compat.v1.argmax", lambda values, axis: np.argmax(values, axis).astype(np.int64))
argmax.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], axis=1, tags=TAGS)
where = charted("tf.compat.v1.where", np.where)
where.value("float32-3x4", lambda inputs: [inputs.booleans(3, 4), inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)
gather = charted("tf.compat.v1.gather", lambda values, indices: values[indices])
gather.value(
    "float32-rows",
    lambda inputs: [inputs.normal(5, 3)],
    indices=[4, 0, 0],
    reference=lambda values, indices: values[indices],
    tags=TAGS,
)

for name, dtype in (("int32", np.int32), ("int64", np.int64)):
    cast = charted(f"tf.compat.v1.to_{name}", lambda values, dtype=dtype: values.astype(dtype))
    cast.value("float64-3x4", lambda inputs: [5 * inputs.normal(3, 4)], dtype="float64", tags=TAGS)
to_float = charted("tf.compat.v1.to_float", lambda values: values.astype(np.float32))
to_float.value("int32-3x4", lambda inputs: [inputs.integers(3, 4)], dtype="int32", tags=TAGS)


def with_function(body: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    """Prepares the call of what the charted function makes of this one."""

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(lambda: body(context.function, *arrays))

    return prepare


def traced(function: Any, values: Any) -> Any:
    return function(lambda given: given * given + 1)(values)


def branched(function: Any, values: Any) -> Any:
    import tensorflow as tf

    return function(tf.reduce_sum(values) > 0, lambda: values * 2, lambda: -values)


def doubled_until(function: Any, values: Any) -> Any:
    return function(lambda step, _: step < 3, lambda step, held: (step + 1, held * 2), (0, values))[1]


def by_rows(function: Any, values: Any) -> Any:
    import tensorflow as tf

    return function(lambda row: tf.reduce_sum(row * row), values)


def with_own_gradient(function: Any, values: Any) -> Any:
    import tensorflow as tf

    @function  # type: ignore[untyped-decorator]
    def tripled(given: Any) -> Any:
        return given * 1, lambda upstream: 3 * upstream

    with tf.GradientTape() as tape:
        tape.watch(values)
        result = tf.reduce_sum(tripled(values) ** 2)
    return tape.gradient(result, values)


for name, body, reference in (
    ("tf.function", traced, lambda values: values**2 + 1),
    ("tf.cond", branched, lambda values: values * 2 if values.sum() > 0 else -values),
    ("tf.while_loop", doubled_until, lambda values: 8 * values),
    ("tf.map_fn", by_rows, lambda values: np.sum(values**2, axis=1)),
    ("tf.custom_gradient", with_own_gradient, lambda values: 6 * values),
):
    charted(name, reference, with_function(body)).value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
