"""Handwritten cases of the modes in which programs run: mixed precision, compiled functions, backward passes,
assignments, and modes of modules.

They cover the most used functions without samples in torch's own tests. NumPy judges them, as in ``by_hand.py``.
If a result in bfloat16 must be exact, the numbers are small integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from runners.suite.cases import Context, Function, Inputs
from runners.suite.checks import Expected
from runners.torch.suites.library.by_hand import TAGS, Array, chart_in

FUNCTIONS: list[Function] = []
charted = partial(chart_in, FUNCTIONS)


def whole(inputs: Inputs, *shape: int) -> Array:
    return inputs.integers(*shape, low=-3, high=4).astype(np.float64)


def of_layer(inputs: Inputs) -> list[Array]:
    return [whole(inputs, 3, 4), whole(inputs, 2, 4)]


def linear_layer(weight: Any) -> Any:
    """Return a linear layer with this weight, on the weight's device and without a bias."""
    import torch

    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False, device=weight.device)
    with torch.no_grad():
        layer.weight.copy_(weight)
    return layer


def in_mixed_precision(context: Context) -> Any:
    import torch

    return context.function(context.device.type, dtype=torch.bfloat16)


def mixed_product(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    layer = linear_layer(weight)

    def call() -> Any:
        with in_mixed_precision(context):
            return layer(values).detach()

    return call


def mixed_gradient(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare the gradient of a product in bfloat16 with respect to a weight in float32."""
    layer = linear_layer(weight)

    def call() -> Any:
        layer.zero_grad()
        with in_mixed_precision(context):
            total = layer(values).sum()
        total.backward()
        return layer.weight.grad.clone()

    return call


def mixed_convolution(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    """Prepare a convolution in mixed precision, followed by a batch normalization that hardly changes its result. Each
    device has its own list of operations that run in bfloat16."""
    import torch

    convolution = torch.nn.Conv2d(weight.shape[1], weight.shape[0], 1, bias=False, device=context.device)
    with torch.no_grad():
        convolution.weight.copy_(weight[:, :, None, None])
    layers = torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(weight.shape[0], device=context.device)).eval()

    def call() -> Any:
        with in_mixed_precision(context):
            return layers(values).detach().float()

    return call


def in_bfloat16(values: Array) -> Expected:
    return Expected(values, "bfloat16")


autocast = charted("torch.autocast", lambda values, weight: in_bfloat16(values @ weight.T), mixed_product)
autocast.value("bfloat16-linear", of_layer, tags=TAGS)
autocast.value(
    "bfloat16-convolution-and-normalization",
    lambda inputs: [whole(inputs, 2, 3, 4, 4), whole(inputs, 5, 3)],
    reference=lambda values, weight: Expected(np.einsum("nchw,oc->nohw", values, weight), "float32"),
    prepare=mixed_convolution,
    tags=TAGS,
)
autocast.value(
    "gradient-in-float32",
    of_layer,
    reference=lambda values, weight: np.tile(values.sum(0), (len(weight), 1)),
    prepare=mixed_gradient,
    tags=TAGS,
)


def compiled_sum(context: Context) -> Callable[..., Any]:
    """Return a compiled function of two arrays. Torch traces its forward and backward passes, and runs them without a
    compiler."""
    function: Callable[..., Any] = context.function(lambda one, other: one.sin() + 2 * other, backend="aot_eager")
    return function


def call_compiled(context: Context, *arrays: Any) -> Callable[[], Any]:
    """Prepare a call of one compiled function for each pair of arrays. The second pair has another shape."""
    function = compiled_sum(context)
    return lambda: [function(one, other) for one, other in zip(arrays[::2], arrays[1::2])]


def compiled_gradient(context: Context, one: Any, other: Any) -> Callable[[], Any]:
    import torch

    function = compiled_sum(context)

    def call() -> Any:
        leaf = one.clone().requires_grad_()
        return torch.autograd.grad(function(leaf, other).sum(), leaf)[0]

    return call


def sums(*arrays: Array) -> list[Array]:
    return [np.sin(one) + 2 * other for one, other in zip(arrays[::2], arrays[1::2])]


compilation = charted("torch.compile", sums, call_compiled)
compilation.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)
compilation.value(
    "float32-second-shape",
    lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4), inputs.normal(7, 4), inputs.normal(7, 4)],
    tags=TAGS,
)
compilation.value(
    "float32-gradient",
    lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)],
    reference=lambda one, other: np.cos(one),
    prepare=compiled_gradient,
    tags=TAGS,
)


def accumulate(context: Context, values: Any, slopes: Any, times: int = 1) -> Callable[[], Any]:
    """Prepare the gradient of cubes, weighted by slopes. Each backward pass adds to the gradient."""

    def call() -> Any:
        leaf = values.clone().requires_grad_()
        for _ in range(times):
            context.function(leaf**3, slopes)
        return leaf.grad

    return call


backward = charted("torch.Tensor.backward", lambda values, slopes, times=1: times * 3 * values**2 * slopes, accumulate)
backward.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)
backward.value("float32-twice", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], times=2, tags=TAGS)

PLACES: dict[str, Any] = {
    "row": 1,
    "last-row": -1,
    "rows": slice(1, 3),
    "every-other-column": (slice(None), slice(None, None, 2)),
    "column": (Ellipsis, 2),
    "element": (2, 3),
}


def assign(context: Context, values: Any, source: Any, place: Any) -> Callable[[], Any]:
    def call() -> Any:
        context.function(values, place, source)
        return values

    return call


def assign_by_hand(values: Array, source: Array, place: Any) -> Array:
    copy = values.copy()
    copy[place] = source
    return copy


setitem = charted("torch.Tensor.__setitem__", assign_by_hand, assign, in_place=True)
for name, place in PLACES.items():
    setitem.value(
        f"float32-{name}",
        lambda inputs, place=place: [  # type: ignore[misc]
            inputs.normal(4, 5),
            inputs.normal(*np.empty((4, 5))[place].shape),
        ],
        place=place,
        tags=TAGS,
    )


def assign_by_array(context: Context, values: Any, places: Any, source: Any) -> Callable[[], Any]:
    return assign(context, values, source, places)


for name, make_places in {
    "indices": lambda inputs: np.array([3, 0]),
    "mask": lambda inputs: np.array([True, False, False, True]),
}.items():
    setitem.value(
        f"float32-{name}",
        lambda inputs, make_places=make_places: [  # type: ignore[misc]
            inputs.normal(4, 5),
            make_places(inputs),
            inputs.normal(2, 5),
        ],
        reference=lambda values, places, source: assign_by_hand(values, source, places),
        prepare=assign_by_array,
        tags=TAGS,
    )


def scaled_step(context: Context, values: Any, slopes: Any) -> Callable[[], Any]:
    """Prepare a step of descent with a scaled loss. It returns the parameter after the step, and the next scale."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        scaler = context.function(context.device.type, init_scale=8.0)
        scaler.scale((parameter * slopes).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return parameter.detach(), scaler.get_scale()

    return call


def with_infinity(inputs: Inputs) -> list[Array]:
    slopes = inputs.normal(3, 4)
    slopes[1, 2] = np.inf
    return [inputs.normal(3, 4), slopes]


scaler = charted("torch.GradScaler", lambda values, slopes: (values - 0.5 * slopes, 8.0), scaled_step)
scaler.value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS)
scaler.value("float32-infinite-gradient", with_infinity, reference=lambda values, slopes: (values, 4.0), tags=TAGS)


def step_scaled_for_cuda(context: Context, values: Any, slopes: Any) -> Callable[[], Any]:
    """Prepare a step as in ``scaled_step``, but return only the parameter. The scaler for CUDA has no device option,
    and does not scale without CUDA."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        scaler = context.function(init_scale=8.0)
        scaler.scale((parameter * slopes).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return parameter.detach()

    return call


charted("torch.cuda.amp.GradScaler", lambda values, slopes: values - 0.5 * slopes, step_scaled_for_cuda).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS
)


def load_weight(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    def call() -> Any:
        layer = linear_layer(0 * weight)
        context.function(layer, {"weight": weight})
        return layer(values).detach()

    return call


def parameters_of(context: Context, values: Any, weight: Any) -> Callable[[], Any]:
    layer = linear_layer(weight)
    return lambda: [parameter.detach() for parameter in context.function(layer)]


for name, prepare, reference in (
    ("torch.nn.Module.load_state_dict", load_weight, lambda values, weight: values @ weight.T),
    ("torch.nn.Module.parameters", parameters_of, lambda values, weight: [weight]),
):
    charted(name, reference, prepare).value("float32-linear", of_layer, tags=TAGS)


def in_mode(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare dropout with a probability of 1, in the mode that the function sets."""
    import torch

    return lambda: context.function(torch.nn.Dropout(1.0))(values)


for name, factor in {"torch.nn.Module.train": 0.0, "torch.nn.Module.eval": 1.0}.items():
    charted(name, lambda values, factor=factor: factor * values, in_mode).value(
        "float32-dropout", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
    )


def clear_gradients(context: Context, values: Any, **options: Any) -> Callable[[], Any]:
    """Prepare the gradients of a parameter before and after the function clears them."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        (parameter**2).sum().backward()
        before = parameter.grad.clone()
        context.function(torch.optim.SGD([parameter], lr=0.5), **options)
        return before, parameter.grad

    return call


zero_grad = charted("torch.optim.Optimizer.zero_grad", lambda values: (2 * values, None), clear_gradients)
zero_grad.value("float32-to-none", lambda inputs: [inputs.normal(3, 4)], tags=TAGS)
zero_grad.value(
    "float32-to-zero",
    lambda inputs: [inputs.normal(3, 4)],
    reference=lambda values, set_to_none: (2 * values, 0 * values),
    set_to_none=False,
    tags=TAGS,
)


def continue_descent(context: Context, values: Any, gradient: Any, momentum: Any) -> Callable[[], Any]:
    """Prepare a step of descent with the momentum from a loaded state, as in a program that resumes a training."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5, momentum=0.5)
        groups = optimizer.state_dict()["param_groups"]
        context.function(optimizer, {"state": {0: {"momentum_buffer": momentum.clone()}}, "param_groups": groups})
        parameter.grad = gradient.clone()
        optimizer.step()
        return parameter.detach()

    return call


charted(
    "torch.optim.Optimizer.load_state_dict",
    lambda values, gradient, momentum: values - 0.5 * (0.5 * momentum + gradient),
    continue_descent,
).value("float32-momentum", lambda inputs: [inputs.normal(3, 4) for _ in range(3)], tags=TAGS)


def follow_schedule(context: Context, values: Any, gradient: Any, **options: Any) -> Callable[[], Any]:
    """Prepare two steps of descent. The schedule changes the learning rate of the second step."""
    import torch

    def call() -> Any:
        parameter = torch.nn.Parameter(values.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.5)
        schedule = context.function(optimizer, **options)
        for _ in range(2):
            parameter.grad = gradient.clone()
            optimizer.step()
            schedule.step()
        return parameter.detach()

    return call


SCHEDULES: dict[str, tuple[float, dict[str, Any]]] = {
    "CosineAnnealingLR": (0.75, {"T_max": 2}),
    "ExponentialLR": (0.75, {"gamma": 0.5}),
    "LambdaLR": (0.75, {"lr_lambda": lambda epoch: 0.5**epoch}),
    "LinearLR": (0.625, {"start_factor": 0.5, "total_iters": 2}),
    "MultiStepLR": (0.55, {"milestones": [1]}),
    "StepLR": (0.55, {"step_size": 1}),
}
"""For each schedule, by its name: the sum of the learning rates of its first two steps, and the options."""

for name, (both_rates, options) in SCHEDULES.items():
    charted(
        f"torch.optim.lr_scheduler.{name}",
        lambda values, gradient, both_rates=both_rates, **_: values - both_rates * gradient,
        follow_schedule,
    ).value("float32-3x4", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 4)], tags=TAGS, **options)


def read_on_host(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call that reads its result on the host. The result is returned as Python numbers, because nothing is
    computed with them."""
    return lambda: context.function(values).tolist()


charted("torch.Tensor.cpu", lambda values: values.tolist(), read_on_host).value(
    "float32-3x4", lambda inputs: [inputs.normal(3, 4)], tags=TAGS
)
