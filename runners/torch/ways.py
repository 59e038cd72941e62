"""The ways in which a frozen case uses its function: it calls or differentiates the function, builds a module with it,
or makes steps of an optimizer.

A way takes the function and the parts of a stored call, does its preparation before the clock starts, and returns the
call. Torch is imported only when a way is used, because cases are also listed without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from runners.suite.sequences import aligned

Way = Callable[..., Callable[[], Any]]


def plain(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Callable[[], Any]:
    """A way to call a function: make the stored call."""
    return partial(function, *arguments, **options)


def gradient(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> Callable[[], Any]:
    """A way to call a function: run it forward and backward, and return the gradients of a weighted sum of the results.

    ``wanted`` are the positions of the arrays to differentiate with respect to, counted through the arguments and then
    the options. ``weights`` has an array for each array of the result that has a gradient, and None for each array
    without a gradient.
    """
    import torch

    given = list(tensors_in((arguments, options)))
    inputs = [given[place].requires_grad_() for place in wanted]

    def call() -> list[Any]:
        results = list(tensors_in(function(*arguments, **options)))
        weighted = [(result, weight) for result, weight in aligned(results, weights) if weight is not None]
        found = torch.autograd.grad(
            [result for result, _ in weighted], inputs, [weight for _, weight in weighted], allow_unused=True
        )
        return list(found)

    return call


def second_order(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], wanted: Sequence[int], weights: Sequence[Any]
) -> Callable[[], Any]:
    """A way to call a function: compute its second derivatives. The call returns the gradients of a penalty, which is
    half the sum of the squares of the results of ``gradient``.

    A gradient is zero if the penalty does not depend on the input.
    """
    import torch

    given = list(tensors_in((arguments, options)))
    inputs = [given[place].requires_grad_() for place in wanted]

    def call() -> list[Any]:
        total = penalty(function, arguments, options, inputs, weights)
        second_gradients = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
        return list(second_gradients)

    return call


def penalty(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    inputs: Sequence[Any],
    weights: Sequence[Any],
) -> Any:
    """Half the sum of the squares of the gradients of a weighted sum of the results. It can be differentiated."""
    import torch

    results = list(tensors_in(function(*arguments, **options)))
    weighted = [(result, weight) for result, weight in aligned(results, weights) if weight is not None]
    slopes = torch.autograd.grad(
        [result for result, _ in weighted],
        inputs,
        [weight for _, weight in weighted],
        create_graph=True,
        allow_unused=True,
        materialize_grads=True,
    )
    return sum((slope * slope).sum() for slope in slopes) / 2


def through_view(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Callable[[], Any]:
    """A way to call a method that works in place on a view: return its result and the whole buffer."""

    def call() -> list[Any]:
        result = function(*arguments, **options)
        return [result, arguments[0]._base]

    return call


def forward(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    state: Mapping[str, Any],
    inputs: tuple[Sequence[Any], Mapping[str, Any]],
    training: bool,
) -> Callable[[], Any]:
    """A way to call a function: build the module, and run it forward. In evaluation, gradients are off."""
    import torch

    module = built(function, arguments, options, state, training)
    given, named = inputs

    def call() -> Any:
        with torch.set_grad_enabled(training):
            return module(*given, **named)

    return call


def built(
    function: Any, arguments: Sequence[Any], options: Mapping[str, Any], state: Mapping[str, Any], training: bool
) -> Any:
    """The module. Its parameters and buffers are copies of a state, on the state's device and in its dtypes."""
    module = function(*arguments, **options)
    module.load_state_dict({name: tensor.clone() for name, tensor in state.items()}, assign=True)
    return module.train(training)


def steps(
    function: Any,
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    gradients: Sequence[Sequence[Any]],
    by_closure: bool,
) -> Callable[[], Any]:
    """A way to call an optimizer: make a step for each entry of ``gradients``, and return the parameters after the last
    step.

    Each call begins with a new optimizer and copies of the parameters, so that it can be repeated.
    """
    import torch

    parameters, *others = arguments

    def call() -> list[Any]:
        trained = [torch.nn.Parameter(parameter.clone()) for parameter in parameters]
        optimizer = function(trained, *others, **options)
        for of_step in gradients:
            for parameter, slope in aligned(trained, of_step):
                parameter.grad = slope.clone()
            optimizer.step(*([partial(_sum_of_products, trained, of_step)] if by_closure else []))
        return [parameter.detach() for parameter in trained]

    return call


def _sum_of_products(parameters: Sequence[Any], gradients: Sequence[Any]) -> Any:
    """A loss with these gradients."""
    return sum((parameter.detach() * slope).sum() for parameter, slope in aligned(parameters, gradients))


WAYS: Mapping[str, Way] = {
    "call": plain,
    "gradient": gradient,
    "second_order": second_order,
    "through_view": through_view,
    "forward": forward,
    "steps": steps,
}
"""The ways by the names that stored calls use."""


def tensors_in(tree: Any) -> Iterator[Any]:
    """Every array in a tree of lists, tuples and mappings, in order."""
    import torch

    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for member in tree.values():
            yield from tensors_in(member)
    elif isinstance(tree, (list, tuple)):
        for member in tree:
            yield from tensors_in(member)
