"""Handwritten cases of saving: checkpoints and saved models."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from runners.suite.cases import Context, Function, Prepare
from runners.tensorflow.suites.library.by_hand import TAGS, chart_in, one_value

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)
Keep = Callable[[Any, Any, str], Any]


def round_trip(keep: Keep) -> Prepare:
    """Return a ``prepare`` that saves and restores a variable. ``keep(function, held, path)`` saves it, and returns a
    function that restores it after it was set to zero."""

    def prepare(context: Context, values: Any) -> Callable[[], Any]:
        held = tf.Variable(values)

        def call() -> Any:
            held.assign(values)
            with tempfile.TemporaryDirectory() as folder:
                bring_back = keep(context.function, held, f"{folder}/kept")
                held.assign(tf.zeros_like(values))
                bring_back()
            return held.read_value()

        return call

    return prepare


def by_class(function: Any, held: Any, path: str) -> Callable[[], Any]:
    kept = function(held=held)
    written = kept.write(path)
    return lambda: kept.read(written).assert_consumed()


def by_save(function: Any, held: Any, path: str) -> Callable[[], Any]:
    kept = tf.train.Checkpoint(held=held)
    written = function(kept, path)
    return lambda: kept.restore(written).assert_consumed()


def by_restore(function: Any, held: Any, path: str) -> Callable[[], Any]:
    kept = tf.train.Checkpoint(held=held)
    written = kept.save(path)
    return lambda: function(kept, written).assert_consumed()


def by_read(function: Any, held: Any, path: str) -> Callable[[], Any]:
    kept = tf.train.Checkpoint(held=held)
    written = kept.write(path)
    return lambda: function(kept, written).assert_consumed()


def by_manager(function: Any, held: Any, path: str) -> Callable[[], Any]:
    """Save two checkpoints with a manager that keeps only the last one. Only this one contains the value."""
    manager = function(tf.train.Checkpoint(held=held), path, max_to_keep=1)
    value = held.read_value()
    held.assign(2 * value)
    manager.save()
    held.assign(value)
    manager.save()
    return lambda: manager.restore_or_initialize()


for name, keep in {
    "tf.train.Checkpoint": by_class,
    "tf.train.Checkpoint.save": by_save,
    "tf.train.Checkpoint.restore": by_restore,
    "tf.train.Checkpoint.read": by_read,
    "tf.train.CheckpointManager": by_manager,
}.items():
    one_value(FUNCTIONS, name, lambda values: values, round_trip(keep))


class Scale(tf.Module):  # type: ignore[misc]
    """A model with one variable, and a ``tf.function`` that uses it."""

    def __init__(self, factors: Any) -> None:
        super().__init__()
        self.factors = tf.Variable(factors)

    @tf.function(autograph=False)  # type: ignore[untyped-decorator]
    def scaled(self, values: Any) -> Any:
        return values * self.factors + 1


def saved_and_loaded(save: Callable[[Any], Any], load: Callable[[Any], Any]) -> Prepare:
    """Return a ``prepare`` that saves and loads a model.

    ``save(charted)`` returns the function that saves the model, and ``load(charted)`` the function that loads it. One
    of the two is the charted function itself. The other is a fixed function of TensorFlow.
    """

    def prepare(context: Context, values: Any, factors: Any) -> Callable[[], Any]:
        model = Scale(factors)
        signature = model.scaled.get_concrete_function(tf.TensorSpec(values.shape, values.dtype))

        def call() -> Any:
            with tempfile.TemporaryDirectory() as folder:
                save(context.function)(model, folder, signature)
                loaded = load(context.function)(folder)
            return context.compiled(lambda: loaded.scaled(values))()

        return call

    return prepare


for name, prepare in {
    "tf.saved_model.save": saved_and_loaded(lambda function: function, lambda function: tf.saved_model.load),
    "tf.saved_model.load": saved_and_loaded(lambda function: tf.saved_model.save, lambda function: function),
}.items():
    charted(name, lambda values, factors: values * factors + 1, prepare).value(
        "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(4)], tags=TAGS
    )
