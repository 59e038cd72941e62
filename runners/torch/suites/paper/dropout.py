"""Cases of dropout, which sets random elements to zero and scales the others.

The device chooses which elements to drop. This choice is judged by statistics. The values of the other elements must be
exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.torch.suites.paper import chance

Array = np.ndarray[Any, Any]


def positive(*shape: int) -> Callable[[Inputs], Any]:
    """Make values without zeros, so that a zero in the result shows a dropped element."""
    return lambda inputs: (inputs.uniform(*shape, low=1.0, high=2.0),)


def assert_scaled(result: Array, values: Array, p: float, relative: float = 1e-5) -> None:
    stayed = result != 0
    expected = values[stayed] / (1 - p)
    wrong = np.abs(result[stayed] - expected) > relative * expected
    assert not wrong.any(), f"{int(wrong.sum())} of {stayed.sum()} elements that stay are not scaled by 1/(1-p)"


def assert_dropped(result: Array, p: float, what: str = "dropped") -> None:
    """Check that each element is dropped with probability ``p``, independently of its neighbors on every axis."""
    gone = result == 0
    chance.assert_share(int(gone.sum()), gone.size, p, what)
    for axis in range(gone.ndim):
        if gone.shape[axis] > 1:
            here = np.take(gone, range(gone.shape[axis] - 1), axis).astype(float)
            there = np.take(gone, range(1, gone.shape[axis]), axis).astype(float)
            chance.assert_uncorrelated(here, there, f"neighbours on axis {axis}")


def check_dropout(observed: Any, values: Array, *, p: float = 0.5, **_: Any) -> None:
    assert observed.values.shape == values.shape, f"shape {observed.values.shape}"
    assert_scaled(observed.values, values, p, relative=4e-3 if observed.dtype == "bfloat16" else 1e-5)
    assert_dropped(observed.values, p)


def twice(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    return lambda: (context.function(values, **options), context.function(values, **options))


def check_two_masks(observed: Any, values: Array, *, p: float) -> None:
    one, other = (leaf.values for leaf in observed)
    for result in (one, other):
        assert_scaled(result, values, p)
    chance.assert_uncorrelated((one == 0).astype(float), (other == 0).astype(float), "two calls")


def with_gradient(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    leaf = values.detach().requires_grad_()

    def call() -> Any:
        result = context.function(leaf, **options)
        return result, torch.autograd.grad(result.sum(), leaf)[0]

    return call


def check_gradient(observed: Any, values: Array, *, p: float) -> None:
    """Check that the gradient is zero for dropped elements, and scaled like the values for the others."""
    result, gradient = (leaf.values for leaf in observed)
    assert_dropped(result, p)
    expected = np.where(result == 0, 0, 1 / (1 - p))
    assert np.allclose(gradient, expected, rtol=1e-5), "the gradient is not the mask scaled by 1/(1-p)"


def in_place(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare an in-place call. It returns the result, and the argument after the call."""

    def call() -> Any:
        argument = values.clone()
        return context.function(argument, inplace=True, **options), argument

    return call


def check_in_place(observed: Any, values: Array, *, p: float) -> None:
    result, argument = (leaf.values for leaf in observed)
    assert np.array_equal(result, argument), "the argument was not changed in place"
    assert_scaled(result, values, p)
    assert_dropped(result, p)


def unchanged(values: Array, **_: Any) -> Array:
    return values


def all_zero(values: Array, **_: Any) -> Array:
    return np.zeros(values.shape)


dropout = Function("torch.nn.functional.dropout", reference=unchanged)

