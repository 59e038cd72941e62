"""Cases of modules as containers: children, parameters, state and gradients.

These cases are about ``torch.nn.Module`` and ``torch.nn.Sequential`` themselves; ``layers.py`` has cases about the
computation of layers. Methods are called as plain functions of a module.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import EXACT, compare

Array = np.ndarray[Any, Any]


def linear_of(context: Context, weight: Any, bias: Any = None) -> torch.nn.Linear:
    """Return a linear layer on the device with these weights."""
    outputs, inputs = weight.shape
    layer = torch.nn.Linear(inputs, outputs, bias=bias is not None, device=context.device, dtype=context.dtype)
    layer.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


def two_layers(rows: int, *widths: int) -> Callable[[Inputs], Any]:
    """Make weights and biases of two linear layers, and a batch of rows as their input."""
    first, hidden, last = widths
    return lambda inputs: (
        inputs.normal(hidden, first) / np.sqrt(first),
        inputs.normal(hidden),
        inputs.normal(last, hidden) / np.sqrt(hidden),
        inputs.normal(last),
        inputs.normal(rows, first),
    )


def perceptron_reference(w1: Array, b1: Array, w2: Array, b2: Array, values: Array, **_: Any) -> Array:
    return np.asarray(np.maximum(values @ w1.T + b1, 0) @ w2.T + b2)


def perceptron(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    model = context.function(linear_of(context, w1, b1), torch.nn.ReLU(), linear_of(context, w2, b2))
    return lambda: model(values)


def perceptron_by_name(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    """Prepare a model that is built from an ordered dictionary. The children keep their names."""
    model = context.function(
        OrderedDict(first=linear_of(context, w1, b1), bend=torch.nn.ReLU(), second=linear_of(context, w2, b2))
    )
    return lambda: (model(values), [name for name, _ in model.named_children()])


def perceptron_nested(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    model = context.function(context.function(linear_of(context, w1, b1), torch.nn.ReLU()), linear_of(context, w2, b2))
    return lambda: (model(values), list(model.state_dict()))


def perceptron_appended(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    """Prepare a model to which layers are appended, and into which a layer is inserted."""
    model = context.function(linear_of(context, w1, b1))
    model.append(linear_of(context, w2, b2))
    model.insert(1, torch.nn.ReLU())
    return lambda: (model(values), len(model))


def first_layers(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    """Prepare a slice of a model, which is a model itself, and a layer by its index."""
    model = context.function(linear_of(context, w1, b1), torch.nn.ReLU(), linear_of(context, w2, b2))
    return lambda: (model[:2](values), model[-1].weight)


def perceptron_gradients(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any) -> Callable[[], Any]:
    """Prepare the result, and the gradients of its sum with respect to all weights in the order of the parameters."""
    model = context.function(linear_of(context, w1, b1), torch.nn.ReLU(), linear_of(context, w2, b2))

    def call() -> Any:
        result = model(values)
        return result, list(torch.autograd.grad(result.sum(), list(model.parameters())))

    return call


def gradient_reference(w1: Array, b1: Array, w2: Array, b2: Array, values: Array) -> list[Array]:
    bent = np.maximum(values @ w1.T + b1, 0)
    ones = np.ones((len(values), len(b2)))
    behind = (ones @ w2) * (bent > 0)
    return [behind.T @ values, behind.sum(0), ones.T @ bent, ones.sum(0)]


sequential = Function("torch.nn.Sequential", reference=perceptron_reference, prepare=perceptron)

sequential.value("perceptron", two_layers(128, 64, 128, 32))
sequential.value("float64", two_layers(5, 4, 6, 3), dtype="float64")
sequential.value(
    "named",
    two_layers(5, 4, 6, 3),
    reference=lambda *arrays: (perceptron_reference(*arrays), ["first", "bend", "second"]),
    prepare=perceptron_by_name,
)
sequential.value(
    "nested",
    two_layers(5, 4, 6, 3),
    reference=lambda *arrays: (
        perceptron_reference(*arrays),
        ["0.0.weight", "0.0.bias", "1.weight", "1.bias"],
    ),
    prepare=perceptron_nested,
)
sequential.value(
    "appended",
    two_layers(5, 4, 6, 3),
    reference=lambda *arrays: (perceptron_reference(*arrays), 3),
    prepare=perceptron_appended,
)
sequential.value(
    "slice",
    two_layers(5, 4, 6, 3),
    reference=lambda w1, b1, w2, b2, values: (np.maximum(values @ w1.T + b1, 0), w2),
    prepare=first_layers,
)
sequential.value(
    "gradients",
    two_layers(16, 8, 12, 4),
    reference=lambda *arrays: (perceptron_reference(*arrays), gradient_reference(*arrays)),
    prepare=perceptron_gradients,
)
sequential.value(
    "without-layers-changes-nothing",
    lambda inputs: (inputs.normal(5, 3),),
    reference=lambda values: values,
    prepare=lambda context, values: lambda: context.function()(values),
)
sequential.value(
    "nan-stays-in-its-row",
    lambda inputs: (*two_layers(3, 4, 6, 3)(inputs)[:4], np.vstack([inputs.normal(2, 4), np.full((1, 4), np.nan)])),
)


class Normaliser(torch.nn.Module):  # type: ignore[misc]
    """A module with every kind of state: a parameter, persistent buffers, a non-persistent buffer, a child, and a
    parameter that is None."""

    def __init__(self, context: Context, weight: Any, mean: Any, count: Any) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(mean.clone())
        self.register_buffer("mean", mean.clone())
        self.register_buffer("count", count.clone())
        self.register_buffer("scratch", mean.clone(), persistent=False)
        self.register_parameter("shift", None)
        self.inner = linear_of(context, weight)


def state_of(context: Context, weight: Any, mean: Any, count: Any, **options: Any) -> Callable[[], Any]:
    module = Normaliser(context, weight, mean, count)
    return lambda: dict(context.function(module, **options))


def state_reference(weight: Array, mean: Array, count: Array, *, prefix: str = "") -> dict[str, Array]:
    state = {"scale": mean, "mean": mean, "count": count, "inner.weight": weight}
    return {prefix + name: values for name, values in state.items()}


def normaliser(rows: int, width: int) -> Callable[[Inputs], Any]:
    return lambda inputs: (inputs.normal(rows, width), inputs.normal(width), inputs.integers(3, high=90))


def state_names(context: Context, weight: Any, mean: Any, count: Any) -> Callable[[], Any]:
    module = Normaliser(context, weight, mean, count)
    return lambda: list(context.function(module))


def check_names(observed: Any, *_: Array) -> None:
    assert observed == ["scale", "mean", "count", "inner.weight"], f"the names are {observed}"


def state_written(context: Context, weight: Any, mean: Any, count: Any) -> Callable[[], Any]:
    """Prepare a call that writes into the state dictionary. The state shares the module's arrays, so the module
    changes, too."""
    module = Normaliser(context, weight, mean, count)

    def call() -> Any:
        with torch.no_grad():
            for parameter in context.function(module).values():
                parameter.copy_(torch.full_like(parameter, 3))
        return module.scale.detach(), module.mean, module.count, module.inner.weight.detach()

    return call


def state_loaded(context: Context, weight: Any, mean: Any, count: Any) -> Callable[[], Any]:
    """Prepare a call that loads the state of one module into another."""
    module = Normaliser(context, weight, mean, count)
    other = Normaliser(context, weight * 0, mean * 0, count * 0)

    def call() -> Any:
        other.load_state_dict(context.function(module))
        return other.scale.detach(), other.mean, other.count, other.inner.weight.detach()

    return call


def check_loaded(observed: Any, weight: Array, mean: Array, count: Array) -> None:
    compare(observed, (mean, mean, count, weight), "float32", EXACT)


def state_added(context: Context, weight: Any, mean: Any, count: Any) -> Callable[[], Any]:
    """Prepare a call that adds the state to an existing dictionary and returns this dictionary."""
    module = Normaliser(context, weight, mean, count)

    def call() -> Any:
        destination: OrderedDict[str, Any] = OrderedDict(before="kept")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returned = context.function(module, destination=destination)
        return [returned is destination, dict(destination)]

    return call


def gradient_wanted(context: Context, weight: Any, mean: Any, count: Any, **options: Any) -> Callable[[], Any]:
    module = Normaliser(context, weight, mean, count)
    return lambda: [parameter.requires_grad for parameter in context.function(module, **options).values()]


def check_gradient_wanted(observed: Any, *_: Array, keep_vars: bool = False) -> None:
    expected = [True, False, False, True] if keep_vars else [False] * 4
    assert observed == expected, f"whether the entries want a gradient: {observed}, expected {expected}"


state_dict = Function("torch.nn.Module.state_dict", reference=state_reference, prepare=state_of)

state_dict.value("large-layer", normaliser(256, 128), tolerance=EXACT)
state_dict.value("float64", normaliser(4, 3), dtype="float64", tolerance=EXACT)
state_dict.value("bfloat16", normaliser(4, 3), dtype="bfloat16", tolerance=EXACT)
state_dict.value("prefix", normaliser(4, 3), tolerance=EXACT, prefix="model.")
state_dict.value(
    "shares-its-arrays",
    normaliser(4, 3),
    reference=lambda *arrays: tuple(np.full_like(arrays[index], 3) for index in (1, 1, 2, 0)),
    prepare=state_written,
    tolerance=EXACT,
)
state_dict.behaviour("order-of-names", normaliser(4, 3), check_names, prepare=state_names)
state_dict.behaviour("loaded-into-another", normaliser(4, 3), check_loaded, prepare=state_loaded)
state_dict.behaviour("detached", normaliser(4, 3), check_gradient_wanted, prepare=gradient_wanted)
state_dict.behaviour(
    "parameters-themselves", normaliser(4, 3), check_gradient_wanted, prepare=gradient_wanted, keep_vars=True
)
state_dict.value(
    "nan-and-infinities",
    lambda inputs: (inputs.normal(4, 3), np.array([np.nan, np.inf, -np.inf]), inputs.integers(3)),
    tolerance=EXACT,
)
state_dict.value(
    "destination",
    normaliser(4, 3),
    reference=lambda *arrays: [True, {"before": "kept", **state_reference(*arrays)}],
    prepare=state_added,
    tolerance=EXACT,
)


def zeroed(context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare a backward pass, followed by a call of the case's function. Returns the gradients after this call."""
    model = torch.nn.Sequential(linear_of(context, w1, b1), torch.nn.ReLU(), linear_of(context, w2, b2))

    def call() -> Any:
        model(values).sum().backward()
        context.function(model, **options)
        return [parameter.grad for parameter in model.parameters()]

    return call


