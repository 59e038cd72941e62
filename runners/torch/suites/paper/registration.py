"""Cases of the methods that register children and parameters with a module.

A part is registered if the forward pass, the state dictionary and the lists of names include it. All of this is Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, Accepted
from runners.torch.suites.paper.modules import linear_of

Array = np.ndarray[Any, Any]


def child_added(context: Context, weight: Any, values: Any, *, names: tuple[str, ...]) -> Callable[[], Any]:
    """Prepare a call that adds a layer under each name. It returns the names, the state, and the output of the last
    layer."""

    def call() -> Any:
        parent = torch.nn.Module()
        for name in names:
            context.function(parent, name, linear_of(context, weight))
        found = [name for name, _ in parent.named_children()]
        return found, dict(parent.state_dict()), parent.get_submodule(names[-1])(values)

    return call


def child_reference(weight: Array, values: Array, *, names: tuple[str, ...]) -> Any:
    kept = list(dict.fromkeys(names))
    return kept, {f"{name}.weight": weight for name in kept}, values @ weight.T


def layer_and_batch(rows: int, columns: int, outputs: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (inputs.normal(outputs, columns) / np.sqrt(columns), inputs.normal(rows, columns))


add_module = Function(
    "torch.nn.Module.add_module",
    reference=child_reference,
    prepare=child_added,
)

add_module.value("large-layer", layer_and_batch(128, 64, 256), names=("layer",))
add_module.value("several-in-order", layer_and_batch(3, 4, 2), names=("second", "first", "third"))
add_module.value("float64", layer_and_batch(3, 4, 2), dtype="float64", names=("layer",))
add_module.value("same-name-replaces", layer_and_batch(3, 4, 2), names=("layer", "other", "layer"))


def none_added(context: Context) -> Callable[[], Any]:
    def call() -> Any:
        parent = torch.nn.Module()
        context.function(parent, "nothing", None)
        return list(parent._modules), [name for name, _ in parent.named_children()], parent.nothing

    return call


def check_none(observed: Any) -> None:
    assert observed == (["nothing"], [], None), f"after adding None: {observed}"


add_module.behaviour("none-is-kept-and-not-listed", lambda inputs: (), check_none, prepare=none_added)


def errors_of(attempts: list[Callable[[], Any]]) -> list[str]:
    found = []
    for attempt in attempts:
        try:
            attempt()
        except Exception as error:
            found.append(type(error).__name__)
        else:
            found.append("no error")
    return found


def require_errors(observed: list[str]) -> None:
    if "no error" in observed:
        raise Accepted(f"a name or value was accepted: the errors were {observed}")


def child_refused(context: Context) -> Callable[[], Any]:
    """Prepare calls with invalid arguments: a name with a dot, an empty name, a name that already exists, and a child
    that is not a module."""
    parent, child = torch.nn.Module(), torch.nn.ReLU()
    bad: list[tuple[str, Any]] = [("a.b", child), ("", child), ("forward", child), ("number", 3)]
    return lambda: errors_of([partial(context.function, parent, name, given) for name, given in bad])


def check_child_refused(observed: Any) -> None:
    require_errors(observed)
    assert observed == ["KeyError", "KeyError", "KeyError", "TypeError"], f"the errors were {observed}"


add_module.behaviour(
    "refuses-bad-names-and-children", lambda inputs: (), check_child_refused, prepare=child_refused, refuses=True
)


class Scale(torch.nn.Module):  # type: ignore[misc]
    """Multiplies by a parameter that the case registers."""

    def forward(self, values: Any) -> Any:
        return values * self.factor


def parameter_registered(context: Context, factor: Any, values: Any) -> Callable[[], Any]:
    """Prepare the names of the parameters, the state, the result of the forward pass, and the gradient."""

    def call() -> Any:
        module = Scale()
        context.function(module, "factor", torch.nn.Parameter(factor))
        result = module(values)
        gradient = torch.autograd.grad(result.sum(), module.factor)[0]
        return [name for name, _ in module.named_parameters()], dict(module.state_dict()), result, gradient

    return call


def parameter_reference(factor: Array, values: Array) -> Any:
    return ["factor"], {"factor": factor}, values * factor, values.sum(0)


# The study names Parameter, which never had this method. Modules register parameters.
register_parameter = Function(
    "torch.nn.Parameter.register_parameter",
    alias_of="torch.nn.Module.register_parameter",
    reference=parameter_reference,
    prepare=parameter_registered,
)

register_parameter.value("vector", lambda inputs: (inputs.normal(128), inputs.normal(64, 128)))
register_parameter.value("zero-dimensional", lambda inputs: (np.array(1.5), inputs.normal(6)))
register_parameter.value("float64", lambda inputs: (inputs.normal(4), inputs.normal(3, 4)), dtype="float64")


def replaced(context: Context, one: Any, other: Any) -> Callable[[], Any]:
    def call() -> Any:
        module = Scale()
        for value in (one, other):
            context.function(module, "factor", torch.nn.Parameter(value))
        return dict(module.state_dict())

    return call


register_parameter.value(
    "same-name-replaces",
    lambda inputs: (inputs.normal(4), inputs.normal(5)),
    reference=lambda one, other: {"factor": other},
    prepare=replaced,
    tolerance=EXACT,
)


def parameter_refused(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare calls with invalid arguments: a name with a dot, an empty name, a name that already exists, a tensor that
    is not a parameter, and the result of a computation."""
    module, good = Scale(), torch.nn.Parameter(values)
    computed = torch.nn.Parameter(values) * 2
    bad = [("a.b", good), ("", good), ("forward", good), ("plain", values), ("computed", computed)]
    return lambda: errors_of([partial(context.function, module, name, given) for name, given in bad])


def check_parameter_refused(observed: Any, *_: Array) -> None:
    require_errors(observed)
    assert observed == ["KeyError", "KeyError", "KeyError", "TypeError", "TypeError"], f"the errors were {observed}"


register_parameter.behaviour(
    "refuses-bad-names-and-values",
    lambda inputs: (inputs.normal(4),),
    check_parameter_refused,
    prepare=parameter_refused,
    refuses=True,
)

FUNCTIONS: list[Function] = [add_module, register_parameter]
