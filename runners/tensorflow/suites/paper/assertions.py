"""Cases of assertions about values: ``tf.debugging.assert_less``. They chart whether an assertion raises an error, and
its message.

XLA drops assertions from compiled programs, so wrong values pass there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Accepted

NAN, INF = float("nan"), float("inf")


def judged(context: Context, *arguments: Any, traced: bool = False, **options: Any) -> Callable[[], Any]:
    """Prepare an assertion that returns the text of its error, or ``no error``. If ``traced`` is true, it runs in a
    ``tf.function``."""

    def body(*arrays: Any) -> None:
        context.function(*arrays, **options)

    # The arrays are arguments, so that tracing does not know their values. Otherwise TensorFlow would judge them while
    # tracing.
    within = tf.function(body) if traced or context.target in ("xla", "tpu") else body
    compare = context.compiled(lambda: within(*arguments))

    def call() -> str:
        try:
            compare()
        except tf.errors.InvalidArgumentError as error:
            return str(error.message)
        return "no error"

    return call


def holds(observed: Any, *_: Any, **__: Any) -> None:
    assert observed == "no error", f"it refused what is less: {observed}"


def refused(observed: Any, *_: Any, message: str = "", **__: Any) -> None:
    if observed == "no error":
        raise Accepted("it let pass what is not less")
    assert "Condition x < y did not hold" in observed, f"another error: {observed}"
    assert message in observed, f"the message is not told: {observed}"


def apart(*shape: int) -> Callable[[Inputs], Any]:
    def arguments(inputs: Inputs) -> Any:
        low = inputs.integers(*shape, low=-40, high=40) / 4
        return [low, low + 0.5]

    return arguments


def one_not_less(*shape: int) -> Callable[[Inputs], Any]:
    """Make arrays in which every element is less than its counterpart, except the last two, which are equal."""

    def arguments(inputs: Inputs) -> Any:
        low, high = apart(*shape)(inputs)
        high[(-1,) * len(shape)] = low[(-1,) * len(shape)]
        return [low, high]

    return arguments


less = Function("tf.debugging.assert_less", prepare=judged)
for name, traced in (("", False), ("-in-a-function", True)):
    less.behaviour(f"float32-less-256x128{name}", apart(256, 128), holds, traced=traced)
    less.behaviour(f"float32-one-equal-256x128{name}", one_not_less(256, 128), refused, traced=traced, refuses=True)
for dtype in ("float64", "float16", "bfloat16"):
    less.behaviour(f"{dtype}-less", apart(6, 7), holds, dtype=dtype)
    less.behaviour(f"{dtype}-one-equal", one_not_less(6, 7), refused, dtype=dtype, refuses=True)
for dtype in ("int32", "int64", "uint8"):
    less.behaviour(
        f"{dtype}-less",
        lambda inputs, dtype=dtype: [inputs.integers(9, low=0, dtype=dtype), np.full(9, 10, dtype)],  # type: ignore[misc]
        holds,
        dtype=dtype,
    )
    less.behaviour(
        f"{dtype}-one-equal",
        lambda inputs, dtype=dtype: [np.arange(9, dtype=dtype), np.full(9, 8, dtype)],  # type: ignore[misc]
        refused,
        dtype=dtype,
        refuses=True,
    )
less.behaviour("broadcast", lambda inputs: [inputs.uniform(5, 1), inputs.uniform(4, low=1.0, high=2.0)], holds)
less.behaviour(
    "broadcast-not-less", lambda inputs: [np.array([[0.5], [1.5]]), np.array([1.0, 2.0])], refused, refuses=True
)
less.behaviour("against-a-number", lambda inputs: [inputs.uniform(12), 1.0], holds)
less.behaviour("scalars", lambda inputs: [np.asarray(1.0), np.asarray(1.5)], holds)
less.behaviour("nothing-is-less-than-nothing", lambda inputs: [inputs.normal(0, 3), inputs.normal(0, 3)], holds)
less.behaviour("infinities", lambda inputs: [np.array([-INF, -INF, 1.0]), np.array([0.0, INF, INF])], holds)
less.behaviour("nan-is-not-less", lambda inputs: [np.array([0.0, NAN]), np.array([1.0, 1.0])], refused, refuses=True)
less.behaviour(
    "nothing-is-less-than-nan", lambda inputs: [np.array([0.0, 1.0]), np.array([1.0, NAN])], refused, refuses=True
)
less.behaviour("message", one_not_less(4), refused, message="the keel is aground", refuses=True)
less.behaviour(
    "message-in-a-function", one_not_less(4), refused, message="the keel is aground", traced=True, refuses=True
)
less.behaviour(
    "shows-all-of-it", lambda inputs: [np.arange(9.0), np.full(9, 8.0)], refused, summarize=9, message="", refuses=True
)


def guarding(context: Context, low: Any, high: Any) -> Callable[[], Any]:
    """Prepare a result that is computed after the assertion, because it depends on it."""

    def body() -> Any:
        with tf.control_dependencies([context.function(low, high)]):
            return tf.math.log(high - low)

    return context.compiled(body) if context.target in ("xla", "tpu") else tf.function(body)


def guarded(observed: Any, low: Any, high: Any) -> None:
    np.testing.assert_allclose(observed.values, np.log(high - low), rtol=1e-5, atol=1e-5)


less.behaviour(
    "guards-a-logarithm",
    lambda inputs: [inputs.uniform(64, 128), inputs.uniform(64, 128, low=1.5, high=3.0)],
    guarded,
    prepare=guarding,
)

FUNCTIONS: list[Function] = [less]
