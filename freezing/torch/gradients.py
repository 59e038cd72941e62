"""The backward pass of an operator as a ``GatedFunction``, and its samples, which contain weights for the results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from freezing.common.agreement import Reference
from freezing.common.differences import weights_of
from freezing.common.gate import Arguments
from freezing.common.samples import Drawn
from freezing.torch import differences
from freezing.torch.operators import OperatorFunction
from freezing.torch.samples import prefix_of, seed, write
from freezing.torch.subjects import WaySubject, called_by
from protocol.enums import GRADIENT
from runners.errors import UnfreezableError
from runners.suite.checks import TOLERANCES, Tolerance
from runners.suite.frozen import PackWriter
from runners.torch import ways
from runners.torch.ways import Way, tensors_in
from runners.torch.widening import changed, widened

KEPT = 2
"""The maximum number of gradient cases of an operator."""

MOST_READ = 30
"""The maximum number of samples of an operator that are called to find out whether they have a gradient."""
DTYPE = "float32"
KIND = GRADIENT
SELECTING = ("max", "min", "median", "quantile")
"""Parts of the names of functions whose gradient goes to one of several equal elements, or is shared between them."""


class OperatorGradient(WaySubject):
    """The backward pass of an operator, which is called by one of its public names."""

    way: Way = staticmethod(ways.gradient)

    def __init__(self, function: OperatorFunction) -> None:
        super().__init__(function.name, function.call, self.way)
        self.function = function
        self.first_of_equals = function.first_of_equals or any(word in function.name for word in SELECTING)

    def references(self, dtype: str, fresh: Callable[[], Arguments]) -> Iterator[tuple[str, Reference]]:
        parts, _ = fresh()
        if differences.are_few(parts):
            yield "differences", lambda: self.differences(parts)
        yield from super().references(dtype, fresh)

    def differences(self, parts: Sequence[Any]) -> list[Any]:
        return differences.gradients(self.function.call, parts)

    def tolerance(self, dtype: str, result: Any) -> Tolerance:
        return self.function.tolerance(dtype, result)

    def same_as(self) -> Callable[..., Any] | None:
        other = self.function.same_as()
        return None if other is None else called_by(self.way, other)


class SecondOrderGradient(OperatorGradient):
    """The gradient of the sum of squares of an operator's gradients. A call raises an error if these depend on no
    input."""

    way: Way = staticmethod(ways.second_order)

    def __init__(self, function: OperatorFunction) -> None:
        super().__init__(function)
        self.call = depending(self.call)

    def differences(self, parts: Sequence[Any]) -> list[Any]:
        """Compute central differences of the gradients in float64. They share no formula with the second backward
        pass."""
        arguments, options, places, weights = parts
        wide = widened(weights)

        def penalty(*arguments: Any, **options: Any) -> Any:
            tensors = list(tensors_in((arguments, options)))
            with torch.enable_grad():
                inputs = [tensors[place].requires_grad_() for place in places]
                return ways.penalty(self.function.call, arguments, options, inputs, wide).detach()

        return differences.gradients(penalty, (arguments, options, places, [torch.ones(())]))


def depending(call: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a call so that it raises ``ValueError`` if all its results are zero within the tolerance.

    The gradient of a norm, for example, has the length 1 for every input, except for rounding.
    """
    least = TOLERANCES[DTYPE].absolute

    def check_and_call(*parts: Any) -> Any:
        results = call(*parts)
        if not any((result.isnan() | (result.abs() > least)).any() for result in tensors_in(results)):
            raise ValueError("its gradients depend on no input")
        return results

    return check_and_call


def gradient_of(op: Any, functions: Sequence[OperatorFunction]) -> OperatorGradient | None:
    """Return the gradient of the operator's function, or of its method if the function has none. None if neither can be
    compared."""
    if torch.float32 not in op.supported_backward_dtypes("cpu"):
        return None
    functions_first = sorted(functions, key=lambda function: function.style != "function")
    candidates = [function for function in functions_first if not function.in_place and not function.left_open]
    return OperatorGradient(candidates[0]) if candidates else None


def draw(op: Any, function: Any, pack: PackWriter) -> Drawn:
    """Read the operator's samples that require gradients. Errors of its generator are not caught."""
    seed()
    draws = Drawn()
    read = op.sample_inputs("cpu", getattr(torch, DTYPE), requires_grad=True)
    for number, sample in enumerate(itertools.islice(read, MOST_READ)):
        name = f"{prefix_of(op, DTYPE)}-{number}-gradient"
        call = [sample.input, *sample.args], dict(sample.kwargs)
        try:
            places, weights = choose_weights(function, *call)
            draws.add(write(name, DTYPE, (*call, places, weights), pack, way="gradient", kinds=(KIND,)))
        except UnfreezableError as error:
            draws.left_out.append((name, str(error)))
    return draws


def choose_weights(function: Any, arguments: list[Any], options: dict[str, Any]) -> tuple[list[int], list[Any]]:
    """Return the places of the arrays to differentiate by, and a weight for each array of the result."""
    tensors = list(tensors_in((arguments, options)))
    places = [place for place, tensor in enumerate(tensors) if tensor.requires_grad and tensor.is_floating_point()]
    if not any(tensors[place].numel() for place in places):
        raise UnfreezableError("nothing asks for a gradient")
    arguments, options = changed((arguments, options), _copy)
    try:
        results = list(tensors_in(function(*arguments, **options)))
    except Exception as error:
        raise UnfreezableError(f"raises where a gradient is asked for: {type(error).__name__}") from error
    weights = [weight_of(result) if result.requires_grad else None for result in results]
    if not any(weight is not None and weight.numel() for weight in weights):
        raise UnfreezableError("nothing that it returns has a gradient")
    return places, weights


def _copy(tensor: Any) -> Any:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def weight_of(result: Any) -> Any:
    """Return weights with the shape and dtype of a result."""
    return torch.from_numpy(weights_of(tuple(result.shape))).to(result.dtype)