def accumulated_anew(
    context: Context, w1: Any, b1: Any, w2: Any, b2: Any, values: Any, **options: Any
) -> Callable[[], Any]:
    """Prepare two backward passes through one model. The case's function is called before each pass and clears the
    gradients, so the gradients at the end are those of the second pass alone."""
    model = torch.nn.Sequential(linear_of(context, w1, b1), torch.nn.ReLU(), linear_of(context, w2, b2))

    def call() -> Any:
        for _ in range(2):
            context.function(model, **options)
            model(values).sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    return call


zero_grad = Function("torch.nn.Module.zero_grad", prepare=zeroed)

zero_grad.value(
    "to-zero",
    two_layers(128, 64, 128, 32),
    reference=lambda w1, b1, w2, b2, values, **_: [np.zeros(weight.shape) for weight in (w1, b1, w2, b2)],
    set_to_none=False,
)
zero_grad.value(
    "to-zero-bfloat16",
    two_layers(4, 3, 5, 2),
    dtype="bfloat16",
    reference=lambda w1, b1, w2, b2, values, **_: [np.zeros(weight.shape) for weight in (w1, b1, w2, b2)],
    set_to_none=False,
)
zero_grad.value("to-none", two_layers(4, 3, 5, 2), reference=lambda *_, **__: [None] * 4, set_to_none=True)
zero_grad.value("to-none-by-default", two_layers(4, 3, 5, 2), reference=lambda *_: [None] * 4)
zero_grad.value("then-accumulated-anew", two_layers(8, 4, 6, 3), reference=gradient_reference, prepare=accumulated_anew)
zero_grad.value(
    "zeros-accumulated-anew",
    two_layers(8, 4, 6, 3),
    reference=lambda *arrays, **_: gradient_reference(*arrays),
    prepare=accumulated_anew,
    set_to_none=False,
)
zero_grad.value(
    "nan-to-zero",
    lambda inputs: (*two_layers(3, 4, 6, 3)(inputs)[:4], np.full((3, 4), np.nan)),
    reference=lambda w1, b1, w2, b2, values, **_: [np.zeros(weight.shape) for weight in (w1, b1, w2, b2)],
    set_to_none=False,
)

FUNCTIONS: list[Function] = [sequential, state_dict, zero_grad]
