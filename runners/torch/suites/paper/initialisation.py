"""Cases of ``torch.nn.init``, which fills an array in place with random numbers of a known distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Accepted
from runners.torch.suites.paper import chance

Array = np.ndarray[Any, Any]


def filled(context: Context, array: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a call that returns the result, and the argument after the call."""
    return lambda: (context.function(array, **options), array)


def bound(shape: tuple[int, ...], gain: float) -> float:
    """Compute the bound of Glorot and Bengio. Inputs and outputs count once for each position of the kernel."""
    places = math.prod(shape[2:])
    return gain * math.sqrt(6 / ((shape[0] + shape[1]) * places))


def check_uniform(observed: Any, array: Array, *, gain: float = 1.0) -> None:
    result, argument = (leaf.values for leaf in observed)
    assert np.array_equal(result, argument), "the argument was not filled in place"
    assert result.shape == array.shape, f"shape {result.shape}"
    limit = bound(array.shape, gain)
    assert np.abs(result).max() <= limit * (1 + 1e-6), f"a weight is {np.abs(result).max()}, beyond {limit}"
    chance.assert_distribution(result.astype(np.float64), lambda values: (values / limit + 1) / 2, "weights")
    flat = result.ravel()
    chance.assert_uncorrelated(flat[:-1], flat[1:], "neighbouring weights")


def check_rounded_uniform(observed: Any, array: Array, *, gain: float = 1.0) -> None:
    """Check a uniform distribution in a narrow type by its bounds and moments. Rounded values coincide, so the
    Kolmogorov-Smirnov test cannot be used."""
    result, argument = (leaf.values.astype(np.float64) for leaf in observed)
    assert np.array_equal(result, argument), "the argument was not filled in place"
    limit = bound(array.shape, gain)
    assert np.abs(result).max() <= limit * 1.01, f"a weight is {np.abs(result).max()}, beyond {limit}"
    # Draws on [-limit, limit) are rounded down by up to 2⁻⁸ of the range, which shifts the mean.
    grid = limit * 2**-8
    mean, square = float(result.mean()), float((result**2).mean())
    margin = chance.DEVIATIONS * limit / math.sqrt(3 * result.size) + grid
    assert abs(mean) <= margin, f"the mean weight is {mean:.4g}, at most {margin:.2g} by chance"
    assert abs(square / (limit**2 / 3) - 1) < 0.1, f"the mean square is {square:.4g}, expected {limit**2 / 3:.4g}"


def unwritten(*shape: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (np.full(shape, 7.0),)


xavier_uniform = Function("torch.nn.init.xavier_uniform_", prepare=filled, in_place=True)

xavier_uniform.statistics("matrix", unwritten(256, 128), check_uniform)
xavier_uniform.statistics("wide-matrix", unwritten(8, 1024), check_uniform)
xavier_uniform.statistics("gain", unwritten(64, 128), check_uniform, gain=math.sqrt(2))
xavier_uniform.statistics("convolution", unwritten(32, 16, 3, 3), check_uniform)
xavier_uniform.statistics("float64", unwritten(64, 128), check_uniform, dtype="float64")
xavier_uniform.statistics("bfloat16", unwritten(128, 128), check_rounded_uniform, dtype="bfloat16")
xavier_uniform.statistics("float16", unwritten(128, 128), check_rounded_uniform, dtype="float16")


def parameter_filled(context: Context, array: Any) -> Callable[[], Any]:
    """Prepare a call that fills a parameter. The parameter must still require a gradient."""
    parameter = torch.nn.Parameter(array)

    def call() -> Any:
        context.function(parameter)
        return parameter.detach(), parameter.requires_grad, parameter.is_leaf

    return call


def check_parameter(observed: Any, array: Array) -> None:
    weights, wants_gradient, is_leaf = observed
    assert (wants_gradient, is_leaf) == (True, True), "the parameter is no longer a leaf that wants a gradient"
    check_uniform((weights, weights), array)


xavier_uniform.statistics("parameter", unwritten(64, 128), check_parameter, prepare=parameter_filled)


def refused(context: Context, vector: Any) -> Callable[[], Any]:
    def call() -> Any:
        try:
            context.function(vector)
        except ValueError as error:
            return type(error).__name__, vector
        return "no error", vector

    return call


def check_refused(observed: Any, vector: Array) -> None:
    error, argument = observed
    if error == "no error":
        raise Accepted("a vector, which has no inputs and outputs, was accepted")
    assert error == "ValueError", f"a vector, which has no inputs and outputs, gave {error}"
    assert np.array_equal(argument.values, vector), "the refused array was changed"


xavier_uniform.behaviour(
    "vector-is-refused", unwritten(5), check_refused, prepare=refused, refuses=True, in_place=False
)

FUNCTIONS: list[Function] = [xavier_uniform]
