"""Makes TensorFlow classes wrong whose instances do the work, and placeholders, because they are no plain functions.

Each wrapper makes one kind wrong and is chosen by ``wrapper_of``. A class becomes a subclass of itself, so that it
still builds and registers as before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tests.frameworks.common.mutants import Mutant

Wrapper = Callable[[Any, Mutant], Any]
v1 = tf.compat.v1


def wrapper_of(function: Any) -> Wrapper | None:
    """The wrapper for a class or a placeholder; None for a plain function."""
    if isinstance(function, type):
        return next((wrapper for base, wrapper in CLASSES.items() if issubclass(function, base)), None)
    return placeholder_swapped if function is v1.placeholder else None


def methods_swapped(kind: Any, mutant: Mutant) -> Any:
    """Alter the arrays of an instance, and the results of its public methods. Calls between its methods are not
    altered, because their results would be altered twice."""
    within = False

    def once(right: Callable[[], Any], arguments: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        nonlocal within
        if within:
            return right()
        within = True
        try:
            result = right()
        finally:
            within = False
        return mutant(result, arguments, options)

    def method(name: str) -> Callable[..., Any]:
        right = getattr(kind, name)

        def alter_result(self: Any, *arguments: Any, **options: Any) -> Any:
            return once(lambda: right(self, *arguments, **options), arguments, options)

        return alter_result

    def altered_property(name: str) -> property:
        right = getattr(kind, name)

        def alter_value(self: Any) -> Any:
            if not isinstance(right.fget(self), tf.Tensor):
                return right.fget(self)
            return once(lambda: right.fget(self), (), {})

        return property(alter_value)

    public = [name for name in dir(kind) if not name.startswith("_")]
    members = {name: method(name) for name in public if callable(getattr(kind, name))}
    members |= {name: altered_property(name) for name in public if isinstance(getattr(kind, name), property)}
    return type(kind)(kind.__name__, (kind,), members)


def optimizer_swapped(optimizer: Any, mutant: Mutant) -> Any:
    """Alter the variables after each update."""

    class Altered(optimizer):
        def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
            variables = list(trainable_variables or self._trainable_variables)
            before = [tf.identity(variable) for variable in variables]
            result = super().apply(grads, trainable_variables)
            after = [tf.identity(variable) for variable in variables]
            wrong_values = mutant(after, (before,), {})
            if any(value.dtype != right.dtype for value, right in zip(wrong_values, after, strict=True)):
                # A variable keeps its own dtype, whatever it is assigned.
                mutant.applied = False
                return result
            for variable, value in zip(variables, wrong_values, strict=True):
                variable.assign(value)
            return result

    return Altered


def average_swapped(average: Any, mutant: Mutant) -> Any:
    """Alter the values that are read from a moving average."""

    class Altered(average):
        def average(self, var: Any) -> Any:
            return mutant(super().average(var), (var,), {})

    return Altered


def variable_swapped(variable: Any, mutant: Mutant) -> Any:
    """Alter the initial value of a variable, and keep assigned values."""

    def make_altered(initial_value: Any = None, *arguments: Any, **options: Any) -> Any:
        right = variable(initial_value, *arguments, **options)
        value = mutant(tf.identity(right), (initial_value,), {})
        if value.dtype != right.dtype:
            options = {key: option for key, option in options.items() if key != "dtype"}
            return variable(value, *arguments, **options)
        right.assign(value)
        return right

    return make_altered


def initializer_swapped(initializer: Any, mutant: Mutant) -> Any:
    """Alter the values with which a table is filled."""

    class Altered(initializer):
        def __init__(self, keys: Any, values: Any, *arguments: Any, **options: Any) -> None:
            super().__init__(keys, values, *arguments, **options)
            self._values = mutant(self._values, (keys,), {})

    return Altered


def placeholder_swapped(placeholder: Any, mutant: Mutant) -> Any:
    """Give the placeholder another dtype. Nothing else can be wrong, because the fed value replaces everything."""

    def make_altered(dtype: Any, *arguments: Any, **options: Any) -> Any:
        was_applied = mutant.applied
        probe = np.zeros(1, tf.as_dtype(dtype).as_numpy_dtype)
        other = mutant(probe, (), {})
        if other.dtype == probe.dtype:
            mutant.applied = was_applied
        return placeholder(other.dtype, *arguments, **options)

    return make_altered


CLASSES: Mapping[type, Wrapper] = {
    v1.distributions.Distribution: methods_swapped,
    tf.keras.optimizers.Optimizer: optimizer_swapped,
    tf.train.ExponentialMovingAverage: average_swapped,
    tf.Variable: variable_swapped,
    tf.lookup.KeyValueTensorInitializer: initializer_swapped,
}
