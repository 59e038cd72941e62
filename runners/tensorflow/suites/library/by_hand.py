"""Handwritten cases, judged by NumPy, for the most used functions without a recipe.

This module covers functions of TensorFlow 1 that run eagerly, and functions that take a function. The other modules of
this folder cover other kinds. ``portolan catalogue coverage`` counts the uses of functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs, MakeArguments, Prepare, just_call
from runners.suite.checks import Expected, Mismatch, uniform_twice
from runners.suite.frozen import QUICK, FrozenRefusal, Refusing
from runners.tensorflow.suites.paper.calls import using

Array = np.ndarray[Any, Any]

TAGS = ("by-hand", "judged-by-numpy", "plain", QUICK)
FORM_TAGS = ("by-hand", "form-only", "random", "plain", QUICK)
REFUSED_TAGS = ("by-hand", "plain", QUICK)
FUNCTIONS: list[Function] = []


def chart_in(
    functions: list[Function], name: str, reference: Callable[..., Any] | None = None, prepare: Prepare = just_call
) -> Function:
    function = Function(name, reference=reference, prepare=prepare)
    functions.append(function)
    return function


charted = partial(chart_in, FUNCTIONS)


def one_value(
    functions: list[Function], name: str, reference: Callable[..., Any], prepare: Prepare = just_call, **options: Any
) -> None:
    """Chart a function with one case, whose input is an array of 3 by 4."""
    function = chart_in(functions, name, reference, prepare)
    function.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS, **options)


def must_refuse(function: Function, name: str, error: str, make: MakeArguments, prepare: Prepare) -> None:
    """Add a case of a call that raises this error on the CPU."""
    refusal = FrozenRefusal(error)
    function.behaviour(name, make, refusal, prepare=Refusing(prepare), refuses=True, tags=REFUSED_TAGS)


def numbers_and(value: float, inputs: Inputs) -> list[Array]:
    return [np.append(inputs.normal(3), value)]


def softmax(values: Array) -> Array:
    raised = np.exp(values - values.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))


OF_ONE_ARRAY: dict[str, Callable[..., Any]] = {
    "tf.compat.v1.reduce_sum": np.sum,
    "tf.compat.v1.reduce_mean": np.mean,
    "tf.compat.v1.reduce_max": np.max,
    "tf.compat.v1.transpose": np.transpose,
    "tf.compat.v1.zeros_like": np.zeros_like,
    "tf.compat.v1.ones_like": np.ones_like,
    "tf.compat.v1.norm": lambda values: np.sqrt(np.sum(values**2)),
    "tf.compat.v1.nn.softmax": softmax,
    "tf.compat.v1.nn.sigmoid": lambda values: 1 / (1 + np.exp(-values)),
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


def as_given(values: Any, dtype: str) -> Array:
    return np.asarray(values, dtype)


for name in ("tf.compat.v1.constant", "tf.compat.v1.convert_to_tensor"):
    creation = charted(name)
    for listed, make in (
        ("float32", lambda inputs: [inputs.normal(3, 4).tolist()]),
        ("int32", lambda inputs: [inputs.integers(2, 3, 2).tolist()]),
        ("bool", lambda inputs: [inputs.booleans(5).tolist()]),
    ):
        creation.value(f"{listed}-list", make, dtype=listed, reference=partial(as_given, dtype=listed), tags=TAGS)

shape = charted("tf.compat.v1.shape", lambda values: np.array(values.shape, "int32"))
shape.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
shape.value("float32-no-rows", lambda inputs: [inputs.normal(0, 5)], tags=(*TAGS, "empty"))
shape.value("int64-5", lambda inputs: [inputs.integers(5)], dtype="int64", tags=TAGS)

check_numerics = charted("tf.debugging.check_numerics", lambda values: values, using(message="a number"))
check_numerics.value("float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
for name, value in {"nan": np.nan, "infinity": np.inf}.items():
    must_refuse(
        check_numerics,
        f"float32-{name}",
        "InvalidArgumentError",
        partial(numbers_and, value),
        using(message="a number"),
    )
broadcast = charted("tf.broadcast_dynamic_shape", lambda *shapes: np.array(np.broadcast_shapes(*shapes), "int32"))
broadcast.value(
    "int32-pair", lambda inputs: [np.array([3, 1], "int32"), np.array([5, 1, 4], "int32")], dtype="int32", tags=TAGS
)
regex_replace = charted(
    "tf.strings.regex_replace", lambda texts: Expected(np.char.replace(texts, b"a", b"o"), "string")
)
regex_replace.value(
    "texts",
    lambda inputs: [np.array([b"atoll", b"bay", b"reef"])],
    prepare=using(pattern="a", rewrite="o"),
    tags=TAGS,
)
dot = charted("tf.keras.backend.dot", np.dot)
dot.value("float32-3x4x5", lambda inputs: [inputs.normal(3, 4), inputs.normal(4, 5)], tags=TAGS)


def mean_of(loss: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Any]:
    return lambda labels, predictions: np.mean(loss(labels, predictions))


LEAST = 1e-7
"""The number that ``log_loss`` adds so that no logarithm is infinite."""
for name, loss in {
    "tf.compat.v1.losses.log_loss": lambda p, q: -p * np.log(q + LEAST) - (1 - p) * np.log(1 - q + LEAST),
    "tf.compat.v1.losses.mean_squared_error": lambda p, q: (p - q) ** 2,
}.items():
    charted(name, mean_of(loss)).value(
        "float32-3x4",
        lambda inputs: [inputs.uniform(3, 4, low=0.1, high=0.9), inputs.uniform(3, 4, low=0.1, high=0.9)],
        tags=TAGS,
    )


def with_function(body: Callable[..., Any]) -> Callable[..., Callable[[], Any]]:
    """Return a ``prepare`` that calls ``body`` with the charted function and the arrays."""

    def prepare(context: Context, *arrays: Any) -> Callable[[], Any]:
        return context.compiled(lambda: body(context.function, *arrays))

    return prepare


def traced(function: Any, values: Any) -> Any:
    return function(lambda given: given * given + 1)(values)


def branched(function: Any, values: Any) -> Any:
    return function(tf.reduce_sum(values) > 0, lambda: values * 2, lambda: -values)


def doubled_until(function: Any, values: Any) -> Any:
    return function(lambda step, _: step < 3, lambda step, held: (step + 1, held * 2), (tf.constant(0), values))


def three_doublings(values: Array) -> Any:
    return np.asarray(3, "int32"), 8 * values


def by_rows(function: Any, values: Any) -> Any:
    return function(lambda row: tf.reduce_sum(row * row), values)


def with_own_gradient(function: Any, values: Any) -> Any:
    @function  # type: ignore[untyped-decorator]
    def tripled(given: Any) -> Any:
        return given * 1, lambda upstream: 3 * upstream

    with tf.GradientTape() as tape:
        tape.watch(values)
        result = tf.reduce_sum(tripled(values) ** 2)
    return tape.gradient(result, values)


def running_sum(function: Any, values: Any) -> Any:
    return function(lambda held, row: held + row, values)


def in_python(function: Any, values: Any) -> Any:
    return function(lambda given: np.asarray(given) ** 2 + 1, [values], values.dtype)


def recorded(function: Any, values: Any) -> Any:
    with function() as tape:
        tape.watch(values)
        result = tf.reduce_sum(values**3)
    return tape.gradient(result, values)


def differentiated(function: Any, values: Any) -> Any:
    """Compute gradients with a method of a tape: of a power with respect to its base, and with respect to a value on
    which it does not depend."""
    apart = values + 1
    with tf.GradientTape() as tape:
        tape.watch([values, apart])
        result = values**3
    return [result, *function(tape, result, [values, apart], 2 * values)]


def watched(function: Any, values: Any) -> Any:
    with tf.GradientTape() as tape:
        function(tape, values)
        result = tf.reduce_sum(values**3)
    return tape.gradient(result, values)


for name, body, reference in (
    ("tf.function", traced, lambda values: values**2 + 1),
    ("tf.cond", branched, lambda values: values * 2 if values.sum() > 0 else -values),
    ("tf.while_loop", doubled_until, three_doublings),
    ("tf.map_fn", by_rows, lambda values: np.sum(values**2, axis=1)),
    ("tf.custom_gradient", with_own_gradient, lambda values: 6 * values),
    ("tf.compat.v1.cond", branched, lambda values: values * 2 if values.sum() > 0 else -values),
    ("tf.compat.v1.while_loop", doubled_until, three_doublings),
    ("tf.scan", running_sum, lambda values: np.cumsum(values, 0)),
    ("tf.vectorized_map", by_rows, lambda values: np.sum(values**2, axis=1)),
    ("tf.py_function", in_python, lambda values: values**2 + 1),
    ("tf.compat.v1.py_func", in_python, lambda values: values**2 + 1),
    ("tf.GradientTape", recorded, lambda values: 3 * values**2),
    ("tf.GradientTape.gradient", differentiated, lambda values: [values**3, 6 * values**3, None]),
    ("tf.GradientTape.watch", watched, lambda values: 3 * values**2),
):
    one_value(FUNCTIONS, name, reference, with_function(body))


def of_squares(function: Any, values: Any) -> Any:
    """Square integers so that they wrap around. A compiler may assume that a square is not negative, which is wrong
    here."""

    def body(given: Any) -> Any:
        square = given * given
        return [tf.where(square < 0, tf.abs(square), square), tf.maximum(square, 0), tf.sign(square)]

    return function(body)(values)


def squares(values: Array) -> list[Array]:
    square = values * values
    return [np.abs(square), np.maximum(square, 0), np.sign(square)]


next(function for function in FUNCTIONS if function.name == "tf.function").value(
    "int8-squares",
    lambda inputs: [np.array([12, 7, 20, 15, 11], np.int8)],
    dtype="int8",
    reference=squares,
    prepare=with_function(of_squares),
    tags=TAGS,
)


def seeded(context: Context) -> Callable[[], Any]:
    """Prepare two draws, each after the seed is set. The seed is set outside of the compiled program."""

    def draw() -> Any:
        context.function(3)
        return context.compiled(lambda: tf.random.uniform([3, 4]))()

    return lambda: [draw(), draw()]


for name in ("tf.random.set_seed", "tf.compat.v1.set_random_seed"):
    charted(name, prepare=seeded).behaviour("float32-3x4", lambda inputs: [], uniform_twice, tags=FORM_TAGS)


def same_rows(observed: Any, values: Array) -> None:
    """Check that each row occurs once, in any order."""
    order = np.lexsort(observed.values.T)
    if not np.allclose(observed.values[order], values[np.lexsort(values.T)], rtol=1e-6):
        raise Mismatch("the rows are others")


charted("tf.random.shuffle").behaviour("float32-rows", lambda inputs: [inputs.normal(9, 3)], same_rows, tags=FORM_TAGS)


def dropped(observed: Any, values: Array, rate: float) -> None:
    """Check that kept values are scaled by 1 / (1 - rate), and that their number is within six standard deviations of
    the expected number."""
    kept = observed.values != 0
    if not np.allclose(observed.values[kept], values[kept] / (1 - rate), rtol=1e-5):
        raise Mismatch("what is kept is not scaled")
    error = 6 * np.sqrt(rate * (1 - rate) / kept.size)
    if abs(kept.mean() - (1 - rate)) > error:
        raise Mismatch(f"expected {1 - rate} ± {error} to be kept, got {kept.mean()}")


charted("tf.compat.v1.nn.dropout").statistics(
    "float32-50x40", lambda inputs: [inputs.normal(50, 40)], dropped, rate=0.25, tags=FORM_TAGS
)


def speaks_up(right: Callable[..., Any], wrong: Callable[..., Any]) -> Prepare:
    """Prepare an assertion with a condition that holds, and one with a condition that does not. It returns whether each
    raises an error. Both are traced, because eagerly TensorFlow would know the values."""

    def prepare(context: Context, values: Any) -> Callable[[], Any]:
        def refuses(body: Callable[..., Any]) -> Callable[[], bool]:
            def judge(given: Any) -> Any:
                body(context.function, given)
                return given * 2

            traced = tf.function(judge, autograph=False)
            judged = context.compiled(lambda: traced(values))

            def call() -> bool:
                try:
                    judged()
                except tf.errors.InvalidArgumentError:
                    return True
                return False

            return call

        checks = [refuses(right), refuses(wrong)]
        return lambda: [check() for check in checks]

    return prepare


def assert_less_than(bound: float) -> Callable[[Any, Any], Any]:
    return lambda function, values: function(tf.reduce_max(values) < bound, [values])


def assert_same(shift: float) -> Callable[[Any, Any], Any]:
    return lambda function, values: function(values, values + shift)


for name, judging in {
    "tf.Assert": speaks_up(assert_less_than(100), assert_less_than(-100)),
    "tf.debugging.Assert": speaks_up(assert_less_than(100), assert_less_than(-100)),
    "tf.debugging.assert_equal": speaks_up(assert_same(0), assert_same(1)),
    "tf.assert_equal": speaks_up(assert_same(0), assert_same(1)),
}.items():
    one_value(FUNCTIONS, name, lambda values: [False, True], judging)