dropout.statistics("half", positive(256, 256), check_dropout, p=0.5)
dropout.statistics("tenth", positive(64, 128), check_dropout, p=0.1)
dropout.statistics("nine-tenths", positive(64, 128), check_dropout, p=0.9)
dropout.statistics("float64", positive(64, 128), check_dropout, dtype="float64", p=0.3)
dropout.statistics("bfloat16", positive(64, 128), check_dropout, dtype="bfloat16", p=0.5)
dropout.statistics("default", positive(16, 16, 16), check_dropout)
dropout.statistics("two-masks", positive(64, 128), check_two_masks, prepare=twice, p=0.4)
dropout.statistics("gradient", positive(64, 128), check_gradient, prepare=with_gradient, p=0.25)
dropout.statistics("in-place", positive(64, 128), check_in_place, prepare=in_place, p=0.25)
dropout.value("not-training-changes-nothing", positive(32, 16), p=0.5, training=False)
dropout.value("p-zero-drops-nothing", positive(32, 16), p=0.0)
dropout.value("p-one-drops-everything", positive(32, 16), reference=all_zero, p=1.0)
dropout.value("empty", lambda inputs: (inputs.normal(0, 4),), p=0.5)
dropout.value(
    "nan-and-infinities-not-training", lambda inputs: (np.array([[np.nan, 1.0], [np.inf, -np.inf]]),), training=False
)


def layer(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    module = context.function(**options)
    return lambda: module(values)


def layer_evaluating(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    module = context.function(**options).eval()
    return lambda: module(values)


def check_channels(observed: Any, values: Array, *, p: float = 0.5) -> None:
    """Check that every channel is either dropped or kept as a whole. A 5-dimensional input has a batch axis before the
    channels."""
    result = observed.values
    assert result.shape == values.shape, f"shape {result.shape}"
    assert_scaled(result, values, p)
    flat = (result == 0).reshape(*values.shape[:-3], -1)
    assert np.array_equal(flat.all(-1), flat.any(-1)), "a channel was dropped in part"
    assert_dropped(np.where(flat.all(-1), 0, 1), p, "channels dropped")


def layer_in_place(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare an in-place call of a layer. It returns the result, and the argument after the call."""
    module = context.function(**options)

    def call() -> Any:
        argument = values.clone()
        return [module(argument), argument]

    return call


def check_channels_in_place(observed: Any, values: Array, *, p: float, **_: Any) -> None:
    result, argument = observed
    assert np.array_equal(result.values, argument.values), "the argument was not changed in place"
    check_channels(result, values, p=p)


dropout3d = Function("torch.nn.Dropout3d", reference=unchanged, prepare=layer)

dropout3d.statistics("volumes", positive(32, 64, 4, 4, 4), check_channels)
dropout3d.statistics("quarter", positive(32, 32, 2, 2, 2), check_channels, p=0.25)
dropout3d.statistics("float64", positive(32, 32, 2, 2, 2), check_channels, dtype="float64", p=0.75)
dropout3d.statistics("unbatched", positive(512, 2, 3, 2), check_channels, p=0.5)
dropout3d.value("evaluating-changes-nothing", positive(2, 3, 2, 2, 2), prepare=layer_evaluating, p=0.5)
dropout3d.value("p-zero-drops-nothing", positive(2, 3, 2, 2, 2), p=0.0)
dropout3d.value("p-one-drops-everything", positive(2, 3, 2, 2, 2), reference=all_zero, p=1.0)
dropout3d.value("bfloat16-evaluating", positive(2, 3, 2, 2, 2), dtype="bfloat16", prepare=layer_evaluating)
dropout3d.statistics(
    "in-place", positive(32, 32, 2, 2, 2), check_channels_in_place, prepare=layer_in_place, p=0.25, inplace=True
)
dropout3d.value(
    "in-place-p-one-drops-everything",
    positive(2, 3, 2, 2, 2),
    reference=lambda values, **_: [np.zeros(values.shape)] * 2,
    prepare=layer_in_place,
    p=1.0,
    inplace=True,
)
dropout3d.value(
    "nan-and-infinities-evaluating",
    lambda inputs: (np.array([np.nan, 1.0, np.inf, -np.inf]).reshape(1, 1, 2, 2, 1),),
    prepare=layer_evaluating,
)

FUNCTIONS: list[Function] = [dropout, dropout3d]
