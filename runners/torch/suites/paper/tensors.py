"""Cases of methods of tensors: ``Tensor.data_ptr``, ``is_same_size``, ``size``, ``to``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from runners.suite.cases import Context, Function, MakeArguments
from runners.suite.checks import EXACT, Expected
from runners.torch.suites.paper.calls import gradient, strided, using


def addresses(view: Callable[[Any], Any]) -> Callable[..., Callable[[], Any]]:
    """Prepare the distance between the addresses of ``view`` and its array, the remainder of the array's address
    divided by the size of an element, and whether the address is positive."""

    def prepare(context: Context, x: Any) -> Callable[[], Any]:
        def call() -> list[int]:
            start = context.function(x)
            return [context.function(view(x)) - start, start % x.element_size(), int(start > 0)]

        return call

    return prepare


def starting(offset: int) -> Callable[[Any], list[int]]:
    return lambda x: [offset, 0, 1]


SIZES = {"float64": 8, "float16": 2, "bfloat16": 2}
data_ptr = Function("torch.Tensor.data_ptr")
data_ptr.value(
    "float32-256x256-row",
    lambda inputs: [inputs.normal(256, 256)],
    prepare=addresses(lambda x: x[3]),
    reference=starting(3 * 256 * 4),
)
for dtype, bytes_each in SIZES.items():
    data_ptr.value(
        f"{dtype}-slice",
        lambda inputs: [inputs.normal(20)],
        dtype=dtype,
        prepare=addresses(lambda x: x[5:]),
        reference=starting(5 * bytes_each),
    )
data_ptr.value(
    "int32-slice",
    lambda inputs: [inputs.integers(20, dtype="int32")],
    prepare=addresses(lambda x: x[5:]),
    reference=starting(5 * 4),
)
data_ptr.value(
    "complex64-slice",
    lambda inputs: [inputs.normal(20) + 1j],
    dtype="complex64",
    prepare=addresses(lambda x: x[5:]),
    reference=starting(5 * 8),
)
data_ptr.value(
    "transpose-shares", lambda inputs: [inputs.normal(4, 5)], prepare=addresses(lambda x: x.T), reference=starting(0)
)
data_ptr.value(
    "in-place-stays",
    lambda inputs: [inputs.normal(4, 5)],
    prepare=addresses(lambda x: x.add_(1)),
    reference=starting(0),
    in_place=True,
)
data_ptr.value(
    "detached-shares", lambda inputs: [inputs.normal(6)], prepare=addresses(lambda x: x.detach()), reference=starting(0)
)
data_ptr.value(
    "clone-does-not-share",
    lambda inputs: [inputs.normal(9)],
    prepare=lambda context, x: lambda: [context.function(x) == context.function(x.clone()), context.function(x) % 4],
    reference=lambda x: [False, 0],
)
data_ptr.value("empty-has-none", lambda inputs: [inputs.normal(0)], reference=lambda x: 0)


is_same_size = Function("torch.Tensor.is_same_size", lambda x, other: x.shape == other.shape)
is_same_size.value("float32-256x256", lambda inputs: [inputs.normal(256, 256), inputs.normal(256, 256)])
is_same_size.value("another-length", lambda inputs: [inputs.normal(3, 4), inputs.normal(3, 5)])
is_same_size.value("as-many-elements", lambda inputs: [inputs.normal(3, 4), inputs.normal(4, 3)])
is_same_size.value("broadcastable-is-not-the-same", lambda inputs: [inputs.normal(3, 4), inputs.normal(1, 4)])
is_same_size.value("one-axis-more", lambda inputs: [inputs.normal(3), inputs.normal(3, 1)])
is_same_size.value("other-dtypes", lambda inputs: [inputs.normal(2, 3), inputs.integers(2, 3)])
is_same_size.value("bfloat16", lambda inputs: [inputs.normal(2, 3), inputs.normal(2, 3)], dtype="bfloat16")
is_same_size.value("scalars", lambda inputs: [inputs.normal(), inputs.normal()])
is_same_size.value("scalar-and-one-element", lambda inputs: [inputs.normal(), inputs.normal(1)])
is_same_size.value("empty", lambda inputs: [inputs.normal(0, 2), inputs.normal(0, 2)])
is_same_size.value("empty-along-another-axis", lambda inputs: [inputs.normal(0, 2), inputs.normal(2, 0)])
is_same_size.value("other-strides", lambda inputs: [inputs.normal(4, 5), inputs.normal(4, 5)], prepare=strided)


def positive(context: Context, x: Any) -> Callable[[], Any]:
    """Prepare a call on the positive values. Selecting them is an operation that does not count as part of the call."""

    def call() -> Any:
        with context.surroundings():
            chosen = x[x > 0]
        return context.function(chosen)

    return call


size = Function("torch.Tensor.size", lambda x, dim=None: x.shape if dim is None else x.shape[dim])
size.value("float32-256x256", lambda inputs: [inputs.normal(256, 256)])
size.value("one-dim", lambda inputs: [inputs.normal(3, 4, 5), 1])
size.value("negative-dim", lambda inputs: [inputs.normal(3, 4, 5), -1])
size.value("dim-by-name", lambda inputs: [inputs.normal(3, 4)], dim=0)
size.value("bfloat16", lambda inputs: [inputs.normal(2, 7)], dtype="bfloat16")
size.value("complex64", lambda inputs: [inputs.normal(2, 7) + 1j], dtype="complex64")
size.value("bool", lambda inputs: [inputs.booleans(6)])
size.value("scalar-has-none", lambda inputs: [inputs.normal()])
size.value("empty", lambda inputs: [inputs.normal(3, 0, 2)])
size.value("empty-dim", lambda inputs: [inputs.normal(3, 0, 2), 1])
size.value("non-contiguous", lambda inputs: [inputs.normal(5, 6)], prepare=strided)
size.value(
    "after-reshaping",
    lambda inputs: [inputs.normal(4, 6)],
    prepare=lambda context, x: lambda: context.function((x + 1).reshape(2, 3, 4).transpose(0, 2)),
    reference=lambda x: (4, 3, 2),
)
size.value(
    "of-a-result-that-depends-on-values",
    lambda inputs: [inputs.normal(50)],
    prepare=positive,
    reference=lambda x: (int((x > 0).sum()),),
)


def as_float(dtype: str) -> Callable[[Any], Any]:
    return lambda x: Expected(x.astype("float32") if dtype == "float32" else x, dtype)


to = Function("torch.Tensor.to", lambda x: x)
to.value(
    "float32-256x256-to-float64",
    lambda inputs: [inputs.normal(256, 256)],
    prepare=using(dtype=torch.float64),
    reference=as_float("float64"),
    tolerance=EXACT,
)
to.value(
    "float64-to-float32",
    lambda inputs: [inputs.normal(40)],
    dtype="float64",
    prepare=using(dtype=torch.float32),
    reference=as_float("float32"),
    tolerance=EXACT,
)
to.value(
    "float32-to-int64-cuts",
    lambda inputs: [100 * inputs.normal(40)],
    prepare=using(dtype=torch.int64),
    reference=lambda x: np.trunc(x).astype("int64"),
)
to.value(
    "float32-to-bool",
    lambda inputs: [np.array([0.0, -0.0, 0.25, -3.0, np.nan, np.inf])],
    prepare=using(dtype=torch.bool),
    reference=lambda x: x != 0,
)
to.value(
    "float32-to-bfloat16-rounds-to-even",
    lambda inputs: [1 + np.arange(12) / 256],
    prepare=using(dtype=torch.bfloat16),
    reference=lambda x: Expected(np.round(x * 128) / 128, "bfloat16"),
    tolerance=EXACT,
)
to.value(
    "float32-to-float16-overflows",
    lambda inputs: [np.array([65504.0, 65519.0, 65520.0, -1e6, 1.0])],
    prepare=using(dtype=torch.float16),
    reference=lambda x: Expected(x.astype("float16").astype("float64"), "float16"),
    tolerance=EXACT,
)
to.value(
    "int64-to-int8-wraps",
    lambda inputs: [np.array([127, 128, 255, 256, -129, -1])],
    prepare=using(dtype=torch.int8),
    reference=lambda x: x.astype("int8"),
)
to.value(
    "complex64-from-float32",
    lambda inputs: [inputs.normal(9)],
    prepare=using(dtype=torch.complex64),
    reference=lambda x: Expected(x.astype("complex128"), "complex64"),
)
to.value(
    "from-the-host",
    lambda inputs: [inputs.normal(20, 3)],
    prepare=lambda context, x: partial(context.function, x.cpu(), context.device),
    tolerance=EXACT,
)
to.value(
    "like-another",
    lambda inputs: [inputs.integers(6), inputs.normal(2)],
    reference=lambda x, other: x.astype("float64"),
)
to.value(
    "empty", lambda inputs: [inputs.normal(0, 3)], prepare=using(dtype=torch.float64), reference=as_float("float64")
)
to.value("scalar", lambda inputs: [inputs.normal()], prepare=using(dtype=torch.float64), reference=as_float("float64"))
to.value(
    "channels-last",
    lambda inputs: [inputs.normal(2, 3, 4, 5)],
    prepare=lambda context, x: lambda: with_strides(context.function(x, memory_format=torch.channels_last)),
    reference=lambda x: [x, (60, 1, 15, 3)],
    tolerance=EXACT,
)
to.value(
    "non-contiguous",
    lambda inputs: [inputs.normal(5, 6)],
    prepare=lambda context, x: partial(context.function, x.T[::2], torch.float64),
    reference=lambda x: Expected(x.T[::2], "float64"),
    tolerance=EXACT,
)
to.value(
    "gradient-comes-back-in-its-own-dtype",
    lambda inputs: [inputs.normal(7)],
    prepare=lambda context, x: gradient(
        context, x, torch.arange(7, device=context.device).double(), dtype=torch.float64
    ),
    reference=lambda x: [Expected(x, "float64"), np.arange(7.0)],
    tolerance=EXACT,
)
to.value(
    "nothing-to-do-returns-itself",
    lambda inputs: [inputs.normal(5)],
    prepare=lambda context, x: (
        lambda: [context.function(x, context.dtype) is x, context.function(x, context.dtype, copy=True) is x]
    ),
    reference=lambda x: [True, False],
)


def there_and_back(context: Context, values: list[Any]) -> Callable[[], Any]:
    """Prepare a copy to the device and a copy back to the host. It returns both, and the original as it was before."""
    host = torch.tensor(values, dtype=context.dtype)

    def call() -> list[Any]:
        there = context.function(host, context.device, copy=True)
        back = context.function(there, "cpu", copy=True)
        return [there, back.tolist(), str(back.device), back.dtype is host.dtype, host.tolist()]

    return call


COUNTS = [0, 1, 2, 3, 64, 127]
SIGNED = [0, 1, -2, 3, -64, -128]
NUMBERS = [0.0, -1.0, 2.5, -0.375, 1024.0, -0.0078125]
PARTS = [0j, 1 + 2j, -2.5j, -0.375 + 1024j, -64 + 0j]
"""Numbers that every floating type can represent exactly."""
ROUND_TRIPS: Mapping[str, Sequence[Any]] = {
    "bool": [True, False, False, True],
    "uint8": COUNTS,
    **dict.fromkeys(("int8", "int16", "int32", "int64"), SIGNED),
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), NUMBERS),
    **dict.fromkeys(("complex64", "complex128"), PARTS),
}


def unharmed(dtype: str) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [Expected(np.array(values), dtype), values, "cpu", True, values]


def listed(numbers: Sequence[Any]) -> MakeArguments:
    return lambda inputs: [list(numbers)]


for dtype, numbers in ROUND_TRIPS.items():
    to.value(
        f"{dtype}-there-and-back",
        listed(numbers),
        dtype=dtype,
        prepare=there_and_back,
        reference=unharmed(dtype),
        tolerance=EXACT,
    )


def with_strides(x: Any) -> list[Any]:
    return [x, tuple(x.stride())]


FUNCTIONS: list[Function] = [data_ptr, is_same_size, size, to]
