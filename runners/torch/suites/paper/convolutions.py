"""Cases of convolution layers in two and three dimensions.

The reference is a cross-correlation over explicit windows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runners.suite.cases import Function, Inputs
from runners.torch.suites.paper import construction, library_modules
from runners.torch.suites.paper.gradients import DIFFERENCES, backward
from runners.torch.suites.paper.windows import convolve, with_edges

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]


def convolution_weights(
    inputs: Inputs,
    axes: int,
    *,
    in_channels: int,
    out_channels: int,
    kernel_size: int | tuple[int, ...],
    groups: int = 1,
    bias: bool = True,
    **_: Any,
) -> Weights:
    kernel = (kernel_size,) * axes if isinstance(kernel_size, int) else kernel_size
    shape = (out_channels, in_channels // groups, *kernel)
    weights = {"weight": inputs.normal(*shape) / math.sqrt(math.prod(shape[1:]))}
    return {**weights, "bias": inputs.normal(out_channels)} if bias else weights


def convolution_reference(
    weights: Weights, values: Array, *, in_channels: int, out_channels: int, kernel_size: Any, **options: Any
) -> Array:
    options.pop("bias", None)
    return convolve(values, weights["weight"], weights.get("bias"), **options)


conv2d = Function("torch.nn.Conv2d", reference=convolution_reference, prepare=construction.forward)
conv3d = Function("torch.nn.Conv3d", reference=convolution_reference, prepare=construction.forward)


def convolution_case(
    function: Function,
    name: str,
    *shape: int,
    channels: int,
    kernel: int | tuple[int, ...],
    dtype: str = "float32",
    prepare: Any = None,
    **options: Any,
) -> None:
    """Add a case with an input of ``shape`` (batch, channels, space). The result has ``channels`` channels."""
    axes = 2 if function is conv2d else 3
    chosen = {"in_channels": shape[-axes - 1], "out_channels": channels, "kernel_size": kernel, **options}
    function.value(
        name,
        lambda inputs: (convolution_weights(inputs, axes, **chosen), inputs.normal(*shape)),
        dtype=dtype,
        prepare=prepare,
        **chosen,
    )


def convolution_gradient(function: Function, name: str, *shape: int, out: tuple[int, ...], **options: Any) -> None:
    axes = 2 if function is conv2d else 3
    chosen = {"in_channels": shape[-axes - 1], "out_channels": out[-axes - 1], **options}
    function.value(
        name,
        lambda inputs: (convolution_weights(inputs, axes, **chosen), inputs.normal(*shape), inputs.normal(*out)),
        dtype="float64",
        tolerance=DIFFERENCES,
        reference=backward(convolution_reference),
        prepare=construction.gradients,
        **chosen,
    )


convolution_case(conv2d, "image", 4, 8, 32, 32, channels=16, kernel=3, padding=1)
convolution_case(conv2d, "float64", 2, 3, 8, 7, channels=4, kernel=3, dtype="float64")
# No bias in narrow types: a device may round the sum before it adds the bias, and cancellation would magnify this
# error.
convolution_case(conv2d, "bfloat16", 2, 4, 8, 8, channels=4, kernel=3, dtype="bfloat16", bias=False)
convolution_case(conv2d, "float16", 2, 4, 8, 8, channels=4, kernel=3, dtype="float16", bias=False)
convolution_case(conv2d, "stride", 2, 3, 11, 8, channels=4, kernel=(3, 2), stride=(2, 3), padding=(1, 0))
convolution_case(conv2d, "dilation", 1, 2, 12, 10, channels=3, kernel=3, dilation=(2, 3))
convolution_case(conv2d, "groups", 2, 6, 6, 6, channels=9, kernel=3, groups=3)
convolution_case(conv2d, "depthwise", 2, 4, 7, 7, channels=8, kernel=3, groups=4, bias=False)
convolution_case(conv2d, "same-even-kernel", 1, 2, 7, 6, channels=2, kernel=4, padding="same")
convolution_case(conv2d, "reflected-edges", 1, 2, 6, 5, channels=3, kernel=3, padding=2, padding_mode="reflect")
convolution_case(conv2d, "circular-edges", 1, 2, 6, 5, channels=3, kernel=3, padding=2, padding_mode="circular")
convolution_case(conv2d, "pointwise", 2, 16, 9, 9, channels=4, kernel=1)
convolution_case(conv2d, "unbatched", 3, 8, 8, channels=2, kernel=3)
convolution_case(conv2d, "empty-batch", 0, 3, 8, 8, channels=2, kernel=3)
convolution_case(conv2d, "channels-last", 2, 4, 9, 8, channels=4, kernel=3, prepare=construction.forward_channels_last)
convolution_gradient(conv2d, "gradient", 2, 2, 5, 4, out=(2, 3, 3, 2), kernel_size=3, stride=2, padding=1)

convolution_case(conv3d, "volume", 2, 4, 8, 16, 16, channels=8, kernel=3, padding=1)
convolution_case(conv3d, "float64", 2, 3, 5, 6, 4, channels=4, kernel=2, dtype="float64")
convolution_case(conv3d, "bfloat16", 1, 4, 5, 5, 5, channels=4, kernel=3, dtype="bfloat16", bias=False)
convolution_case(conv3d, "stride", 1, 2, 7, 6, 5, channels=3, kernel=(3, 2, 1), stride=(2, 1, 3), padding=(1, 0, 2))
convolution_case(conv3d, "dilation", 1, 2, 7, 6, 6, channels=2, kernel=2, dilation=(3, 2, 1), bias=False)
convolution_case(conv3d, "groups", 2, 4, 4, 4, 4, channels=6, kernel=3, groups=2)
convolution_case(conv3d, "replicated-edges", 1, 2, 4, 4, 4, channels=2, kernel=3, padding=1, padding_mode="replicate")
convolution_case(conv3d, "unbatched", 2, 5, 5, 5, channels=2, kernel=3)
convolution_gradient(conv3d, "gradient", 1, 2, 3, 3, 3, out=(1, 2, 2, 2, 2), kernel_size=2)

for function, shape in ((conv2d, (1, 1, 6, 7)), (conv3d, (1, 1, 4, 5, 6))):
    axes = len(shape) - 2
    function.value(
        "nan-and-infinity-reach-their-windows",
        lambda inputs, shape=shape, axes=axes: (  # type: ignore[misc]
            {"weight": inputs.uniform(2, 1, *(2,) * axes, low=0.5)},
            with_edges(inputs.normal(*shape)),
        ),
        in_channels=1,
        out_channels=2,
        kernel_size=2,
        bias=False,
    )

library_modules.add_cases(
    conv2d, lambda inputs, sample: (convolution_weights(inputs, 2, **sample.options), *sample.arguments(inputs))
)
library_modules.add_cases(
    conv3d, lambda inputs, sample: (convolution_weights(inputs, 3, **sample.options), *sample.arguments(inputs))
)

FUNCTIONS: list[Function] = [conv2d, conv3d]
