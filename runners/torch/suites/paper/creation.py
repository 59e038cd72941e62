"""Cases of functions that create an array from nothing or from Python values: ``zeros``, ``tensor``, ``range``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function
from runners.suite.checks import Expected
from runners.torch.suites.paper.calls import both, created, into

NAN, INF = float("nan"), float("inf")


def nothing(*size: Any) -> Any:
    shape = size[0] if size and isinstance(size[0], (list, tuple)) else size
    return np.zeros(tuple(shape))


zeros = Function("torch.zeros", nothing, prepare=created())
zeros.value("float32-256x256", lambda inputs: [256, 256])
for dtype in ("float64", "float16", "bfloat16", "complex64", "int64", "int32", "uint8", "bool"):
    zeros.value(
        dtype,
        lambda inputs: [[3, 4]],
        reference=lambda size, dtype=dtype: Expected(np.zeros(size), dtype),
        prepare=created(dtype=getattr(torch, dtype)),
        tags=[f"of-{dtype}"],
    )
zeros.value("size-as-a-tuple", lambda inputs: [(2, 1, 3)])
zeros.value("scalar", lambda inputs: [()])
zeros.value("empty", lambda inputs: [3, 0, 2])
zeros.value("out", lambda inputs: [4, 5], prepare=into(), reference=both(nothing))
zeros.value(
    "requires-grad",
    lambda inputs: [6],
    reference=lambda size: [np.zeros(size), True, np.full(size, 3.0)],
    prepare=lambda context, size: (
        lambda: leaf_and_gradient(context.function(size, device=context.device, requires_grad=True))
    ),
)


def leaf_and_gradient(leaf: Any) -> list[Any]:
    return [leaf, leaf.requires_grad, *torch.autograd.grad((leaf * 3).sum(), leaf)]


def from_numpy(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call with a NumPy array. The array is copied from the device before the call."""
    host = values.cpu().numpy()
    return lambda: context.function(host, device=context.device)


def twice_read(context: Context, values: Any) -> Callable[[], Any]:
    """Prepare a call that must copy its argument: a later change of the argument must not change the result."""
    host = values.cpu().numpy().copy()

    def call() -> Any:
        copied = context.function(host, device=context.device)
        host[...] = 0
        return copied

    return call


tensor = Function("torch.tensor", np.array, prepare=created())
tensor.value("float32-64x128", lambda inputs: [inputs.normal(64, 128).astype("float32").tolist()])
tensor.value("integers-become-int64", lambda inputs: [inputs.integers(4, 5).tolist()])
tensor.value("booleans-become-bool", lambda inputs: [inputs.booleans(3, 4).tolist()])
tensor.value("complex-becomes-complex64", lambda inputs: [[1 + 2j, -0.5j, 3]])
tensor.value("integers-and-a-float-become-float32", lambda inputs: [[1, 2, 2.5, -3]])
tensor.value("booleans-and-an-integer-become-int64", lambda inputs: [[True, 7, False]])
tensor.value("nan-and-infinities", lambda inputs: [[NAN, INF, -INF, 0.5]])
tensor.value("scalar", lambda inputs: [2.75])
tensor.value("empty-is-float32", lambda inputs: [[[], []]])
for dtype in ("float64", "float16", "bfloat16", "int32", "uint8"):
    tensor.value(
        f"as-{dtype}",
        lambda inputs: [inputs.integers(3, 4, low=0).tolist()],
        reference=lambda values, dtype=dtype: Expected(np.array(values), dtype),
        prepare=created(dtype=getattr(torch, dtype)),
    )
tensor.value("float64-from-numpy", lambda inputs: [inputs.normal(5, 6)], dtype="float64", prepare=from_numpy)
tensor.value("int32-from-numpy", lambda inputs: [inputs.integers(7, dtype="int32")], prepare=from_numpy)
tensor.value(
    "float32-is-a-copy",
    lambda inputs: [inputs.normal(8)],
    prepare=twice_read,
    unrepeatable="the array that was copied is written over",
)
tensor.value(
    "requires-grad",
    lambda inputs: [[0.5, -1.25, 4.0]],
    reference=lambda values: [np.array(values), True, np.full(3, 3.0)],
    prepare=lambda context, values: (
        lambda: leaf_and_gradient(context.function(values, device=context.device, requires_grad=True))
    ),
)


def stepped(start: Any, end: Any, step: Any = 1) -> Any:
    """Return the values of ``range``, which, unlike ``arange``, include ``end`` if a step reaches it."""
    return start + step * np.arange(int(np.floor((end - start) / step)) + 1, dtype="float64")


range_ = Function("torch.range", stepped, prepare=created())
range_.value("float32-0-to-4095", lambda inputs: [0, 4095])
range_.value("end-is-included", lambda inputs: [1, 4])
range_.value("half-steps", lambda inputs: [-2.0, 3.0, 0.5])
range_.value("downwards", lambda inputs: [5, -5, -2])
range_.value("end-is-missed", lambda inputs: [0, 1, 0.375])
range_.value("one-value", lambda inputs: [3, 3])
range_.value(
    "float64-small-steps", lambda inputs: [0.0, 1.0, 1e-3], dtype="float64", prepare=created(dtype=torch.float64)
)
range_.value("float16", lambda inputs: [0, 9, 3], dtype="float16", prepare=created(dtype=torch.float16))
for dtype in ("int64", "int32", "uint8"):
    range_.value(
        dtype,
        lambda inputs: [2, 20, 3],
        reference=lambda *steps, dtype=dtype: Expected(stepped(*steps), dtype),
        prepare=created(dtype=getattr(torch, dtype)),
    )
range_.value("out", lambda inputs: [0, 6, 1.5], prepare=into(), reference=both(stepped))

FUNCTIONS: list[Function] = [zeros, tensor, range_]
